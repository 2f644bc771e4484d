//! Errors, events and the findings of checks of a run.
//!
//! In: a Run. Out: tables and lists. Must never: hide an error or a finding.

use super::verdict::severity_format;
use crate::printer::Printer;
use crate::table::Table;
use crate::text::findings::{describe_event, failed_in_warmup, worst_first};
use crate::text::{cut, plain};
use crate::units::count;
use prony_judge::outage::events_with_joined_losses;
use prony_store::{Check, Run, Severity};
use std::io;

/// Width of the columns before the messages in the table of errors.
const WIDTH_BEFORE_MESSAGE: usize = 42;
const MAX_EVENTS: usize = 12;
/// Width of the longest word before a finding, `invalid`.
const WORD_WIDTH: usize = 7;

/// Writes the failed transactions by class and code, and the number of those in the warm-up.
pub fn write_errors(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let warmup_failures = failed_in_warmup(run);
    if run.measured.errors.is_empty() && warmup_failures == 0 {
        return Ok(());
    }
    out.heading("Failed transactions")?;
    if !run.measured.errors.is_empty() {
        let mut table =
            Table::new(&["count"]).with_texts(&["class", "SQLSTATE", "kind", "first message"]);
        let width = out.style.width.saturating_sub(WIDTH_BEFORE_MESSAGE).max(30);
        let mut full_messages = Vec::new();
        for error in &run.measured.errors {
            let (code, example) = (plain(&error.code), plain(&error.example));
            let shown = cut(&example, width);
            // Print a cut message in full: the reason is often at its end.
            full_messages.extend((shown != example).then(|| format!("{code}: {example}")));
            let (class, kind) = (error.class.name().to_owned(), plain(error.kind_name()));
            table.row([count(error.count), class, code, kind, shown]);
        }
        out.table(&table)?;
        for message in full_messages {
            out.item("  ", 2, &message)?;
        }
    }
    if warmup_failures > 0 {
        out.line(format!(
            "  {} in the warm-up, not counted above",
            count(warmup_failures)
        ))?;
    }
    Ok(())
}

pub fn write_events(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    if run.events.is_empty() {
        return Ok(());
    }
    out.heading("Events")?;
    let events = events_with_joined_losses(run);
    for event in events.iter().take(MAX_EVENTS) {
        let event = describe_event(event);
        out.paragraph(&format!("{}: {}", event.when, event.what))?;
    }
    match events.len().saturating_sub(MAX_EVENTS) as u64 {
        0 => Ok(()),
        omitted => out.line(format!(
            "  and {} more in the stored document",
            count(omitted)
        )),
    }
}

pub fn write_checks(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    if run.checks.is_empty() {
        return Ok(());
    }
    out.heading("Checks")?;
    write_check_list(out, &run.checks)
}

/// Writes checks, the worst first. Notes are printed without advice, because they rarely require action.
pub(crate) fn write_check_list(out: &mut Printer<'_>, checks: &[Check]) -> io::Result<()> {
    for check in worst_first(checks) {
        let format = severity_format(check.severity);
        let word = format!("{:<WORD_WIDTH$}", check.word());
        let label = format!("{}  ", format(out.style, &word));
        let finding = format!("{}: {}", plain(&check.id), plain(&check.finding));
        out.item(&label, WORD_WIDTH + 2, &finding)?;
        if check.severity != Severity::Note {
            let indent = " ".repeat(WORD_WIDTH + 4);
            out.item(&indent, indent.len(), &plain(&check.advice))?;
        }
    }
    Ok(())
}
