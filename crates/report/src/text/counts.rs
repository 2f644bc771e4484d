//! The transactions of a run: how many ended, and how.

use crate::table::Table;
use crate::text::plain;
use crate::units::{self, count, count_of, span};
use prony_judge::experiment::VariantFigures;
use prony_store::{
    IndustryMetric, KindFigures, LedgerAccount, Run, Second, SecondPhase, WarmupEnd,
};

/// The heading of [`kind_table`].
pub(crate) const KINDS: &str = "Transactions by kind";

/// The counts of each kind, the total first; `None` if there is only one kind.
pub(crate) fn kind_table(run: &Run) -> Option<Table> {
    if run.measured.kinds.len() < 3 || run.measured.is_empty() {
        return None;
    }
    let mut table = Table::new(&["kind", "committed", "per second", "rolled back", "failed"]);
    for kind in &run.measured.kinds {
        table.row([
            plain(kind.name()),
            count(kind.committed),
            units::per_second(kind.tps),
            count(kind.rolled_back),
            count(kind.failed),
        ]);
    }
    Some(table)
}

/// The main figure: `27,700 transactions/s committed`.
pub(crate) fn throughput_text(run: &Run) -> String {
    let tps = run.measured.all_kinds().map_or(0.0, |all| all.tps);
    format!("{} committed", units::transactions_per_second(tps))
}

/// Throughput in each whole second of the measured window.
pub(crate) struct ThroughputBySecond {
    pub tps: Vec<f64>,
    /// The lowest and the highest: `26,100 to 28,200`.
    pub range: String,
}

/// The throughput in the seconds of the window; `None` if there are fewer than three whole ones.
pub(crate) fn throughput_by_second(run: &Run) -> Option<ThroughputBySecond> {
    let is_whole = |second: &&Second| second.phase == SecondPhase::Measured && second.is_whole();
    let seconds = run.series.iter().filter(is_whole);
    let tps: Vec<f64> = seconds.map(Second::committed_per_second).collect();
    if tps.len() < 3 {
        return None;
    }
    let lowest = units::rate(tps.iter().copied().fold(f64::INFINITY, f64::min));
    let highest = units::rate(tps.iter().copied().fold(0.0, f64::max));
    let range = format!("{lowest} to {highest}");
    Some(ThroughputBySecond { tps, range })
}

/// What an industry metric means, and what qualifies it.
pub(crate) fn metric_meaning(rate: &IndustryMetric) -> String {
    let note = rate.note.as_deref();
    let note = note.map_or(String::new(), |note| format!("; {note}"));
    plain(&format!("{}{note}", rate.title))
}

/// A metric per unit of scale: `548 per warehouse`.
pub(crate) fn per_scale_text(run: &Run, rate: &IndustryMetric) -> String {
    let description = run.workload.description.as_ref();
    let unit = description.and_then(|description| description.scale_unit.as_ref());
    let unit = unit.map_or("unit of scale", |unit| &unit.singular);
    format!("{} per {unit}", units::rate(rate.per_scale))
}

pub(crate) fn describe_counts(run: &Run) -> String {
    let text = outcome_counts(run, Some(describe_in_flight(run)));
    match &run.ledger {
        Some(LedgerAccount {
            not_read: None,
            lost,
            acknowledged,
            ..
        }) if !run.measured.is_empty() => {
            text + &format!(
                "; lost {} of {} acknowledged",
                count(*lost),
                count(*acknowledged)
            )
        }
        _ => text,
    }
}

/// The number of transactions and their outcomes. `in_flight` describes those that were in flight at the end, which are
/// left out without it.
pub(crate) fn outcome_counts(run: &Run, in_flight: Option<String>) -> String {
    if run.measured.is_empty() {
        return match run.window.warmup_s {
            warmup_s if warmup_s > 0.0 => format!(
                "The measured window had not begun after {} of warm-up.",
                span(warmup_s)
            ),
            _ => "No second of the load was recorded.".to_owned(),
        };
    }
    let empty = KindFigures::default();
    let all = run.measured.all_kinds().unwrap_or(&empty);
    let mut text = format!(
        "{} in the {} measured",
        count_of(all.committed, "transaction"),
        span(run.measured.length_s)
    );
    if run.window.warmup_s > 0.0 {
        text += &format!(", after {} of warm-up", span(run.window.warmup_s));
        text += match run.window.warmup_end {
            Some(WarmupEnd::Steady) => ", until the load was steady",
            Some(WarmupEnd::Limit) => ", in which the load did not become steady",
            None => "",
        };
    }
    let mut counts = vec![
        (all.failed, "failed"),
        (all.rolled_back, "rolled back by intent"),
        (all.skipped, "skipped"),
    ];
    if let Some(description) = &in_flight {
        counts.push((run.measured.unfinished, description));
    }
    counts.push((run.measured.never_started, "due but never started"));
    counts.push((all.retries, "extra tries"));
    // Of the zero counts, only that of failures is worth mentioning.
    for (number, outcome) in counts {
        if number > 0 || outcome == "failed" {
            text += &format!("; {} {outcome}", count(number));
        }
    }
    text
}

/// The outcomes of the transactions in flight at the end.
fn describe_in_flight(run: &Run) -> String {
    let text = "in flight at the end, not counted".to_owned();
    let Some(in_flight) = &run.measured.in_flight else {
        return text;
    };
    let outcomes = [
        (in_flight.committed, "committed after it"),
        (in_flight.rolled_back, "rolled back by intent"),
        (in_flight.failed, "failed"),
        (in_flight.ambiguous, "may have committed"),
        (in_flight.cut_off, "cut off"),
    ];
    let outcomes = outcomes.iter().filter(|(number, _)| *number > 0);
    let outcomes: Vec<String> = outcomes
        .map(|(number, outcome)| format!("{} {outcome}", count(*number)))
        .collect();
    if outcomes.is_empty() { text } else { format!("{text} ({})", outcomes.join(", ")) }
}

/// The number of counted runs of a variant: `5`, or `3 of 5`.
pub(crate) fn counted_runs(variant: &VariantFigures) -> String {
    if variant.counted == variant.runs {
        count(variant.runs as u64)
    } else {
        format!("{} of {}", variant.counted, variant.runs)
    }
}
