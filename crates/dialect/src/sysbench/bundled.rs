//! The tests that sysbench bundles, as far as they measure databases.
//!
//! In: a name. Out: its commands and options, what `help` says. Must never: know what a test sends.

use super::compat::Compat;
use super::number;
use super::spec::{Sort, key};

/// Commands of a bundled test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Tables are made and filled.
    Prepare,
    /// Tables are read into the server's memory; MySQL alone.
    Prewarm,
    /// The load.
    Run,
    /// Tables are dropped.
    Cleanup,
    /// The options are listed.
    Help,
}

/// A bundled test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundled {
    /// The name, the same as of the native workload.
    pub name: &'static str,
    /// Options that it adds to those all share.
    adds: &'static [Extra],
    /// `bulk_insert` declares no options and takes any.
    pub declares_options: bool,
}

/// An option of a bundled test; the value that it has when it is not given says of which sort it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extra {
    /// With `_`.
    pub name: &'static str,
    /// Value where none is given.
    pub default: Value<'static>,
    /// Its line in `help`.
    pub help: &'static str,
    only: Option<Compat>,
}

/// A value of a test's option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A switch.
    Switch(bool),
    /// A number.
    Number(i64),
    /// A text.
    Text(&'a str),
    /// A text that has no default.
    Unset,
}

impl Value<'_> {
    /// How `help` marks an option of this sort.
    fn mark(self) -> &'static str {
        match self {
            Value::Switch(_) => Sort::Bool.mark(),
            Value::Number(_) => Sort::Int.mark(),
            Value::Text(_) | Value::Unset => Sort::Text.mark(),
        }
    }

    /// As a plan holds it.
    pub fn to_toml(self) -> Option<toml::Value> {
        match self {
            Value::Switch(on) => Some(on.into()),
            Value::Number(number) => Some(number.into()),
            Value::Text(text) => Some(text.into()),
            Value::Unset => None,
        }
    }

    /// As `help` shows it in brackets.
    fn shown(self) -> Option<String> {
        match self {
            Value::Switch(on) => Some(if on { "on" } else { "off" }.to_owned()),
            Value::Number(number) => Some(number.to_string()),
            Value::Text(text) => Some(text.to_owned()),
            Value::Unset => None,
        }
    }
}

impl Extra {
    /// The value of a text given for this option; `None` if a switch is neither on nor off.
    pub fn read<'a>(&self, text: Option<&'a str>) -> Option<Value<'a>> {
        Some(match self.default {
            Value::Switch(_) => Value::Switch(number::switch(text)?),
            Value::Number(_) => Value::Number(number::whole(text.unwrap_or_default())),
            Value::Text(_) | Value::Unset => Value::Text(text.unwrap_or_default()),
        })
    }
}

const fn extra(name: &'static str, default: Value<'static>, help: &'static str) -> Extra {
    Extra {
        name,
        default,
        help,
        only: None,
    }
}

const fn new(extra: Extra) -> Extra {
    Extra {
        only: Some(Compat::V1_1),
        ..extra
    }
}

use Value::{Number, Switch, Text, Unset};

/// What all but `bulk_insert` know, sorted as `help` sorts.
const SHARED: &[Extra] = &[
    extra(
        "auto_inc",
        Switch(true),
        "Use AUTO_INCREMENT column as Primary Key (for MySQL), or its alternatives in other DBMS. When disabled, use client-generated IDs",
    ),
    extra(
        "create_secondary",
        Switch(true),
        "Create a secondary index in addition to the PRIMARY KEY",
    ),
    new(extra(
        "create_table_options",
        Text(""),
        "Extra CREATE TABLE options",
    )),
    extra(
        "delete_inserts",
        Number(1),
        "Number of DELETE/INSERT combinations per transaction",
    ),
    extra(
        "distinct_ranges",
        Number(1),
        "Number of SELECT DISTINCT queries per transaction",
    ),
    extra(
        "index_updates",
        Number(1),
        "Number of UPDATE index queries per transaction",
    ),
    extra(
        "mysql_storage_engine",
        Text("innodb"),
        "Storage engine, if MySQL is used",
    ),
    extra(
        "non_index_updates",
        Number(1),
        "Number of UPDATE non-index queries per transaction",
    ),
    extra(
        "order_ranges",
        Number(1),
        "Number of SELECT ORDER BY queries per transaction",
    ),
    extra(
        "pgsql_variant",
        Unset,
        "Use this PostgreSQL variant when running with the PostgreSQL driver. The only currently supported variant is 'redshift'. When enabled, create_secondary is automatically disabled, and delete_inserts is set to 0",
    ),
    extra(
        "point_selects",
        Number(10),
        "Number of point SELECT queries per transaction",
    ),
    extra(
        "range_selects",
        Switch(true),
        "Enable/disable all range SELECT queries",
    ),
    extra(
        "range_size",
        Number(100),
        "Range size for range SELECT queries",
    ),
    new(extra(
        "reconnect",
        Number(0),
        "Reconnect after every N events. The default (0) is to not reconnect",
    )),
    extra(
        "secondary",
        Switch(false),
        "Use a secondary index in place of the PRIMARY KEY",
    ),
    extra(
        "simple_ranges",
        Number(1),
        "Number of simple range SELECT queries per transaction",
    ),
    extra(
        "skip_trx",
        Switch(false),
        "Don't start explicit transactions and execute all queries in the AUTOCOMMIT mode",
    ),
    extra(
        "sum_ranges",
        Number(1),
        "Number of SELECT SUM() queries per transaction",
    ),
    extra("table_size", Number(10_000), "Number of rows per table"),
    extra("tables", Number(1), "Number of tables"),
];

const POINTS: &[Extra] = &[extra(
    "random_points",
    Number(10),
    "Number of random points in the IN() clause in generated SELECTs",
)];

const RANGES: &[Extra] = &[
    extra("delta", Number(5), "Size of BETWEEN ranges"),
    extra(
        "number_of_ranges",
        Number(10),
        "Number of random BETWEEN ranges per SELECT",
    ),
];

const fn test(name: &'static str, adds: &'static [Extra]) -> Bundled {
    Bundled {
        name,
        adds,
        declares_options: true,
    }
}

/// All of them.
pub const BUNDLED: &[Bundled] = &[
    test("oltp_read_write", &[]),
    test("oltp_read_only", &[]),
    test("oltp_write_only", &[]),
    test("oltp_point_select", &[]),
    test("oltp_insert", &[]),
    test("oltp_delete", &[]),
    test("oltp_update_index", &[]),
    test("oltp_update_non_index", &[]),
    test("select_random_points", POINTS),
    test("select_random_ranges", RANGES),
    Bundled {
        name: "bulk_insert",
        adds: &[],
        declares_options: false,
    },
];

/// What sysbench measures and Prony does not.
pub const OTHERS: &[&str] = &["fileio", "cpu", "memory", "threads", "mutex"];

impl Eq for Extra {}

impl Bundled {
    /// The test that a name or the path of a script means.
    pub fn of_name(name: &str) -> Option<&'static Bundled> {
        let file = name.rsplit('/').next().unwrap_or(name);
        let stem = file.strip_suffix(".lua");
        let name = match stem {
            Some(stem) => stem,
            // A path to something else than a script is none.
            None if file != name => return None,
            None => name,
        };
        BUNDLED.iter().find(|test| test.name == name)
    }

    /// Its options, sorted by name.
    pub fn options(&self, compat: Compat) -> Vec<Extra> {
        let shared = if self.declares_options { SHARED } else { &[] };
        let all = shared.iter().chain(self.adds);
        let mut options: Vec<Extra> = all
            .filter(|extra| extra.only.is_none_or(|only| only == compat))
            .copied()
            .collect();
        options.sort_by_key(|extra| extra.name);
        options
    }

    /// The command of a word.
    pub fn command(&self, word: &str, compat: Compat) -> Option<Command> {
        Some(match word {
            "prepare" => Command::Prepare,
            "prewarm" if self.declares_options => Command::Prewarm,
            "warmup" if self.declares_options && compat == Compat::V1_1 => Command::Prewarm,
            "run" => Command::Run,
            "cleanup" => Command::Cleanup,
            "help" => Command::Help,
            _ => return None,
        })
    }

    /// What `help` prints behind the banner, where the test was called `name`.
    ///
    /// # Errors
    /// The test has no help: the text for standard error.
    pub fn help(&self, name: &str, compat: Compat) -> Result<String, String> {
        if !self.declares_options {
            return Err(format!(
                "'{name}' test does not implement the 'help' command.\n"
            ));
        }
        let options = self.options(compat);
        let left = |extra: &Extra| format!("--{}{}", extra.name, extra.default.mark());
        let width = options
            .iter()
            .map(|extra| left(extra).len())
            .max()
            .unwrap_or(0);
        let mut text = format!("{name} options:\n");
        for extra in &options {
            let default = extra.default.shown().map(|shown| format!(" [{shown}]"));
            let default = default.unwrap_or_default();
            text += &format!("  {:width$} {}{default}\n", left(extra), extra.help);
        }
        Ok(text + "\n")
    }

    /// The option of a name, in which `-` and `_` are equal.
    pub fn option(&self, name: &str, compat: Compat) -> Option<Extra> {
        let name = key(name);
        self.options(compat)
            .into_iter()
            .find(|extra| extra.name == name)
    }
}
