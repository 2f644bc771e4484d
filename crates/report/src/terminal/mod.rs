//! The result of a run, for a person at a terminal.
//!
//! In: a Run. Out: its first screen, or the full result of about three screens: the main figure, the verdict, then
//! the details. Must never: print a number without its unit, or a percentile that the document does not contain.

mod counts;
mod drill;
pub(crate) mod findings;
mod first_screen;
mod latency;
mod paragraph;
pub(crate) mod reproduced;
mod verdict;

pub use drill::{DRILL_LINES, write_drill};
pub use first_screen::{MAX_LINES, StoredRun, write_first_screen};
pub use verdict::{FormerJudgement, write_judgement};

use crate::printer::Printer;
use crate::style::Style;
use crate::text::answer::{answer_format, answer_lines};
use crate::text::captured::captured_mix;
use crate::text::counts::{describe_counts, per_scale_text, throughput_by_second, throughput_text};
use crate::text::drill::drill_facts;
use crate::text::endpoints::endpoints;
use crate::text::machines::machines;
use crate::text::outage::outage_text;
use crate::text::server::describe_server;
use crate::text::setup::{client_health_sentences, server_name, setup_lines};
use crate::text::statements::statements;
use crate::text::verdict::incomplete_notice;
use crate::text::{TableSection, plain, sparkline, wrap};
use crate::units::{self, count};
use prony_store::{Answer, Run};
use std::io::{self, Write};

/// Width of the range beside the bars of the throughput, with the gaps around it.
const WIDTH_BESIDE_BARS: usize = 42;

/// Where the document of a result is.
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
    ReadFrom { document: &'a str },
}

/// Writes the full result; `stored` is the location of the document, if it is stored.
pub fn write_full(
    out: &mut dyn Write,
    style: &Style,
    run: &Run,
    stored: Option<DocumentLocation<'_>>,
) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    if let Some(answer) = &run.answer {
        write_answer(out, "", answer)?;
        out.line("")?;
    }
    write_title(out, run)?;
    write_headline(out, run)?;
    latency::write_response_times(out, run)?;
    latency::write_service_time_parts(out, run)?;
    write_section(out, captured_mix(run))?;
    write_section(out, statements(run))?;
    write_section(out, endpoints(run))?;
    write_section(out, machines(run))?;
    counts::write_kinds(out, run)?;
    counts::write_shares(out, run)?;
    write_drill_facts(out, run)?;
    findings::write_errors(out, run)?;
    findings::write_events(out, run)?;
    findings::write_checks(out, run)?;
    write_server(out, run)?;
    out.heading("This client")?;
    out.paragraphs(client_health_sentences(run))?;
    out.heading("Set-up")?;
    out.named(9, &setup_lines(run))?;
    reproduced::write(out, run)?;
    write_location(out, stored)
}

/// Writes whether everything that was required is met, with a line for each requirement.
pub(crate) fn write_answer(out: &mut Printer<'_>, prefix: &str, answer: &Answer) -> io::Result<()> {
    for (row, line) in answer_lines(answer).iter().enumerate() {
        match row {
            0 => out.wrapped(answer_format(answer.verdict), &format!("{prefix}{line}"))?,
            _ => out.paragraph(line.trim_start())?,
        }
    }
    Ok(())
}

fn write_title(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let workload = &run.workload;
    let title = format!(
        "{}, scale {}, on {}",
        plain(workload.display_name()),
        count(workload.scale.into()),
        server_name(&run.server),
    );
    out.wrapped(Style::bold, &title)?;
    out.wrapped(Style::dim, &plain(&workload.title))?;
    match incomplete_notice(run) {
        Some(notice) => out.wrapped(Style::caution, &notice),
        None => Ok(()),
    }
}

fn write_headline(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    out.line("")?;
    if run.measured.is_empty() {
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
            for (row, line) in wrap(&plain(&text), out.style.width - 2).iter().enumerate() {
                match row {
                    0 => out.line(format!("  {}", out.style.bold(line)))?,
                    _ => out.line(format!("  {line}"))?,
                }
            }
        }
        let figure = throughput_text(run);
        out.line(format!("  {}", out.style.bold(&figure)))?;
    }
    out.paragraph(&describe_counts(run))?;
    out.paragraphs(outage_text(run))?;
    write_throughput_bars(out, run)?;
    verdict::write_verdict(out, run)
}

/// Writes the throughput as one bar per second of the measured window, with its range.
fn write_throughput_bars(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let Some(throughput) = throughput_by_second(run) else {
        return Ok(());
    };
    let bars = sparkline(&throughput.tps, out.style.width - WIDTH_BESIDE_BARS);
    let range = format!("each second: {} /s", throughput.range);
    out.line(format!("  {bars}  {}", out.style.dim(&range)))
}

pub(crate) fn write_section(
    out: &mut Printer<'_>,
    section: Option<TableSection>,
) -> io::Result<()> {
    let Some(section) = section else {
        return Ok(());
    };
    out.heading(section.heading)?;
    if let Some(table) = &section.table {
        out.table(table)?;
    }
    out.paragraph(&section.text)
}

/// Writes what a drill did and what came of it; nothing of a run that is none.
fn write_drill_facts(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let facts = drill_facts(run).into_iter();
    let facts: Vec<_> = facts.map(|fact| (fact.label, fact.full)).collect();
    if facts.is_empty() {
        return Ok(());
    }
    out.heading("What was done, and what came of it")?;
    out.named(9, &facts)
}

/// Writes the observations of the server; nothing if the run's server was not observed.
fn write_server(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let Some(observed) = &run.observed else {
        return Ok(());
    };
    out.heading("The server, in the measured window")?;
    if let Some(reason) = &observed.off {
        return out.paragraph(&format!("not observed: {}", plain(reason)));
    }
    out.paragraphs(describe_server(run, observed))
}

fn write_location(out: &mut Printer<'_>, stored: Option<DocumentLocation<'_>>) -> io::Result<()> {
    out.line("")?;
    match stored {
        Some(DocumentLocation::JustStored { place, id }) => {
            out.line(format!("Stored in {}", plain(place)))?;
            out.line(format!("Show it again with: prony show {}", plain(id)))
        }
        Some(DocumentLocation::ReadFrom { document }) => {
            out.line(format!("Read from {}", plain(document)))
        }
        None => out.line("Not stored."),
    }
}

#[cfg(test)]
mod tests;
