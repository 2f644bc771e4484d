//! The result of a run, for a person at a terminal.
//!
//! In: a Run. Out: about two screens of text: the main figure, the verdict, then the details. Must never:
//! print a number without its unit, or a percentile that the document does not contain.

mod counts;
pub(crate) mod findings;
pub(crate) mod imported;
pub(crate) mod latency;
pub(crate) mod server;
pub(crate) mod setup;

pub(crate) use counts::{KIND_COLUMNS, kind_rows};

use crate::printer::Printer;
use crate::style::Style;
use crate::text::{plain, sparkline, wrap};
use crate::units::{self, count, count_with_noun, span};
use prony_judge::scope;
use prony_store::{Check, KindFigures, Run, RunState, Second, SecondPart, ServerEngine, Severity};
use std::io::{self, Write};

/// The location of a document.
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

/// Writes the result; `stored` is the location of the document, if it is stored.
pub fn write(
    out: &mut dyn Write,
    style: &Style,
    run: &Run,
    stored: Option<DocumentLocation<'_>>,
) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    if let Some(imported) = &run.imported {
        return imported::write(out, run, imported, stored);
    }
    title(out, run)?;
    headline(out, run)?;
    latency::response(out, run)?;
    latency::split(out, run)?;
    counts::write_kinds(out, run)?;
    counts::write_shares(out, run)?;
    findings::errors(out, run)?;
    findings::events(out, run)?;
    findings::checks(out, run)?;
    server::server(out, run)?;
    setup::client(out, run)?;
    setup::setup(out, run)?;
    crate::reproduced::write(out, run)?;
    setup::write_location(out, stored)
}

fn title(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let workload = &run.workload;
    let title = format!(
        "{}, scale {}, on {} {}",
        plain(&workload.name),
        count(workload.scale.into()),
        engine(&run.server),
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
            let covered = match nothing_measured(run) {
                true => "Nothing was measured.".to_owned(),
                false => format!(
                    "The figures cover the {} that were measured.",
                    span(run.measured.length_s)
                ),
            };
            let reason = run.ended_because.as_deref();
            let reason = plain(reason.unwrap_or("no reason recorded"));
            let reason = reason.trim_end_matches('.');
            Some(format!("PARTIAL RESULT: ended early: {reason}. {covered}"))
        }
    }
}

/// Whether no part of the load was measured; zeros in the document are then not figures.
pub(crate) fn nothing_measured(run: &Run) -> bool {
    let ended = |kind: &KindFigures| kind.committed + kind.rolled_back + kind.failed;
    let any_ended = run.measured.kinds.iter().any(|kind| ended(kind) > 0);
    run.measured.length_s <= 0.0 && !any_ended && run.imported.is_none()
}

fn headline(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    out.line("")?;
    if nothing_measured(run) {
        out.line(format!("  {}", out.style.bold("Nothing was measured")))?;
    } else {
        for rate in &run.rates {
            let note = rate.note.as_deref();
            let note = note.map_or(String::new(), |note| format!("; {note}"));
            let text = format!(
                "{} {} ({}); {} per unit of scale{note}",
                units::rate(rate.value),
                rate.name,
                rate.title,
                units::rate(rate.per_scale),
            );
            let lines = wrap(&plain(&text), out.style.width - 2);
            let (first, later) = lines.split_at(1.min(lines.len()));
            let first = first.iter().map(|line| out.style.bold(line));
            for line in first.chain(later.iter().cloned()) {
                out.line(format!("  {line}"))?;
            }
        }
        let tps = run.measured.all().map_or(0.0, |all| all.tps);
        let figure = format!("{} transactions/s committed", units::rate(tps));
        out.line(format!("  {}", out.style.bold(&figure)))?;
    }
    out.paragraph(&counts(run))?;
    write_throughput_bars(out, run)?;
    verdict(out, run)
}

/// The number of transactions and their outcomes.
pub(crate) fn counts(run: &Run) -> String {
    if nothing_measured(run) {
        return match run.window.warmup_s {
            warmup_s if warmup_s > 0.0 => format!(
                "The measured window had not begun after {} of warm-up.",
                span(warmup_s)
            ),
            _ => "No second of the load was recorded.".to_owned(),
        };
    }
    let empty = KindFigures::default();
    let all = run.measured.all().unwrap_or(&empty);
    let mut text = format!(
        "{} in the {} measured",
        count_with_noun(all.committed, "transaction", "transactions"),
        span(run.measured.length_s)
    );
    if run.window.warmup_s > 0.0 {
        text += &format!(", after {} of warm-up", span(run.window.warmup_s));
    }
    let in_flight = in_flight(run);
    let counts = [
        (all.failed, "failed"),
        (all.rolled_back, "rolled back by intent"),
        (all.skipped, "skipped"),
        (run.measured.unfinished, &*in_flight),
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
fn in_flight(run: &Run) -> String {
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
    match outcomes.is_empty() {
        true => text,
        false => format!("{text} ({})", outcomes.join(", ")),
    }
}

/// Writes whether the figures can be used, and the ids of the checks with findings.
fn verdict(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let Some((worst, text)) = verdict_text(run) else {
        return Ok(());
    };
    let look = match worst {
        Severity::Invalid => Style::alarm,
        Severity::Caveat => Style::caution,
        Severity::Note => Style::dim,
    };
    for line in wrap(&text, out.style.width - 2) {
        out.line(format!("  {}", look(out.style, &line)))?;
    }
    Ok(())
}

/// What a run was found to be by earlier rules.
#[derive(Clone, Debug, Default)]
pub struct FormerJudgement {
    /// Version of those rules; absent if the run was not judged, or before version 2.0 of the document.
    pub rules_version: Option<u32>,
    /// The findings.
    pub checks: Vec<Check>,
}

/// Writes the verdict and the findings on a run, and how they differ from earlier ones.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_judgement(
    out: &mut dyn Write,
    style: &Style,
    run: &Run,
    former: &FormerJudgement,
) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    let version = |version: Option<u32>| match version {
        Some(version) => format!("rules of version {version}"),
        None => "no recorded rules".to_owned(),
    };
    out.line(format!(
        "{}, judged by {}",
        plain(&run.id),
        version(run.rules_version)
    ))?;
    verdict(out, run)?;
    findings::checks(out, run)?;
    let missing_in = |these: &[Check], others: &[Check]| -> Vec<String> {
        let is_missing = |check: &&Check| {
            let same = |other: &Check| (&other.id, other.severity) == (&check.id, check.severity);
            !others.iter().any(same)
        };
        let missing = these.iter().filter(is_missing);
        missing
            .map(|check| format!("{} ({})", plain(&check.id), check.severity.name()))
            .collect()
    };
    let added = missing_in(&run.checks, &former.checks);
    let gone = missing_in(&former.checks, &run.checks);
    let differences = [("new", added), ("no longer found", gone)];
    let differences = differences.iter().filter(|(_, ids)| !ids.is_empty());
    let differences: Vec<String> = differences
        .map(|(label, ids)| format!("{label}: {}", ids.join(", ")))
        .collect();
    let text = match differences.is_empty() {
        true => "the same findings".to_owned(),
        false => differences.join("; "),
    };
    out.line("")?;
    out.paragraph(&format!(
        "Against {}: {text}.",
        version(former.rules_version)
    ))
}

/// The ids of the checks of this severity.
pub(crate) fn check_ids(run: &Run, severity: Severity) -> Vec<String> {
    let checks = run.checks.iter().filter(|check| check.severity == severity);
    checks.map(|check| plain(&check.id)).collect()
}

/// The worst severity and a sentence with the verdict; `None` for a run in progress, which has not been
/// checked. The verdict names the checks that raise doubts about the measurement; a second sentence states
/// the scope of the figure.
pub(crate) fn verdict_text(run: &Run) -> Option<(Severity, String)> {
    let invalid = check_ids(run, Severity::Invalid);
    if !invalid.is_empty() {
        let consequence = match nothing_measured(run) {
            true => "there is no figure",
            false => "this figure must not be used",
        };
        let ids = invalid.join(", ");
        let text = format!("Invalid ({ids}): {consequence}, see the checks below.");
        return Some((Severity::Invalid, text));
    }
    let doubts: Vec<String> = run
        .checks
        .iter()
        .filter(|check| check.is_doubt())
        .map(|check| plain(&check.id))
        .collect();
    let limits = scope::limits(&run.checks);
    let (severity, verdict) = match (run.state, doubts.len()) {
        (RunState::Running, _) => return None,
        (RunState::Partial, 0) if run.checks.is_empty() => (
            Severity::Caveat,
            "Not judged, and partial: the run ended early.".to_owned(),
        ),
        (RunState::Partial, 0) => (
            Severity::Caveat,
            "Partial: the run ended early; no other problems were found.".to_owned(),
        ),
        (RunState::Complete, 0) => (Severity::Note, "Valid: no problems were found.".to_owned()),
        (_, number) => {
            let number = doubt_count(run, number);
            let text = format!("Valid, with {number}: {}.", doubts.join(", "));
            (Severity::Caveat, text)
        }
    };
    let text = match limits.is_empty() {
        true => verdict,
        false => format!("{verdict} Scope: {}.", limits.join("; ")),
    };
    Some((severity, text))
}

/// The number of findings that cast doubt on a run: `2 doubts`. Rules before version 2 did not tell doubt from scope.
pub(crate) fn doubt_count(run: &Run, number: usize) -> String {
    match run.checks.iter().any(|check| check.kind.is_some()) {
        true => count_with_noun(number as u64, "doubt", "doubts"),
        false => count_with_noun(number as u64, "caveat", "caveats"),
    }
}

/// Writes the throughput as one bar per second of the measured window, with its range.
fn write_throughput_bars(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let is_full_second =
        |second: &&Second| second.part == SecondPart::Measured && second.length_s > 0.5;
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
pub(crate) fn engine(server: &prony_store::Server) -> String {
    plain(server.engine.as_ref().map_or("", ServerEngine::name))
}

#[cfg(test)]
mod tests;
