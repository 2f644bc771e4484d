//! What is kept for each command of each script.
//!
//! In: times of commands, their failures and retries. Out: sums, of one client and of all. Must
//! never: be shared while it is written to; each client has its own.

use super::program::Shared;
use prony_session::Db;
use std::sync::Arc;

/// The sums of one command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandFigures {
    /// How often it came to its end.
    pub count: u64,
    /// How long that took in all, nanoseconds.
    pub sum_ns: u128,
    /// Transactions that it made fail.
    pub failures: u64,
    /// New tries that it led to.
    pub retries: u64,
}

impl CommandFigures {
    fn add(&mut self, other: &CommandFigures) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.failures += other.failures;
        self.retries += other.retries;
    }
}

/// By script and command; nothing where nothing is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures(pub Vec<Vec<CommandFigures>>);

impl Figures {
    /// Empty sums for scripts of so many commands each.
    pub(super) fn new(commands: impl Iterator<Item = usize>) -> Self {
        let script = |count| vec![CommandFigures::default(); count];
        Figures(commands.map(script).collect())
    }

    /// Adds another client's.
    pub(super) fn add(&mut self, other: &Figures) {
        for (sums, others) in self.0.iter_mut().zip(&other.0) {
            for (sum, other) in sums.iter_mut().zip(others) {
                sum.add(other);
            }
        }
    }

    /// Whether anything is kept.
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn at(&mut self, script: usize, command: usize) -> Option<&mut CommandFigures> {
        self.0.get_mut(script)?.get_mut(command)
    }
}

/// One client's sums, which are added to those of all however the client ends.
pub(super) struct Kept {
    figures: Figures,
    shared: Arc<Shared>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        if !self.figures.is_empty() {
            self.shared.keep(&self.figures);
        }
    }
}

impl Kept {
    /// Empty sums of a client.
    pub fn new(figures: Figures, shared: Arc<Shared>) -> Self {
        Kept { figures, shared }
    }

    /// A command came to its end.
    #[inline]
    pub fn took(&mut self, script: usize, command: usize, begun_ns: u64, db: &Db) {
        if let Some(sums) = self.figures.at(script, command) {
            sums.count += 1;
            sums.sum_ns += u128::from(db.noticed_ns().saturating_sub(begun_ns));
        }
    }

    /// A command made its transaction fail.
    pub fn failed(&mut self, script: usize, command: usize) {
        if let Some(sums) = self.figures.at(script, command) {
            sums.failures += 1;
        }
    }

    /// A command led to a new try.
    pub fn retried(&mut self, script: usize, command: usize) {
        if let Some(sums) = self.figures.at(script, command) {
            sums.retries += 1;
        }
    }
}
