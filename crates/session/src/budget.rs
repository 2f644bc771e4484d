//! A number of starts that all users of a run share: the only number that threads have in common. Most
//! runs have none. It never grants more starts than there are.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of starts left.
#[derive(Debug)]
pub struct StartBudget(AtomicU64);

impl StartBudget {
    /// A budget of this many starts.
    pub fn new(starts: u64) -> Self {
        StartBudget(AtomicU64::new(starts))
    }

    /// Takes one start; false if none is left.
    pub fn take(&self) -> bool {
        let one = |left: u64| left.checked_sub(1);
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one);
        taken.is_ok()
    }

    /// Whether no start is left.
    pub fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_no_more_starts_than_there_are() {
        let budget = StartBudget::new(10_000);
        let take = || (0..5_000).filter(|_| budget.take()).count();
        let taken: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"))
                .sum()
        });
        assert_eq!(taken, 10_000);
        assert!(budget.is_spent() && !budget.take());
    }
}
