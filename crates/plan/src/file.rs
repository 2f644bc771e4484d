//! The form of a plan file: the source of its JSON Schema, and how a plan is written down.
//!
//! In: a [`Plan`]. Out: TOML, JSON, a JSON Schema. Must never: write a server's URL that the caller
//! has not redacted. Reading is not done here, because serde stops at the first problem; see
//! [`crate::Asked::from_toml`]. A test keeps the keys of both the same.

use crate::check::{
    DEFAULT_CLIENTS, DEFAULT_DURATION, DEFAULT_GRACE, DEFAULT_THREADS, MAX_CLIENTS, MAX_RATE_TPS,
    MAX_SCALE, MAX_THREADS,
};
use crate::duration::format_duration;
use crate::observe::Listen;
use crate::plan::{Arrival, IoEngine, Pace, Plan, QueryMode, ServerPlan, Stop};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// A benchmark: which server, which workload, and how it is driven.
#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Prony plan")]
pub struct PlanFile {
    /// Which server to load. Without this table: what PGHOST, PGSERVICE and their kin say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ServerTable")]
    pub server: Option<ServerTable>,
    /// Which workload, how large.
    pub workload: WorkloadTable,
    /// How the load is driven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RunTable")]
    pub run: Option<RunTable>,
    /// What is seen of the server during a run, and who may look on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ObserveTable")]
    pub observe: Option<ObserveTable>,
}

/// What is seen of the server during a run, and who may look on.
#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObserveTable {
    /// Look at the server before, during and after the run, on a connection of its own. Without it
    /// only its version and settings are read, before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool", extend("default" = true))]
    pub server: Option<bool>,
    /// URL of the node_exporter on the server's machine, such as http://db1:9100/metrics. Without it:
    /// this machine's own figures, if the server is on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub server_metrics: Option<String>,
    /// Serve the figures of the run to Prometheus while it goes on, under /metrics: a port of this
    /// machine alone, such as "9187", or an address with a port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub metrics_listen: Option<String>,
}

/// Which server to load: `url` or `embedded = true`, not both.
#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerTable {
    /// A URI (postgres://user@host/database) or a conninfo string (host=... dbname=...), as libpq
    /// reads it; or mysql://user@host/database (mariadb:// too), as MySQL's client reads its options.
    /// Leave the password to PGPASSWORD or the password file, to MYSQL_PWD or an option file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub url: Option<String>,
    /// Start a throw-away server for this run and remove it at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool", extend("default" = false))]
    pub embedded: Option<bool>,
}

/// Which workload, how large. Any other key is an option of that workload, which checks it.
#[derive(Serialize, JsonSchema)]
pub struct WorkloadTable {
    /// Name of the workload, such as tpcb, simple-update or select-only.
    #[schemars(regex(pattern = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"))]
    pub name: String,
    /// Scale factor. Default for a run: what the loaded data says; for a load: the workload's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = MAX_SCALE))]
    pub scale: Option<u32>,
    /// Options of this workload.
    #[serde(flatten)]
    #[schemars(with = "BTreeMap<String, Value>")]
    pub options: BTreeMap<String, toml::Value>,
}

/// How the load is driven. `duration` and `transactions` exclude each other; `arrival` needs `rate`.
#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("not" = json!({"required": ["duration", "transactions"]})))]
#[schemars(extend("dependentRequired" = json!({"arrival": ["rate"]})))]
pub struct RunTable {
    /// Virtual users, each with a connection of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = MAX_CLIENTS), extend("default" = DEFAULT_CLIENTS))]
    pub clients: Option<u32>,
    /// OS threads that drive them; at most as many as clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = MAX_THREADS), extend("default" = DEFAULT_THREADS))]
    pub threads: Option<u32>,
    /// Length of the measured part, counted from the end of the warm-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TimeText", extend("default" = format_duration(DEFAULT_DURATION)))]
    pub duration: Option<String>,
    /// End after this many transactions of each client instead, counted from the end of the
    /// warm-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", range(min = 1))]
    pub transactions: Option<u64>,
    /// Driven and measured before the measured part, and kept apart from the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TimeText", extend("default" = "0s"))]
    pub warmup: Option<String>,
    /// How long transactions in flight at the end may take to finish before they are cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TimeText", extend("default" = format_duration(DEFAULT_GRACE)))]
    pub grace: Option<String>,
    /// Transactions a second that all clients together shall start, whatever the server does (an
    /// open loop). Without it: each client starts its next transaction when the last one ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", extend("exclusiveMinimum" = 0, "maximum" = MAX_RATE_TPS))]
    pub rate: Option<f64>,
    /// Gaps between the starts of an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Arrival", extend("default" = "poisson"))]
    pub arrival: Option<Arrival>,
    /// How statements are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "QueryMode", extend("default" = "prepared"))]
    pub protocol: Option<QueryMode>,
    /// Ask for the row description with each execution, as libpq does. The simple protocol always
    /// gets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool", extend("default" = true))]
    pub describe: Option<bool>,
    /// Which I/O engine drives the sockets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "IoEngine", extend("default" = "auto"))]
    pub io: Option<IoEngine>,
    /// A new connection for each transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool", extend("default" = false))]
    pub connect_per_transaction: Option<bool>,
    /// How many of the clients use TCP where the others use a unix socket, to estimate how the
    /// response time splits into the server's part and the client's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", extend("default" = 0))]
    pub tcp_sample: Option<u32>,
    /// Seed of all random numbers. Without it: chosen, and named in the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub seed: Option<u64>,
    /// Pin each thread to a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool", extend("default" = false))]
    pub pin: Option<bool>,
}

/// A duration: a text such as "500ms", "60s", "5m", "1h" or "1m30s", or a whole number of seconds.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)] // Only its schema is used.
enum TimeText {
    Text(
        #[schemars(regex(
            pattern = r"^\s*([0-9]+|(?=[0-9])([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?([0-9]+us)?([0-9]+ns)?)\s*$"
        ))]
        String,
    ),
    Seconds(u64),
}

/// The JSON Schema of a plan file, for editors and other programs.
pub fn json_schema() -> Value {
    schemars::schema_for!(PlanFile).to_value()
}

/// The plan in the form of its file, every value written out. `server` is what to write as its URL:
/// redact it first where it goes into a document.
fn written_out(plan: &Plan, server: Option<&str>) -> PlanFile {
    let drive = &plan.drive;
    let (rate, arrival) = match drive.pace {
        Pace::Closed => (None, None),
        Pace::Rate {
            rate_tps, arrival, ..
        } => (Some(rate_tps), Some(arrival)),
    };
    let (duration, transactions) = match drive.stop {
        Stop::After(time) | Stop::Starts(time) => (Some(format_duration(time)), None),
        Stop::Transactions(count) => (None, Some(count)),
        Stop::Shared {
            transactions,
            within,
        } => (Some(format_duration(within)), Some(transactions)),
    };
    let time = |time: Duration| Some(format_duration(time));
    PlanFile {
        server: server_table(plan, server),
        workload: WorkloadTable {
            name: plan.workload.name.clone(),
            scale: plan.workload.scale,
            options: plan.workload.options.clone(),
        },
        run: Some(RunTable {
            clients: Some(drive.clients),
            threads: Some(drive.threads),
            duration,
            transactions,
            warmup: time(drive.warmup),
            grace: time(drive.grace),
            rate,
            arrival,
            protocol: Some(drive.protocol),
            describe: Some(drive.describe),
            io: Some(drive.io),
            connect_per_transaction: Some(drive.connect_per_transaction),
            tcp_sample: Some(drive.tcp_sample),
            seed: drive.seed,
            pin: Some(drive.pin),
        }),
        observe: Some(ObserveTable {
            server: Some(plan.observe.server),
            server_metrics: plan.observe.server_metrics.clone(),
            metrics_listen: plan.observe.metrics_listen.as_ref().map(Listen::to_string),
        }),
    }
}

fn server_table(plan: &Plan, server: Option<&str>) -> Option<ServerTable> {
    match plan.server {
        ServerPlan::Embedded => Some(ServerTable {
            url: None,
            embedded: Some(true),
        }),
        ServerPlan::Url(_) => server.map(|url| ServerTable {
            url: Some(url.to_owned()),
            embedded: None,
        }),
    }
}

/// The plan as a TOML file that reads as the same plan again, every default written out.
///
/// `server` is the URL to write: redacted by the caller, or `None` to leave the server to the
/// environment of whoever runs the file. An embedded server is written as such.
///
/// # Errors
/// An option of the workload that TOML cannot express.
pub fn to_toml(plan: &Plan, server: Option<&str>) -> Result<String, toml::ser::Error> {
    toml::to_string(&written_out(plan, server))
}

/// The plan as it runs, for the Run document: `{"server": text, "workload": {...}, "run": {...},
/// "observe": {...}}` with the keys of a plan file, durations as its texts, every default filled in, and `null` for
/// what does not apply (a rate in a closed loop) or was not decided (scale, seed).
///
/// `server` is stored as it stands: the caller has redacted it.
pub fn to_json(plan: &Plan, server: &str) -> Value {
    let written = written_out(plan, None);
    let mut run = json!(written.run);
    for key in ["duration", "transactions", "rate", "arrival", "seed"] {
        if run.get(key).is_none() {
            run[key] = Value::Null;
        }
    }
    let mut workload: Map<String, Value> = plan
        .workload
        .options
        .iter()
        .map(|(key, value)| (key.clone(), plain(value)))
        .collect();
    workload.insert("name".to_owned(), json!(plan.workload.name));
    workload.insert("scale".to_owned(), json!(plan.workload.scale));
    let mut observe = json!(written.observe);
    for key in ["server_metrics", "metrics_listen"] {
        if observe.get(key).is_none() {
            observe[key] = Value::Null;
        }
    }
    json!({ "server": server, "workload": workload, "run": run, "observe": observe })
}

/// A TOML value in JSON: dates as their texts, since serde would wrap them in a private table.
pub(crate) fn plain(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => json!(text),
        toml::Value::Integer(number) => json!(number),
        toml::Value::Float(number) => json!(number),
        toml::Value::Boolean(truth) => json!(truth),
        toml::Value::Datetime(date) => json!(date.to_string()),
        toml::Value::Array(list) => list.iter().map(plain).collect(),
        toml::Value::Table(table) => table
            .iter()
            .map(|(key, value)| (key.clone(), plain(value)))
            .collect(),
    }
}

#[cfg(test)]
mod tests;
