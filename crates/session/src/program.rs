//! The program of a workload's virtual users, as the loop sees it. It does not depend on sockets or the
//! workload.

use crate::Db;
use crate::statement_table::StatementTable;
use prony_document::ObservedShare;
use std::future::Future;
use std::pin::Pin;

/// Why a virtual user's program returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserExit {
    /// The run is over.
    Stopped,
    /// The user has done all its work, such as its number of transactions.
    Finished,
    /// The user cannot continue, for this reason; the run reports it and goes on without the user.
    Failed(String),
}

/// A running virtual user, polled only by its worker.
pub type User = Pin<Box<dyn Future<Output = UserExit>>>;

/// The identity of a virtual user.
#[derive(Clone, Copy, Debug)]
pub struct UserId {
    /// Number among all clients of the run, from 0.
    pub client: u32,
    /// Number of clients of the run.
    pub clients: u32,
    /// Number of the user's worker, from 0.
    pub worker: u32,
    /// Number of workers of the run.
    pub workers: u32,
    /// The run's seed; a user derives its random numbers from it and `client`.
    pub seed: u64,
}

/// The limit for the 90th percentile of a kind's response times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct P90Limit {
    pub kind: &'static str,
    /// 90 % of the kind's transactions must end within this time, in seconds.
    pub p90_s: f64,
    /// Whether these transactions run in the background: their time is from queueing to completion, and no
    /// user waits for them.
    pub deferred: bool,
}

/// The program of one workload at one scale, shared by all workers.
pub trait Program: Send + Sync {
    /// Names of the program's kinds of transactions; a sample's `kind` is an index into this list.
    fn kinds(&self) -> &[&'static str];

    /// The statements of the transactions, in order, if they depend on the options; empty if they are the
    /// workload's usual ones.
    fn statements(&self) -> Vec<String> {
        Vec::new()
    }

    /// The statements by name, for latencies per statement; empty if the program executes only text, or
    /// statements of a script.
    fn statement_table(&self) -> StatementTable {
        StatementTable::default()
    }

    /// The settings that determine what the program's figures mean, by name, with every default filled in;
    /// results show them.
    fn settings(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// How often the users that have ended performed certain actions, warm-up included, beside the intended
    /// shares; empty if the workload intends none.
    fn action_shares(&self) -> Vec<ObservedShare> {
        Vec::new()
    }

    /// Whether it is known that each transaction commits exactly once on PostgreSQL, and nothing else commits, if the
    /// workload does not say so.
    fn commits_once(&self) -> bool {
        false
    }

    /// Whether transactions of this kind only read, so that a read-only server can take them.
    fn only_reads(&self, _kind: usize) -> bool {
        false
    }

    /// The response time limits of the program's kinds.
    fn p90_limits(&self) -> Vec<P90Limit> {
        Vec::new()
    }

    /// Whether users do work before the load starts, up to [`Db::wait_for_common_start`]; no figure includes
    /// it.
    fn has_prologue(&self) -> bool {
        false
    }

    /// Whether users open their connections themselves, with [`Db::open_connection`]; if so, none is opened
    /// for them.
    fn opens_connections(&self) -> bool {
        false
    }

    /// Creates one virtual user, which stays on the calling thread.
    fn create_user(&self, id: UserId, db: Db) -> User;
}
