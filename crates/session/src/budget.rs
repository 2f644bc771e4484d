//! Starts that all users of a run share: the one number that threads have in common.
//!
//! In: how many. Out: one at a time, to whoever asks first. Must never: be there in a run that shares
//! nothing, or give out more than there are.

use std::sync::atomic::{AtomicU64, Ordering};

/// Starts that are left.
#[derive(Debug)]
pub struct Budget(AtomicU64);

impl Budget {
    /// So many.
    pub fn new(starts: u64) -> Self {
        Budget(AtomicU64::new(starts))
    }

    /// Takes one, if there is one.
    pub fn take(&self) -> bool {
        let one = |left: u64| left.checked_sub(1);
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one);
        taken.is_ok()
    }

    /// Whether none is left.
    pub fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_no_more_than_there_are() {
        let budget = Budget::new(10_000);
        let take = || (0..5_000).filter(|_| budget.take()).count();
        let taken: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
            threads
                .into_iter()
                .map(|one| one.join().expect("no panic"))
                .sum()
        });
        assert_eq!(taken, 10_000);
        assert!(budget.is_spent() && !budget.take());
    }
}
