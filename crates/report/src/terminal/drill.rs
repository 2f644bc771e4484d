//! The result of a drill: at most [`DRILL_LINES`] lines, each a line of the terminal, also in a file or a pipe.
//!
//! In: a Run. Out: whether it meets what is required, what was done and what came of it, and the command that prints the
//! rest. Must never: wrap a line, except those that answer what is required: their reasons are at the end.

use super::first_screen::{StoredRun, answer, last_line, title};
use super::paragraph::{self, Paragraph, fit};
use super::verdict::severity_format;
use crate::printer::Printer;
use crate::style::Style;
use crate::text::drill::drill_facts;
use crate::text::verdict::{incomplete_notice, verdict_sentence};
use prony_store::{Run, Severity};
use std::io::{self, Write};

pub const DRILL_LINES: usize = 15;
/// The most lines of the answer to one requirement.
const ANSWER_LINES: usize = 3;
/// The ranks of the facts that go if there are too many lines, the first to go first; the others stay. Rank 1 is that of
/// what is required besides the worst.
const RANKS: [(&str, u8); 6] = [
    ("limits", 0),
    ("errors", 3),
    ("permits", 4),
    ("seen", 5),
    ("server", 6),
    ("waited", 7),
];
/// The rank of an answer that wraps: `limits` and `errors` go before its reason is cut.
const REASON_RANK: u8 = 4;

/// Writes the result of a drill, in at most [`DRILL_LINES`] lines.
pub fn write_drill(
    out: &mut dyn Write,
    style: &Style,
    run: &Run,
    stored: Option<StoredRun<'_>>,
) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    let width = style.width;
    let mut paragraphs = answer(run, width);
    // Every line counts: without the empty one below the answer.
    paragraphs.retain(|paragraph| paragraph.lines != [""]);
    let answer_count = paragraphs.len();
    paragraphs.push(title(run, width));
    paragraphs.extend(incomplete_notice(run).map(|notice| Paragraph::text(&notice, width, 1)));
    paragraphs.extend(drill_facts(run).into_iter().map(|fact| {
        let paragraph = Paragraph::labelled(fact.label, &fact.brief, width, 1);
        match RANKS.iter().find(|(label, _)| *label == fact.label) {
            Some((_, rank)) => Paragraph {
                min_lines: 0,
                ..paragraph.with_rank(*rank)
            },
            None => paragraph.with_rank(u8::MAX),
        }
    }));
    let is_doubtful = |severity| severity != Severity::Note;
    let verdict = verdict_sentence(run).filter(|verdict| is_doubtful(verdict.severity));
    paragraphs.extend(verdict.map(|verdict| {
        Paragraph::labelled("verdict", &verdict.text, width, 1)
            .with_format(severity_format(verdict.severity))
    }));
    let (answers, others) = paragraphs.split_at_mut(answer_count);
    for answer in answers {
        answer.max_lines = ANSWER_LINES;
        if answer.lines.len() > 1 {
            answer.rank = REASON_RANK;
        }
    }
    for paragraph in others {
        paragraph.max_lines = 1;
    }
    fit(&mut paragraphs, DRILL_LINES - 1, width);
    paragraph::write(out, &paragraphs)?;
    out.line(last_line(run, stored, width))
}
