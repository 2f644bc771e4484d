//! Events of a run, such as an outage.

use serde::{Deserialize, Serialize};
use std::any::Any;

/// An event of a run, on the run's clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEvent {
    /// When it began.
    pub from_ns: u64,
    /// When it ended; `None` if it has no duration, or was not over at the end of the run.
    pub until_ns: Option<u64>,
    pub kind: RunEventKind,
    /// Why attempts to connect failed, in a word or two, such as `refused`.
    pub cause: Option<String>,
    /// A description.
    pub detail: String,
    /// Number of connections, users or starts affected.
    pub count: u64,
}

impl RunEvent {
    /// The event on another clock; `convert` turns a time of this one into a time of that one.
    #[must_use]
    pub fn on_clock(mut self, convert: impl Fn(u64) -> u64) -> RunEvent {
        self.from_ns = convert(self.from_ns);
        self.until_ns = self.until_ns.map(convert);
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunEventKind {
    /// Connections were lost; the event lasts until all are back.
    Outage,
    /// Attempts to connect failed during the load, all for the same cause.
    FailedAttempts,
    /// A user's program could not continue.
    UserFailed,
    /// More starts waited than the queue holds, which ended the run.
    QueueFull,
}

/// The text of a panic, from what [`std::panic::catch_unwind`] returns.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no reason given")
}
