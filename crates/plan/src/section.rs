//! One table of a plan file, read key by key.
//!
//! In: a parsed table. Out: typed values with their places; a problem for each value of the wrong
//! type. Must never: stop at the first problem.

use crate::asked::{Given, Placed};
use crate::choice::Choice;
use crate::duration::{parse_duration, shorten};
use crate::problem::{Place, Problem, Problems};
use crate::suggest;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

/// The text that places are counted in.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
}

impl<'a> Source<'a> {
    /// The whole text as a table; `hint` says where a good one is to be seen.
    ///
    /// # Errors
    /// Where the text is not TOML: that one problem, since nothing behind it can be trusted.
    pub(crate) fn root(&self, hint: &str) -> Result<Spanned<DeTable<'a>>, Problems> {
        DeTable::parse(self.text).map_err(|error| {
            // The error's own text would quote the line.
            let offset = error.span().map_or(self.text.len(), |span| span.start);
            let message = format!("is not TOML: {}", error.message());
            let problem = Problem::new(self.place(offset, ""), message);
            Problems(vec![problem.hint(format!(
                "the other problems show when the file can be read; {hint}"
            ))])
        })
    }

    /// The place of a key or value that starts at this byte.
    pub(crate) fn place(&self, offset: usize, key: impl Into<String>) -> Place {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |index| index + 1);
        Place::File {
            file: self.file.to_owned(),
            at: Some((
                before.matches('\n').count() + 1,
                before[line_start..].chars().count() + 1,
            )),
            key: key.into(),
        }
    }
}

/// A table and what was asked of it so far.
pub(crate) struct Section<'a, 'i> {
    pub(crate) source: Source<'a>,
    /// Its name in the schema; its name as written may be misspelt.
    pub(crate) name: &'static str,
    /// Its name as written.
    pub(crate) written: String,
    /// Absent where the file has no such table.
    pub(crate) table: Option<&'a DeTable<'i>>,
    /// The keys that were asked for: those that the table may have.
    pub(crate) known: Vec<&'static str>,
    pub(crate) problems: Vec<Problem>,
    /// Paths of the keys with a problem.
    pub(crate) refused: Vec<String>,
}

impl<'a, 'i> Section<'a, 'i> {
    pub(crate) fn take(&mut self, key: &'static str) -> Option<(&'a DeValue<'i>, Place)> {
        self.known.push(key);
        let table = self.table?;
        let (_, value) = table.iter().find(|(name, _)| name.get_ref() == key)?;
        let path = format!("{}.{key}", self.written);
        Some((value.get_ref(), self.source.place(value.span().start, path)))
    }

    /// What was not asked for, with key and value.
    pub(crate) fn others(&self) -> Vec<(&'a str, usize, &'a Spanned<DeValue<'i>>)> {
        let entries = self.table.into_iter().flat_map(|table| table.iter());
        entries
            .map(|(key, value)| (key.get_ref().as_ref(), key.span().start, value))
            .filter(|(key, _, _)| !self.known.contains(key))
            .collect()
    }

    pub(crate) fn refuse(&mut self, key: &str, problem: Problem) {
        self.refused.push(format!("{}.{key}", self.name));
        self.problems.push(problem);
    }

    pub(crate) fn wrong_type(
        &mut self,
        key: &str,
        place: Place,
        expected: &str,
        value: &DeValue<'_>,
        hint: Option<String>,
    ) {
        let message = format!("must be {expected}, is {}", in_words(value));
        let problem = Problem::new(place, message);
        self.refuse(key, Problem { hint, ..problem });
    }

    /// A text.
    pub(crate) fn text(&mut self, key: &'static str) -> Given<String> {
        let (value, place) = self.take(key)?;
        if let Some(text) = value.as_str() {
            let value = text.to_owned();
            return Some(Placed { value, place });
        }
        let hint = "put it in double quotes".to_owned();
        self.wrong_type(key, place, "a text", value, Some(hint));
        None
    }

    /// A whole number that is not negative.
    pub(crate) fn whole(&mut self, key: &'static str) -> Given<u64> {
        let (value, place) = self.take(key)?;
        let Some(integer) = value.as_integer() else {
            let hint = match value {
                DeValue::String(text) if text.trim().parse::<u64>().is_ok() => {
                    Some(format!("write it without quotes: {key} = {}", text.trim()))
                }
                DeValue::Float(_) => Some("write it without a decimal point".to_owned()),
                _ => None,
            };
            self.wrong_type(key, place, "a whole number", value, hint);
            return None;
        };
        match u64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(value) => Some(Placed { value, place }),
            Err(_) => {
                self.refuse(key, out_of_range(place, integer));
                None
            }
        }
    }

    /// A number with or without a decimal point.
    pub(crate) fn number(&mut self, key: &'static str) -> Given<f64> {
        let (value, place) = self.take(key)?;
        let number = match value {
            DeValue::Float(float) => float.as_str().parse().ok(),
            DeValue::Integer(integer) => {
                let whole = i128::from_str_radix(integer.as_str(), integer.radix());
                // A rate above 2^53 has lost its meaning long before it loses its last digits.
                whole.ok().map(|whole| whole as f64)
            }
            _ => None,
        };
        if let Some(value) = number {
            return Some(Placed { value, place });
        }
        let hint = match value {
            DeValue::String(text) if text.trim().parse::<f64>().is_ok() => {
                Some(format!("write it without quotes: {key} = {}", text.trim()))
            }
            _ => None,
        };
        self.wrong_type(key, place, "a number", value, hint);
        None
    }

    /// `true` or `false`.
    pub(crate) fn truth(&mut self, key: &'static str) -> Given<bool> {
        let (value, place) = self.take(key)?;
        if let Some(value) = value.as_bool() {
            return Some(Placed { value, place });
        }
        let hint = format!("write {key} = true or {key} = false, without quotes");
        self.wrong_type(key, place, "true or false", value, Some(hint));
        None
    }

    /// A duration: a text, or a whole number of seconds.
    pub(crate) fn duration(&mut self, key: &'static str) -> Given<Duration> {
        let (value, place) = self.take(key)?;
        let text = match value {
            DeValue::String(text) => text.as_ref().to_owned(),
            DeValue::Integer(integer) if integer.radix() == 10 => {
                integer.as_str().trim_start_matches('+').to_owned()
            }
            _ => {
                let hint = "write a text such as \"500ms\", \"60s\" or \"1m30s\"".to_owned();
                self.wrong_type(key, place, "a duration", value, Some(hint));
                return None;
            }
        };
        match parse_duration(&text) {
            Ok(value) => Some(Placed { value, place }),
            Err(error) => {
                let message = error.to_string();
                let (message, hint) = message.split_once("; ").unwrap_or((&message, ""));
                self.refuse(key, Problem::new(place, message).hint(hint));
                None
            }
        }
    }

    /// One of a few words.
    pub(crate) fn choice<T: Choice>(&mut self, key: &'static str) -> Given<T> {
        let (value, place) = self.take(key)?;
        let names: Vec<&str> = T::ALL.iter().map(|(name, _)| *name).collect();
        let expected = format!("one of \"{}\"", names.join("\", \""));
        let Some(word) = value.as_str() else {
            self.wrong_type(key, place, &expected, value, None);
            return None;
        };
        if let Some(value) = T::from_name(word) {
            return Some(Placed { value, place });
        }
        let mut problem = Problem::new(
            place,
            format!("must be {expected}, is \"{}\"", shorten(word)),
        );
        if let Some(near) = suggest::nearest(word, &names) {
            problem = problem.hint(format!("did you mean \"{near}\"?"));
        }
        self.refuse(key, problem);
        None
    }
}

fn out_of_range(place: Place, integer: &DeInteger<'_>) -> Problem {
    let message = if integer.as_str().starts_with('-') {
        format!("must not be negative, is {}", shorten(&integer.to_string()))
    } else {
        format!(
            "must be at most {}, is {}",
            u64::MAX,
            shorten(&integer.to_string())
        )
    };
    Problem::new(place, message)
}

/// What kind of value this is. The value itself is not shown: it may stand in the wrong place and
/// be a secret.
fn in_words(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
