//! List commands.
//!
//! Must never: return an element for an index outside of the list.

use std::cmp::Ordering;

use super::interp::{Interp, MAX_VALUE_BYTES, error, wrong_args};
use super::number::{integer, real};
use super::{Flow, Host, TclResult, list, pattern, regex};

/// An index: a number or `end`, each with an optional `+n` or `-n`; it may be outside of the list.
pub(super) fn index(text: &str, length: usize) -> Result<i64, Flow> {
    let bad_index = || {
        Flow::Error(format!(
            "bad index \"{text}\": must be integer?[+-]integer? or end?[+-]integer?"
        ))
    };
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let trimmed = text.trim_ascii();
    if let Some(number) = integer(trimmed) {
        return Ok(number);
    }
    let (base, rest) = match trimmed.strip_prefix("end") {
        Some(rest) => (length - 1, rest),
        None => {
            let at = trimmed
                .char_indices()
                .skip(1)
                .find(|(_, c)| "+-".contains(*c))
                .map(|(at, _)| at)
                .ok_or_else(bad_index)?;
            (
                integer(&trimmed[..at]).ok_or_else(bad_index)?,
                &trimmed[at..],
            )
        }
    };
    if rest.is_empty() {
        return Ok(base);
    }
    let is_signed = rest.starts_with(['+', '-']);
    let offset = integer(rest).filter(|_| is_signed).ok_or_else(bad_index)?;
    base.checked_add(offset).ok_or_else(bad_index)
}

/// A first and last index, clamped to the list; none if the range is empty.
pub(super) fn range(
    first: &str,
    last: &str,
    length: usize,
) -> Result<Option<(usize, usize)>, Flow> {
    let first = index(first, length)?.max(0);
    let last = index(last, length)?.min(length as i64 - 1);
    if first > last {
        return Ok(None);
    }
    Ok(Some((first as usize, last as usize)))
}

fn elements(text: &str) -> Result<Vec<String>, Flow> {
    list::split(text).map_err(Flow::Error)
}

impl Interp {
    /// Runs a command of this module; none if the name is not among them.
    pub(super) fn list_command(
        &mut self,
        host: &mut dyn Host,
        name: &str,
        args: &[String],
    ) -> Option<TclResult> {
        Some(match (name, args) {
            ("list", args) => Ok(list::join(args)),
            ("llength", [text]) => elements(text).map(|found| found.len().to_string()),
            ("llength", _) => wrong_args("llength list"),
            ("lindex", [text, indexes @ ..]) => lindex(text, indexes),
            ("lindex", []) => wrong_args("lindex list ?index ...?"),
            ("lrange", [text, first, last]) => lrange(text, first, last),
            ("lrange", _) => wrong_args("lrange list first last"),
            ("linsert", [text, at, more @ ..]) => linsert(text, at, more),
            ("lreplace", [text, first, last, more @ ..]) => lreplace(text, first, last, more),
            ("lreverse", [text]) => elements(text).map(|mut found| {
                found.reverse();
                list::join(&found)
            }),
            ("lrepeat", [count, more @ ..]) => lrepeat(count, more),
            ("lassign", [text, names @ ..]) => self.lassign(text, names),
            ("lset", [name, at, value]) => self.lset(host, name, at, value),
            ("lsearch", args) => lsearch(args),
            ("lsort", args) => lsort(args),
            ("concat", args) => Ok(concat(args)),
            ("join", [text]) => elements(text).map(|found| found.join(" ")),
            ("join", [text, by]) => elements(text).map(|found| found.join(by)),
            ("join", _) => wrong_args("join list ?joinString?"),
            ("split", [text]) => Ok(split(text, " \n\t\r")),
            ("split", [text, by]) => Ok(split(text, by)),
            ("split", _) => wrong_args("split string ?splitChars?"),
            _ => return None,
        })
    }

    fn lassign(&mut self, text: &str, names: &[String]) -> TclResult {
        let mut values = elements(text)?.into_iter();
        for name in names {
            self.set(name, values.next().unwrap_or_default())?;
        }
        let rest: Vec<String> = values.collect();
        Ok(list::join(&rest))
    }

    fn lset(&mut self, host: &dyn Host, name: &str, at: &str, value: &str) -> TclResult {
        let mut found = elements(&self.get(host, name)?)?;
        let at = usize::try_from(index(at, found.len())?).ok();
        match at.filter(|at| *at <= found.len()) {
            Some(at) if at == found.len() => found.push(value.to_owned()),
            Some(at) => value.clone_into(&mut found[at]),
            None => return error("list index out of range"),
        }
        self.set(name, list::join(&found))
    }
}

fn lindex(text: &str, indexes: &[String]) -> TclResult {
    let mut text = text.to_owned();
    for at in indexes {
        for at in elements(at)? {
            let mut found = elements(&text)?;
            let at = usize::try_from(index(&at, found.len())?).ok();
            text = match at.filter(|at| *at < found.len()) {
                Some(at) => found.swap_remove(at),
                None => String::new(),
            };
        }
    }
    Ok(text)
}

fn lrange(text: &str, first: &str, last: &str) -> TclResult {
    let found = elements(text)?;
    Ok(match range(first, last, found.len())? {
        Some((first, last)) => list::join(&found[first..=last]),
        None => String::new(),
    })
}

fn linsert(text: &str, at: &str, more: &[String]) -> TclResult {
    let mut found = elements(text)?;
    // Here `end` is the position after the last element.
    let length = found.len() + usize::from(at.trim_ascii().starts_with("end"));
    let at = index(at, length)?.clamp(0, found.len() as i64) as usize;
    found.splice(at..at, more.iter().cloned());
    Ok(list::join(&found))
}

fn lreplace(text: &str, first: &str, last: &str, more: &[String]) -> TclResult {
    let mut found = elements(text)?;
    let first = index(first, found.len())?.clamp(0, found.len() as i64) as usize;
    let last = index(last, found.len())?.clamp(-1, found.len() as i64 - 1);
    let end = usize::try_from(last + 1).unwrap_or(0).max(first);
    found.splice(first..end, more.iter().cloned());
    Ok(list::join(&found))
}

fn lrepeat(count: &str, more: &[String]) -> TclResult {
    let Some(count) = integer(count).and_then(|count| usize::try_from(count).ok()) else {
        return error(format!("bad count \"{count}\": must be integer >= 0"));
    };
    let once = list::join(more);
    if count.saturating_mul(once.len() + 1) > MAX_VALUE_BYTES {
        return error("value too long");
    }
    Ok(vec![once; if more.is_empty() { 0 } else { count }].join(" "))
}

fn concat(args: &[String]) -> String {
    let parts: Vec<&str> = args
        .iter()
        .map(|arg| arg.trim())
        .filter(|arg| !arg.is_empty())
        .collect();
    parts.join(" ")
}

fn split(text: &str, by: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let parts: Vec<String> = if by.is_empty() {
        text.chars().map(String::from).collect()
    } else {
        text.split(|c| by.contains(c)).map(str::to_owned).collect()
    };
    list::join(&parts)
}

fn lsearch(args: &[String]) -> TclResult {
    let [options @ .., text, wanted] = args else {
        return wrong_args("lsearch ?-option value ...? list pattern");
    };
    let (mut exact, mut all, mut inline, mut negated, mut ignore_case) =
        (false, false, false, false, false);
    let mut is_regex = false;
    for option in options {
        match option.as_str() {
            "-exact" => (exact, is_regex) = (true, false),
            "-glob" => (exact, is_regex) = (false, false),
            "-regexp" => (exact, is_regex) = (false, true),
            "-all" => all = true,
            "-inline" => inline = true,
            "-not" => negated = true,
            "-nocase" => ignore_case = true,
            other => return error(format!("lsearch: option \"{other}\" is not supported")),
        }
    }
    let fold = |text: &str| {
        if ignore_case {
            text.to_lowercase()
        } else {
            text.to_owned()
        }
    };
    let lowercase_wanted = fold(wanted);
    let expression = match is_regex {
        true => Some(regex::compile(wanted, ignore_case)?),
        false => None,
    };
    let mut found = Vec::new();
    for (index, element) in elements(text)?.into_iter().enumerate() {
        let tested = fold(&element);
        let is_match = match &expression {
            Some(expression) => expression.is_match(&element),
            None if exact => tested == lowercase_wanted,
            None => pattern::matches(&lowercase_wanted, &tested),
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
    Ok(found.pop().unwrap_or_else(|| {
        if inline {
            String::new()
        } else {
            "-1".to_owned()
        }
    }))
}

fn lsort(args: &[String]) -> TclResult {
    let [options @ .., text] = args else {
        return wrong_args("lsort ?-option value ...? list");
    };
    let mut found = elements(text)?;
    let (mut reversed, mut unique, mut order) = (false, false, "-ascii");
    for option in options {
        match option.as_str() {
            "-decreasing" => reversed = true,
            "-increasing" => reversed = false,
            "-unique" => unique = true,
            "-ascii" | "-integer" | "-real" | "-nocase" | "-dictionary" => order = option,
            other => return error(format!("lsort: option \"{other}\" is not supported")),
        }
    }
    let wanted = match order {
        "-integer" => Some("integer"),
        "-real" => Some("floating-point number"),
        _ => None,
    };
    if let Some(wanted) = wanted {
        let is_valid = |text: &str| {
            if order == "-integer" {
                integer(text).is_some()
            } else {
                real(text).is_some()
            }
        };
        if let Some(bad) = found.iter().find(|text| !is_valid(text)) {
            return error(format!("expected {wanted} but got \"{bad}\""));
        }
    }
    let compare = |a: &String, b: &String| -> Ordering {
        match order {
            "-integer" => integer(a).cmp(&integer(b)),
            "-real" => real(a).unwrap_or(0.0).total_cmp(&real(b).unwrap_or(0.0)),
            "-nocase" => a.to_lowercase().cmp(&b.to_lowercase()),
            "-dictionary" => dictionary_order(a, b),
            _ => a.cmp(b),
        }
    };
    found.sort_by(|a, b| {
        if reversed {
            compare(b, a)
        } else {
            compare(a, b)
        }
    });
    if unique {
        found.dedup_by(|a, b| compare(a, b) == Ordering::Equal);
    }
    Ok(list::join(&found))
}

/// Compares digits within texts as numbers, and letters without case.
fn dictionary_order(a: &str, b: &str) -> Ordering {
    let pieces = |text: &str| -> Vec<(String, Option<u128>)> {
        let mut found: Vec<(String, Option<u128>)> = Vec::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let digits = c.is_ascii_digit();
            let length = rest
                .find(|c: char| c.is_ascii_digit() != digits)
                .unwrap_or(rest.len());
            let piece = &rest[..length];
            found.push((piece.to_lowercase(), piece.parse().ok()));
            rest = &rest[length..];
        }
        found
    };
    for (a, b) in pieces(a).iter().zip(&pieces(b)) {
        let order = match (a.1, b.1) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a.0.cmp(&b.0),
        };
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}
