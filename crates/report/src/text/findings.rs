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

/// When an event happened, and what it was: `at 12 s` and `outage: ...`.
pub(crate) fn describe_event(event: &Event) -> (String, String) {
    let at = span(event.at_s);
    let time = match event.until_s {
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
    let text = text.trim_end_matches([':', ' ']).to_owned();
    let command = event.command.as_ref();
    match command.and_then(|command| command.output.lines().last()) {
        Some(line) => (time, format!("{text}; it printed: {}", plain(line))),
        None => (time, text),
    }
}

/// The checks by severity, the most severe first. Of one severity, those that doubt the figures come before those that
/// limit what they apply to.
pub(crate) fn worst_first(checks: &[Check]) -> Vec<&Check> {
    let mut checks: Vec<&Check> = checks.iter().collect();
    checks.sort_by_key(|check| Reverse((check.severity, check.is_doubt())));
    checks
}
