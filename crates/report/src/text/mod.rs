//! What terminal and pages say in the same words, one file for each topic. This file fits text to a line, and makes text
//! from outside safe to print.
//!
//! In: text, partly from a server. Out: text without control characters, in lines of a given width. Must
//! never: let a server's message control the terminal.

pub(crate) mod answer;
pub(crate) mod captured;
pub(crate) mod comparison;
pub(crate) mod counts;
pub(crate) mod difference;
pub(crate) mod drill;
pub(crate) mod endpoints;
pub(crate) mod findings;
pub(crate) mod latency;
pub(crate) mod machines;
pub(crate) mod outage;
pub(crate) mod prices;
pub(crate) mod replay;
pub(crate) mod scenario;
pub(crate) mod server;
pub(crate) mod setup;
pub(crate) mod statements;
pub(crate) mod sweep;
pub(crate) mod trend;
pub(crate) mod verdict;

use crate::table::Table;
use crate::visible::{is_control, push_escaped};
pub(crate) use prony_judge::formatting::joined;

/// A table of a result, and what its columns mean.
pub(crate) struct TableSection {
    pub heading: &'static str,
    /// `None` if the text says why there are no figures.
    pub table: Option<Table>,
    pub text: String,
}

/// The text on one line, with its control characters visible (see [`crate::visible`]): line breaks and
/// tabs become spaces, so that an error message of a server can neither move the cursor nor break a table.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            c if is_control(c) => push_escaped(&mut out, c),
            c => out.push(c),
        }
    }
    out
}

/// The text cut to `width` characters, with an ellipsis if something was cut.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// The text in lines of at most `width` characters; a longer word gets a line to itself.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    // A plain space may break a line; a no-break space keeps a number and its unit together.
    for word in text.split([' ', '\n']).filter(|word| !word.is_empty()) {
        let fits = line.chars().count() + 1 + word.chars().count() <= width;
        if !line.is_empty() && !fits {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// A row of bars, one per value, scaled to the largest value; a zero is a space. If there are more
/// than `width` values, adjacent values are replaced by their mean.
pub fn sparkline(values: &[f64], width: usize) -> String {
    let width = width.min(values.len());
    let means: Vec<Option<f64>> = (0..width)
        .map(|i| {
            let (from, to) = (i * values.len() / width, (i + 1) * values.len() / width);
            Some(values[from..to].iter().sum::<f64>() / (to - from) as f64)
        })
        .collect();
    let top = means.iter().flatten().copied().fold(0.0, f64::max);
    bars(&means, top)
}

/// One bar per value, with a full bar for `top`; zeros and unknown values are spaces.
pub fn bars(values: &[Option<f64>], top: f64) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bar = |value: &Option<f64>| match value {
        Some(value) if *value > 0.0 && top > 0.0 => {
            BARS[((value / top * 7.0).round() as usize).min(7)]
        }
        _ => ' ',
    };
    values.iter().map(bar).collect()
}

/// The text with each character replaced by an ASCII character, for terminals without Unicode.
pub fn ascii(text: &str) -> String {
    let plain = |c: char| match c {
        '▁' => '.',
        '▂' => ':',
        '▃' => '-',
        '▄' => '=',
        '▅' => '+',
        '▆' => '*',
        '▇' => '%',
        '█' | '━' => '#',
        '─' | '–' => '-',
        'µ' => 'u',
        '…' => '~',
        '\u{a0}' => ' ',
        c if c.is_ascii() => c,
        _ => '?',
    };
    text.chars().map(plain).collect()
}

/// The number of visible characters, without the codes for colour and weight.
pub fn visible_width(text: &str) -> usize {
    let mut width = 0;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        if c == '\x1b' {
            // ECMA-48: a control sequence ends with a letter.
            characters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            width += 1;
        }
    }
    width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_message_cannot_control_the_terminal() {
        assert_eq!(plain("bad\x1b[2J\r\nthing\x07"), "bad\\x1b[2J  thing\\x07");
        assert_eq!(plain("12\u{202e}34"), "12\\u202e34");
    }

    #[test]
    fn wrapped_lines_fit_the_width_and_contain_all_words() {
        let text = "more threads, or fewer clients per thread, or a second client machine";
        let lines = wrap(text, 20);
        assert!(lines.iter().all(|line| line.chars().count() <= 20));
        assert_eq!(lines.join(" "), text);
        assert_eq!(wrap("abcdefghij k", 4), ["abcdefghij", "k"]);
        assert_eq!(wrap("", 4), Vec::<String>::new());
    }

    #[test]
    fn ascii_preserves_the_width_and_codes_have_no_width() {
        let text = "━─ 12 µs ▁▄█…é";
        assert_eq!(ascii(text), "#- 12 us .=#~?");
        assert_eq!(visible_width(text), 14);
        assert_eq!(visible_width("\x1b[1;31mab\x1b[0m c"), 4);
        assert_eq!(bars(&[Some(0.5), None, Some(0.0), Some(9.0)], 1.0), "▅  █");
        assert_eq!(bars(&[Some(1.0)], 0.0), " ");
    }

    #[test]
    fn cut_counts_characters_not_bytes() {
        assert_eq!(cut("µµµµ", 4), "µµµµ");
        assert_eq!(cut("µµµµµ", 4), "µµµ…");
    }

    #[test]
    fn sparklines_scale_to_the_largest_value_and_to_the_width() {
        assert_eq!(sparkline(&[0.0, 50.0, 100.0], 10), " ▅█");
        assert_eq!(sparkline(&[100.0, 100.0, 0.0, 0.0], 2), "█ ");
        assert_eq!(sparkline(&[100.0, 0.1, 0.0, 100.0], 4), "█▁ █");
        assert_eq!(sparkline(&[0.0, 0.0], 4), "  ");
        assert_eq!(sparkline(&[], 4), "");
    }
}
