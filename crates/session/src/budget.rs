//! A number of starts that all users of a run share. It is the only state that threads share, and most runs
//! do not need it.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of remaining starts.
#[derive(Debug)]
pub struct StartBudget(AtomicU64);

impl StartBudget {
    /// A budget of this many starts.
    pub fn new(starts: u64) -> Self {
        StartBudget(AtomicU64::new(starts))
    }

    /// Takes one start; returns false if none remains.
    pub fn take(&self) -> bool {
        let decrement = |remaining: u64| remaining.checked_sub(1);
        let result = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, decrement);
        result.is_ok()
    }

    /// Whether no start remains.
    pub fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_exactly_the_budget_together() {
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
