//! Events, failures and findings of checks, in words and in their order.

use crate::text::plain;
use crate::units::{count, span};
use prony_store::{Check, Event, EventKind, Run};
use std::cmp::Reverse;

/// The number of failed transactions in the warm-up.
pub(crate) fn failed_in_warmup(run: &Run) -> u64 {
    let errors = run.warmup.iter().flat_map(|part| &part.errors);
    errors.map(|error| error.count).sum()
}

/// An event in words.
pub(crate) struct EventText {
    /// When it happened: `at 12 s`.
    pub when: String,
    /// What it was: `outage: ...`.
    pub what: String,
}

impl EventText {
    /// The cells of a row in a table of events.
    pub fn cells(self) -> [String; 2] {
        [self.when, self.what]
    }
}

pub(crate) fn describe_event(event: &Event) -> EventText {
    let at = span(event.at_s);
    let when = match event.until_s {
        Some(end_s) => format!("at {at}, for {}", span((end_s - event.at_s).max(0.0))),
        None if event.kind == EventKind::Outage => format!("from {at} to the end"),
        None => format!("at {at}"),
    };
    let affected = match event.count {
        0 | 1 => String::new(),
        number => format!(" ({} affected)", count(number)),
    };
    let cause = match &event.cause {
        Some(cause) => plain(cause) + ": ",
        None => String::new(),
    };
    let text = format!(
        "{}{affected}: {cause}{}",
        event.kind.name(),
        plain(&event.detail)
    );
    // Without a detail, nothing follows the colon.
    let mut what = text.trim_end_matches([':', ' ']).to_owned();
    let command = event.command.as_ref();
    if let Some(line) = command.and_then(|command| command.output.lines().last()) {
        what += &format!("; it printed: {}", plain(line));
    }
    EventText { when, what }
}

/// The checks by severity, the most severe first. Of one severity, those that doubt the figures come before those that
/// limit what they apply to.
pub(crate) fn worst_first(checks: &[Check]) -> Vec<&Check> {
    let mut checks: Vec<&Check> = checks.iter().collect();
    checks.sort_by_key(|check| Reverse((check.severity, check.is_doubt())));
    checks
}
