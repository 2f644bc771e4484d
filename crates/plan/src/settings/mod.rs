//! The table of settings: one entry for each key of a plan, with its type, limits, flag and help.
//!
//! [`SETTINGS`] generates the fields of [`PlanInput`], the keys of a plan file and their JSON Schema, the
//! values that flags and variants override, the flags of the commands, and the values in the Run document.
//! Defaults come from [`crate::DrivePlan`] and the other plan types. The table itself holds no values.

mod flag;
mod values;

pub use flag::Flag;
use flag::{list_flag, off_switch, switch, value_flag, value_flag_with_short};
pub(crate) use values::{SettingValue, fact_of_name};

use crate::check::{MAX_CLIENTS, MAX_SCALE, MAX_THREADS};
use crate::choice::Choice;
use crate::experiment::{MAX_REPEATS, RunOrder, SweepInput, VariantInput};
use crate::input::{FileInput, InputValue, Located, value_from_flag};
use crate::mark::Mark;
use crate::plan::{Arrival, DrivePlan, IoEngine, Plan, QueryMode, ReplyWait, Spread, WorkloadPlan};
use crate::problem::{InputLocation, Problem};
use crate::section::Section;
use Compared::{Free, Varies};
use prony_document::{Declared, Requirements, ServerSettings};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// The tables of a plan file, each with a description.
pub const TABLES: [(&str, &str); 6] = [
    (
        "server",
        "Which server to load: `url` or `embedded = true`, not both. Without this table, the environment \
         (PGHOST, PGSERVICE...) names the server.",
    ),
    (
        "workload",
        "Which workload, and its scale. Any other key is an option of that workload, which checks it.",
    ),
    (
        "run",
        "How the load is driven. `duration` and `transactions` exclude each other; `arrival` needs `rate`.",
    ),
    (
        "observe",
        "Observation of the server during a run, and publication of the run's figures.",
    ),
    (
        "fleet",
        "The machines that drive the clients together. Without it, this machine drives all of them.",
    ),
    (
        "experiment",
        "Several runs of the plan, or of each of its variants. Without this table and without variants, \
         the plan is run once.",
    ),
];

/// The tables that a variant may have.
pub const VARIANT_TABLES: [&str; 3] = ["server", "workload", "run"];
/// A short form of `[variants.NAME.server.settings]`: `[variants.NAME.settings]`. Also the name of the settings in a
/// document's plan, and the prefix of their names in a sweep.
pub const VARIANT_SETTINGS: &str = "settings";

/// A setting of a plan; its values are in [`PlanInput`].
#[derive(Debug)]
pub struct Setting {
    /// Table and key, such as `run.clients`.
    pub path: &'static str,
    /// Description for the flag's help and for the key in the schema, with a space before each line.
    help: &'static str,
    /// Type and limits of the value.
    pub value_type: SettingType,
    /// The setting's flag, if it has one.
    pub flag: Option<Flag>,
    /// What it means for a comparison of two runs.
    pub compared: Compared,
}

/// What another value of a setting means for a comparison of two runs.
#[derive(Debug)]
pub enum Compared {
    /// These properties of the runs differ, and between variants of an experiment they do so on purpose. The comparison
    /// has a rule for each: its tolerance, and how severe a difference is.
    Varies(&'static [&'static str]),
    /// It does not matter, for this reason.
    Free(&'static str),
}

/// Type and limits of a value.
#[derive(Debug)]
pub enum SettingType {
    /// `true` or `false`.
    Bool,
    Text,
    WholeNumber {
        /// Smallest value.
        min: u64,
        /// Largest value.
        max: u64,
    },
    /// Transactions per second: above 0, at most [`MAX_RATE_TPS`].
    Rate,
    /// A duration, at most [`crate::MAX_DURATION`].
    Duration,
    /// One of these names.
    Choice(fn() -> Vec<&'static str>),
    /// Facts about the server, by name ([`prony_document::DeclaredFact`]).
    Facts,
    /// Settings of the server, by name ([`ServerSettings`]).
    ServerSettings,
    /// Requirements of the result ([`prony_document::Requirement`]).
    Requirements,
    /// Commands, one of which starts a program on another machine.
    Commands,
    /// Commands, each with the time at which it runs ([`Mark`]).
    Marks,
}

const fn count_up_to(max: u32) -> SettingType {
    SettingType::WholeNumber {
        min: 1,
        max: max as u64,
    }
}

fn choice_names<T: Choice>() -> Vec<&'static str> {
    T::ALL.iter().map(|(name, _)| *name).collect()
}

/// Generates the table and, for each entry, the field of `PlanInput` with the code that reads, replaces and
/// lists it.
macro_rules! settings {
    ($($(#[doc = $help:literal])+ $table:ident . $key:ident => $field:ident: $value:ty, $value_type:expr, $flag:expr, $compared:expr;)+) => {
        /// Every setting, in the order of help and schema.
        pub const SETTINGS: &[Setting] = &[$(Setting {
            path: concat!(stringify!($table), ".", stringify!($key)),
            help: concat!($($help),+),
            value_type: $value_type,
            flag: $flag,
            compared: $compared,
        }),+];

        /// The unchecked input from a plan file, flags and variants: every value is optional and has its
        /// location. Numbers have wide types, because the check reports what is out of range.
        #[derive(Clone, Default, PartialEq)]
        pub struct PlanInput {
            $($(#[doc = $help])+ pub $field: InputValue<$value>,)+
            /// All other keys of `workload`: options that the workload checks.
            pub options: BTreeMap<String, Located<toml::Value>>,
            /// `[variants.NAME]`, in the order of the file.
            pub variants: Vec<VariantInput>,
            /// `[sweep]` and the flags `--sweep`.
            pub sweep: Option<SweepInput>,
            /// What was read from a plan file besides its values.
            pub file: FileInput,
        }

        impl PlanInput {
            /// Reads the settings of one table of a plan file.
            pub(crate) fn read_section(&mut self, section: &mut Section<'_, '_>) {
                $(if section.name == stringify!($table) {
                    self.$field = <$value>::from_toml(section, stringify!($key));
                })+
            }

            /// Replaces every setting that `overrides` has.
            pub(crate) fn replace_given(&mut self, overrides: &PlanInput) {
                $(match (&mut self.$field, &overrides.$field) {
                    (Some(value), Some(later)) => {
                        value.value.replace_by(&later.value);
                        value.location.clone_from(&later.location);
                    }
                    (value, Some(later)) => *value = Some(later.clone()),
                    (_, None) => {}
                })+
            }

            /// The given settings, with their values and locations.
            pub(crate) fn given_settings(&self) -> impl Iterator<Item = (&'static Setting, &dyn SettingValue, &InputLocation)> {
                let values = [$(self.$field.as_ref().map(|given| (&given.value as &dyn SettingValue, &given.location))),+];
                let given = SETTINGS.iter().zip(values);
                given.filter_map(|(setting, given)| given.map(|(value, location)| (setting, value, location)))
            }

            /// Sets `setting` as its flag does, which was given once for each text; the value of a switch is `true` or
            /// `false`.
            pub fn set_flag(&mut self, setting: &Setting, texts: &[&str]) -> Result<(), String> {
                self.set_texts(setting, texts, InputLocation::Flag(setting.flag_name()))
            }

            /// Sets `setting` from the texts of its value, which were given at `location`.
            pub(crate) fn set_texts(&mut self, setting: &Setting, texts: &[&str], location: InputLocation) -> Result<(), String> {
                $(if setting.path == concat!(stringify!($table), ".", stringify!($key)) {
                    let value = values::from_texts::<$value>(texts, &setting.value_type)?;
                    self.$field = Some(Located { value, location });
                    return Ok(());
                })+
                Ok(())
            }
        }
    };
}

const SERVER_HEADING: &str = "Server";
const LOAD_HEADING: &str = "Load";
const TIME_HEADING: &str = "Time";
const STATEMENTS_HEADING: &str = "Statements";
const CLIENT_HEADING: &str = "Client";
const RESULT_HEADING: &str = "Result";
const REPEATS_HEADING: &str = "Repeats";

settings! {
    /// Connection URI (postgres://user@host/database) or conninfo string (host=... dbname=...), as libpq
    /// reads it; anything it omits comes from PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE, PGSERVICE,
    /// PGSSLMODE, the password file... Or mysql://user@host/database (mariadb:// too), with the option files
    /// and variables of MySQL's client. Or sqlserver://user@host?database=name, or a connection string of JDBC,
    /// ADO.NET or ODBC, with sqlcmd's variables
    server.url => url: String, SettingType::Text, value_flag(SERVER_HEADING, "url", "URL"),
        Varies(&["engine", "service", "pooler", "endpoints", "network", "TLS"]);
    /// Start a throw-away PostgreSQL, load it and remove it afterwards
    server.embedded => embedded: bool, SettingType::Bool, switch(SERVER_HEADING, "embedded", None),
        Varies(&["engine", "network", "TLS"]);
    /// URL of a server that takes the read-only transactions of the workload, such as a standby or a reader endpoint: each
    /// client has a connection to it too. Its user, password and database are its own
    server.read_from => read_from: String, SettingType::Text, value_flag(SERVER_HEADING, "read-from", "URL"),
        Varies(&["endpoints"]);
    /// A fact about the server that cannot be read over SQL: provider, service, machine, cpus, memory, storage,
    /// storage_size, iops, region, zones, high_availability (none, standby, multi-zone or quorum), replicas,
    /// backups or encryption. Results mark it as declared; comparisons and prices use it
    server.declared => declared: Declared, SettingType::Facts, list_flag(SERVER_HEADING, "declare", "FACT=VALUE"),
        Varies(&["declared fact", "replication"]);
    /// A setting that the server shall have during the run, such as synchronous_commit=off: in the sessions of the run where
    /// the server allows that, else for the whole server until the run ends. Its value is verified before the load
    server.settings => settings: ServerSettings, SettingType::ServerSettings,
        list_flag(SERVER_HEADING, "setting", "NAME=VALUE"),
        Varies(&["durability class", "isolation level", "relevant settings of the server (listed below)"]);
    /// Name of the workload, such as tpcb, simple-update or select-only
    workload.name => workload: String, SettingType::Text, None,
        Free("another workload is never compared, on purpose or not");
    /// Scale factor; `prony workloads NAME` prints its unit [default: for a run, the scale of the loaded
    /// data; for a load, 1]
    workload.scale => scale: u64, count_up_to(MAX_SCALE),
        value_flag_with_short(LOAD_HEADING, "scale", 's', "N"),
        Varies(&["scale"]);
    /// Virtual users, each with its own connection [default: 8, or 32 at a rate]
    run.clients => clients: u64, count_up_to(MAX_CLIENTS),
        value_flag_with_short(LOAD_HEADING, "clients", 'c', "N"),
        Varies(&["clients"]);
    /// OS threads that drive the clients; at most one per client [default: one per CPU, at most 8]
    run.threads => threads: u64, count_up_to(MAX_THREADS),
        value_flag_with_short(LOAD_HEADING, "threads", 'j', "N"),
        Varies(&["threads", "pinned threads"]);
    /// Start this many transactions per second, over all clients, however fast the server answers (an open
    /// loop). Without it, each client starts its next transaction when the last one ends
    run.rate => rate_tps: f64, SettingType::Rate, value_flag_with_short(LOAD_HEADING, "rate", 'R', "TPS"),
        Varies(&["pace"]);
    /// Gaps between the starts of an open loop: exponential (poisson), like independent users, or even
    run.arrival => arrival: Arrival, SettingType::Choice(choice_names::<Arrival>),
        value_flag(LOAD_HEADING, "arrival", "ARRIVAL"),
        Varies(&["pace"]);
    /// Length of the measured window, which follows the warm-up
    run.duration => duration: Duration, SettingType::Duration,
        value_flag_with_short(TIME_HEADING, "duration", 'T', "TIME"),
        Varies(&["measured"]);
    /// Measure this many transactions of each client instead of a time
    run.transactions => transactions: u64, SettingType::WholeNumber { min: 1, max: u64::MAX },
        value_flag_with_short(TIME_HEADING, "transactions", 't', "N"),
        Varies(&["measured"]);
    /// Drive the load for this long before the window, and report its figures separately [default: until the load
    /// is steady, from 5s to 30s, before a window of 20s or more, else none]
    run.warmup => warmup: Duration, SettingType::Duration, value_flag(TIME_HEADING, "warmup", "TIME"),
        Varies(&["warm-up"]);
    /// How long transactions in flight at the end may take before they are cut off
    run.grace => grace: Duration, SettingType::Duration, value_flag(TIME_HEADING, "grace", "TIME"),
        Free("transactions that end after the window are in no figure");
    /// How statements are sent: simple (text with the values in it), extended (parsed, bound and executed
    /// each time) or prepared (parsed once a connection)
    run.protocol => protocol: QueryMode, SettingType::Choice(choice_names::<QueryMode>),
        value_flag_with_short(STATEMENTS_HEADING, "protocol", 'M', "PROTOCOL"),
        Varies(&["protocol"]);
    /// Request the row description with each execution, as libpq does. The simple protocol always returns it
    run.describe => describe: bool, SettingType::Bool,
        off_switch(STATEMENTS_HEADING, "no-describe", "Do not request the row description with each execution, as libpq always does"),
        Varies(&["row descriptions"]);
    /// Open a new connection for each transaction
    run.connect_per_transaction => connect_per_transaction: bool, SettingType::Bool,
        switch(STATEMENTS_HEADING, "connect-per-transaction", Some('C')),
        Varies(&["connections"]);
    /// With which of the servers in the URL a connection begins: the first, which leaves the others for the case that it
    /// does not answer, each client's own (round-robin), or one at random for each connection. A lost connection goes on
    /// at the next server that answers [default: first, or what the URL says: load_balance_hosts, mysql:loadbalance://]
    run.spread => spread: Spread, SettingType::Choice(choice_names::<Spread>),
        value_flag(SERVER_HEADING, "spread", "SPREAD"),
        Varies(&["endpoints"]);
    /// The share of the read-only transactions that the server of --read-from takes, in per cent; the others stay with the
    /// server of the URL [default: 100]
    run.read_share => read_share: u64, SettingType::WholeNumber { min: 1, max: 100 },
        value_flag(SERVER_HEADING, "read-share", "PERCENT"),
        Varies(&["endpoints"]);
    /// Connect this many clients over TCP while the others use a unix socket: the kernel timestamps TCP
    /// packets, which gives the server's part of the response time
    run.tcp_sample => tcp_sample: u64, SettingType::WholeNumber { min: 0, max: MAX_CLIENTS as u64 },
        value_flag(CLIENT_HEADING, "tcp-sample", "N"),
        Varies(&["network"]);
    /// I/O engine: io_uring (ring), epoll, or whichever a probe finds usable (auto)
    run.io => io: IoEngine, SettingType::Choice(choice_names::<IoEngine>),
        value_flag(CLIENT_HEADING, "io", "IO"),
        Varies(&["I/O engine"]);
    /// How threads wait for replies: sleep until the first one arrives, spin (poll for 50 µs before sleeping;
    /// uses a CPU per thread), or auto: sleep, and wait for several replies at once if a trial in the first
    /// second of a closed loop shows that this raises throughput
    run.wait => wait: ReplyWait, SettingType::Choice(choice_names::<ReplyWait>),
        value_flag(CLIENT_HEADING, "wait", "WAIT"),
        Varies(&["wait for replies"]);
    /// Pin each thread to a CPU [default: in a closed loop beside the server, if there is a thread for each
    /// CPU; in a plan file, pin = false turns that off]
    run.pin => pin: bool, SettingType::Bool, switch(CLIENT_HEADING, "pin", None),
        Varies(&["pinned threads"]);
    /// Seed of all random numbers. Without it, one is chosen and named in the result
    run.seed => seed: u64, SettingType::WholeNumber { min: 0, max: u64::MAX },
        value_flag(CLIENT_HEADING, "seed", "N"),
        Free("other numbers of the same distributions");
    /// Measure the latency of each of the workload's statements as well, in the window; the full result shows
    /// it. Statements that share a round trip are measured together, and those that a script sends as text, as
    /// with the simple protocol, not at all
    run.statement_latency => statement_latency: bool, SettingType::Bool,
        switch(RESULT_HEADING, "statement-latency", None),
        Varies(&["latency of statements"]);
    /// Measure an outage, such as a failover: outages, stalls and restarts of the server do not make the
    /// run invalid
    run.expect_outage => expect_outage: bool, SettingType::Bool,
        switch(RESULT_HEADING, "expect-outage", None),
        Free("it changes the verdict on a run, not the run");
    /// Run a command with sh during the load, at this time from its start, such as 60s, or 0s for at once: a failover, a
    /// kill, a switch. Result and charts show when it ran, its exit status and its output, and a failed one makes the run
    /// invalid; PGHOST and the like (MYSQL_HOST) name the server. SIGUSR1 sent to Prony sets a mark without a command
    run.at => at: Vec<Mark>, SettingType::Marks,
        list_flag(RESULT_HEADING, "at", "TIME COMMAND"),
        Varies(&["commands during the load"]);
    /// Write the number of each transaction into a table, in the transaction itself, and account after the run for
    /// each commit: acknowledged, lost, doubled, or not known until then. It costs a statement for each transaction;
    /// workloads of Prony's own statements
    run.ledger => ledger: bool, SettingType::Bool,
        switch(RESULT_HEADING, "ledger", None),
        Varies(&["ledger"]);
    /// What the result must meet, such as p99<20ms, throughput>5000/s, errors<0.1%, outage<30s, lost=0,
    /// new_order.p99<50ms, server.p95<5ms, or relative to the runs with a label: throughput>=97% of LABEL, or
    /// "not slower than LABEL by 3%". The first line of the result answers PASS (exit code 0), FAIL (8) or
    /// UNDECIDED (9)
    run.require => require: Requirements, SettingType::Requirements,
        list_flag(RESULT_HEADING, "require", "REQUIREMENT"),
        Free("it judges the run, and does not change it");
    /// Observe the server before, during and after the run, on a separate connection. Without it, only its
    /// version and settings are read, before the run
    observe.server => observe: bool, SettingType::Bool,
        off_switch(SERVER_HEADING, "no-observe", "Do not observe the server; only its version and settings are read, before the run"),
        Free("whether both were observed is compared by what was");
    /// URL of the node_exporter on the server's machine, such as http://db1:9100/metrics, whose CPU, memory
    /// and disks are then in the result. Without it, those of this machine, if the server runs here
    observe.server_metrics => server_metrics: String, SettingType::Text,
        value_flag(SERVER_HEADING, "server-metrics", "URL"),
        Free("whether both were observed is compared by what was");
    /// Serve the figures to Prometheus during the run, at /metrics: a port on this machine's loopback
    /// interface, such as "9187", or an address with a port
    observe.metrics_listen => metrics_listen: String, SettingType::Text,
        value_flag(RESULT_HEADING, "metrics-listen", "ADDRESS"),
        Free("nobody reads it, or it costs a request each few seconds");
    /// Command that reaches a machine, such as 'ssh vm1' or 'docker exec -i c1'; `prony agent --stdio` is appended, and
    /// the agents drive the clients together, in shares by their CPUs, or as with 'weight=3 ssh vm1'. 'env' starts an agent
    /// on this machine. The server's password is sent to each agent through its command's input. nats://HOST:PORT/NAME is
    /// an agent that waits at a NATS server, and has a password of its own. Without it, PRONY_AGENTS, separated by ';'
    fleet.agents => agents: Vec<String>, SettingType::Commands, list_flag(CLIENT_HEADING, "agent", "COMMAND"),
        Varies(&["client's CPUs", "client host"]);
    /// Copy this program to the machine of each agent first, into the folder in which its command begins, unless it is
    /// there; the copy's checksum is printed
    fleet.install => install_agents: bool, SettingType::Bool, switch(CLIENT_HEADING, "install", None),
        Free("agents of another build are refused");
    /// Run the plan, or each of its variants or points of a sweep, this many times; each run is stored separately
    /// [default: 1, with variants or a sweep 6]
    experiment.repeats => repeats: u64, count_up_to(MAX_REPEATS), value_flag(REPEATS_HEADING, "repeats", "N"),
        Free("the number of runs is judged, not compared");
    /// URL of a pooler or proxy before the server, such as PgBouncer: each repeat runs once directly and once through it,
    /// and the summary says what it costs and gives
    experiment.via => via: String, SettingType::Text, value_flag(REPEATS_HEADING, "via", "URL"),
        Free("it sets the server of a variant");
    /// URL of another server with the same data: each repeat runs once on each (variants A and B), and the summary
    /// says whether B differs from A
    experiment.versus => versus: String, SettingType::Text, value_flag(REPEATS_HEADING, "versus", "URL"),
        Free("it sets the server of a variant");
    /// Order of the runs of several variants: interleaved (A B B A: a steady drift cancels if the number of
    /// repeats is even), random (shuffled in each repeat, by the seed), or sequential (all repeats of one
    /// variant before the next)
    experiment.order => order: RunOrder, SettingType::Choice(choice_names::<RunOrder>),
        value_flag(REPEATS_HEADING, "order", "ORDER"),
        Free("it is judged for the experiment");
    /// Measure what the ledger costs: each repeat runs once without it and once with it, and the summary says how they
    /// differ
    experiment.ledger_cost => ledger_cost: bool, SettingType::Bool, switch(REPEATS_HEADING, "ledger-cost", None),
        Free("it sets the ledger of a variant");
    /// Go on with the runs although those so far are invalid for one reason, which the next ones will have too
    experiment.keep_going => keep_going: bool, SettingType::Bool, switch(REPEATS_HEADING, "keep-going", None),
        Free("the number of runs is judged, not compared");
    /// Time to wait before each run except the first, after the command of `between`
    experiment.pause => pause: Duration, SettingType::Duration, None,
        Free("it is the same for all variants");
    /// Command that sh runs before each run, such as a restart of the server; PRONY_VARIANT, PRONY_REPEAT and, if the plan
    /// says it, PRONY_SCALE name the run that follows, and PGHOST and the like (MYSQL_HOST) its server. If it fails, the
    /// experiment ends
    experiment.between => between: String, SettingType::Text, None,
        Free("it is the same for all variants");
    /// Command that sh runs to restart the server, where settings of the plan need that (settings.NAME of a variant); the
    /// run begins when the server answers again
    experiment.restart => restart: String, SettingType::Text, None,
        Free("it is the same for all variants");
}

impl Setting {
    /// Name of the setting's table in a plan file.
    pub fn table(&self) -> &'static str {
        self.path.split('.').next().unwrap_or_default()
    }

    /// The setting's key in that table.
    pub fn key(&self) -> &'static str {
        let (_, key) = self.path.split_once('.').unwrap_or_default();
        key
    }

    /// The setting's description.
    pub fn help(&self) -> &'static str {
        self.help.trim_start()
    }

    /// The setting's flag, such as `--clients`; empty if it has none.
    pub fn flag_name(&self) -> String {
        let long = self.flag.as_ref().map(|flag| flag.long);
        long.map(|long| format!("--{long}")).unwrap_or_default()
    }

    /// The setting's default, if that is a single value.
    pub fn default(&self) -> Option<Value> {
        let defaults = defaults();
        let mut settings = defaults.given_settings();
        let (_, value, _) = settings.find(|(setting, _, _)| setting.path == self.path)?;
        Some(value.to_json())
    }

    /// The problem of a value that has the right type, but is not allowed; `None` if it is allowed.
    pub(crate) fn validation_problem(
        &self,
        value: &dyn SettingValue,
        location: &InputLocation,
    ) -> Option<Problem> {
        let error = value.validation_error(&self.value_type)?;
        Some(Problem {
            location: location.clone(),
            message: error.problem,
            hint: error.hint,
        })
    }
}

/// The defaults of the settings that have one.
fn defaults() -> PlanInput {
    let plan = Plan {
        observe: Default::default(),
        ..Plan::for_replaced_tool(WorkloadPlan::default(), DrivePlan::default())
    };
    let mut defaults = PlanInput::from_plan(&plan, None);
    defaults.workload = None;
    // It depends on the machine and on the number of clients.
    defaults.threads = None;
    // It depends on whether there is a rate.
    defaults.clients = None;
    // It depends on the window.
    defaults.warmup = None;
    defaults.embedded = value_from_flag("", Some(false));
    defaults.arrival = value_from_flag("", Some(Arrival::default()));
    defaults.order = value_from_flag("", Some(RunOrder::default()));
    defaults.pause = value_from_flag("", Some(Duration::ZERO));
    defaults.keep_going = value_from_flag("", Some(false));
    defaults.ledger_cost = value_from_flag("", Some(false));
    defaults
}

pub fn settings_of_table(table: &str) -> impl Iterator<Item = &'static Setting> {
    SETTINGS
        .iter()
        .filter(move |setting| setting.table() == table)
}

#[cfg(test)]
mod tests;
