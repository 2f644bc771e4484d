//! The unchecked input of a plan: every value is optional and comes with its location.
//!
//! Values of a TOML file and flags of a command line are merged into one [`PlanInput`]. Defaults are not
//! filled in here (`check` does that), and `Debug` never prints a URL.

use crate::check::REPLAY_WORKLOAD;
use crate::plan::{Pace, Plan, ServerPlan, Stop};
use crate::problem::{InputLocation, Problem};
pub use crate::settings::PlanInput;
use crate::settings::{Setting, SettingValue};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// A value, and where it was given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Located<T> {
    pub value: T,
    pub location: InputLocation,
}

impl<T> Located<T> {
    pub(crate) fn problem(&self, message: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem::new(self.location.clone(), message).with_hint(hint)
    }
}

/// A value that may have been given, with its location.
pub type InputValue<T> = Option<Located<T>>;

/// What was read from a plan file besides its values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileInput {
    /// Name of the file, for the location of missing keys.
    pub(crate) name: Option<String>,
    /// Whether the file has a table `[experiment]` or `[variants]`, even an empty one.
    pub(crate) has_experiment: bool,
    /// Problems found while reading the file; `check` adds to them.
    pub(crate) problems: Vec<Problem>,
    /// Keys, or whole tables, that could not be read; they do not count as missing.
    pub(crate) rejected_keys: Vec<String>,
}

/// A flag's value: `input.clients = value_from_flag("--clients", arguments.clients)`.
pub fn value_from_flag<T>(name: &str, value: Option<T>) -> InputValue<T> {
    value.map(|value| Located {
        value,
        location: InputLocation::Flag(name.to_owned()),
    })
}

/// The option with the variables of a script.
const DEFINE: &str = "define";

/// Puts the variables of a file before those of `flags`, which replace those of the same name.
fn add_defines(file: &toml::Value, flags: &mut Located<toml::Value>) {
    let (InputLocation::Flag(_), toml::Value::Array(list)) = (&flags.location, &mut flags.value)
    else {
        return;
    };
    let in_file: Vec<toml::Value> = match file {
        toml::Value::Array(list) => list.clone(),
        toml::Value::Table(table) => {
            let variables = table.iter();
            variables
                .map(|(name, value)| format!("{name}={}", plain_text(value)).into())
                .collect()
        }
        // One variable as a text.
        other => vec![other.clone()],
    };
    list.splice(0..0, in_file);
}

/// The value as a user types it in a flag: a string without quotes.
pub(crate) fn plain_text(value: &toml::Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

impl fmt::Debug for PlanInput {
    /// Without the values: the URL may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanInput")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

/// A value that nobody gave at a place, such as one of a plan that is written.
fn no_location<T>(value: T) -> InputValue<T> {
    value_from_flag("", Some(value))
}

fn unless_empty<T: Clone + Default + PartialEq>(value: &T) -> InputValue<T> {
    let given = Some(value.clone()).filter(|value| *value != T::default());
    given.and_then(no_location)
}

/// The settings `duration` and `transactions` of a plan that stops so.
fn duration_and_transactions(stop: Stop) -> (Option<Duration>, Option<u64>) {
    match stop {
        Stop::After(time) | Stop::NoStartsAfter(time) => (Some(time), None),
        Stop::Transactions(count) => (None, Some(count)),
        Stop::WorkDone => (None, None),
        Stop::SharedTransactions {
            transactions,
            within,
        } => (Some(within), Some(transactions)),
    }
}

impl PlanInput {
    /// Whether the plan replays recorded sessions, which have times of their own and an end.
    pub fn replays_sessions(&self) -> bool {
        let name = self.workload.as_ref();
        name.is_some_and(|name| name.value == REPLAY_WORKLOAD)
    }

    /// Sets an option of the workload from a flag, if the flag has a value.
    pub fn set_option<T: Into<toml::Value>>(&mut self, name: &str, key: &str, value: Option<T>) {
        if let Some(option) = value_from_flag(name, value.map(Into::into)) {
            self.options.insert(key.to_owned(), option);
        }
    }

    /// Merges `overrides` (flags, or a variant) into this input (a file): values of `overrides` replace
    /// those of this input.
    ///
    /// If a value of `overrides` and one of this input exclude each other, this input's value is dropped. For
    /// example, `--transactions 100` drops the file's `duration`, `--url` its `embedded = true`, and
    /// `--no-observe` its `server_metrics`. If both values are in `overrides`, both stay, and `check` reports
    /// the contradiction. A replaced value is no longer checked; problems found while reading the file stay.
    #[must_use]
    pub fn overlay(mut self, overrides: Self) -> Self {
        if overrides.duration.is_some() || overrides.transactions.is_some() {
            self.duration = None;
            self.transactions = None;
        }
        if overrides.url.is_some() || overrides.embedded.is_some() {
            let has_server = self.url.is_some() || self.embedded.is_some();
            // What was declared of another server does not hold for this one, and its replicas are not those of this one.
            if has_server && self.server() != overrides.server() {
                self.declared = None;
                (self.read_from, self.read_share) = (None, None);
            }
            self.url = None;
            self.embedded = None;
        }
        if overrides.observe.is_some() || overrides.server_metrics.is_some() {
            self.observe = None;
        }
        let observe = overrides.observe.as_ref();
        if observe.is_some_and(|observe| !observe.value) {
            self.server_metrics = None;
        }
        self.replace_given(&overrides);
        for variant in &mut self.variants {
            variant.apply_flags(&overrides);
        }
        if let Some(sweep) = overrides.sweep {
            self.sweep.get_or_insert_default().overlay(sweep);
        }
        let (file, override_file) = (&mut self.file, overrides.file);
        file.has_experiment |= override_file.has_experiment;
        file.name = file.name.take().or(override_file.name);
        file.problems.extend(override_file.problems);
        file.rejected_keys.extend(override_file.rejected_keys);
        let mut options = overrides.options;
        if let (Some(own), Some(new)) = (self.options.get(DEFINE), options.get_mut(DEFINE)) {
            add_defines(&own.value, new);
        }
        self.options.extend(options);
        self
    }

    /// The server that is named: its URL, or whether Prony starts it.
    fn server(&self) -> (Option<&str>, Option<bool>) {
        let url = self.url.as_ref().map(|url| url.value.as_str());
        (url, self.embedded.as_ref().map(|embedded| embedded.value))
    }

    /// The input that produces this plan, with every default written out. `server` is the URL to write.
    pub(crate) fn from_plan(plan: &Plan, server: Option<&str>) -> PlanInput {
        let drive = &plan.drive;
        let count = |number: u32| no_location(u64::from(number));
        let rate = match drive.pace {
            Pace::Rate {
                rate_tps, arrival, ..
            } => Some((rate_tps, arrival)),
            _ => None,
        };
        let (duration, transactions) = duration_and_transactions(drive.stop);
        let address = plan.observe.metrics_listen.as_ref();
        let metrics_listen = address.map(ToString::to_string);
        let read_share = plan.read_from.as_ref().map(|_| drive.read_share);
        let is_embedded = plan.server == ServerPlan::Embedded;
        let url = server.filter(|_| !is_embedded).map(str::to_owned);
        let mut input = PlanInput {
            workload: no_location(plan.workload.name.clone()),
            scale: plan.workload.scale.and_then(count),
            clients: count(drive.clients),
            threads: count(drive.threads),
            // Without a value, the plan gets the default again, which goes on until the load is steady.
            warmup: match drive.warmup_max {
                Some(_) => None,
                None => no_location(drive.warmup),
            },
            grace: no_location(drive.grace),
            protocol: no_location(drive.protocol),
            describe: no_location(drive.describe),
            connect_per_transaction: no_location(drive.connect_per_transaction),
            spread: drive.spread.and_then(no_location),
            read_share: read_share.and_then(count),
            tcp_sample: count(drive.tcp_sample),
            io: no_location(drive.io),
            wait: no_location(drive.wait),
            pin: drive.pin.and_then(no_location),
            statement_latency: no_location(drive.statement_latency),
            seed: drive.seed.and_then(no_location),
            expect_outage: no_location(plan.expect_outage),
            at: unless_empty(&plan.at),
            ledger: no_location(plan.ledger),
            install_agents: no_location(plan.install_agents),
            require: unless_empty(&plan.require),
            agents: unless_empty(&plan.agents),
            declared: unless_empty(&plan.declared),
            settings: unless_empty(&plan.settings),
            observe: no_location(plan.observe.server),
            server_metrics: plan.observe.server_metrics.clone().and_then(no_location),
            metrics_listen: metrics_listen.and_then(no_location),
            url: url.and_then(no_location),
            embedded: is_embedded.then_some(true).and_then(no_location),
            read_from: match &plan.read_from {
                Some(ServerPlan::Url(url)) => no_location(url.clone()),
                Some(ServerPlan::Embedded) | None => None,
            },
            rate_tps: rate.and_then(|(rate_tps, _)| no_location(rate_tps)),
            arrival: rate.and_then(|(_, arrival)| no_location(arrival)),
            duration: duration.and_then(no_location),
            transactions: transactions.and_then(no_location),
            // A plan is one run of its experiment.
            repeats: None,
            via: None,
            versus: None,
            order: None,
            ledger_cost: None,
            keep_going: None,
            pause: None,
            between: None,
            restart: None,
            variants: Vec::new(),
            sweep: None,
            options: BTreeMap::new(),
            file: FileInput::default(),
        };
        for (key, value) in &plan.workload.options {
            input.set_option("", key, Some(value.clone()));
        }
        input
    }

    /// The given values, for the Run document: `{"run.clients": {"value": 64, "place": "--clients"}}`.
    /// `server` replaces the URL and is redacted by the caller.
    pub fn to_json(&self, server: &str) -> Value {
        let mut values = Map::new();
        let mut add = |path: String, value: Value, location: &InputLocation| {
            values.insert(
                path,
                json!({ "value": value, "place": location.to_string() }),
            );
        };
        for (setting, value, location) in self.given_settings() {
            let value = match setting.path {
                "server.url" => json!(server),
                _ => stored_value(setting, value),
            };
            add(setting.path.to_owned(), value, location);
        }
        for (key, option) in &self.options {
            add(
                format!("workload.{key}"),
                crate::write::toml_to_json(&option.value),
                &option.location,
            );
        }
        Value::Object(values)
    }

    /// The flags for this input, as a user would type them. Settings without a flag are omitted.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        for (setting, value, _) in self.given_settings() {
            let Some(flag) = &setting.flag else { continue };
            let texts = value.to_texts();
            if flag.value_name.is_some() {
                for text in texts {
                    arguments.push(setting.flag_name());
                    arguments.extend(text.splitn(flag.value_count(), ' ').map(str::to_owned));
                }
            } else if texts == [flag.switch_value()] {
                arguments.push(setting.flag_name());
            }
        }
        for (key, Located { value, location }) in &self.options {
            match (location, value) {
                (InputLocation::Flag(name), toml::Value::Array(list)) => {
                    arguments.extend(
                        list.iter()
                            .flat_map(|item| [name.clone(), plain_text(item)]),
                    );
                }
                (InputLocation::Flag(name), value) if name != "--option" => {
                    arguments.extend([name.clone(), plain_text(value)])
                }
                (_, value) => {
                    arguments.extend(["-o".to_owned(), format!("{key}={}", plain_text(value))])
                }
            }
        }
        arguments
    }
}

/// The value for a document, without what may contain a password: commands, and other servers' URLs.
pub(crate) fn stored_value(setting: &Setting, value: &dyn SettingValue) -> Value {
    match setting.path {
        "experiment.between" | "experiment.restart" => json!("a command"),
        "fleet.agents" => json!("commands"),
        "run.at" => {
            let texts = value.to_texts().into_iter();
            texts
                .filter_map(|text| Some(format!("{} a command", text.split_once(' ')?.0)))
                .collect()
        }
        "server.read_from" => json!("a server for reads"),
        "experiment.via" => json!("a pooler"),
        "experiment.versus" => json!("another server"),
        _ => value.to_json(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{ServerPlan, Stop};
    use prony_assertions::TextAssertions;
    use std::time::Duration;

    const FILE: &str = "[server]\nembedded = true\n[workload]\nname = \"tpcb\"\nbranches = 3\n\
                        [run]\nclients = 64\nduration = \"30s\"\n";

    fn file() -> PlanInput {
        PlanInput::from_toml("p.toml", FILE).unwrap()
    }

    #[test]
    fn flags_take_precedence_and_drop_settings_that_they_exclude() {
        let mut flags = PlanInput {
            url: value_from_flag("--url", Some("postgres://h/d".to_owned())),
            transactions: value_from_flag("--transactions", Some(10)),
            clients: value_from_flag("--clients", Some(4)),
            ..PlanInput::default()
        };
        flags.options.extend([(
            "branches".to_owned(),
            Located {
                value: toml::Value::Integer(7),
                location: InputLocation::Flag("--set".to_owned()),
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
    fn a_defined_variable_replaces_only_that_of_its_name() {
        for define in ["{ days = 7, name = \"x\" }", "[\"days=7\", \"name=x\"]"] {
            let text = format!("[workload]\nname = \"sql\"\ndefine = {define}\n");
            let mut flags = PlanInput::default();
            flags.set_option("--define", "define", Some(vec!["days=30"]));
            let input = PlanInput::from_toml("p.toml", &text)
                .unwrap()
                .overlay(flags);
            let list = input.options["define"].value.as_array().unwrap();
            let list: Vec<&str> = list.iter().filter_map(toml::Value::as_str).collect();
            // The last one of a name counts.
            assert_eq!(list, ["days=7", "name=x", "days=30"], "{define}");
        }
    }

    #[test]
    fn an_empty_overlay_changes_nothing() {
        let plan = file().check().unwrap();
        assert_eq!(file().overlay(PlanInput::default()).check().unwrap(), plan);
        assert_eq!(plan.server, ServerPlan::Embedded);
        assert_eq!(plan.drive.clients, 64);
    }

    #[test]
    fn contradicting_flags_are_reported_at_the_flags() {
        let flags = PlanInput {
            duration: value_from_flag("--duration", Some(Duration::from_secs(1))),
            transactions: value_from_flag("--transactions", Some(10)),
            clients: value_from_flag("--clients", Some(0)),
            ..PlanInput::default()
        };
        let problems = file().overlay(flags).check().unwrap_err().to_string();
        problems.assert_contains("--transactions: ");
        problems.assert_contains("--clients: must be from 1 to 1000000, is 0");
    }

    #[test]
    fn json_has_the_given_values_and_their_locations() {
        let text =
            "[server]\nurl = \"postgres://u:secret@h/d\"\n[workload]\nname = \"tpcb\"\nx1 = 5\n";
        let flags = PlanInput {
            warmup: value_from_flag("--warmup", Some(Duration::from_secs(10))),
            ..PlanInput::default()
        };
        let input = PlanInput::from_toml("p.toml", text).unwrap().overlay(flags);
        let expected = json!({
            "server.url": {"value": "postgres://u@h/d", "place": "p.toml:2:7 (server.url)"},
            "workload.name": {"value": "tpcb", "place": "p.toml:4:8 (workload.name)"},
            "workload.x1": {"value": 5, "place": "p.toml:5:6 (workload.x1)"},
            "run.warmup": {"value": "10s", "place": "--warmup"},
        });
        assert_eq!(input.to_json("postgres://u@h/d"), expected);
    }

    #[test]
    fn debug_hides_the_url() {
        let input = PlanInput {
            url: value_from_flag("--url", Some("postgres://u:secret@h/d".to_owned())),
            workload: value_from_flag("tpcb", Some("tpcb".to_owned())),
            ..PlanInput::default()
        };
        format!("{input:?}").assert_lacks("secret");
        let plan = input.check().unwrap();
        format!("{plan:?}").assert_lacks("secret");
    }
}
