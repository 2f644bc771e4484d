//! Paragraphs of a screen with a limited number of lines.
//!
//! In: text. Out: wrapped lines; paragraphs that matter less lose lines first. Must never: cut a word.

use crate::printer::Printer;
use crate::style::Style;
use crate::text::wrap;
use std::io;

/// Width of the labels `doubt`, `also`, `scope`, `limit`, `advice` and `note` with the gap behind them, in characters.
const LABEL_WIDTH: usize = 8;
/// Marks a text that is continued in the full result.
const CONTINUED: &str = " …";

/// Lines of the screen that belong together.
pub(super) struct Paragraph {
    /// Wrapped lines without escape codes.
    pub lines: Vec<String>,
    /// If the screen has too many lines, those above this number are cut first.
    pub max_lines: usize,
    /// The number of lines that stay if the screen has too many.
    pub min_lines: usize,
    /// Paragraphs with a lower rank lose lines first.
    pub rank: u8,
    /// Formats each line, such as [`Style::bold`].
    pub format: fn(&Style, &str) -> String,
}

impl Paragraph {
    /// A paragraph of one line, which always stays.
    pub fn line(text: String) -> Paragraph {
        Paragraph {
            lines: vec![text],
            max_lines: 1,
            min_lines: 1,
            rank: u8::MAX,
            format: |_, line| line.to_owned(),
        }
    }

    pub fn gap() -> Paragraph {
        Paragraph {
            min_lines: 0,
            rank: 5,
            ..Paragraph::line(String::new())
        }
    }

    /// Text in lines of `width` characters, on a full screen at most `max_lines`.
    pub fn text(text: &str, width: usize, max_lines: usize) -> Paragraph {
        Paragraph {
            lines: wrap(text, width),
            max_lines,
            min_lines: 1,
            rank: 3,
            format: |_, line| line.to_owned(),
        }
    }

    /// Text, as [`Paragraph::text`], that is indented by two columns.
    pub fn indented(text: &str, width: usize, max_lines: usize) -> Paragraph {
        let mut paragraph = Paragraph::text(text, width - 2, max_lines);
        for line in &mut paragraph.lines {
            line.insert_str(0, "  ");
        }
        paragraph
    }

    /// Text behind a label, indented like it.
    pub fn labelled(label: &str, text: &str, width: usize, max_lines: usize) -> Paragraph {
        let mut paragraph = Paragraph::text(text, width.saturating_sub(LABEL_WIDTH + 2), max_lines);
        for (row, line) in paragraph.lines.iter_mut().enumerate() {
            let label = if row == 0 { label } else { "" };
            *line = format!("  {label:<LABEL_WIDTH$}{line}");
        }
        paragraph
    }

    pub fn with_format(self, format: fn(&Style, &str) -> String) -> Paragraph {
        Paragraph { format, ..self }
    }

    pub fn with_rank(self, rank: u8) -> Paragraph {
        Paragraph { rank, ..self }
    }

    /// Removes the last line.
    fn shorten(&mut self, width: usize) {
        let kept = self.lines.len().saturating_sub(1);
        self.lines = first_lines(&self.lines, kept, width);
    }
}

/// The first `max_lines` lines of a wrapped text; the last one ends in [`CONTINUED`] if lines are missing.
fn first_lines(lines: &[String], max_lines: usize, width: usize) -> Vec<String> {
    let mut kept: Vec<String> = lines.iter().take(max_lines).cloned().collect();
    if lines.len() <= max_lines {
        return kept;
    }
    let Some(last) = kept.last_mut() else {
        return kept;
    };
    let mut end = last.trim_end_matches(CONTINUED).trim_end();
    while end.chars().count() + CONTINUED.chars().count() > width {
        let Some((shorter, _)) = end.rsplit_once(' ') else {
            break;
        };
        end = shorter.trim_end();
    }
    *last = format!("{end}{CONTINUED}");
    kept
}

pub(super) fn write(out: &mut Printer<'_>, paragraphs: &[Paragraph]) -> io::Result<()> {
    for paragraph in paragraphs {
        for line in &paragraph.lines {
            out.line((paragraph.format)(out.style, line))?;
        }
    }
    Ok(())
}

/// Shortens paragraphs until they have `max_lines` lines together, first those that are above their own limit.
/// Nothing is cut if all of them fit.
pub(super) fn fit(paragraphs: &mut [Paragraph], max_lines: usize, width: usize) {
    loop {
        let lines: usize = paragraphs
            .iter()
            .map(|paragraph| paragraph.lines.len())
            .sum();
        let can_shorten = |paragraph: &&mut Paragraph| paragraph.lines.len() > paragraph.min_lines;
        let paragraphs = paragraphs.iter_mut();
        let least_important = paragraphs.filter(can_shorten).min_by_key(|paragraph| {
            let is_within_limit = paragraph.lines.len() <= paragraph.max_lines;
            (is_within_limit, paragraph.rank)
        });
        match least_important {
            Some(paragraph) if lines > max_lines => paragraph.shorten(width),
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_cut_only_for_want_of_space() {
        let lines = |max_lines| {
            let mut paragraphs = [
                Paragraph::text("one two three four", 9, 1),
                Paragraph::text("five six seven eight", 9, 2).with_rank(0),
            ];
            fit(&mut paragraphs, max_lines, 9);
            paragraphs.map(|paragraph| paragraph.lines.join("/"))
        };
        let [one, five] = lines(6);
        assert_eq!(
            (&*one, &*five),
            ("one two/three/four", "five six/seven/eight")
        );
        let [one, five] = lines(5);
        assert_eq!((&*one, &*five), ("one two/three/four", "five six/seven …"));
        // The other one is above its own limit.
        let [one, five] = lines(4);
        assert_eq!((&*one, &*five), ("one two/three …", "five six/seven …"));
    }
}
