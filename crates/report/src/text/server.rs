//! A summary of the observations of the server.
//!
//! In: a Run. Out: sentences. Must never: show an unobserved value as zero.

use crate::text::{joined, plain};
use crate::units::{self, bytes, count, count_of, count_with_noun, or_unknown};
use prony_judge::absent_by_reason;
use prony_judge::memory::data_fit;
use prony_judge::observations;
use prony_store::{
    Durability, DurabilityClass, EventKind, LimitUse, MachineSecond, Observed, ObservedTopic, Run,
    ServerSecond, Service,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum number of wait events listed.
const MAX_WAITS: usize = 4;

pub(crate) fn describe_server(run: &Run, observed: &Observed) -> Vec<String> {
    let lines = [
        Some(describe_machine(run, observed)),
        Some(describe_activity(run, observed)),
        describe_waits(run),
        describe_wait_times(run),
        describe_limit_use(run),
        Some(durability_and_cost(observed)),
        describe_absent(run, observed),
        describe_missing(observed),
    ];
    lines.into_iter().flatten().collect()
}

fn describe_machine(run: &Run, observed: &Observed) -> String {
    let server_cpus = observations::mean(run, |row| {
        let cpu_s = row.machine.as_ref()?.server_cpu_s?;
        (row.length_s > 0.0).then(|| cpu_s / row.length_s)
    });
    let server_cpus = server_cpus.map_or(String::new(), |cpus| {
        format!(", its processes {} CPUs", units::rate(cpus))
    });
    if observed.machine.source.is_none() {
        return format!("CPU, memory and disks of its machine: unknown{server_cpus}");
    }
    let share = |field: fn(&MachineSecond) -> Option<f64>| {
        or_unknown(
            observations::server_machine_mean(run, field),
            units::percent,
        )
    };
    let seconds: f64 = observations::rows(run).map(|row| row.length_s).sum();
    let seconds = seconds.max(f64::MIN_POSITIVE);
    let per_second = |field: fn(&MachineSecond) -> Option<u64>| {
        let sum = observations::sum(run, |row| field(row.machine.as_ref()?));
        or_unknown(sum, |sum| units::bytes_per_second(sum as f64 / seconds))
    };
    let cpus = observed.machine.cpus.map_or(String::new(), |cpus| {
        format!(" of {}", count_of(cpus.into(), "CPU"))
    });
    format!(
        "{}{cpus} busy{server_cpus}; I/O wait {}, stolen {}; disk {} busy, {} read, {} written",
        share(|second| second.busy_share),
        share(|second| second.io_wait_share),
        share(|second| second.steal_share),
        share(|second| second.disk_busy_share),
        per_second(|second| second.disk_read_bytes),
        per_second(|second| second.disk_write_bytes),
    )
}

/// The server's cache, log, background work and sessions.
fn describe_activity(run: &Run, observed: &Observed) -> String {
    let pages = observations::cache_pages(run);
    let hit_ratio = pages.map(|(hits, all)| hits as f64 / all as f64);
    let before = observed.before.as_ref();
    let cache = before.and_then(|state| state.cache_bytes);
    let data = before.and_then(|state| state.database_bytes);
    let log = observations::sum(run, |row| row.log_bytes);
    let maximum =
        |field: fn(&ServerSecond) -> Option<u32>| observations::rows(run).filter_map(field).max();
    let parts = [
        describe_cache(hit_ratio, cache, data),
        data_fit(run).map(|fit| format!("data {}", fit.describe())),
        log.map(|log| format!("{} of log", bytes(log))),
        Some(describe_events(run, observed)),
        describe_sessions(maximum(|row| row.active), maximum(|row| row.lock_waits)),
    ];
    joined(parts.into_iter().flatten(), "; ")
}

fn describe_cache(hit_ratio: Option<f64>, cache: Option<u64>, data: Option<u64>) -> Option<String> {
    let data = data.map(|data| format!("a database of {}", bytes(data)));
    let text = match (hit_ratio, cache.map(bytes)) {
        (Some(share), cache) => {
            let size = cache.map_or(String::new(), |size| format!(" in {size}"));
            format!(
                "cache: {} of the pages found{size}",
                units::percent_with_tenths(share)
            )
        }
        (None, Some(size)) => format!("cache: {size}"),
        (None, None) => return data,
    };
    Some(match data {
        Some(data) => format!("{text}, for {data}"),
        None => text,
    })
}

/// The maximum number of active sessions and of sessions waiting for a lock, if known.
fn describe_sessions(active: Option<u32>, locks: Option<u32>) -> Option<String> {
    let count_sessions = |count: u32| count_of(count.into(), "session");
    Some(match (active, locks) {
        (Some(active), Some(locks)) => format!(
            "at most {} active, {} waiting for a lock",
            count_sessions(active),
            count(locks.into())
        ),
        (Some(active), None) => format!("at most {} active", count_sessions(active)),
        (None, Some(locks)) => format!("at most {} waiting for a lock", count_sessions(locks)),
        (None, None) => return None,
    })
}

/// Kinds of background work of a server, and the topics of the queries that report them.
const REPORTED_BY: [(&str, [ObservedTopic; 2]); 3] = [
    (
        "checkpoint",
        [ObservedTopic::Checkpoints, ObservedTopic::Status],
    ),
    ("vacuum", [ObservedTopic::Vacuums, ObservedTopic::Tables]),
    (
        "backup",
        [ObservedTopic::Vacuums, ObservedTopic::SessionsAndWaits],
    ),
];

/// Counts of checkpoints and similar events; without any, what was not observed at all.
fn describe_events(run: &Run, observed: &Observed) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let kinds = [
        EventKind::Checkpoint,
        EventKind::Vacuum,
        EventKind::Analyze,
        EventKind::Backup,
        EventKind::IndexBuild,
        EventKind::TableRebuild,
        EventKind::Restart,
    ];
    for event in observations::events(run, &kinds) {
        *counts.entry(event.kind.name()).or_default() += 1;
    }
    if counts.is_empty() {
        return describe_no_events(run, observed);
    }
    let events = counts.iter().map(|(event, number)| match number {
        1 => format!("1 {}", plain(event)),
        number => format!("{} times {}", count(*number), plain(event)),
    });
    let unobserved = prony_judge::unobserved_maintenance(run);
    joined(events.chain(unobserved), ", ")
}

/// Which kinds of background work did not happen, and which could not be observed.
fn describe_no_events(run: &Run, observed: &Observed) -> String {
    let unobserved_maintenance = prony_judge::unobserved_maintenance(run);
    let has_vacuum = run.server.product.is_none_or(|product| product.has_vacuum);
    let is_missing = |topic: &ObservedTopic| {
        let mut missing = observed.missing.iter();
        missing.any(|missing| missing.what == *topic)
    };
    let (mut unobserved, mut absent) = (Vec::new(), Vec::new());
    for (name, topics) in REPORTED_BY {
        if name == "vacuum" && (!has_vacuum || unobserved_maintenance.is_some()) {
            continue;
        }
        if topics.iter().any(|topic| observed.is_absent(*topic)) {
            continue;
        }
        if topics.iter().any(is_missing) {
            unobserved.push(name);
        } else {
            absent.push(name);
        }
    }
    let parts = [
        join_names(&absent, "or").map(|names| format!("no {names} observed")),
        join_names(&unobserved, "and").map(|names| format!("{names} not observed")),
        unobserved_maintenance,
    ];
    joined(parts.into_iter().flatten(), ", ")
}

/// Joins names as `a`, `a or b`, `a, b or c`; `None` if there are none.
fn join_names(names: &[&str], conjunction: &str) -> Option<String> {
    let (last, others) = names.split_last()?;
    Some(match others {
        [] => (*last).to_owned(),
        others => format!("{} {conjunction} {last}", others.join(", ")),
    })
}

/// Wait events with the number of sessions observed in each, the most frequent first.
pub(crate) fn by_wait_event<'a>(
    rows: impl IntoIterator<Item = &'a ServerSecond>,
) -> Vec<(&'a str, u64)> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (event, sessions) in rows.into_iter().flat_map(|row| &row.waits) {
        *sums.entry(event).or_default() += u64::from(*sessions);
    }
    let mut sums: Vec<(&str, u64)> = sums.into_iter().filter(|(_, sum)| *sum > 0).collect();
    sums.sort_by_key(|(_, sum)| Reverse(*sum));
    sums
}

/// The most frequent wait events of active sessions, with their shares.
fn describe_waits(run: &Run) -> Option<String> {
    let sums = by_wait_event(observations::rows(run));
    let total = sums
        .iter()
        .fold(0, |total: u64, (_, sum)| total.saturating_add(*sum));
    let shares = sums.iter().take(MAX_WAITS).map(|(event, sum)| {
        let share = units::percent(*sum as f64 / total as f64);
        format!("{} {share}", plain(event))
    });
    (total > 0).then(|| format!("active sessions: {}", joined(shares, ", ")))
}

/// Wait types with the time that sessions waited in each, in seconds, the longest first.
pub(crate) fn by_wait_type<'a>(
    rows: impl IntoIterator<Item = &'a ServerSecond>,
) -> Vec<(&'a str, f64)> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, time_s) in rows
        .into_iter()
        .filter_map(|row| row.wait_s.as_ref())
        .flatten()
    {
        *sums.entry(name).or_default() += time_s;
    }
    let mut sums: Vec<(&str, f64)> = sums.into_iter().collect();
    sums.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    sums
}

/// How many sessions waited on average, by wait type, as the server counts their time; `None` if it is unknown.
fn describe_wait_times(run: &Run) -> Option<String> {
    let rows = observations::rows(run).filter(|row| row.wait_s.is_some());
    let length_s: f64 = rows.map(|row| row.length_s).sum();
    if length_s <= 0.0 {
        return None;
    }
    let waits = by_wait_type(observations::rows(run)).into_iter();
    let waits = waits.map(|(name, time_s)| {
        let sessions = units::rate(time_s / length_s);
        format!("{} {sessions}", plain(name))
    });
    let waits = joined(waits, ", ");
    Some(if waits.is_empty() {
        "no session waited, by the server's wait statistics".to_owned()
    } else {
        format!("sessions waiting on average, by the server's wait statistics: {waits}")
    })
}

/// The largest use of the service's limits; `None` if it is unknown.
fn describe_limit_use(run: &Run) -> Option<String> {
    let largest = |share: fn(&LimitUse) -> Option<f64>| {
        let shares = observations::rows(run).filter_map(|row| share(row.limit_use.as_ref()?));
        or_unknown(shares.reduce(f64::max), units::percent)
    };
    let mut rows = observations::rows(run);
    rows.any(|row| row.limit_use.is_some()).then(|| {
        format!(
            "of the limits of its service, in any 15 s at most: CPU {}, data I/O {}, log writes {}",
            largest(|limit_use| limit_use.cpu_share),
            largest(|limit_use| limit_use.data_io_share),
            largest(|limit_use| limit_use.log_write_share),
        )
    })
}

/// The class, with its meaning if no check explains it: checks do for the classes that may lose a commit.
pub(crate) fn durability_text(durability: &Durability) -> String {
    let class = plain(&durability.description());
    match durability.class {
        _ if durability.tables_unknown => class,
        DurabilityClass::D3 => format!("{class} (a crash loses no commit)"),
        DurabilityClass::D4 => format!("{class} (the loss of the machine loses no commit)"),
        DurabilityClass::D0 | DurabilityClass::D1 | DurabilityClass::D2 => class,
    }
}

fn durability_and_cost(observed: &Observed) -> String {
    let before = observed.before.as_ref();
    let durability = before.and_then(|state| state.durability.as_ref());
    let replication = before.and_then(|state| state.replication);
    // A service without the topic keeps its data safe in a way of its own.
    let unless_absent = |topic, text: String| {
        if observed.is_absent(topic) { "of its own kind".to_owned() } else { text }
    };
    let mut line = format!(
        "durability class {}, replication {}",
        unless_absent(
            ObservedTopic::Durability,
            or_unknown(durability, durability_text)
        ),
        unless_absent(
            ObservedTopic::Replicas,
            or_unknown(replication, |mode| mode.name().to_owned())
        ),
    );
    if !observed.settings_changed.is_empty() {
        let names = observed.settings_changed.keys().map(|name| plain(name));
        line += &format!("; settings changed during the run: {}", joined(names, ", "));
    }
    if let Some(cost) = &observed.cost {
        let cpu_s = cost.client_cpu_s.unwrap_or(0.0) + cost.server_cpu_s.unwrap_or(0.0);
        line += &format!(
            "; observing it: {}, {} of CPU",
            count_with_noun(cost.queries, "query", "queries"),
            units::seconds(cpu_s)
        );
    }
    line
}

/// What the service does not have, with the reasons; `None` if it has everything.
fn describe_absent(run: &Run, observed: &Observed) -> Option<String> {
    let groups = absent_by_reason(&observed.missing);
    let texts = groups.iter().map(|(topics, why)| {
        let topics = topics.iter().map(|topic| topic.text());
        format!("{} ({})", joined(topics, ", "), plain(why))
    });
    let texts: Vec<String> = texts.collect();
    let service = run.server.service.map_or("the service", Service::name);
    (!texts.is_empty()).then(|| format!("{service} does not have: {}", texts.join("; ")))
}

/// The topics that were not observed, with the reasons; `None` if all were.
fn describe_missing(observed: &Observed) -> Option<String> {
    let missing = observed.missing.iter().filter(|missing| !missing.absent);
    let topics = missing.map(|topic| format!("{} ({})", topic.what.text(), plain(&topic.why)));
    let topics: Vec<String> = topics.collect();
    (!topics.is_empty()).then(|| format!("not observed: {}", topics.join("; ")))
}
