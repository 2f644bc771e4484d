//! What was asked, before it is checked: every value optional, each with its place.
//!
//! In: a TOML file's values and a command line's flags. Out: one value of both. Must never: fill in
//! a default (that is `check`'s), or show the URL in a `Debug` text.

use crate::duration::format_duration;
use crate::plan::{Arrival, IoEngine, QueryMode};
use crate::problem::{Place, Problem};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// A value with the place where it was given.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Where it was given.
    pub place: Place,
}

/// A value that may have been given.
pub type Given<T> = Option<Placed<T>>;

/// A flag's value: `asked.clients = flag("--clients", arguments.clients)`.
pub fn flag<T>(name: &str, value: Option<T>) -> Given<T> {
    value.map(|value| Placed {
        value,
        place: Place::Flag(name.to_owned()),
    })
}

/// What was asked, as far as it was. The fields are the keys of a plan file, whose meaning
/// [`crate::file`] documents; numbers are as wide as they can be written, because `check` is who
/// says what is out of range.
#[derive(Clone, Default, PartialEq)]
pub struct Asked {
    /// `server.url`: may contain a password.
    pub url: Given<String>,
    /// `server.embedded`.
    pub embedded: Given<bool>,
    /// `workload.name`.
    pub workload: Given<String>,
    /// `workload.scale`.
    pub scale: Given<u64>,
    /// All other keys of `workload`.
    pub options: BTreeMap<String, Placed<toml::Value>>,
    /// `run.clients`.
    pub clients: Given<u64>,
    /// `run.threads`.
    pub threads: Given<u64>,
    /// `run.duration`.
    pub duration: Given<Duration>,
    /// `run.transactions`, of each client.
    pub transactions: Given<u64>,
    /// `run.warmup`.
    pub warmup: Given<Duration>,
    /// `run.grace`.
    pub grace: Given<Duration>,
    /// `run.rate`, transactions a second of all clients together.
    pub rate_tps: Given<f64>,
    /// `run.arrival`.
    pub arrival: Given<Arrival>,
    /// `run.protocol`.
    pub protocol: Given<QueryMode>,
    /// `run.describe`.
    pub describe: Given<bool>,
    /// `run.io`.
    pub io: Given<IoEngine>,
    /// `run.connect_per_transaction`.
    pub connect_per_transaction: Given<bool>,
    /// `run.tcp_sample`.
    pub tcp_sample: Given<u64>,
    /// `run.seed`.
    pub seed: Given<u64>,
    /// `run.pin`.
    pub pin: Given<bool>,
    /// `observe.server`.
    pub observe: Given<bool>,
    /// `observe.server_metrics`: refused by `check` where it may hold a password.
    pub server_metrics: Given<String>,
    /// `observe.metrics_listen`.
    pub metrics_listen: Given<String>,
    /// The file that was read, for the place of what is missing.
    pub(crate) file: Option<String>,
    /// What reading has found so far; `check` adds to it.
    pub(crate) problems: Vec<Problem>,
    /// Keys, or whole tables, that were given in a form that could not be read: their absence here
    /// means nothing.
    pub(crate) refused: Vec<String>,
}

impl fmt::Debug for Asked {
    /// Without the values: the URL may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked")
            .field("file", &self.file)
            .field("problems", &self.problems)
            .finish_non_exhaustive()
    }
}

impl Asked {
    /// A flag that is a list of texts, for an option of the workload; an empty list was not given.
    pub fn add_option_flag(&mut self, name: &str, key: &str, texts: &[String]) {
        if texts.is_empty() {
            return;
        }
        let texts = texts.iter().cloned().map(toml::Value::String);
        let placed = Placed {
            value: toml::Value::Array(texts.collect()),
            place: Place::Flag(name.to_owned()),
        };
        self.options.insert(key.to_owned(), placed);
    }

    /// A flag that is one value, for an option of the workload.
    pub fn add_option_value(&mut self, name: &str, key: &str, value: Option<toml::Value>) {
        if let Some(value) = value {
            let place = Place::Flag(name.to_owned());
            self.options.insert(key.to_owned(), Placed { value, place });
        }
    }

    /// Lays `over` (flags) on top of this (a file): what `over` gives replaces what was given here.
    ///
    /// Of two values that exclude each other the one in `over` wins and the one here is dropped:
    /// `--transactions 100` over a file's `duration`, `--url` over its `embedded = true`,
    /// `--no-observe` over its `server_metrics`. Both in
    /// `over` stay, and `check` names the contradiction. A replaced value is no longer looked at;
    /// problems that reading the file found stay.
    #[must_use]
    pub fn overlay(mut self, over: Self) -> Self {
        if over.duration.is_some() || over.transactions.is_some() {
            self.duration = None;
            self.transactions = None;
        }
        if over.url.is_some() || over.embedded.is_some() {
            self.url = None;
            self.embedded = None;
        }
        if over.observe.is_some() || over.server_metrics.is_some() {
            self.observe = None;
        }
        if over.observe.as_ref().is_some_and(|given| !given.value) {
            self.server_metrics = None;
        }
        self.problems.extend(over.problems);
        self.refused.extend(over.refused);
        self.options.extend(over.options);
        Self {
            url: over.url.or(self.url),
            embedded: over.embedded.or(self.embedded),
            workload: over.workload.or(self.workload),
            scale: over.scale.or(self.scale),
            options: self.options,
            clients: over.clients.or(self.clients),
            threads: over.threads.or(self.threads),
            duration: over.duration.or(self.duration),
            transactions: over.transactions.or(self.transactions),
            warmup: over.warmup.or(self.warmup),
            grace: over.grace.or(self.grace),
            rate_tps: over.rate_tps.or(self.rate_tps),
            arrival: over.arrival.or(self.arrival),
            protocol: over.protocol.or(self.protocol),
            describe: over.describe.or(self.describe),
            io: over.io.or(self.io),
            connect_per_transaction: over
                .connect_per_transaction
                .or(self.connect_per_transaction),
            tcp_sample: over.tcp_sample.or(self.tcp_sample),
            seed: over.seed.or(self.seed),
            pin: over.pin.or(self.pin),
            observe: over.observe.or(self.observe),
            server_metrics: over.server_metrics.or(self.server_metrics),
            metrics_listen: over.metrics_listen.or(self.metrics_listen),
            file: self.file.or(over.file),
            problems: self.problems,
            refused: self.refused,
        }
    }
}

impl Asked {
    /// What was asked, for the Run document: `{"run.clients": {"value": 64, "place": "--clients"}}`,
    /// only what was given. `server` stands for the URL, as redacted by the caller.
    pub fn to_json(&self, server: &str) -> Value {
        let mut given = Map::new();
        let mut add = |key: &str, entry: Option<(Value, &Place)>| {
            if let Some((value, place)) = entry {
                let entry = json!({ "value": value, "place": place.to_string() });
                given.insert(key.to_owned(), entry);
            }
        };
        let time = |time: &Duration| json!(format_duration(*time));
        add("server.url", entry(&self.url, |_| json!(server)));
        add("server.embedded", entry(&self.embedded, plain));
        add("workload.name", entry(&self.workload, plain));
        add("workload.scale", entry(&self.scale, plain));
        add("run.clients", entry(&self.clients, plain));
        add("run.threads", entry(&self.threads, plain));
        add("run.duration", entry(&self.duration, time));
        add("run.transactions", entry(&self.transactions, plain));
        add("run.warmup", entry(&self.warmup, time));
        add("run.grace", entry(&self.grace, time));
        add("run.rate", entry(&self.rate_tps, plain));
        add("run.arrival", entry(&self.arrival, plain));
        add("run.protocol", entry(&self.protocol, plain));
        add("run.describe", entry(&self.describe, plain));
        add("run.io", entry(&self.io, plain));
        let churn = entry(&self.connect_per_transaction, plain);
        add("run.connect_per_transaction", churn);
        add("run.tcp_sample", entry(&self.tcp_sample, plain));
        add("run.seed", entry(&self.seed, plain));
        add("run.pin", entry(&self.pin, plain));
        add("observe.server", entry(&self.observe, plain));
        add("observe.server_metrics", entry(&self.server_metrics, plain));
        add("observe.metrics_listen", entry(&self.metrics_listen, plain));
        for (key, placed) in &self.options {
            let value = crate::file::plain(&placed.value);
            add(&format!("workload.{key}"), Some((value, &placed.place)));
        }
        Value::Object(given)
    }
}

fn entry<T>(given: &Given<T>, form: impl Fn(&T) -> Value) -> Option<(Value, &Place)> {
    let placed = given.as_ref()?;
    Some((form(&placed.value), &placed.place))
}

/// Truths, numbers, texts and words: these always have a JSON form.
fn plain<T: Serialize>(value: &T) -> Value {
    json!(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{ServerPlan, Stop};

    const FILE: &str = "[server]\nembedded = true\n[workload]\nname = \"tpcb\"\nbranches = 3\n\
                        [run]\nclients = 64\nduration = \"30s\"\n";

    fn file() -> Asked {
        Asked::from_toml("p.toml", FILE).unwrap()
    }

    #[test]
    fn flags_win_and_drop_what_they_exclude() {
        let mut flags = Asked {
            url: flag("--url", Some("postgres://h/d".to_owned())),
            transactions: flag("--transactions", Some(10)),
            clients: flag("--clients", Some(4)),
            ..Asked::default()
        };
        flags.options.extend([(
            "branches".to_owned(),
            Placed {
                value: toml::Value::Integer(7),
                place: Place::Flag("--set".to_owned()),
            },
        )]);
        let plan = file().overlay(flags).check().unwrap();
        assert_eq!(plan.server, ServerPlan::Url("postgres://h/d".to_owned()));
        assert_eq!(plan.drive.stop, Stop::Transactions(10));
        assert_eq!(plan.drive.clients, 4);
        assert_eq!(plan.workload.name, "tpcb");
        assert_eq!(plan.workload.options["branches"].as_integer(), Some(7));
    }

    #[test]
    fn no_flags_change_nothing() {
        let alone = file().check().unwrap();
        assert_eq!(file().overlay(Asked::default()).check().unwrap(), alone);
        assert_eq!(alone.server, ServerPlan::Embedded);
        assert_eq!(alone.drive.clients, 64);
    }

    #[test]
    fn flags_that_contradict_each_other_are_a_problem_of_flags() {
        let flags = Asked {
            duration: flag("--duration", Some(Duration::from_secs(1))),
            transactions: flag("--transactions", Some(10)),
            clients: flag("--clients", Some(0)),
            ..Asked::default()
        };
        let problems = file().overlay(flags).check().unwrap_err().to_string();
        assert!(problems.contains("--transactions: "), "{problems}");
        assert!(
            problems.contains("--clients: must be from 1 to 1000000, is 0"),
            "{problems}"
        );
    }

    #[test]
    fn json_tells_what_was_given_and_where() {
        let text =
            "[server]\nurl = \"postgres://u:secret@h/d\"\n[workload]\nname = \"tpcb\"\nx1 = 5\n";
        let flags = Asked {
            warmup: flag("--warmup", Some(Duration::from_secs(10))),
            ..Asked::default()
        };
        let asked = Asked::from_toml("p.toml", text).unwrap().overlay(flags);
        let expected = json!({
            "server.url": {"value": "postgres://u@h/d", "place": "p.toml:2:7 (server.url)"},
            "workload.name": {"value": "tpcb", "place": "p.toml:4:8 (workload.name)"},
            "workload.x1": {"value": 5, "place": "p.toml:5:6 (workload.x1)"},
            "run.warmup": {"value": "10s", "place": "--warmup"},
        });
        assert_eq!(asked.to_json("postgres://u@h/d"), expected);
    }

    #[test]
    fn debug_hides_the_url() {
        let asked = Asked {
            url: flag("--url", Some("postgres://u:secret@h/d".to_owned())),
            workload: flag("tpcb", Some("tpcb".to_owned())),
            ..Asked::default()
        };
        assert!(!format!("{asked:?}").contains("secret"));
        let plan = asked.check().unwrap();
        assert!(!format!("{plan:?}").contains("secret"));
    }
}
