//! The commands for lists, such as `lindex` and `lsort`.
//!
//! Must never: return an element for an index outside of the list.

use std::cmp::Ordering;

use super::interp::{Interp, check_length, error, wrong_args};
use super::number::{parse_integer, parse_real};
use super::pattern::Matching;
use super::{Call, CommandResult, Flow, Host, TclResult, list, pattern, regex};

/// Parses an index: a number or `end`, optionally followed by `+n` or `-n`. The returned index may be outside
/// of the list, so callers check it.
pub(super) fn parse_index(text: &str, length: usize) -> Result<i64, Flow> {
    let bad_index =
        || format!("bad index \"{text}\": must be integer?[+-]integer? or end?[+-]integer?");
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let trimmed = text.trim_ascii();
    if let Some(number) = parse_integer(trimmed) {
        return Ok(number);
    }
    let (base, offset_text) = match trimmed.strip_prefix("end") {
        Some(offset_text) => (length - 1, offset_text),
        None => {
            let at = trimmed
                .char_indices()
                .skip(1)
                .find(|(_, c)| "+-".contains(*c))
                .map(|(at, _)| at)
                .ok_or_else(bad_index)?;
            (
                parse_integer(&trimmed[..at]).ok_or_else(bad_index)?,
                &trimmed[at..],
            )
        }
    };
    if offset_text.is_empty() {
        return Ok(base);
    }
    let is_signed = offset_text.starts_with(['+', '-']);
    let offset = parse_integer(offset_text)
        .filter(|_| is_signed)
        .ok_or_else(bad_index)?;
    Ok(base.checked_add(offset).ok_or_else(bad_index)?)
}

/// The first and last index of a range, clamped to the list; `None` if the range is empty.
pub(super) fn parse_range(
    first: &str,
    last: &str,
    length: usize,
) -> Result<Option<(usize, usize)>, Flow> {
    let first = parse_index(first, length)?.max(0);
    let last = parse_index(last, length)?.min(length as i64 - 1);
    if first > last {
        return Ok(None);
    }
    Ok(Some((first as usize, last as usize)))
}

fn split_list(text: &str) -> Result<Vec<String>, Flow> {
    Ok(list::split(text)?)
}

impl Interp {
    pub(super) fn list_command(&mut self, host: &mut dyn Host, call: Call<'_>) -> CommandResult {
        Some(match call {
            ("list", args) => Ok(list::join(args)),
            ("llength", [text]) => split_list(text).map(|elements| elements.len().to_string()),
            ("llength", _) => wrong_args("llength list"),
            ("lindex", [text, indexes @ ..]) => lindex(text, indexes),
            ("lindex", []) => wrong_args("lindex list ?index ...?"),
            ("lrange", [text, first, last]) => lrange(text, first, last),
            ("lrange", _) => wrong_args("lrange list first last"),
            ("linsert", [text, index, new_elements @ ..]) => linsert(text, index, new_elements),
            ("lreplace", [text, first, last, new_elements @ ..]) => {
                lreplace(text, first, last, new_elements)
            }
            ("lreverse", [text]) => split_list(text).map(|mut elements| {
                elements.reverse();
                list::join(&elements)
            }),
            ("lrepeat", [count, new_elements @ ..]) => lrepeat(count, new_elements),
            ("lassign", [text, names @ ..]) => self.lassign(text, names),
            ("lset", [name, index, value]) => self.lset(host, name, index, value),
            ("lsearch", args) => lsearch(args),
            ("lsort", args) => lsort(args),
            ("concat", args) => Ok(concat(args)),
            ("join", [text]) => split_list(text).map(|elements| elements.join(" ")),
            ("join", [text, separator]) => {
                split_list(text).map(|elements| elements.join(separator))
            }
            ("join", _) => wrong_args("join list ?joinString?"),
            ("split", [text]) => Ok(split(text, " \n\t\r")),
            ("split", [text, separator]) => Ok(split(text, separator)),
            ("split", _) => wrong_args("split string ?splitChars?"),
            _ => return None,
        })
    }

    fn lassign(&mut self, text: &str, names: &[String]) -> TclResult {
        let mut values = split_list(text)?.into_iter();
        for name in names {
            self.set(name, values.next().unwrap_or_default())?;
        }
        let unassigned: Vec<String> = values.collect();
        Ok(list::join(&unassigned))
    }

    fn lset(&mut self, host: &dyn Host, name: &str, index: &str, value: &str) -> TclResult {
        let mut elements = split_list(&self.get(host, name)?)?;
        let position = usize::try_from(parse_index(index, elements.len())?).ok();
        match position.filter(|position| *position <= elements.len()) {
            Some(position) if position == elements.len() => elements.push(value.to_owned()),
            Some(position) => value.clone_into(&mut elements[position]),
            None => return error("list index out of range"),
        }
        self.set(name, list::join(&elements))
    }
}

fn lindex(text: &str, indexes: &[String]) -> TclResult {
    let mut text = text.to_owned();
    for path in indexes {
        for index in split_list(path)? {
            let mut elements = split_list(&text)?;
            let position = usize::try_from(parse_index(&index, elements.len())?).ok();
            text = match position.filter(|position| *position < elements.len()) {
                Some(position) => elements.swap_remove(position),
                None => String::new(),
            };
        }
    }
    Ok(text)
}

fn lrange(text: &str, first: &str, last: &str) -> TclResult {
    let elements = split_list(text)?;
    Ok(match parse_range(first, last, elements.len())? {
        Some((first, last)) => list::join(&elements[first..=last]),
        None => String::new(),
    })
}

fn linsert(text: &str, index: &str, new_elements: &[String]) -> TclResult {
    let mut elements = split_list(text)?;
    // For linsert, `end` is the position after the last element.
    let length = elements.len() + usize::from(index.trim_ascii().starts_with("end"));
    let position = parse_index(index, length)?.clamp(0, elements.len() as i64) as usize;
    elements.splice(position..position, new_elements.iter().cloned());
    Ok(list::join(&elements))
}

fn lreplace(text: &str, first: &str, last: &str, new_elements: &[String]) -> TclResult {
    let mut elements = split_list(text)?;
    let first = parse_index(first, elements.len())?.clamp(0, elements.len() as i64) as usize;
    let last = parse_index(last, elements.len())?.clamp(-1, elements.len() as i64 - 1);
    let end = usize::try_from(last + 1).unwrap_or(0).max(first);
    elements.splice(first..end, new_elements.iter().cloned());
    Ok(list::join(&elements))
}

fn lrepeat(count: &str, elements: &[String]) -> TclResult {
    let Some(count) = parse_integer(count).and_then(|count| usize::try_from(count).ok()) else {
        return error(format!("bad count \"{count}\": must be integer >= 0"));
    };
    let repeated = list::join(elements);
    check_length(count.saturating_mul(repeated.len() + 1))?;
    Ok(vec![repeated; if elements.is_empty() { 0 } else { count }].join(" "))
}

fn concat(args: &[String]) -> String {
    let parts: Vec<&str> = args
        .iter()
        .map(|arg| arg.trim())
        .filter(|arg| !arg.is_empty())
        .collect();
    parts.join(" ")
}

fn split(text: &str, separators: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let parts: Vec<String> = if separators.is_empty() {
        text.chars().map(String::from).collect()
    } else {
        text.split(|c| separators.contains(c))
            .map(str::to_owned)
            .collect()
    };
    list::join(&parts)
}

fn lsearch(args: &[String]) -> TclResult {
    let [options @ .., text, pattern] = args else {
        return wrong_args("lsearch ?-option value ...? list pattern");
    };
    let mut matching = Matching::Glob;
    let mut all = false;
    let mut inline = false;
    let mut negated = false;
    let mut ignore_case = false;
    for option in options {
        match option.as_str() {
            "-exact" => matching = Matching::Exact,
            "-glob" => matching = Matching::Glob,
            "-regexp" => matching = Matching::Regex,
            "-all" => all = true,
            "-inline" => inline = true,
            "-not" => negated = true,
            "-nocase" => ignore_case = true,
            other => return error(format!("lsearch: option \"{other}\" is not supported")),
        }
    }
    let fold = |text: &str| pattern::fold_case(text, ignore_case);
    let folded_pattern = fold(pattern);
    let expression = if matching == Matching::Regex {
        Some(regex::compile(pattern, ignore_case)?)
    } else {
        None
    };
    let mut found = Vec::new();
    for (index, element) in split_list(text)?.into_iter().enumerate() {
        let folded = fold(&element);
        let is_match = match &expression {
            Some(expression) => expression.is_match(&element),
            None if matching == Matching::Exact => folded == folded_pattern,
            None => pattern::matches(&folded_pattern, &folded),
        };
        if is_match != negated {
            found.push(if inline { element } else { index.to_string() });
            if !all {
                break;
            }
        }
    }
    if all {
        return Ok(list::join(&found));
    }
    Ok(found
        .pop()
        .unwrap_or_else(|| if inline { String::new() } else { "-1".to_owned() }))
}

fn lsort(args: &[String]) -> TclResult {
    let [options @ .., text] = args else {
        return wrong_args("lsort ?-option value ...? list");
    };
    let mut elements = split_list(text)?;
    let mut reversed = false;
    let mut unique = false;
    let mut order = "-ascii";
    for option in options {
        match option.as_str() {
            "-decreasing" => reversed = true,
            "-increasing" => reversed = false,
            "-unique" => unique = true,
            "-ascii" | "-integer" | "-real" | "-nocase" | "-dictionary" => order = option,
            other => return error(format!("lsort: option \"{other}\" is not supported")),
        }
    }
    let expected_type = match order {
        "-integer" => Some("integer"),
        "-real" => Some("floating-point number"),
        _ => None,
    };
    if let Some(expected_type) = expected_type {
        let is_valid = |text: &str| {
            if order == "-integer" {
                parse_integer(text).is_some()
            } else {
                parse_real(text).is_some()
            }
        };
        if let Some(invalid) = elements.iter().find(|text| !is_valid(text)) {
            return error(format!("expected {expected_type} but got \"{invalid}\""));
        }
    }
    let compare = |a: &String, b: &String| -> Ordering {
        match order {
            "-integer" => parse_integer(a).cmp(&parse_integer(b)),
            "-real" => parse_real(a)
                .unwrap_or(0.0)
                .total_cmp(&parse_real(b).unwrap_or(0.0)),
            "-nocase" => a.to_lowercase().cmp(&b.to_lowercase()),
            "-dictionary" => compare_in_dictionary_order(a, b),
            _ => a.cmp(b),
        }
    };
    elements.sort_by(|a, b| if reversed { compare(b, a) } else { compare(a, b) });
    if unique {
        elements.dedup_by(|a, b| compare(a, b) == Ordering::Equal);
    }
    Ok(list::join(&elements))
}

/// Compares as `lsort -dictionary`: digits within texts as numbers, and letters without case.
fn compare_in_dictionary_order(a: &str, b: &str) -> Ordering {
    // Runs of digits and of other characters, in lower case, each with its number if it has one.
    let pieces = |text: &str| -> Vec<(String, Option<u128>)> {
        let mut pieces: Vec<(String, Option<u128>)> = Vec::new();
        let mut remaining = text;
        while let Some(c) = remaining.chars().next() {
            let is_digit = c.is_ascii_digit();
            let length = remaining
                .find(|c: char| c.is_ascii_digit() != is_digit)
                .unwrap_or(remaining.len());
            let piece = &remaining[..length];
            pieces.push((piece.to_lowercase(), piece.parse().ok()));
            remaining = &remaining[length..];
        }
        pieces
    };
    for ((text_a, number_a), (text_b, number_b)) in pieces(a).iter().zip(&pieces(b)) {
        let order = match (number_a, number_b) {
            (Some(number_a), Some(number_b)) => number_a.cmp(number_b),
            _ => text_a.cmp(text_b),
        };
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}
