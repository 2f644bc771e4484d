//! The commands `string`, `format` and `scan`.
//!
//! Must never: count bytes where Tcl counts characters.

use super::format::format;
use super::interp::{Interp, bool_result, check_length, error, wrong_args};
use super::lists::{parse_index, parse_range};
use super::number::{parse_bool, parse_integer, parse_real, require_integer};
use super::{Call, CommandResult, Flow, Host, TclResult, list, pattern};

impl Interp {
    pub(super) fn string_command(&mut self, _: &mut dyn Host, call: Call<'_>) -> CommandResult {
        match call {
            ("format", [text, values @ ..]) => Some(format(text, values).map_err(Flow::Error)),
            ("format", []) => Some(wrong_args("format formatString ?arg ...?")),
            ("string", [subcommand, args @ ..]) => Some(string_subcommand(subcommand, args)),
            ("scan", args) => Some(self.scan(args)),
            ("string", []) => Some(wrong_args("string subcommand ?arg ...?")),
            _ => None,
        }
    }
}

fn string_subcommand(subcommand: &str, args: &[String]) -> TclResult {
    match (subcommand, args) {
        ("length", [text]) => Ok(text.chars().count().to_string()),
        ("bytelength", [text]) => Ok(text.len().to_string()),
        ("tolower", [text]) => Ok(text.to_lowercase()),
        ("toupper", [text]) => Ok(text.to_uppercase()),
        ("totitle", [text]) => Ok(to_title(text)),
        ("reverse", [text]) => Ok(text.chars().rev().collect()),
        ("cat", texts) => Ok(texts.concat()),
        ("trim", [text]) => Ok(text.trim().to_owned()),
        ("trimleft", [text]) => Ok(text.trim_start().to_owned()),
        ("trimright", [text]) => Ok(text.trim_end().to_owned()),
        ("trim", [text, set]) => Ok(text.trim_matches(|c| set.contains(c)).to_owned()),
        ("trimleft", [text, set]) => Ok(text.trim_start_matches(|c| set.contains(c)).to_owned()),
        ("trimright", [text, set]) => Ok(text.trim_end_matches(|c| set.contains(c)).to_owned()),
        ("index", [text, position]) => {
            let chars: Vec<char> = text.chars().collect();
            let position = usize::try_from(parse_index(position, chars.len())?).ok();
            Ok(position
                .and_then(|position| chars.get(position))
                .map(char::to_string)
                .unwrap_or_default())
        }
        ("range", [text, first, last]) => {
            let chars: Vec<char> = text.chars().collect();
            let bounds = parse_range(first, last, chars.len())?;
            Ok(bounds.map_or_else(String::new, |(first, last)| {
                chars[first..=last].iter().collect()
            }))
        }
        ("replace", [text, first, last, replacement @ ..]) => {
            let chars: Vec<char> = text.chars().collect();
            let Some((first, last)) = parse_range(first, last, chars.len())? else {
                return Ok(text.clone());
            };
            let mut changed: String = chars[..first].iter().collect();
            changed.push_str(replacement.first().map_or("", String::as_str));
            changed.extend(&chars[last + 1..]);
            Ok(changed)
        }
        ("repeat", [text, count]) => repeat(text, count),
        ("equal" | "compare", args) => compare(subcommand, args),
        ("match", [options @ .., pattern, text]) => match options {
            [] => bool_result(pattern::matches(pattern, text)),
            [option] if option == "-nocase" => bool_result(pattern::matches(
                &pattern.to_lowercase(),
                &text.to_lowercase(),
            )),
            _ => wrong_args("string match ?-nocase? pattern string"),
        },
        ("first" | "last", [searched, text]) => {
            let offset =
                if subcommand == "first" { text.find(searched) } else { text.rfind(searched) };
            let offset = offset.filter(|_| !searched.is_empty());
            let index = offset.map(|offset| text[..offset].chars().count().to_string());
            Ok(index.unwrap_or_else(|| "-1".to_owned()))
        }
        ("map", [options @ .., mapping, text]) => map_text(options, mapping, text),
        ("is", [class, options @ .., text]) => test_class(class, options, text),
        _ => error(format!(
            "unknown or ambiguous subcommand \"{subcommand}\" of string, or a wrong number of arguments for it"
        )),
    }
}

fn to_title(text: &str) -> String {
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
    let count = usize::try_from(require_integer(count)?.max(0)).unwrap_or(usize::MAX);
    check_length(text.len().saturating_mul(count))?;
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
    let order = if ignore_case { a.to_lowercase().cmp(&b.to_lowercase()) } else { a.cmp(b) };
    if subcommand == "equal" {
        bool_result(order.is_eq())
    } else {
        Ok((order as i8).to_string())
    }
}

fn map_text(options: &[String], mapping: &str, text: &str) -> TclResult {
    let ignore_case = options.first().is_some_and(|option| option == "-nocase");
    let pairs = list::split(mapping)?;
    if pairs.len() % 2 == 1 {
        return error("char map list unbalanced");
    }
    let mut out = String::new();
    let mut remaining = text;
    while let Some(c) = remaining.chars().next() {
        let matching = pairs.chunks(2).find(|pair| {
            let key = &pair[0];
            let prefix = remaining.get(..key.len());
            !key.is_empty()
                && prefix.is_some_and(|prefix| {
                    prefix == key || (ignore_case && prefix.eq_ignore_ascii_case(key))
                })
        });
        match matching {
            Some(pair) => {
                out.push_str(&pair[1]);
                remaining = &remaining[pair[0].len()..];
            }
            None => {
                out.push(c);
                remaining = &remaining[c.len_utf8()..];
            }
        }
        check_length(out.len())?;
    }
    Ok(out)
}

fn test_class(class: &str, options: &[String], text: &str) -> TclResult {
    let strict = match options {
        [] => false,
        [option] if option == "-strict" => true,
        _ => return error("string is: only -strict is supported"),
    };
    if text.is_empty() {
        return bool_result(!strict);
    }
    let all_chars = |test: fn(char) -> bool| text.chars().all(test);
    bool_result(match class {
        "integer" => {
            parse_integer(text).is_some_and(|number| number.unsigned_abs() <= u64::from(u32::MAX))
        }
        "wideinteger" | "entier" => parse_integer(text).is_some(),
        "double" => parse_integer(text).is_some() || parse_real(text).is_some(),
        "boolean" => parse_bool(text).is_some(),
        "true" => parse_bool(text) == Some(true),
        "false" => parse_bool(text) == Some(false),
        "alpha" => all_chars(char::is_alphabetic),
        "alnum" => all_chars(char::is_alphanumeric),
        "digit" => all_chars(char::is_numeric),
        "space" => all_chars(char::is_whitespace),
        "upper" => all_chars(char::is_uppercase),
        "lower" => all_chars(char::is_lowercase),
        "punct" => all_chars(|c| c.is_ascii_punctuation()),
        "ascii" => text.is_ascii(),
        "xdigit" => all_chars(|c| c.is_ascii_hexdigit()),
        "list" => list::split(text).is_ok(),
        other => return error(format!("bad class \"{other}\"")),
    })
}
