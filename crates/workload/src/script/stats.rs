//! Execution times, failures and retries of each command of each script. Each client has its own sums, so
//! that clients share no data while they run.

use super::program::ScriptRun;
use prony_document::add_counts;
use prony_session::{Db, DbReply};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandStats {
    /// Number of completed executions.
    pub count: u64,
    /// Total time of those executions, in nanoseconds.
    pub sum_ns: u128,
    /// Number of transactions that the command made fail.
    pub failures: u64,
    pub retries: u64,
    /// Rows that the completed executions returned or changed.
    pub rows: u64,
}

impl CommandStats {
    pub fn add(&mut self, other: &CommandStats) {
        add_counts!(self, other, [count, sum_ns, failures, retries, rows]);
    }
}

/// Sums by script and command; empty if none are recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatsByCommand(pub Vec<Vec<CommandStats>>);

impl StatsByCommand {
    /// Creates empty sums; `command_counts` yields the number of commands of each script.
    pub(super) fn new(command_counts: impl Iterator<Item = usize>) -> Self {
        let empty_script = |count| vec![CommandStats::default(); count];
        StatsByCommand(command_counts.map(empty_script).collect())
    }

    /// Adds another client's sums.
    pub(super) fn add(&mut self, other: &StatsByCommand) {
        for (sums, others) in self.0.iter_mut().zip(&other.0) {
            for (sum, other) in sums.iter_mut().zip(others) {
                sum.add(other);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn get_mut(&mut self, script: usize, command: usize) -> Option<&mut CommandStats> {
        self.0.get_mut(script)?.get_mut(command)
    }
}

/// One client's sums. Dropping them adds them to the run's sums, however the client ends.
pub(super) struct ClientStats {
    stats: StatsByCommand,
    shared: Arc<ScriptRun>,
}

impl Drop for ClientStats {
    fn drop(&mut self) {
        if !self.stats.is_empty() {
            self.shared.add_stats(&self.stats);
        }
    }
}

impl ClientStats {
    pub fn new(stats: StatsByCommand, shared: Arc<ScriptRun>) -> Self {
        ClientStats { stats, shared }
    }

    #[inline]
    pub fn record_execution(&mut self, script: usize, command: usize, start_ns: u64, db: &Db) {
        if let Some(sums) = self.stats.get_mut(script, command) {
            sums.count += 1;
            sums.sum_ns += u128::from(db.noticed_ns().saturating_sub(start_ns));
        }
    }

    /// Records the rows that the last reply returned or changed.
    #[inline]
    pub fn record_rows(&mut self, script: usize, command: usize, reply: &DbReply<'_>) {
        if let Some(sums) = self.stats.get_mut(script, command) {
            sums.rows += reply.affected_rows();
        }
    }

    /// Records a command that made its transaction fail.
    pub fn record_failure(&mut self, script: usize, command: usize) {
        if let Some(sums) = self.stats.get_mut(script, command) {
            sums.failures += 1;
        }
    }

    pub fn record_retry(&mut self, script: usize, command: usize) {
        if let Some(sums) = self.stats.get_mut(script, command) {
            sums.retries += 1;
        }
    }
}
