//! The options of sysbench and of its bundled tests: names, types, defaults and help texts, from
//! `options.txt` and `tests.txt`.
//!
//! The values of a command line are in [`super::options`].

use super::compat::Compat;
use super::number;
use crate::table;
use std::sync::LazyLock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    Bool,
    /// A 32-bit integer.
    Int,
    /// A size in bytes, with an optional suffix.
    Size,
    /// A floating-point number.
    Double,
    Text,
    /// A list of texts, separated by commas.
    List,
    File,
}

impl ValueType {
    fn from_name(name: &str) -> ValueType {
        match name {
            "bool" => ValueType::Bool,
            "int" => ValueType::Int,
            "size" => ValueType::Size,
            "double" => ValueType::Double,
            "text" => ValueType::Text,
            "list" => ValueType::List,
            "file" => ValueType::File,
            other => panic!("{other}: not an option type"),
        }
    }

    /// The placeholder after the name in help.
    fn placeholder(self) -> &'static str {
        match self {
            ValueType::Bool => "[=on|off]",
            ValueType::Int | ValueType::Double => "=N",
            ValueType::Size => "=SIZE",
            ValueType::Text => "=STRING",
            ValueType::List => "=[LIST,...]",
            ValueType::File => "=FILENAME",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    pub name: &'static str,
    pub value_type: ValueType,
    /// The default; `None` if help prints no default.
    pub default: Option<&'static str>,
    help: &'static str,
    /// The section of `options.txt` or `tests.txt` that contains the option.
    pub(super) group: &'static str,
    /// The only version that has the option; `None` if both have it.
    only_version: Option<Compat>,
}

/// The key of an option: its name with `_` for `-`, because both are equivalent.
pub fn option_key(name: &str) -> String {
    name.replace('-', "_")
}

impl OptionSpec {
    fn from_row(group: &'static str, columns: [&'static str; 5]) -> OptionSpec {
        let [only_version, name, value_type, default, help] = columns;
        OptionSpec {
            name,
            value_type: ValueType::from_name(value_type),
            default: (default != "none").then_some(default),
            help,
            group,
            only_version: match only_version {
                "1.0" => Some(Compat::V1_0),
                "1.1" => Some(Compat::V1_1),
                _ => None,
            },
        }
    }

    /// The name with `_`.
    pub fn key(&self) -> String {
        option_key(self.name)
    }

    fn is_in(&self, compat: Compat) -> bool {
        self.only_version
            .is_none_or(|only_version| only_version == compat)
    }

    /// Converts the text of a test's option to a value of the plan; `None` if a boolean is neither on nor
    /// off.
    pub(super) fn plan_value(&self, text: Option<&str>) -> Option<toml::Value> {
        Some(match self.value_type {
            ValueType::Bool => number::parse_switch(text)?.into(),
            ValueType::Int => number::leading_integer(text.unwrap_or_default()).into(),
            _ => text.unwrap_or_default().into(),
        })
    }
}

static GENERAL_OPTIONS: LazyLock<Vec<OptionSpec>> =
    LazyLock::new(|| read_specs(include_str!("options.txt")));
static TEST_OPTIONS: LazyLock<Vec<OptionSpec>> =
    LazyLock::new(|| read_specs(include_str!("tests.txt")));

fn read_specs(text: &'static str) -> Vec<OptionSpec> {
    table::rows(text)
        .map(|(group, columns)| OptionSpec::from_row(group, columns))
        .collect()
}

pub fn general_options(compat: Compat) -> impl Iterator<Item = &'static OptionSpec> {
    GENERAL_OPTIONS
        .iter()
        .filter(move |spec| spec.is_in(compat))
}

pub fn find_general_option(compat: Compat, key: &str) -> Option<&'static OptionSpec> {
    general_options(compat).find(|spec| spec.key() == key)
}

pub(super) fn test_options(compat: Compat) -> impl Iterator<Item = &'static OptionSpec> {
    TEST_OPTIONS.iter().filter(move |spec| spec.is_in(compat))
}

pub(super) fn help_lines(specs: &[&OptionSpec]) -> String {
    let flag = |spec: &OptionSpec| format!("--{}{}", spec.name, spec.value_type.placeholder());
    let width = specs.iter().map(|spec| flag(spec).len()).max().unwrap_or(0);
    let line = |spec: &&OptionSpec| {
        let default = spec.default.map(|default| format!(" [{default}]"));
        let default = default.unwrap_or_default();
        format!("  {:width$} {}{default}\n", flag(spec), spec.help)
    };
    specs.iter().map(line).collect()
}
