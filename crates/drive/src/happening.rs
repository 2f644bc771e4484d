//! What a worker tells while it runs, beside samples.
//!
//! In: nothing. Out: plain data, handed over once a second or when something happens. Must never:
//! be made for a transaction.

use prony_measure::Interval;
use std::any::Any;

/// What a worker tells while it runs.
pub trait Reports {
    /// A finished interval.
    fn interval(&mut self, interval: Box<Interval>);
    /// Something that happened.
    fn event(&mut self, event: Happening);
}

/// Something that happened, on the run's clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Happening {
    /// When it began.
    pub from_ns: u64,
    /// When it ended; absent if it did not before the end of the run.
    pub until_ns: Option<u64>,
    /// What.
    pub what: Incident,
    /// In words.
    pub detail: String,
    /// Connections or users concerned.
    pub count: u64,
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incident {
    /// Connections were lost, until all were back.
    Outage,
    /// A user's program could not go on.
    UserFailed,
    /// More starts waited than the queue holds: the run ended.
    QueueFull,
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no reason given")
}
