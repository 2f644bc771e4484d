//! The result of a run, for a person at a terminal.
//!
//! In: a Run. Out: its first screen, or the full result of about three screens: the main figure, the verdict, then
//! the details. Must never: print a number without its unit, or a percentile that the document does not contain.

mod counts;
pub(crate) mod findings;
mod first_screen;
pub(crate) mod latency;
mod paragraph;
pub(crate) mod server;
pub(crate) mod setup;
pub(crate) mod statements;
mod verdict;

pub use first_screen::{MAX_LINES, StoredRun};
pub use verdict::{FormerJudgement, write_judgement};

pub(crate) use counts::{KIND_COLUMNS, kind_rows};
pub(crate) use verdict::{TOO_SHORT, check_ids, verdict_text};

use crate::printer::Printer;
use crate::style::Style;
use crate::text::{plain, sparkline, wrap};
use crate::units::{self, count, count_with_noun, span};
use prony_store::{Engine, IndustryMetric, KindFigures, Run, RunState, Second, SecondPhase};
use std::io::{self, Write};

#[derive(Clone, Copy, Debug)]
pub enum DocumentLocation<'a> {
    /// The current command stored it.
    JustStored {
        /// The file or folder, as shown to the user.
        place: &'a str,
        /// The argument with which `prony show` prints it again.
        id: &'a str,
    },
    /// An earlier command stored it.
    ReadFrom {
        /// Its file.
        document: &'a str,
    },
}

/// Writes the first screen of a result: its figure, its verdict, its times and one advice, in at most
/// [`MAX_LINES`] lines; the published figures of a scenario follow.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_first_screen(
    out: &mut dyn Write,
    style: &Style,
    run: &Run,
    stored: Option<StoredRun<'_>>,
) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    first_screen::write(out, run, stored)
}

/// Writes the full result; `stored` is the location of the document, if it is stored.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_full(
    out: &mut dyn Write,
    style: &Style,
    run: &Run,
    stored: Option<DocumentLocation<'_>>,
) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    write_title(out, run)?;
    write_headline(out, run)?;
    latency::write_response_times(out, run)?;
    latency::write_service_time_parts(out, run)?;
    statements::write_statements(out, run)?;
    counts::write_kinds(out, run)?;
    counts::write_shares(out, run)?;
    findings::write_errors(out, run)?;
    findings::write_events(out, run)?;
    findings::write_checks(out, run)?;
    server::write_server(out, run)?;
    setup::write_client_health(out, run)?;
    setup::write_setup(out, run)?;
    crate::reproduced::write(out, run)?;
    setup::write_location(out, stored)
}

fn write_title(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let workload = &run.workload;
    let title = format!(
        "{}, scale {}, on {} {}",
        plain(&workload.name),
        count(workload.scale.into()),
        engine_name(&run.server),
        plain(run.server.version.split(" (").next().unwrap_or_default()),
    );
    out.wrapped(Style::bold, &title)?;
    out.wrapped(Style::dim, &plain(&workload.title))?;
    incomplete_notice(run).map_or(Ok(()), |notice| out.wrapped(Style::caution, &notice))
}

/// A notice that a run is not complete; `None` if it is.
pub(crate) fn incomplete_notice(run: &Run) -> Option<String> {
    match run.state {
        RunState::Complete => None,
        RunState::Running => Some(
            "STILL RUNNING, or killed: the figures cover the seconds that were recorded."
                .to_owned(),
        ),
        RunState::Partial => {
            let covered = if is_unmeasured(run) {
                "Nothing was measured.".to_owned()
            } else {
                format!(
                    "The figures cover the {} that were measured.",
                    span(run.measured.length_s)
                )
            };
            let reason = run.ended_because.as_deref();
            let reason = plain(reason.unwrap_or("no reason recorded"));
            let reason = reason.trim_end_matches('.');
            Some(format!("PARTIAL RESULT: ended early: {reason}. {covered}"))
        }
    }
}

/// Whether no part of the load was measured; zeros in the document are then not figures.
pub(crate) fn is_unmeasured(run: &Run) -> bool {
    let ended = |kind: &KindFigures| kind.committed + kind.rolled_back + kind.failed;
    let any_ended = run.measured.kinds.iter().any(|kind| ended(kind) > 0);
    run.measured.length_s <= 0.0 && !any_ended
}

/// A metric per unit of scale: `548 per warehouse`.
fn per_scale_text(run: &Run, rate: &IndustryMetric) -> String {
    let description = run.workload.description.as_ref();
    let unit = description.and_then(|description| description.scale_unit.as_ref());
    let unit = unit.map_or("unit of scale", |unit| &unit.singular);
    format!("{} per {unit}", units::rate(rate.per_scale))
}

fn write_headline(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    out.line("")?;
    if is_unmeasured(run) {
        out.line(format!("  {}", out.style.bold("Nothing was measured")))?;
    } else {
        for rate in &run.rates {
            let note = rate.note.as_deref();
            let note = note.map_or(String::new(), |note| format!("; {note}"));
            let text = format!(
                "{} {} ({}); {}{note}",
                units::rate(rate.value),
                rate.name,
                rate.title,
                per_scale_text(run, rate),
            );
            let lines = wrap(&plain(&text), out.style.width - 2);
            let (first, later) = lines.split_at(1.min(lines.len()));
            let first = first.iter().map(|line| out.style.bold(line));
            for line in first.chain(later.iter().cloned()) {
                out.line(format!("  {line}"))?;
            }
        }
        let tps = run.measured.all_kinds().map_or(0.0, |all| all.tps);
        let figure = format!("{} transactions/s committed", units::rate(tps));
        out.line(format!("  {}", out.style.bold(&figure)))?;
    }
    out.paragraph(&describe_counts(run))?;
    write_throughput_bars(out, run)?;
    verdict::write_verdict(out, run)
}

/// The number of transactions and their outcomes.
pub(crate) fn describe_counts(run: &Run) -> String {
    outcome_counts(run, Some(describe_in_flight(run)))
}

/// The number of transactions and their outcomes; those in flight at the end are counted only if they are
/// described.
fn outcome_counts(run: &Run, in_flight: Option<String>) -> String {
    if is_unmeasured(run) {
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
        count_with_noun(all.committed, "transaction", "transactions"),
        span(run.measured.length_s)
    );
    if run.window.warmup_s > 0.0 {
        text += &format!(", after {} of warm-up", span(run.window.warmup_s));
    }
    let unfinished = in_flight.as_ref().map_or(0, |_| run.measured.unfinished);
    let in_flight = in_flight.unwrap_or_default();
    let counts = [
        (all.failed, "failed"),
        (all.rolled_back, "rolled back by intent"),
        (all.skipped, "skipped"),
        (unfinished, &*in_flight),
        (run.measured.never_started, "due but never started"),
        (all.retries, "extra tries"),
    ];
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
    if outcomes.is_empty() {
        text
    } else {
        format!("{text} ({})", outcomes.join(", "))
    }
}

/// Writes the throughput as one bar per second of the measured window, with its range.
fn write_throughput_bars(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let is_full_second =
        |second: &&Second| second.phase == SecondPhase::Measured && second.length_s > 0.5;
    let seconds = run.series.iter().filter(is_full_second);
    let tps = seconds.map(|second| second.committed as f64 / second.length_s);
    let tps: Vec<f64> = tps.collect();
    if tps.len() < 3 {
        return Ok(());
    }
    let lowest = units::rate(tps.iter().copied().fold(f64::INFINITY, f64::min));
    let highest = units::rate(tps.iter().copied().fold(0.0, f64::max));
    let bars = sparkline(&tps, out.style.width - 42);
    let range = out
        .style
        .dim(&format!("each second: {lowest} to {highest} /s"));
    out.line(format!("  {bars}  {range}"))
}

/// The name of the server's engine; empty if unknown.
pub(crate) fn engine_name(server: &prony_store::Server) -> String {
    server.engine.map_or("", Engine::name).to_owned()
}

#[cfg(test)]
mod tests;
