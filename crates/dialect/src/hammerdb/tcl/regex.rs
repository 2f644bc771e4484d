//! The commands `regexp` and `regsub`.
//!
//! In: the arguments of a command. Out: matches, or the changed text. Must never: take exponential time (the
//! crate `regex` takes time in proportion to pattern and text), or search for a further match without
//! checking whether the script may continue.
//!
//! The crate's syntax differs from Tcl's advanced regular expressions: there are no back references and no
//! look-ahead, which are errors; and if several alternatives match at a position, the crate uses the first,
//! Tcl the longest.

use regex::{Captures, Regex, RegexBuilder};

use super::interp::{Interp, check_length, error, wrong_args};
use super::number::require_integer;
use super::{Call, CommandResult, Flow, Host, TclResult, list};

/// The maximum size of a compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

const SWITCHES: &str =
    "-all, -expanded, -indices, -inline, -line, -lineanchor, -linestop, -nocase, -start, or --";

/// The options before the pattern.
#[derive(Default)]
struct Options {
    all: bool,
    inline: bool,
    indices: bool,
    no_case: bool,
    expanded: bool,
    line_anchor: bool,
    line_stop: bool,
    start: usize,
}

impl Options {
    /// Parses the options before the pattern. Returns them and the arguments after them.
    fn parse(mut args: &[String]) -> Result<(Self, &[String]), Flow> {
        let mut options = Options::default();
        while let [option, remaining @ ..] = args
            && option.starts_with('-')
        {
            args = remaining;
            match option.as_str() {
                "-all" => options.all = true,
                "-inline" => options.inline = true,
                "-indices" => options.indices = true,
                "-nocase" => options.no_case = true,
                "-expanded" => options.expanded = true,
                "-line" => {
                    options.line_anchor = true;
                    options.line_stop = true;
                }
                "-lineanchor" => options.line_anchor = true,
                "-linestop" => options.line_stop = true,
                "-start" => {
                    let [start, remaining @ ..] = args else {
                        return wrong_args("regexp ?-option ...? exp string ?matchVar? ...");
                    };
                    options.start = usize::try_from(require_integer(start)?).unwrap_or(0);
                    args = remaining;
                }
                "--" => break,
                other => return error(format!("bad option \"{other}\": must be {SWITCHES}")),
            }
        }
        Ok((options, args))
    }

    fn compile(&self, pattern: &str) -> Result<Regex, Flow> {
        let built = RegexBuilder::new(&translate(pattern))
            .case_insensitive(self.no_case)
            .ignore_whitespace(self.expanded)
            .multi_line(self.line_anchor)
            // In Tcl, a dot also matches line ends, unless -line or -linestop is set.
            .dot_matches_new_line(!self.line_stop)
            .size_limit(MAX_PATTERN_BYTES)
            .build();
        built.map_err(|reason| {
            let reason = match &reason {
                regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
                other => {
                    let text = other.to_string();
                    text.lines()
                        .last()
                        .unwrap_or_default()
                        .replace("error: ", "")
                }
            };
            Flow::Error(format!(
                "couldn't compile regular expression pattern: {reason}"
            ))
        })
    }
}

/// Compiles the pattern of `switch -regexp` and `lsearch -regexp`.
pub(super) fn compile(pattern: &str, no_case: bool) -> Result<Regex, Flow> {
    let options = Options {
        no_case,
        ..Options::default()
    };
    options.compile(pattern)
}

/// Translates a pattern of Tcl to the crate's syntax.
fn translate(pattern: &str) -> String {
    let pattern = pattern.strip_prefix("***:").unwrap_or(pattern);
    if let Some(literal) = pattern.strip_prefix("***=") {
        return regex::escape(literal);
    }
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut chars = pattern.chars().peekable();
    // The position within a bracket expression; `None` outside.
    let mut in_class: Option<usize> = None;
    while let Some(c) = chars.next() {
        if let Some(position) = &mut in_class {
            *position += 1;
            let is_first = *position == 1;
            match c {
                '^' if is_first => {
                    *position = 0;
                    out.push('^');
                    // Only the first `^` negates.
                    if chars.next_if_eq(&'^').is_some() {
                        out.push_str("\\^");
                        *position = 1;
                    }
                }
                ']' if is_first => out.push_str("\\]"),
                ']' => {
                    in_class = None;
                    out.push(']');
                }
                '[' if chars.peek() == Some(&':') => {
                    out.push('[');
                    for c in chars.by_ref() {
                        out.push(c);
                        if c == ']' {
                            break;
                        }
                    }
                }
                // These characters have a different meaning in the crate's brackets.
                '[' | '&' | '~' => out.extend(['\\', c]),
                '-' if is_first || chars.peek() == Some(&']') => out.push_str("\\-"),
                '\\' => {
                    out.push('\\');
                    out.extend(chars.next());
                }
                c => out.push(c),
            }
            continue;
        }
        match c {
            '[' => {
                in_class = Some(0);
                out.push('[');
            }
            // A brace without a digit does not begin a repeat count.
            '{' if !chars.peek().is_some_and(char::is_ascii_digit) => out.push_str("\\{"),
            '\\' => match chars.next() {
                Some('m') => out.push_str("\\b{start}"),
                Some('M') => out.push_str("\\b{end}"),
                Some('y') => out.push_str("\\b"),
                Some('Y') => out.push_str("\\B"),
                Some('Z') => out.push_str("\\z"),
                Some(c) if c.is_alphanumeric() || c.is_ascii_punctuation() => {
                    out.extend(['\\', c]);
                }
                Some(c) => out.push(c),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    out
}

/// The byte offset of the character with this index; the text's length if there is no such character.
fn byte_offset_of_char(text: &str, position: usize) -> usize {
    let mut offsets = text.char_indices().map(|(offset, _)| offset);
    offsets.nth(position).unwrap_or(text.len())
}

/// A position in a text, in bytes and in characters.
#[derive(Clone, Copy, Default)]
struct Position {
    byte: usize,
    character: usize,
}

impl Position {
    /// Moves forward to a byte. Counts each character only once.
    fn advance(&mut self, text: &str, byte: usize) {
        self.character += text[self.byte..byte].chars().count();
        self.byte = byte;
    }
}

/// A group of a match as Tcl returns it: its text, or the indices of its first and last characters. `start`:
/// the start of the match, if indices are requested.
fn group_text(
    text: &str,
    captures: &Captures<'_>,
    number: usize,
    start: Option<Position>,
) -> String {
    let group = captures.get(number);
    let Some(mut position) = start else {
        return group.map_or("", |group| group.as_str()).to_owned();
    };
    let Some(group) = group else {
        return "-1 -1".to_owned();
    };
    position.advance(text, group.start());
    let first = position.character;
    position.advance(text, group.end());
    // The last index of an empty match is before its start.
    let last = position.character.checked_sub(1);
    format!(
        "{first} {}",
        last.map_or("-1".to_owned(), |last| last.to_string())
    )
}

impl Interp {
    pub(super) fn regex_command(&mut self, host: &mut dyn Host, call: Call<'_>) -> CommandResult {
        match call {
            ("regexp", args) => Some(self.regexp(host, args)),
            ("regsub", args) => Some(self.regsub(host, args)),
            _ => None,
        }
    }

    fn regexp(&mut self, host: &dyn Host, args: &[String]) -> TclResult {
        let (options, operands) = Options::parse(args)?;
        let [pattern, text, variables @ ..] = operands else {
            return wrong_args("regexp ?-option ...? exp string ?matchVar? ?subMatchVar ...?");
        };
        if options.inline && !variables.is_empty() {
            return error("regexp match variables not allowed when using -inline");
        }
        let pattern = options.compile(pattern)?;
        let start = byte_offset_of_char(text, options.start);
        let mut count = 0;
        let mut inline_groups = Vec::new();
        let mut inline_bytes = 0;
        let mut last_match = None;
        let mut position = options.indices.then(Position::default);
        for captures in all_matches(&pattern, text, start) {
            self.check_stop(host)?;
            count += 1;
            if let (Some(position), Some(full_match)) = (&mut position, captures.get(0)) {
                position.advance(text, full_match.start());
            }
            if options.inline {
                for number in 0..captures.len() {
                    let group = group_text(text, &captures, number, position);
                    inline_bytes += group.len();
                    inline_groups.push(group);
                }
                check_length(inline_bytes)?;
            }
            let end = captures.get(0).map_or(text.len(), |full_match| {
                full_match.end() + usize::from(full_match.is_empty())
            });
            last_match = Some(captures);
            // Tcl does not search for an empty match at the end.
            if !options.all || end >= text.len() {
                break;
            }
        }
        if options.inline {
            return Ok(list::join(&inline_groups));
        }
        if let Some(captures) = last_match {
            for (number, variable) in variables.iter().enumerate() {
                self.set(variable, group_text(text, &captures, number, position))?;
            }
        }
        Ok(count.to_string())
    }

    fn regsub(&mut self, host: &dyn Host, args: &[String]) -> TclResult {
        let (options, operands) = Options::parse(args)?;
        let (pattern, text, replacement, variable) = match operands {
            [pattern, text, replacement] => (pattern, text, replacement, None),
            [pattern, text, replacement, variable] => (pattern, text, replacement, Some(variable)),
            _ => return wrong_args("regsub ?-option ...? exp string subSpec ?varName?"),
        };
        let pattern = options.compile(pattern)?;
        let start = byte_offset_of_char(text, options.start);
        let mut changed = String::new();
        let mut copied_to = 0;
        let mut count = 0;
        for captures in all_matches(&pattern, text, start) {
            self.check_stop(host)?;
            let Some(full_match) = captures.get(0) else {
                break;
            };
            changed.push_str(&text[copied_to..full_match.start()]);
            push_replacement(&mut changed, replacement, &captures);
            copied_to = full_match.end();
            count += 1;
            check_length(changed.len())?;
            if !options.all {
                break;
            }
        }
        changed.push_str(&text[copied_to..]);
        match variable {
            None => Ok(changed),
            Some(variable) => {
                self.set(variable, changed)?;
                Ok(count.to_string())
            }
        }
    }
}

/// The matches from a byte offset on. Anchors and word boundaries also consider the text before the offset.
fn all_matches<'t>(
    pattern: &Regex,
    text: &'t str,
    start: usize,
) -> impl Iterator<Item = Captures<'t>> {
    let mut next = Some(start);
    std::iter::from_fn(move || {
        let captures = pattern.captures_at(text, next?)?;
        let full_match = captures.get(0)?;
        next = if full_match.is_empty() {
            // Skip one character after an empty match.
            let skipped = text[full_match.end()..].chars().next();
            skipped.map(|c| full_match.end() + c.len_utf8())
        } else {
            Some(full_match.end())
        };
        Some(captures)
    })
}

/// Appends the replacement of a match: `&` and `\0` are the full match, `\1` to `\9` its groups.
fn push_replacement(out: &mut String, replacement: &str, captures: &Captures<'_>) {
    let text = |number: usize| captures.get(number).map_or("", |group| group.as_str());
    let mut chars = replacement.chars();
    while let Some(c) = chars.next() {
        match c {
            '&' => out.push_str(text(0)),
            '\\' => match chars.next() {
                Some(digit @ '0'..='9') => out.push_str(text(digit as usize - '0' as usize)),
                Some(c @ ('&' | '\\')) => out.push(c),
                Some(c) => out.extend(['\\', c]),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
}
