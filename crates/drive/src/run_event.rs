//! Events of a run, such as an outage.

use std::any::Any;

/// An event of a run, on the run's clock.
#[derive(Clone, Debug, PartialEq)]
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// The message of a panic.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no reason given")
}
