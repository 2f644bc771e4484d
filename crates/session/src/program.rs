//! What a workload gives to the loop: the program of its virtual users.
//!
//! In: nothing. Out: two small traits. Must never: know a socket, or which workload it is.

use crate::Db;
use std::future::Future;
use std::pin::Pin;

/// Why a virtual user's program came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The run is over.
    Stopped,
    /// It did what it had to do (a count of transactions).
    Finished,
    /// It cannot go on; the run goes on without it and says so.
    Failed(String),
}

/// A virtual user at work: polled by a worker, and by nobody else.
pub type User = Pin<Box<dyn Future<Output = Ended>>>;

/// Who a virtual user is.
#[derive(Clone, Copy, Debug)]
pub struct UserId {
    /// Number among all clients of the run, from 0.
    pub client: u32,
    /// How many clients there are.
    pub clients: u32,
    /// Number of its worker, from 0.
    pub worker: u32,
    /// How many workers there are.
    pub workers: u32,
    /// The run's seed; a user derives its own random numbers from it and `client`.
    pub seed: u64,
}

/// How often users did a thing, and how often they were to do it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// What they did, such as `rolled back`.
    pub name: &'static str,
    /// Of what it is a share, such as `new orders`.
    pub of: &'static str,
    /// How often.
    pub part: u64,
    /// Of how many.
    pub whole: u64,
    /// The share that is meant, 0 to 1; none where it is no matter of what was asked.
    pub meant: Option<f64>,
    /// Each transaction keeps it: it does not scatter.
    pub exact: bool,
    /// The least that a specification allows, 0 to 1.
    pub least: Option<f64>,
}

/// Within what time most transactions of a kind are to end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The kind's name.
    pub kind: &'static str,
    /// 90 % of them are to end within so long, seconds.
    pub p90_s: f64,
    /// They are carried out in the background: their time is from queueing to completion, and no
    /// user waits for it.
    pub deferred: bool,
}

/// The program of one workload at one scale, shared by all workers.
pub trait Program: Send + Sync {
    /// Names of its kinds of transaction; a sample's `kind` is an index into it.
    fn kinds(&self) -> &[&'static str];

    /// The statements of its transactions in order, where they depend on what was asked; empty
    /// where they are those that the workload always has.
    fn statements(&self) -> Vec<String> {
        Vec::new()
    }

    /// What decides what its figures mean, by name, every default filled in; results name it.
    fn settings(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// What the users that have ended did, warm-up included, where shares of it are meant.
    fn shares(&self) -> Vec<Share> {
        Vec::new()
    }

    /// Within what time most transactions of a kind are to end.
    fn limits(&self) -> Vec<Limit> {
        Vec::new()
    }

    /// Whether its users have something to do before the load starts, up to [`Db::gate`]; it is in no
    /// figure.
    fn has_prologue(&self) -> bool {
        false
    }

    /// Whether its users open their connections themselves, with [`Db::renew`]: none is opened for them.
    fn opens_connections(&self) -> bool {
        false
    }

    /// Makes one virtual user. It lives on the thread that calls this.
    fn user(&self, id: UserId, db: Db) -> User;
}
