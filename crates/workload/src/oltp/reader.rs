//! Reading values of options, with every mistake named.
//!
//! In: a plan's options. Out: values, or problems. Must never: stop at the first mistake.

use crate::Error;
use prony_plan::WorkloadPlan;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Reads the options of one plan.
pub struct Reader<'a> {
    plan: &'a WorkloadPlan,
    /// What is wrong, in the order in which it was read.
    pub problems: Vec<Error>,
}

impl<'a> Reader<'a> {
    /// Nothing read so far.
    pub fn new(plan: &'a WorkloadPlan) -> Self {
        Reader {
            plan,
            problems: Vec::new(),
        }
    }

    /// The text of an option, whatever its type: from the command line all may come as text.
    fn text(&self, key: &str) -> Option<String> {
        self.plan
            .options
            .get(key)
            .map(|value| match value.as_str() {
                Some(text) => text.to_owned(),
                None => value.to_string(),
            })
    }

    /// Notes a problem.
    pub fn wrong(&mut self, problem: String, hint: impl Into<String>) {
        let hint = hint.into();
        self.problems.push(Error::Asked { problem, hint });
    }

    fn no_such(&mut self, key: &str, text: &str, what: &'static str, hint: String) {
        self.problems.push(Error::Value {
            key: key.to_owned(),
            value: text.to_owned(),
            what,
            hint,
        });
    }

    /// A whole number; `None` where it is not given.
    pub fn given(&mut self, key: &str, range: RangeInclusive<u32>) -> Option<u32> {
        let text = self.text(key)?;
        let number = text.parse().ok().filter(|number| range.contains(number));
        if number.is_none() {
            let hint = format!("{} to {}", range.start(), range.end());
            self.no_such(key, &text, "a possible number", hint);
        }
        number
    }

    /// A whole number with a default.
    pub fn number(&mut self, key: &str, default: u32, range: RangeInclusive<u32>) -> u32 {
        self.given(key, range).unwrap_or(default)
    }

    /// Yes or no.
    pub fn flag(&mut self, key: &str, default: bool) -> bool {
        let Some(text) = self.text(key) else {
            return default;
        };
        match text.as_str() {
            "on" | "true" | "1" => true,
            "off" | "false" | "0" => false,
            _ => {
                self.no_such(key, &text, "yes or no", "on or off".to_owned());
                default
            }
        }
    }

    /// A number above `low` and below `high`.
    pub fn real(&mut self, key: &str, default: f64, low: f64, high: f64) -> f64 {
        let Some(text) = self.text(key) else {
            return default;
        };
        match text.parse() {
            Ok(number) if number > low && number < high => number,
            _ => {
                let hint = format!("above {low} and below {high}");
                self.no_such(key, &text, "a possible number", hint);
                default
            }
        }
    }

    /// The place of a word among those known.
    pub fn word(
        &mut self,
        key: &str,
        default: usize,
        known: &[impl Display + AsRef<str>],
    ) -> usize {
        let Some(text) = self.text(key) else {
            return default;
        };
        let place = known.iter().position(|known| known.as_ref() == text);
        place.unwrap_or_else(|| {
            let names: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
            let hint = format!("one of {}", names.join(", "));
            self.no_such(key, &text, "known", hint);
            default
        })
    }

    /// A text of one line.
    pub fn words(&mut self, key: &str, default: &str) -> String {
        self.text(key).unwrap_or_else(|| default.to_owned())
    }
}
