//! The result of a run, for a person at a terminal.
//!
//! In: a Run. Out: about two screens of text, the figure that matters first, then whether it can be
//! trusted, then where it came from. Must never: print a number without its unit, or a percentile
//! that the document does not hold.

pub(crate) mod around;
pub(crate) mod imported;
mod latency;
pub(crate) mod server;

pub(crate) use around::check_lines;

use crate::style::Style;
use crate::text::{plain, sparkline, wrap};
use crate::units;
use prony_store::{Run, Severity, State};
use std::io::{self, Write};

/// Where a document is.
#[derive(Clone, Copy, Debug)]
pub enum Stored<'a> {
    /// It was stored by this very call.
    Now {
        /// The file or folder, for a person.
        place: &'a str,
        /// What `prony show` takes to show it again.
        id: &'a str,
    },
    /// It was there before.
    Before {
        /// Its file.
        document: &'a str,
    },
}

/// Writes the result. `stored` says where the document is, if it is stored.
pub fn write(
    out: &mut dyn Write,
    style: &Style,
    run: &Run,
    stored: Option<Stored<'_>>,
) -> io::Result<()> {
    if let Some(imported) = &run.imported {
        return imported::write(out, style, run, imported, stored);
    }
    title(out, style, run)?;
    headline(out, style, run)?;
    latency::response(out, style, run)?;
    latency::split(out, style, run)?;
    around::kinds(out, style, run)?;
    around::shares(out, style, run)?;
    around::errors(out, style, run)?;
    around::events(out, style, run)?;
    around::checks(out, style, run)?;
    server::server(out, style, run)?;
    around::client(out, style, run)?;
    around::setup(out, style, run)?;
    crate::reproduced::write(out, style, run)?;
    around::place(out, stored)
}

fn title(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    let workload = &run.workload;
    let what = format!(
        "{}, scale {}, on {} {}",
        plain(&workload.name),
        units::count(u64::from(workload.scale)),
        engine(&run.server.engine),
        plain(run.server.version.split(" (").next().unwrap_or_default()),
    );
    for line in wrap(&what, style.width) {
        writeln!(out, "{}", style.bold(&line))?;
    }
    for line in wrap(&plain(&workload.title), style.width) {
        writeln!(out, "{}", style.dim(&line))?;
    }
    if let Some(early) = early(run) {
        for line in wrap(&early, style.width) {
            writeln!(out, "{}", style.caution(&line))?;
        }
    }
    Ok(())
}

/// That a run did not come to its planned end.
pub(crate) fn early(run: &Run) -> Option<String> {
    let why = run.ended_because.as_deref().unwrap_or("no reason recorded");
    match run.state {
        State::Complete => None,
        State::Running => Some(
            "STILL RUNNING, or killed without a chance to say so: these figures cover what was \
             measured up to the last second."
                .to_owned(),
        ),
        State::Partial => {
            let covered = match nothing_measured(run) {
                true => "Nothing was measured.".to_owned(),
                false => format!(
                    "The figures cover the {} that were measured.",
                    units::span(run.measured.seconds)
                ),
            };
            let why = plain(why);
            let why = why.trim_end_matches('.');
            Some(format!("PARTIAL RESULT: ended early: {why}. {covered}"))
        }
    }
}

/// Whether no part of the load was measured: then zeros are no figures.
pub(crate) fn nothing_measured(run: &Run) -> bool {
    let ended = |kind: &prony_store::KindFigures| kind.committed + kind.rolled_back + kind.failed;
    let any = run.measured.kinds.iter().any(|kind| ended(kind) > 0);
    run.measured.seconds <= 0.0 && !any && run.imported.is_none()
}

fn headline(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    let empty = Default::default();
    let all = run.measured.kinds.first().unwrap_or(&empty);
    let nothing = nothing_measured(run);
    let figure = match nothing {
        true => "Nothing was measured".to_owned(),
        false => format!("{} transactions/s committed", units::rate(all.tps)),
    };
    writeln!(out)?;
    for rate in run.rates.iter().filter(|_| !nothing) {
        let note = rate
            .note
            .as_deref()
            .map_or(String::new(), |note| format!("; {note}"));
        let name = format!("{} {}", units::rate(rate.value), plain(&rate.name));
        let rest = format!(
            " ({}); {} for each unit of scale{}",
            plain(&rate.title),
            units::rate(rate.per_scale),
            plain(&note)
        );
        for (number, line) in wrap(&(name + &rest), style.width - 2).iter().enumerate() {
            let line = if number == 0 {
                style.bold(line)
            } else {
                line.clone()
            };
            writeln!(out, "  {line}")?;
        }
    }
    writeln!(out, "  {}", style.bold(&figure))?;
    for line in wrap(&counts(run), style.width - 2) {
        writeln!(out, "  {line}")?;
    }
    pace(out, style, run)?;
    verdict(out, style, run)
}

/// How many transactions there were, and how they ended.
pub(crate) fn counts(run: &Run) -> String {
    if nothing_measured(run) {
        return match run.window.warmup_s {
            warmup_s if warmup_s > 0.0 => format!(
                "The measured window had not begun after {} of warm-up.",
                units::span(warmup_s)
            ),
            _ => "No second of its load was recorded.".to_owned(),
        };
    }
    let empty = Default::default();
    let all = run.measured.kinds.first().unwrap_or(&empty);
    let mut counted = format!(
        "{} in the {} measured",
        units::counted(all.committed, "transaction", "transactions"),
        units::span(run.measured.seconds)
    );
    if run.window.warmup_s > 0.0 {
        counted += &format!(", after {} of warm-up", units::span(run.window.warmup_s));
    }
    let counts = [
        (all.failed, "failed"),
        (all.rolled_back, "rolled back by intent"),
        (all.skipped, "skipped"),
        (run.measured.unfinished, "in flight at the end, not counted"),
        (run.measured.never_started, "due but never started"),
        (all.retries, "extra tries"),
    ];
    // That nothing failed is worth a word; that nothing was skipped is not.
    for (number, what) in counts {
        if number > 0 || what == "failed" {
            counted += &format!("; {} {what}", units::count(number));
        }
    }
    counted
}

/// Whether it can be used, and what stands against it, by name.
fn verdict(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    let Some((worst, text)) = verdict_words(run) else {
        return Ok(());
    };
    for line in wrap(&text, style.width - 2) {
        let line = match worst {
            Severity::Invalid => style.alarm(&line),
            Severity::Caveat => style.caution(&line),
            Severity::Note => style.dim(&line),
        };
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

/// The worst that stands against a run, and the verdict in words; nothing for one that goes on and
/// has not been judged.
pub(crate) fn verdict_words(run: &Run) -> Option<(Severity, String)> {
    let named = |severity| {
        let of_it = run.checks.iter().filter(|check| check.severity == severity);
        of_it.map(|check| plain(&check.id)).collect::<Vec<_>>()
    };
    let (invalid, caveats) = (named(Severity::Invalid), named(Severity::Caveat));
    if !invalid.is_empty() {
        let what = invalid.join(", ");
        let which = match nothing_measured(run) {
            true => "there is no figure",
            false => "this figure must not be used",
        };
        let text = format!("Invalid ({what}): {which}, see the checks below.");
        return Some((Severity::Invalid, text));
    }
    if run.state == State::Running {
        return None;
    }
    if caveats.is_empty() && run.state == State::Partial {
        let text = match run.checks.is_empty() {
            true => "Not judged, and partial: the run ended early.",
            false => "Partial: the run ended early; nothing else was found against it.",
        };
        return Some((Severity::Caveat, text.to_owned()));
    }
    if caveats.is_empty() {
        let text = "Valid: nothing was found against it.".to_owned();
        return Some((Severity::Note, text));
    }
    let count = units::counted(caveats.len() as u64, "caveat", "caveats");
    let text = format!("Valid, with {count}: {}.", caveats.join(", "));
    Some((Severity::Caveat, text))
}

/// How steady it was: one bar a second of the measured window.
fn pace(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    let full = |second: &&prony_store::Second| second.part == "measured" && second.seconds > 0.5;
    let tps: Vec<f64> = run
        .series
        .iter()
        .filter(full)
        .map(|second| second.committed as f64 / second.seconds)
        .collect();
    if tps.len() < 3 {
        return Ok(());
    }
    let least = tps.iter().copied().fold(f64::INFINITY, f64::min);
    let most = tps.iter().copied().fold(0.0, f64::max);
    writeln!(
        out,
        "  {}  {}",
        sparkline(&tps, style.width - 42),
        style.dim(&format!(
            "each second: {} to {} /s",
            units::rate(least),
            units::rate(most)
        )),
    )
}

pub(crate) fn engine(name: &str) -> String {
    match name {
        "postgresql" => "PostgreSQL".into(),
        "mysql" => "MySQL".into(),
        "mariadb" => "MariaDB".into(),
        "sqlserver" => "SQL Server".into(),
        other => plain(other),
    }
}

pub(crate) fn heading(out: &mut dyn Write, style: &Style, text: &str) -> io::Result<()> {
    writeln!(out)?;
    for line in wrap(text, style.width) {
        writeln!(out, "{}", style.bold(&line))?;
    }
    Ok(())
}

pub(crate) fn paragraph(out: &mut dyn Write, style: &Style, text: &str) -> io::Result<()> {
    for line in wrap(text, style.width - 2) {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
