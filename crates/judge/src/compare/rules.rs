//! What is read of two Runs to see whether their figures are of the same thing.
//!
//! In: a Run. Out: readings. Must never: weigh one difference against another; each has its severity.

use prony_store::{Run, Severity};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What is read of a Run, and what it means when two readings differ.
pub(super) struct Rule {
    pub what: &'static str,
    pub severity: Severity,
    pub read: fn(&Run) -> String,
    pub why: &'static str,
}

const fn rule(
    what: &'static str,
    severity: Severity,
    read: fn(&Run) -> String,
    why: &'static str,
) -> Rule {
    Rule {
        what,
        severity,
        read,
        why,
    }
}

pub(super) const OTHER_WORK: &str = "the clients asked for other work";
const OTHER_LOAD: &str = "the server was put under another load";
pub(super) const OTHER_PROMISE: &str = "the servers promise different things about a commit";
const OTHER_CLIENT: &str = "what the client itself takes is part of every figure";
pub(super) const FOR_REFERENCE: &str = "it may explain a difference";

use Severity::{Caveat, Invalid, Note};

/// All rules but those of settings: each workload names its own, and those of the server follow it.
pub(super) const RULES: [Rule; 20] = [
    rule(
        "workload",
        Invalid,
        |run| run.workload.name.clone(),
        OTHER_WORK,
    ),
    rule(
        "scale",
        Invalid,
        |run| run.workload.scale.to_string(),
        "more rows share the same memory, and the same rows are met less often",
    ),
    rule("statements", Invalid, statements, OTHER_WORK),
    rule(
        "protocol",
        Invalid,
        |run| run.drive.protocol.clone(),
        "parsing and planning are in one figure and not in the other",
    ),
    rule(
        "connections",
        Invalid,
        |run| match run.drive.connect_per_transaction {
            true => "one for each transaction".to_owned(),
            false => "kept".to_owned(),
        },
        "connecting is in one figure and not in the other",
    ),
    rule("pace", Invalid, pace, OTHER_LOAD),
    rule(
        "engine",
        Invalid,
        |run| run.server.engine.clone(),
        "the statements differ in more than their server",
    ),
    rule(
        "clients",
        Caveat,
        |run| run.drive.clients.to_string(),
        "throughput and response time both follow from how many ask at once",
    ),
    rule(
        "server version",
        Caveat,
        |run| run.server.version.clone(),
        FOR_REFERENCE,
    ),
    rule(
        "network",
        Caveat,
        |run| run.drive.network.clone(),
        "the way to the server is part of every response time",
    ),
    rule(
        "TLS",
        Caveat,
        |run| run.server.tls.clone().unwrap_or_else(|| "none".to_owned()),
        "encryption takes time at both ends",
    ),
    rule(
        "client's CPUs",
        Caveat,
        |run| format!("{} of {}", run.host.cpus, run.host.cpu),
        OTHER_CLIENT,
    ),
    rule(
        "I/O engine",
        Caveat,
        |run| run.drive.io.clone(),
        OTHER_CLIENT,
    ),
    rule(
        "threads",
        Caveat,
        |run| run.drive.threads.to_string(),
        OTHER_CLIENT,
    ),
    rule(
        "measured",
        Caveat,
        |run| format!("{:.0} s", run.window.measured_s),
        "what comes seldom (a checkpoint, a vacuum) falls into a longer window sooner",
    ),
    rule(
        "warm-up",
        Caveat,
        |run| format!("{:.0} s", run.window.warmup_s),
        "caches fill and statements are planned at the start",
    ),
    rule(
        "client host",
        Note,
        |run| run.host.name.clone(),
        FOR_REFERENCE,
    ),
    rule(
        "client kernel",
        Note,
        |run| run.host.kernel.clone(),
        FOR_REFERENCE,
    ),
    rule(
        "Prony",
        Note,
        |run| run.build.version.clone(),
        FOR_REFERENCE,
    ),
    rule(
        "server",
        Note,
        |run| run.server.address.clone(),
        FOR_REFERENCE,
    ),
];

/// Settings by which a server promises that a commit lasts, of any engine.
pub(super) const PROMISES: [&str; 5] = [
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
];

/// The statements, as short as can be: how many, and a mark that is the same for the same ones.
fn statements(run: &Run) -> String {
    let mut hasher = DefaultHasher::new();
    run.workload.statements.hash(&mut hasher);
    let count = run.workload.statements.len();
    format!("{count}, mark {:08x}", hasher.finish() >> 32)
}

fn pace(run: &Run) -> String {
    match run.drive.rate_tps {
        Some(rate) => format!(
            "{rate} a second, {}",
            run.drive.arrival.as_deref().unwrap_or("scheduled")
        ),
        None => run.drive.pace.clone(),
    }
}

/// What stands for a setting that was not read.
pub(super) const UNKNOWN: &str = "unknown";

/// A server's setting, as far as it was read.
pub(super) fn setting(run: &Run, name: &str) -> String {
    match run.server.settings.get(name) {
        Some(value) => plain(value),
        None => UNKNOWN.to_owned(),
    }
}

/// A setting's value as people write it.
pub(super) fn plain(value: &serde_json::Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    }
}
