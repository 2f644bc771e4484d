//! `string`, `format`.
//!
//! Must never: count bytes where Tcl counts characters.

use super::format::format;
use super::interp::{Interp, MAX_VALUE_BYTES, error, wrong_args};
use super::lists::{index, range};
use super::number::{integer, parse_bool, real};
use super::{Flow, TclResult, list, pattern};

impl Interp {
    /// Runs a command of this module; none if the name is not among them.
    pub(super) fn string_command(&mut self, name: &str, args: &[String]) -> Option<TclResult> {
        match (name, args) {
            ("format", [text, values @ ..]) => Some(format(text, values).map_err(Flow::Error)),
            ("format", []) => Some(wrong_args("format formatString ?arg ...?")),
            ("string", [subcommand, rest @ ..]) => Some(string(subcommand, rest)),
            ("scan", args) => Some(self.scan(args)),
            ("string", []) => Some(wrong_args("string subcommand ?arg ...?")),
            _ => None,
        }
    }
}

fn flag(value: bool) -> TclResult {
    Ok(i64::from(value).to_string())
}

fn string(subcommand: &str, args: &[String]) -> TclResult {
    match (subcommand, args) {
        ("length", [text]) => Ok(text.chars().count().to_string()),
        ("bytelength", [text]) => Ok(text.len().to_string()),
        ("tolower", [text]) => Ok(text.to_lowercase()),
        ("toupper", [text]) => Ok(text.to_uppercase()),
        ("totitle", [text]) => Ok(title(text)),
        ("reverse", [text]) => Ok(text.chars().rev().collect()),
        ("cat", texts) => Ok(texts.concat()),
        ("trim", [text]) => Ok(text.trim().to_owned()),
        ("trimleft", [text]) => Ok(text.trim_start().to_owned()),
        ("trimright", [text]) => Ok(text.trim_end().to_owned()),
        ("trim", [text, set]) => Ok(text.trim_matches(|c| set.contains(c)).to_owned()),
        ("trimleft", [text, set]) => Ok(text.trim_start_matches(|c| set.contains(c)).to_owned()),
        ("trimright", [text, set]) => Ok(text.trim_end_matches(|c| set.contains(c)).to_owned()),
        ("index", [text, at]) => {
            let chars: Vec<char> = text.chars().collect();
            let at = usize::try_from(index(at, chars.len())?).ok();
            Ok(at
                .and_then(|at| chars.get(at))
                .map(char::to_string)
                .unwrap_or_default())
        }
        ("range", [text, first, last]) => {
            let chars: Vec<char> = text.chars().collect();
            let found = range(first, last, chars.len())?;
            Ok(found.map_or_else(String::new, |(first, last)| {
                chars[first..=last].iter().collect()
            }))
        }
        ("replace", [text, first, last, more @ ..]) => {
            let chars: Vec<char> = text.chars().collect();
            let Some((first, last)) = range(first, last, chars.len())? else {
                return Ok(text.clone());
            };
            let mut changed: String = chars[..first].iter().collect();
            changed.push_str(more.first().map_or("", String::as_str));
            changed.extend(&chars[last + 1..]);
            Ok(changed)
        }
        ("repeat", [text, count]) => repeat(text, count),
        ("equal" | "compare", args) => compare(subcommand, args),
        ("match", [rest @ .., wanted, text]) => match rest {
            [] => flag(pattern::matches(wanted, text)),
            [option] if option == "-nocase" => flag(pattern::matches(
                &wanted.to_lowercase(),
                &text.to_lowercase(),
            )),
            _ => wrong_args("string match ?-nocase? pattern string"),
        },
        ("first" | "last", [wanted, text]) => {
            let found = if subcommand == "first" {
                text.find(wanted)
            } else {
                text.rfind(wanted)
            };
            let found = found.filter(|_| !wanted.is_empty());
            let index = found.map(|at| text[..at].chars().count().to_string());
            Ok(index.unwrap_or_else(|| "-1".to_owned()))
        }
        ("map", [rest @ .., mapping, text]) => map(rest, mapping, text),
        ("is", [class, rest @ .., text]) => is_class(class, rest, text),
        _ => error(format!(
            "unknown or ambiguous subcommand \"{subcommand}\" of string, or a wrong number of arguments for it"
        )),
    }
}

fn title(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first
            .to_uppercase()
            .chain(chars.as_str().to_lowercase().chars())
            .collect(),
        None => String::new(),
    }
}

fn repeat(text: &str, count: &str) -> TclResult {
    let Some(count) = integer(count) else {
        return error(format!("expected integer but got \"{count}\""));
    };
    let count = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
    if text.len().saturating_mul(count) > MAX_VALUE_BYTES {
        return error("value too long");
    }
    Ok(text.repeat(if text.is_empty() { 0 } else { count }))
}

fn compare(subcommand: &str, args: &[String]) -> TclResult {
    let [options @ .., a, b] = args else {
        return wrong_args(&format!(
            "string {subcommand} ?-nocase? ?-length int? string1 string2"
        ));
    };
    let ignore_case = match options {
        [] => false,
        [option] if option == "-nocase" => true,
        _ => return error(format!("string {subcommand}: only -nocase is supported")),
    };
    let order = if ignore_case {
        a.to_lowercase().cmp(&b.to_lowercase())
    } else {
        a.cmp(b)
    };
    if subcommand == "equal" {
        flag(order.is_eq())
    } else {
        Ok((order as i8).to_string())
    }
}

fn map(options: &[String], mapping: &str, text: &str) -> TclResult {
    let ignore_case = options.first().is_some_and(|option| option == "-nocase");
    let pairs = list::split(mapping).map_err(Flow::Error)?;
    if pairs.len() % 2 == 1 {
        return error("char map list unbalanced");
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let found = pairs.chunks(2).find(|pair| {
            let key = &pair[0];
            let head = rest.get(..key.len());
            !key.is_empty()
                && head.is_some_and(|head| {
                    head == key || (ignore_case && head.eq_ignore_ascii_case(key))
                })
        });
        match found {
            Some(pair) => {
                out.push_str(&pair[1]);
                rest = &rest[pair[0].len()..];
            }
            None => {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        if out.len() > MAX_VALUE_BYTES {
            return error("value too long");
        }
    }
    Ok(out)
}

fn is_class(class: &str, options: &[String], text: &str) -> TclResult {
    let strict = match options {
        [] => false,
        [option] if option == "-strict" => true,
        _ => return error("string is: only -strict is supported"),
    };
    if text.is_empty() {
        return flag(!strict);
    }
    let every = |test: fn(char) -> bool| text.chars().all(test);
    flag(match class {
        "integer" => integer(text).is_some_and(|n| n.unsigned_abs() <= u64::from(u32::MAX)),
        "wideinteger" | "entier" => integer(text).is_some(),
        "double" => integer(text).is_some() || real(text).is_some(),
        "boolean" => parse_bool(text).is_some(),
        "true" => parse_bool(text) == Some(true),
        "false" => parse_bool(text) == Some(false),
        "alpha" => every(char::is_alphabetic),
        "alnum" => every(char::is_alphanumeric),
        "digit" => every(char::is_numeric),
        "space" => every(char::is_whitespace),
        "upper" => every(char::is_uppercase),
        "lower" => every(char::is_lowercase),
        "punct" => every(|c| c.is_ascii_punctuation()),
        "ascii" => text.is_ascii(),
        "xdigit" => every(|c| c.is_ascii_hexdigit()),
        "list" => list::split(text).is_ok(),
        other => return error(format!("bad class \"{other}\"")),
    })
}
