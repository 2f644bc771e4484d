//! The result of a drill: on a terminal at most [`DRILL_LINES`] lines.
//!
//! In: a Run. Out: whether it meets what is required, what was done and what came of it, and the command that prints the
//! rest.

use super::first_screen::{StoredRun, answer, last_line, title};
use super::paragraph::{Paragraph, write_fitted};
use super::verdict::severity_format;
use crate::printer::Printer;
use crate::text::drill::drill_facts;
use crate::text::verdict::{incomplete_notice, verdict_sentence};
use prony_store::{Run, Severity};
use std::io;

pub const DRILL_LINES: usize = 15;

/// The facts that keep a line of their own when the screen is small.
const MAIN_FACTS: [&str; 4] = ["done", "outage", "back", "account"];

pub(super) fn write(
    out: &mut Printer<'_>,
    run: &Run,
    stored: Option<StoredRun<'_>>,
) -> io::Result<()> {
    let width = out.style.width;
    let mut paragraphs = answer(run, width);
    paragraphs.retain(|paragraph| paragraph.lines != [""]);
    paragraphs.push(title(run, width));
    paragraphs.extend(incomplete_notice(run).map(|notice| Paragraph::text(&notice, width, 1)));
    paragraphs.extend(drill_facts(run).into_iter().map(|(label, text)| {
        let is_main = MAIN_FACTS.contains(&label);
        let paragraph = Paragraph::labelled(label, &text, width, 2);
        paragraph.with_rank(if is_main { 4 } else { 2 })
    }));
    let is_doubtful = |severity| severity != Severity::Note;
    let verdict = verdict_sentence(run).filter(|verdict| is_doubtful(verdict.severity));
    paragraphs.extend(verdict.map(|verdict| {
        Paragraph::labelled("verdict", &verdict.text, width, 2)
            .with_format(severity_format(verdict.severity))
    }));
    write_fitted(out, paragraphs, DRILL_LINES - 1)?;
    out.line(last_line(run, stored, width))
}
