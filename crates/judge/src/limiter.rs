//! What limits the throughput of a run: the CPUs of the server or of the client, locks, storage, connections.
//!
//! In: a run, or those of a point of a sweep. Out: `limiter`; the limit that most of the runs show, with its figures.
//! Must never: name a limit that was not observed.

use crate::checks::{Finding, note};
use crate::client;
use crate::formatting::{joined, percent, share, thousands};
use crate::machine::{server_machine_busy_share, shared_machine_evidence};
use crate::observations::{self, observed, rows, server_machine_mean};
use crate::thresholds::{
    LIMITER_CPU_MIN_BUSY_SHARE, LIMITER_DISK_MIN_BUSY_SHARE, LIMITER_FLOW_CONTROL_MIN_SHARE,
    LIMITER_MIN_SESSIONS, LIMITER_WAIT_MIN_SHARE, POOLED_WAITING_MIN_SHARE,
};
use prony_store::{ErrorClass, LimitUse, Run, ServerSecond};
use serde::Serialize;
use std::collections::BTreeMap;

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

/// A limit of one run, and its figures as a clause.
type Limit = (Limiter, String);

/// The limit of a point, with its figures.
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

/// The limit that most of the runs of a point show; `at` is the point's value of the axis.
pub(crate) fn limiter(at: &str, runs: &[&Run]) -> LimiterFinding {
    let mut evidence_by_limiter: BTreeMap<Limiter, Vec<String>> = BTreeMap::new();
    for run in runs {
        let (limiter, evidence) = limiter_of(run);
        evidence_by_limiter
            .entry(limiter)
            .or_default()
            .push(evidence);
    }
    // The limiter of most runs. Of several with the same number, `max_by_key` returns the last, so the list is reversed:
    // the first of `Limiter` wins, and `Unknown` only if it has more runs than every other.
    let reversed = evidence_by_limiter.into_iter().rev();
    let most = reversed.max_by_key(|(_, evidence)| evidence.len());
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

fn limiter_of(run: &Run) -> Limit {
    let is_known = |(limiter, _): &Limit| *limiter != Limiter::Unknown;
    client_limit(run)
        .or_else(|| refusal_limit(run))
        .or_else(|| server_limits(run).into_iter().find(is_known))
        .or_else(|| pooler_limit(run))
        .unwrap_or_else(|| (Limiter::Unknown, what_was_observed(run)))
}

/// What the server showed, although nothing of it stood out.
fn what_was_observed(run: &Run) -> String {
    if observed(run).is_none() {
        return "the server was not observed".to_owned();
    }
    let busy = server_machine_busy_share(run).map(|busy| busy_text(run, busy));
    let waits = Waits::of(run);
    let top = waits.and_then(|waits| {
        let (event, waiting) = waits.top?;
        Some(waits.text(waiting, event))
    });
    let parts = joined(busy.into_iter().chain(top), ", ");
    if parts.is_empty() { "neither CPUs nor waits were observed".to_owned() } else { parts }
}

/// The most likely limits of the throughput on the side of the server.
pub(crate) fn check_limits(run: &Run) -> Option<Finding> {
    let limits = server_limits(run).into_iter();
    let texts = joined(limits.map(|(_, text)| text), "; ");
    if texts.is_empty() {
        return None;
    }
    note(
        format!("Likely limit: {texts}."),
        "Relieve this limit (more CPUs, faster commits to disk, fewer conflicts) to raise the throughput.",
    )
}

fn client_limit(run: &Run) -> Option<Limit> {
    let text = if let Some((_, demand)) = client::cpu_limit(run) {
        format!("its busiest thread {}", demand.describe())
    } else {
        let (_, share) = client::throttling(run)?;
        format!(
            "the CPU limit of its control group stopped it for {} of the time",
            percent(share)
        )
    };
    Some((Limiter::ClientCpus, text))
}

/// The limit on connections, if the server refused some.
fn refusal_limit(run: &Run) -> Option<Limit> {
    let mut errors = run.measured.errors.iter();
    let refused = errors.find(|error| {
        // too_many_connections of PostgreSQL, and ER_CON_COUNT_ERROR of MySQL.
        error.class == ErrorClass::Resources && ["53300", "08004"].contains(&error.code.as_str())
    })?;
    let text = format!("the server refused connections ({})", refused.code);
    Some((Limiter::Connections, text))
}

/// The limit of a pooler that lets clients wait. Only where nothing else is known to limit the server: sessions that wait
/// for its storage or its locks are not active either.
fn pooler_limit(run: &Run) -> Option<Limit> {
    run.server.pooler.as_ref()?;
    let active = observations::mean(run, |row| row.active.map(f64::from))?;
    let clients = f64::from(run.drive.clients);
    let is_waiting = active < clients * (1.0 - POOLED_WAITING_MIN_SHARE);
    let is_busy =
        server_machine_busy_share(run).is_some_and(|busy| busy > LIMITER_CPU_MIN_BUSY_SHARE);
    (is_waiting && !is_busy).then(|| {
        let text = format!("the pooler let {active:.0} of the {clients:.0} clients work at a time");
        (Limiter::Connections, text)
    })
}

fn busy_text(run: &Run, busy: f64) -> String {
    let shared = shared_machine_evidence(run).map_or("", |_| ", which the client shares,");
    format!(
        "the CPUs of the server's machine{shared} were {} busy",
        percent(busy)
    )
}

/// What stood out in the observations of the server, the most telling first.
fn server_limits(run: &Run) -> Vec<Limit> {
    if observed(run).is_none() {
        return Vec::new();
    }
    let above = |value: Option<f64>, min: f64| value.filter(|value| *value > min);
    let limit_use = |value: fn(&LimitUse) -> Option<f64>| {
        observations::mean(run, |row| value(row.limit_use.as_ref()?))
    };
    let busy = above(server_machine_busy_share(run), LIMITER_CPU_MIN_BUSY_SHARE);
    let cpu_share = limit_use(|limits| limits.cpu_share);
    let cpu = above(cpu_share, LIMITER_CPU_MIN_BUSY_SHARE);
    let disk_share = server_machine_mean(run, |machine| machine.disk_busy_share);
    let disk = above(disk_share, LIMITER_DISK_MIN_BUSY_SHARE);
    let io_shares = [
        limit_use(|limits| limits.data_io_share),
        limit_use(|limits| limits.log_write_share),
    ];
    let busiest_io = io_shares.into_iter().flatten().reduce(f64::max);
    let io = above(busiest_io, LIMITER_DISK_MIN_BUSY_SHARE);
    let stopped_share = observations::mean(run, |row| row.flow_control_share);
    let stopped = above(stopped_share, LIMITER_FLOW_CONTROL_MIN_SHARE);
    let waits = Waits::of(run).and_then(|waits| waits.limit());
    let limits = [
        busy.map(|busy| (Limiter::ServerCpus, busy_text(run, busy))),
        cpu.map(|cpu| {
            let text = format!("the database used {} of its service's CPU", percent(cpu));
            (Limiter::ServerCpus, text)
        }),
        waits,
        disk.map(|disk| {
            let text = format!(
                "the busiest disk had I/O in progress for {} of the time",
                percent(disk)
            );
            (Limiter::Storage, text)
        }),
        io.map(|io| {
            let text = format!("the database used {} of its service's I/O", percent(io));
            (Limiter::Storage, text)
        }),
        stopped.map(|share| {
            let text = format!(
                "flow control stopped the cluster's commits for {} of the time, because a node was behind",
                percent(share)
            );
            (Limiter::Unknown, text)
        }),
    ];
    limits.into_iter().flatten().collect()
}

/// What active sessions waited for, over all samples.
#[derive(Clone, Copy)]
struct Waits<'a> {
    /// All active sessions, also those that used a CPU.
    sessions: u64,
    /// Those that waited for locks.
    locks: u64,
    /// Those that waited for storage.
    storage: u64,
    /// The most frequent wait, and its sessions; waiting for the client does not count, because it does not limit the server.
    top: Option<(&'a str, u64)>,
    /// The same of the waits for locks.
    top_lock: Option<(&'a str, u64)>,
    /// The same of the waits for storage.
    top_storage: Option<(&'a str, u64)>,
}

impl<'a> Waits<'a> {
    /// `None` if too few sessions were sampled.
    fn of(run: &'a Run) -> Option<Waits<'a>> {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for (event, sessions) in rows(run).flat_map(|row| &row.waits) {
            *sums.entry(event).or_default() += u64::from(*sessions);
        }
        let sessions: u64 = sums.values().sum();
        sums.retain(|event, _| *event != ServerSecond::ON_CPU && !event.starts_with("Client/"));
        let sum = |is_of: fn(&str) -> bool| {
            let waiting = sums.iter().filter(|(event, _)| is_of(event));
            waiting.map(|(_, sessions)| *sessions).sum()
        };
        let top = |is_of: fn(&str) -> bool| {
            let waiting = sums.iter().filter(|(event, _)| is_of(event));
            let top = waiting.max_by_key(|(_, sessions)| **sessions);
            top.map(|(event, sessions)| (*event, *sessions))
        };
        (sessions >= LIMITER_MIN_SESSIONS).then(|| Waits {
            sessions,
            locks: sum(is_lock),
            storage: sum(is_storage),
            top: top(|_| true),
            top_lock: top(is_lock),
            top_storage: top(is_storage),
        })
    }

    fn text(&self, waiting: u64, what: &str) -> String {
        format!(
            "{} of the {} active sessions in all samples waited for {what}",
            percent(share(waiting, self.sessions)),
            thousands(self.sessions),
        )
    }

    /// The limit by the kind of wait that most sessions share, otherwise by a single wait; `None` if neither has enough.
    fn limit(&self) -> Option<Limit> {
        let is_most = |sessions| share(sessions, self.sessions) > LIMITER_WAIT_MIN_SHARE;
        let of_kind = if self.storage > self.locks {
            self.limit_of_kind(Limiter::Storage, self.storage, self.top_storage)
        } else {
            self.limit_of_kind(Limiter::Locks, self.locks, self.top_lock)
        };
        if is_most(self.storage.max(self.locks)) && of_kind.is_some() {
            return of_kind;
        }
        let (event, waiting) = self.top.filter(|(_, waiting)| is_most(*waiting))?;
        Some((Limiter::Unknown, self.text(waiting, event)))
    }

    /// The limit by all waits of a kind, of which `top` is the most frequent; `None` if there are none.
    fn limit_of_kind(
        &self,
        kind: Limiter,
        sessions: u64,
        top: Option<(&str, u64)>,
    ) -> Option<Limit> {
        let (event, waiting) = top?;
        let what = if waiting == sessions {
            event.to_owned()
        } else {
            format!("{}, most often for {event}", kind.text())
        };
        Some((kind, self.text(sessions, &what)))
    }
}

/// Whether sessions wait for storage. PostgreSQL's wait for the log, which another session writes, is such a wait.
fn is_storage(event: &str) -> bool {
    let lower = event.to_ascii_lowercase();
    let kinds = ["io/", "log/", "lwlock/walwrite"];
    let states = ["commit", "flush", "sync"];
    kinds.iter().any(|kind| lower.starts_with(kind))
        || (lower.starts_with("state/") && states.iter().any(|state| lower.contains(state)))
}

fn is_lock(event: &str) -> bool {
    let kinds = ["Lock/", "LWLock/", "BufferPin/", "Latch/", "Buffer latch/"];
    kinds.iter().any(|kind| event.starts_with(kind)) && !is_storage(event)
}
