//! The properties of a Run that are compared to show whether two Runs measured the same thing.
//!
//! In: a Run. Out: properties. Must never: combine differences; each has its own severity.

use crate::formatting::joined;
use Severity::{Caveat, Invalid, Note};
use prony_plan::Choice;
use prony_store::{Host, Run, Severity};
use std::hash::{DefaultHasher, Hash, Hasher};

/// One property of a Run, and why it matters if another Run has a different value.
pub(super) struct ComparedProperty {
    pub what: &'static str,
    pub severity: Severity,
    pub value: String,
    pub why: &'static str,
}

fn property(
    what: &'static str,
    severity: Severity,
    value: impl ToString,
    why: &'static str,
) -> ComparedProperty {
    let value = value.to_string();
    ComparedProperty {
        what,
        severity,
        value,
        why,
    }
}

pub(super) const WHY_OTHER_WORK: &str = "the clients did different work";
const WHY_OTHER_DATA: &str = "with more rows, less of the data fits into memory, and clients meet on the same rows less often";
const WHY_OTHER_PROTOCOL: &str = "one figure includes parsing and planning, the other does not";
pub(super) const WHY_ROW_DESCRIPTIONS: &str =
    "each reply is longer with the description of its rows";
const WHY_OTHER_CONNECTIONS: &str = "one figure includes connecting, the other does not";
const WHY_OTHER_LOAD: &str = "the servers were under different loads";
const WHY_OTHER_ENGINE: &str = "the engines differ, and so do their statements";
pub(super) const WHY_OTHER_SERVICE: &str =
    "a service chooses the machine, the storage and the copies of the data";
const WHY_OTHER_CLIENTS: &str =
    "throughput and response time both depend on the number of concurrent clients";
pub(super) const WHY_OTHER_DURABILITY: &str =
    "the servers guarantee different durability for a commit";
pub(super) const WHY_OWN_DURABILITY: &str =
    "the service of one server has a durability of its own, whatever this setting says";
pub(super) const WHY_OTHER_DECLARED: &str = "the servers are not the same by what their users say";
pub(super) const WHY_ONE_DECLARED: &str = "only one user said so; the other server may be the same";
const WHY_OTHER_ENDPOINTS: &str =
    "another number of servers shared the load, or shared it in another way";
const WHY_OTHER_NETWORK: &str = "the network is part of every response time";
const WHY_OTHER_TLS: &str = "encryption costs CPU time at both ends";
const WHY_OTHER_CLIENT: &str = "the client's own cost is part of every figure";
const WHY_STATEMENT_LATENCY: &str =
    "measuring each statement costs the client CPU time in every round trip";
const WHY_LEDGER: &str = "a ledger costs the server an insert in every transaction";
const WHY_COMMANDS: &str = "a failover or a kill is part of one run's figures";
const WHY_OTHER_WINDOW: &str =
    "a longer window is more likely to include rare events (a checkpoint, a vacuum)";
const WHY_OTHER_WARMUP: &str = "caches fill and statements are planned at the start of a run";
pub(super) const WHY_IT_MAY_EXPLAIN: &str = "it may explain a difference";

/// The times of the commands that the plan runs during the load.
fn commands(run: &Run) -> String {
    let times = run.plan["run"]["at"].as_array().into_iter().flatten();
    let texts = joined(times.filter_map(|time| time.as_str()), ", ");
    if texts.is_empty() { "none".to_owned() } else { texts }
}

/// All properties except settings. Each workload declares its own settings; those of the server are compared
/// separately.
pub(super) fn compared_properties(run: &Run) -> [ComparedProperty; 27] {
    let (workload, drive, server) = (&run.workload, &run.drive, &run.server);
    let is_new_each_time = drive.connect_per_transaction;
    let connections = if is_new_each_time { "one for each transaction" } else { "kept" };
    let is_turned_off = run.plan["run"]["describe"] == false;
    let row_descriptions = if is_turned_off { "not requested" } else { "requested" };
    let cpus = hosts(run, |host| format!("{} of {}", host.cpus, host.cpu));
    let names = hosts(run, |host| host.name.clone());
    let kernels = hosts(run, |host| host.kernel.clone());
    let network = text_or_empty(drive.network);
    let (tls, address) = (&server.tls, text_or_empty(server.address.as_ref()));
    let wait = drive.wait.unwrap_or_default().name();
    let pinned_threads = run.client_health().pinned_workers.unwrap_or(0);
    let statement_latency = if run.statements.is_some() { "measured" } else { "not measured" };
    let ledger = if run.ledger.is_some() { "kept" } else { "none" };
    let measured = format!("{:.0} s", run.window.measured_s);
    let warmup = format!("{:.0} s", run.window.warmup_s);
    [
        property("workload", Invalid, &workload.name, WHY_OTHER_WORK),
        property("scale", Invalid, workload.scale, WHY_OTHER_DATA),
        property("statements", Invalid, statements(run), WHY_OTHER_WORK),
        property("protocol", Invalid, protocol(run), WHY_OTHER_PROTOCOL),
        property(
            "row descriptions",
            Caveat,
            row_descriptions,
            WHY_ROW_DESCRIPTIONS,
        ),
        property("connections", Invalid, connections, WHY_OTHER_CONNECTIONS),
        property("pace", Invalid, pace(run), WHY_OTHER_LOAD),
        property("engine", Invalid, engine(run), WHY_OTHER_ENGINE),
        property("clients", Invalid, drive.clients, WHY_OTHER_CLIENTS),
        property(
            "server version",
            Caveat,
            &server.version,
            WHY_IT_MAY_EXPLAIN,
        ),
        property("endpoints", Caveat, endpoints(run), WHY_OTHER_ENDPOINTS),
        property("network", Caveat, network, WHY_OTHER_NETWORK),
        property(
            "TLS",
            Caveat,
            tls.as_deref().unwrap_or("none"),
            WHY_OTHER_TLS,
        ),
        property("client's CPUs", Caveat, cpus, WHY_OTHER_CLIENT),
        property("I/O engine", Caveat, &drive.io, WHY_OTHER_CLIENT),
        property("wait for replies", Caveat, wait, WHY_OTHER_CLIENT),
        property("threads", Caveat, drive.threads, WHY_OTHER_CLIENT),
        property("pinned threads", Caveat, pinned_threads, WHY_OTHER_CLIENT),
        property(
            "latency of statements",
            Caveat,
            statement_latency,
            WHY_STATEMENT_LATENCY,
        ),
        property("ledger", Caveat, ledger, WHY_LEDGER),
        property(
            "commands during the load",
            Invalid,
            commands(run),
            WHY_COMMANDS,
        ),
        property("measured", Caveat, measured, WHY_OTHER_WINDOW),
        property("warm-up", Caveat, warmup, WHY_OTHER_WARMUP),
        property("client host", Note, names, WHY_IT_MAY_EXPLAIN),
        property("client kernel", Note, kernels, WHY_IT_MAY_EXPLAIN),
        property("Prony", Note, &run.build.version, WHY_IT_MAY_EXPLAIN),
        property("server", Note, address, WHY_IT_MAY_EXPLAIN),
    ]
}

/// Settings of any engine that determine the durability of a commit.
pub(super) const DURABILITY_SETTINGS: [&str; 5] = [
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "innodb_flush_log_at_trx_commit",
    SYNC_BINLOG,
];

/// How often MySQL and MariaDB flush their binary log to disk.
pub(super) const SYNC_BINLOG: &str = "sync_binlog";
/// Why [`SYNC_BINLOG`] does not matter.
pub(super) const WHY_NO_BINLOG: &str = "it has no effect without a binary log";

/// Whether a MySQL or MariaDB server writes no binary log.
pub(super) fn has_no_binlog(run: &Run) -> bool {
    let log_bin = run.server.settings.get("log_bin").map(plain_text);
    matches!(log_bin.as_deref(), Some("OFF" | "0"))
}

/// A property of each client machine.
fn hosts(run: &Run, read: fn(&Host) -> String) -> String {
    joined(run.machines.iter().map(|machine| read(&machine.host)), ", ")
}

/// The number of statements, and a hash of their text.
fn statements(run: &Run) -> String {
    let mut hasher = DefaultHasher::new();
    run.workload.statements.hash(&mut hasher);
    let count = run.workload.statements.len();
    format!("{count}, hash {:08x}", hasher.finish() >> 32)
}

fn pace(run: &Run) -> String {
    match run.drive.rate_tps {
        Some(rate) => format!(
            "{rate} per second, {}",
            run.drive.arrival.map_or("scheduled", Choice::name)
        ),
        None if run.drive.open_loop => "rate".to_owned(),
        None => "closed".to_owned(),
    }
}

/// The value of a setting that was not read.
pub(super) const UNKNOWN: &str = "unknown";

/// A server's setting, or [`UNKNOWN`] if it was not read.
pub(super) fn server_setting(run: &Run, name: &str) -> String {
    let value = run.server.settings.get(name);
    value.map_or(UNKNOWN.to_owned(), plain_text)
}

pub(super) fn plain_text(value: &serde_json::Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// The number of servers, and how connections and reads are spread over them.
fn endpoints(run: &Run) -> String {
    let mut text = match (run.endpoints.len(), run.drive.spread) {
        (0 | 1, _) | (_, None) => "1".to_owned(),
        (count, Some(spread)) => format!("{count}, {}", spread.name()),
    };
    if let Some(percent) = run.drive.read_share_percent {
        let reading = run.endpoints.iter().filter(|endpoint| endpoint.only_reads);
        text += &format!(", {} for {percent} % of the reads", reading.count());
    }
    text
}

fn text_or_empty(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn protocol(run: &Run) -> &'static str {
    run.drive.protocol.map_or("", Choice::name)
}

/// The engine's name, which is that of the service if the service is another engine than the product as which it
/// answers; empty if unknown.
pub(super) fn engine(run: &Run) -> &'static str {
    let service = run.server.service;
    match service.filter(|service| service.quirks().is_other_engine) {
        Some(service) => service.name(),
        None => run.server.product.map_or("", |product| product.id),
    }
}
