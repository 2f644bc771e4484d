//! Reports of a worker besides samples: plain data, once per second or per event, never per transaction.

use prony_measure::Interval;
use std::any::Any;

/// Receives a worker's reports during a run.
pub trait Reports {
    /// Delivers a finished interval.
    fn deliver_interval(&mut self, interval: Box<Interval>);
    /// Takes an interval that was read and cleared, whose memory can be reused.
    fn take_spare(&mut self) -> Option<Box<Interval>> {
        None
    }
    /// Delivers an event.
    fn deliver_event(&mut self, event: RunEvent);
}

/// Discards reports: before the load there is nothing to report.
pub(crate) struct NoReports;

impl Reports for NoReports {
    fn deliver_interval(&mut self, _: Box<Interval>) {}

    fn deliver_event(&mut self, _: RunEvent) {}
}

/// An event of a run, on the run's clock.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEvent {
    /// When it began.
    pub from_ns: u64,
    /// When it ended; absent if it lasted until the end of the run.
    pub until_ns: Option<u64>,
    /// Kind of the event.
    pub kind: RunEventKind,
    /// Description.
    pub detail: String,
    /// Connections or users affected.
    pub count: u64,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEventKind {
    /// Connections were lost; the event lasts until all are back.
    Outage,
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
