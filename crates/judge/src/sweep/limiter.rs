//! What limits the throughput of a point: the CPUs of the server or of the client, locks, storage, connections.
//!
//! In: the runs of a point. Out: the limit that most of them show, with its figures. Must never: name a limit that
//! was not observed.

use crate::client;
use crate::formatting::percent;
use crate::machine::{server_machine_busy_share, shared_machine_evidence};
use crate::observations::{self, observed, rows, server_machine_mean};
use crate::thresholds::{
    LIMITER_CPU_MIN_BUSY_SHARE, LIMITER_DISK_MIN_BUSY_SHARE, LIMITER_MIN_SESSIONS,
    LIMITER_WAIT_MIN_SHARE,
};
use prony_store::{ErrorClass, LimitUse, Run, ServerSecond};
use serde::Serialize;
use std::collections::BTreeMap;

/// Share of the clients that a pooler keeps waiting above which its connections are the limit.
const POOLED_WAITING_MIN_SHARE: f64 = 0.2;

/// What limits a throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    ServerCpus,
    /// The client: the figure is not the server's.
    ClientCpus,
    /// Locks on rows, tables or pages.
    Locks,
    /// Disks, or the flush of the log.
    Storage,
    /// The server's connections, or those of a pooler.
    Connections,
    /// Nothing that was observed.
    Unknown,
}

/// A limit with its figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LimiterFinding {
    pub limiter: Limiter,
    /// The value of the axis of the point where it shows.
    pub at: String,
    /// The figures, as a clause: `the CPUs of its machine were 97 % busy`.
    pub evidence: String,
}

impl Limiter {
    /// The limit in words: `the server's CPUs`.
    pub fn text(self) -> &'static str {
        match self {
            Limiter::ServerCpus => "the server's CPUs",
            Limiter::ClientCpus => "the client",
            Limiter::Locks => "locks",
            Limiter::Storage => "storage",
            Limiter::Connections => "connections",
            Limiter::Unknown => "something that was not observed",
        }
    }
}

/// The limit that most of the runs show.
pub(crate) fn limiter(at: &str, runs: &[&Run]) -> LimiterFinding {
    let mut findings: BTreeMap<Limiter, Vec<String>> = BTreeMap::new();
    for run in runs {
        let (limiter, evidence) = limiter_of(run);
        findings.entry(limiter).or_default().push(evidence);
    }
    // Of equally many, the first of the list, which comes before `Unknown`.
    let most = findings
        .into_iter()
        .rev()
        .max_by_key(|(_, evidence)| evidence.len());
    let (limiter, mut evidence) =
        most.unwrap_or((Limiter::Unknown, vec!["no run counts".to_owned()]));
    LimiterFinding {
        limiter,
        at: at.to_owned(),
        evidence: evidence.swap_remove(0),
    }
}

/// The first limit that is known, otherwise the first finding; `None` if there is none.
pub(crate) fn first_known(
    findings: impl Iterator<Item = LimiterFinding>,
) -> Option<LimiterFinding> {
    let mut first = None;
    for found in findings {
        if found.limiter != Limiter::Unknown {
            return Some(found);
        }
        first.get_or_insert(found);
    }
    first
}

fn limiter_of(run: &Run) -> (Limiter, String) {
    if let Some(found) = client::check_client_limit(run).or_else(|| client::check_throttled(run)) {
        return (Limiter::ClientCpus, clause(&found.finding));
    }
    if let Some(evidence) = connections(run) {
        return (Limiter::Connections, evidence);
    }
    if observed(run).is_none() {
        return (Limiter::Unknown, "the server was not observed".to_owned());
    }
    let busy = server_machine_busy_share(run);
    let limit_use = |value: fn(&LimitUse) -> Option<f64>| {
        observations::mean(run, |row| value(row.limit_use.as_ref()?))
    };
    if let Some(busy) = busy.filter(|busy| *busy > LIMITER_CPU_MIN_BUSY_SHARE) {
        let shared = match shared_machine_evidence(run) {
            Some(_) => ", which the client shares,",
            None => "",
        };
        let evidence = format!(
            "the CPUs of its machine{shared} were {} busy",
            percent(busy)
        );
        return (Limiter::ServerCpus, evidence);
    }
    let cpu = limit_use(|limits| limits.cpu_share);
    if let Some(cpu) = cpu.filter(|cpu| *cpu > LIMITER_CPU_MIN_BUSY_SHARE) {
        let evidence = format!("the database used {} of its service's CPU", percent(cpu));
        return (Limiter::ServerCpus, evidence);
    }
    let waits = WaitShares::of(run);
    if let Some(found) = waits.as_ref().and_then(WaitShares::limit) {
        return found;
    }
    let disk = server_machine_mean(run, |machine| machine.disk_busy_share);
    if let Some(disk) = disk.filter(|busy| *busy > LIMITER_DISK_MIN_BUSY_SHARE) {
        let evidence = format!(
            "the busiest disk had I/O in progress for {} of the time",
            percent(disk)
        );
        return (Limiter::Storage, evidence);
    }
    let io = [
        limit_use(|limits| limits.data_io_share),
        limit_use(|limits| limits.log_write_share),
    ];
    let io = io.into_iter().flatten().fold(0.0, f64::max);
    if io > LIMITER_DISK_MIN_BUSY_SHARE {
        let evidence = format!("the database used {} of its service's I/O", percent(io));
        return (Limiter::Storage, evidence);
    }
    let busy = busy.map(|busy| format!("the CPUs of its machine were {} busy", percent(busy)));
    let top = waits.and_then(|waits| waits.top);
    let parts: Vec<String> = busy.into_iter().chain(top).collect();
    let evidence = match parts.is_empty() {
        true => "neither CPUs nor waits were observed".to_owned(),
        false => parts.join(", "),
    };
    (Limiter::Unknown, evidence)
}

/// The first sentence of a finding as a clause.
fn clause(finding: &str) -> String {
    let first = finding.split(". ").next().unwrap_or(finding);
    let first = first.trim_end_matches('.');
    let first = first.split(": ").last().unwrap_or(first);
    first.to_owned()
}

/// Whether connections were refused, or a pooler lets clients wait.
fn connections(run: &Run) -> Option<String> {
    let mut errors = run.measured.errors.iter();
    let refused = errors.find(|error| {
        // too_many_connections of PostgreSQL, and ER_CON_COUNT_ERROR of MySQL.
        error.class == ErrorClass::Resources && ["53300", "08004"].contains(&error.code.as_str())
    });
    if let Some(refused) = refused {
        return Some(format!("the server refused connections ({})", refused.code));
    }
    let active = observations::mean(run, |row| row.active.map(f64::from))?;
    let clients = f64::from(run.drive.clients);
    let is_waiting = active < clients * (1.0 - POOLED_WAITING_MIN_SHARE);
    let is_busy =
        server_machine_busy_share(run).is_some_and(|busy| busy > LIMITER_CPU_MIN_BUSY_SHARE);
    (run.server.pooler.is_some() && is_waiting && !is_busy)
        .then(|| format!("the pooler let {active:.0} of the {clients:.0} clients work at a time"))
}

/// What active sessions waited for, as shares of all active sessions in all samples.
struct WaitShares {
    locks: f64,
    storage: f64,
    /// The most frequent wait.
    top: Option<String>,
}

impl WaitShares {
    /// `None` if too few sessions were sampled.
    fn of(run: &Run) -> Option<WaitShares> {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for (event, sessions) in rows(run).flat_map(|row| &row.waits) {
            *sums.entry(event).or_default() += u64::from(*sessions);
        }
        let all: u64 = sums.values().sum();
        if all < LIMITER_MIN_SESSIONS {
            return None;
        }
        let share = |is_of: fn(&str) -> bool| {
            let waiting = sums.iter().filter(|(event, _)| is_of(event));
            waiting.map(|(_, sessions)| *sessions).sum::<u64>() as f64 / all as f64
        };
        let waits = sums
            .iter()
            .filter(|(event, _)| **event != ServerSecond::ON_CPU);
        let top = waits.max_by_key(|(_, sessions)| **sessions);
        Some(WaitShares {
            locks: share(is_lock),
            storage: share(is_storage),
            top: top.map(|(event, sessions)| {
                let waited = percent(*sessions as f64 / all as f64);
                format!("{waited} of the active sessions waited for {event}")
            }),
        })
    }

    fn limit(&self) -> Option<(Limiter, String)> {
        let (limiter, share, what) = if self.storage > self.locks {
            (Limiter::Storage, self.storage, "storage")
        } else {
            (Limiter::Locks, self.locks, "locks")
        };
        (share > LIMITER_WAIT_MIN_SHARE).then(|| {
            let evidence = format!(
                "{} of the active sessions waited for {what}",
                percent(share)
            );
            (limiter, evidence)
        })
    }
}

/// PostgreSQL's wait for the log, which another session writes, is one for storage.
fn is_storage(event: &str) -> bool {
    let lower = event.to_ascii_lowercase();
    ["io/", "log/", "lwlock/walwrite"]
        .iter()
        .any(|begin| lower.starts_with(begin))
        || (lower.starts_with("state/")
            && ["commit", "flush", "sync"]
                .iter()
                .any(|word| lower.contains(word)))
}

fn is_lock(event: &str) -> bool {
    let kinds = ["Lock/", "LWLock/", "BufferPin/", "Latch/", "Buffer latch/"];
    kinds.iter().any(|kind| event.starts_with(kind)) && !is_storage(event)
}
