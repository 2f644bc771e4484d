//! Response times and service times: headings, columns, and sentences about them.
//!
//! In: a Run. Out: texts and cells. Must never: give a percentile that the document does not contain.

use crate::table::Table;
use crate::text::plain;
use crate::units::{self, or_dash, time_or_dash};
use prony_judge::percentile_intervals::percentile_intervals;
use prony_store::{Latency, PartLatencies, Run, ServiceTimePartsSource};

/// Headings, which say when each time starts.
pub(crate) const FROM_SCHEDULE: &str =
    "Response time of committed transactions, from the scheduled start";
pub(crate) const FROM_START: &str = "Service time of committed transactions, from the actual start";
pub(crate) const RESPONSE: &str = "Response time of committed transactions";
pub(crate) const ATTEMPTS: &str =
    "Response time of all transactions that ended: committed, rolled back, failed";
pub(crate) const FAILED: &str = "Response time of failed transactions";
pub(crate) const SPLIT: &str = "Where the service time went";

/// A table of latencies, each with its name: the percentiles, the maximum and the mean, if known.
pub(crate) fn latency_table<'a>(
    first_title: &str,
    latencies: impl IntoIterator<Item = (String, &'a Latency)>,
) -> Table {
    let titles = [
        first_title,
        "p50",
        "p90",
        "p95",
        "p99",
        "p99.9",
        "max",
        "mean",
    ];
    let mut table = Table::new(&titles);
    for (name, latency) in latencies {
        table.row([
            name,
            time_or_dash(latency.p50_ns),
            time_or_dash(latency.p90_ns),
            time_or_dash(latency.p95_ns),
            time_or_dash(latency.p99_ns),
            time_or_dash(latency.p999_ns),
            time_or_dash((latency.max_ns > 0).then_some(latency.max_ns)),
            or_dash(
                (latency.samples > 0).then_some(latency.mean_ns),
                units::time,
            ),
        ]);
    }
    table
}

/// A sentence with the confidence intervals of the percentiles of the response time; `None` if there are none.
pub(crate) fn intervals_text(run: &Run) -> Option<String> {
    let intervals = percentile_intervals(run);
    let texts = intervals.iter().map(|interval| {
        let [low, high] = [interval.low_ns, interval.high_ns]
            .map(|ns| with_no_break_spaces(&units::time(ns as f64)));
        format!("p{} {low} to {high}", interval.percentile)
    });
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| {
        format!(
            "95 % intervals over all kinds, by the scatter of the seconds: {}. Repeats may differ by more.",
            texts.join("; ")
        )
    })
}

pub(crate) fn names_and_latencies(parts: &PartLatencies) -> [(String, &Latency); 3] {
    [
        ("send wait".to_owned(), &parts.send_wait),
        ("server".to_owned(), &parts.server),
        ("client wait".to_owned(), &parts.client_wait),
    ]
}

/// Why the parts of the service time are not known; `None` if the source of timestamps does not tell.
pub(crate) fn unavailable_reason(
    source: &ServiceTimePartsSource,
    committed: u64,
) -> Option<String> {
    match source {
        ServiceTimePartsSource::Unavailable { reason } if !reason.is_empty() => Some(plain(reason)),
        ServiceTimePartsSource::Unavailable { .. } => {
            Some("no receive timestamps were available".into())
        }
        // Timestamps are available, but there is no committed transaction.
        _ if committed == 0 => Some("no transaction committed".into()),
        _ => None,
    }
}

/// Replaces spaces by no-break spaces, so that a number and its unit stay on one line.
pub(crate) fn with_no_break_spaces(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}
