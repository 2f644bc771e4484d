//! Reads the values of a plan's options, and reports every mistake rather than just the first.

use crate::Error;
use crate::describe::{OptionKind, OptionSpec};
use prony_plan::{WorkloadPlan, suggest};
use std::str::FromStr;

/// Longest hint that fits into a line of 100 characters.
const MAX_HINT_CHARS: usize = 92;

pub struct OptionReader<'a> {
    /// `None`: every option has its default.
    plan: Option<&'a WorkloadPlan>,
    specs: &'static [OptionSpec],
    pub problems: Vec<Error>,
}

impl<'a> OptionReader<'a> {
    pub fn new(plan: &'a WorkloadPlan, specs: &'static [OptionSpec]) -> Self {
        OptionReader {
            plan: Some(plan),
            specs,
            problems: Vec::new(),
        }
    }

    pub fn defaults(specs: &'static [OptionSpec]) -> Self {
        OptionReader {
            plan: None,
            specs,
            problems: Vec::new(),
        }
    }

    pub fn add_problem(&mut self, problem: String, hint: impl Into<String>) {
        let hint = hint.into();
        self.problems.push(Error::InvalidRequest { problem, hint });
    }

    pub fn finish<T>(self, options: T) -> Result<T, Vec<Error>> {
        if self.problems.is_empty() { Ok(options) } else { Err(self.problems) }
    }

    fn spec(&self, name: &str) -> &'static OptionSpec {
        let mut specs = self.specs.iter();
        specs
            .find(|spec| spec.name == name)
            .unwrap_or_else(|| unreachable!("{name} is in the workload's table of options"))
    }

    /// The text of an option in the plan, whatever its type: on the command line every value is text.
    fn plan_text(&self, name: &str) -> Option<String> {
        let value = self.plan?.options.get(name)?;
        Some(match (value.as_str(), value.as_float()) {
            (Some(text), _) => text.to_owned(),
            // In short form: 1e300 would otherwise have 301 digits.
            (None, Some(number)) => format!("{number:?}"),
            (None, None) => value.to_string(),
        })
    }

    /// The value of an option if it is valid, otherwise its default; `None` if it has neither.
    fn value<T>(&mut self, name: &str, parse: impl Fn(&str, OptionKind) -> Option<T>) -> Option<T> {
        let spec = self.spec(name);
        if let Some(text) = self.plan_text(name) {
            if let Some(value) = parse(&text, spec.kind) {
                return Some(value);
            }
            self.problems.push(Error::Value {
                key: name.to_owned(),
                value: text.clone(),
                expected: match spec.kind {
                    OptionKind::Integer(..) | OptionKind::Float(..) => "a valid number",
                    OptionKind::Switch => "on or off",
                    _ => "known",
                },
                hint: value_hint(spec, &text),
            });
        }
        spec.default.and_then(|default| parse(default, spec.kind))
    }

    /// A whole number without a default; `None` if the plan does not set it.
    pub fn optional_integer(&mut self, name: &str) -> Option<u32> {
        self.value(name, |text, kind| match kind {
            OptionKind::Integer(min, max) => {
                parse_number(text).filter(|number| (min..=max).contains(number))
            }
            _ => None,
        })
    }

    pub fn integer(&mut self, name: &str) -> u32 {
        self.optional_integer(name).unwrap_or_default()
    }

    /// A value `on` or `off`.
    pub fn switch(&mut self, name: &str) -> bool {
        let value = self.value(name, |text, _| match text {
            "on" | "true" | "1" => Some(true),
            "off" | "false" | "0" => Some(false),
            _ => None,
        });
        value.unwrap_or_default()
    }

    pub fn float(&mut self, name: &str) -> f64 {
        let value = self.value(name, |text, kind| match kind {
            OptionKind::Float(above, below) => {
                parse_number(text).filter(|number: &f64| *number > above && *number < below)
            }
            _ => None,
        });
        value.unwrap_or_default()
    }

    /// The index of the value among the option's choices, ignoring case; `None` if the plan does not set it
    /// and it has no default.
    pub fn optional_choice(&mut self, name: &str) -> Option<usize> {
        self.value(name, |text, kind| match kind {
            OptionKind::Choice(choices) => {
                let mut choices = choices.iter();
                choices.position(|choice| choice.eq_ignore_ascii_case(text))
            }
            _ => None,
        })
    }

    /// The index of the value among the choices, for an option with a default.
    pub fn choice(&mut self, name: &str) -> usize {
        self.optional_choice(name).unwrap_or_default()
    }

    /// A single-line text; empty if the plan does not set it.
    pub fn text(&mut self, name: &str) -> String {
        let value = self.value(name, |text, _| Some(text.to_owned()));
        value.unwrap_or_default()
    }
}

pub trait OptionValue {
    fn read(reader: &mut OptionReader<'_>, name: &str) -> Self;
}

macro_rules! option_values {
    ($($type:ty: $read:ident;)*) => {$(
        impl OptionValue for $type {
            fn read(reader: &mut OptionReader<'_>, name: &str) -> Self {
                reader.$read(name)
            }
        }
    )*};
}

option_values! {
    u32: integer;
    Option<u32>: optional_integer;
    bool: switch;
    f64: float;
    usize: choice;
    Option<usize>: optional_choice;
    String: text;
}

/// A list of options.
macro_rules! option_specs {
    ($($name:ident: $kind:expr, $default:expr, $help:literal;)*) => {
        &[$($crate::describe::OptionSpec {
            name: stringify!($name),
            kind: $kind,
            default: $default,
            help: $help,
        }),*]
    };
}
pub(crate) use option_specs;

/// Declares the options of a workload: `OPTIONS`, which describes them, and a struct of their values. A
/// choice is stored as an index.
macro_rules! options {
    ($(#[$meta:meta])* $struct:ident { $($name:ident: $type:ty, $kind:expr, $default:expr, $help:literal;)* }) => {
        pub const OPTIONS: &[$crate::describe::OptionSpec] = $crate::option_reader::option_specs! {
            $($name: $kind, $default, $help;)*
        };

        $(#[$meta])*
        pub struct $struct {$(
            #[doc = $help]
            pub $name: $type,
        )*}

        impl $struct {
            fn read_all(reader: &mut $crate::option_reader::OptionReader<'_>) -> Self {
                use $crate::option_reader::OptionValue;
                $struct {
                    $($name: OptionValue::read(reader, stringify!($name)),)*
                }
            }
        }

        impl Default for $struct {
            fn default() -> Self {
                Self::read_all(&mut $crate::option_reader::OptionReader::defaults(OPTIONS))
            }
        }
    };
}
pub(crate) use options;

/// What an option accepts, and what was probably meant.
fn value_hint(spec: &OptionSpec, text: &str) -> String {
    let guess = match spec.kind {
        OptionKind::Choice(choices) => suggest::nearest(text, choices),
        _ => None,
    };
    match guess {
        Some(name) => format!("did you mean {name}? It is {}", spec.kind.values()),
        None => {
            let values = spec.kind.values();
            let with_help = format!("{values}: {}", spec.help);
            if with_help.chars().count() <= MAX_HINT_CHARS { with_help } else { values }
        }
    }
}

fn parse_number<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each default must be a valid value of its option, and each option must be read as its kind.
    #[test]
    fn every_default_is_valid() {
        for workload in crate::list() {
            for spec in workload.options() {
                let mut reader = OptionReader::defaults(workload.options());
                let name = spec.name;
                let is_read = match (spec.kind, spec.default) {
                    (_, None) => true,
                    (OptionKind::Integer(..), _) => reader.optional_integer(name).is_some(),
                    (OptionKind::Float(above, _), _) => reader.float(name) > above,
                    (OptionKind::Switch, Some(text)) => {
                        reader.switch(name) == (text == "on") && matches!(text, "on" | "off")
                    }
                    (OptionKind::Choice(choices), Some(text)) => {
                        choices.get(reader.choice(name)) == Some(&text)
                    }
                    (OptionKind::Text | OptionKind::Texts | OptionKind::Tables, _) => true,
                };
                assert!(is_read, "{}: {name}", workload.name());
                let help = spec.help;
                assert!(!help.is_empty() && !help.ends_with('.'), "{name}: {help}");
            }
        }
    }
}
