//! Counts of users. Counting must not take a lock for each statement: a user adds its counts to the shared ones once, when it
//! ends.

use crate::parallel::lock;
use std::sync::Mutex;

/// Counts that can be added up.
pub trait Counts: Clone + Default {
    fn add(&mut self, other: &Self);
}

/// The counts of the users that have ended so far.
#[derive(Debug, Default)]
pub struct SharedCounts<C>(Mutex<C>);

impl<C: Counts> SharedCounts<C> {
    pub fn get(&self) -> C {
        lock(&self.0).clone()
    }
}

/// One user's counts. Dropping them adds them to the shared ones, however the user ends.
pub struct UserCounts<'a, C: Counts> {
    pub sums: C,
    shared: &'a SharedCounts<C>,
}

impl<'a, C: Counts> UserCounts<'a, C> {
    pub fn new(shared: &'a SharedCounts<C>) -> Self {
        let sums = C::default();
        UserCounts { sums, shared }
    }
}

impl<C: Counts> Drop for UserCounts<'_, C> {
    fn drop(&mut self) {
        lock(&self.shared.0).add(&self.sums);
    }
}
