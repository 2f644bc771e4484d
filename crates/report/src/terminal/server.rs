//! What was seen of the server, in a few lines.
//!
//! In: a Run. Out: a paragraph. Must never: show what was not seen as a zero.

use super::{heading, paragraph};
use crate::style::Style;
use crate::text::plain;
use crate::units;
use prony_judge::watch;
use prony_store::{MachineSecond, Observed, Run, ServerSecond};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// As many sorts of waits are named.
const WAITS: usize = 4;

/// Writes it; nothing for a run at which nobody looked.
pub fn server(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    let Some(seen) = &run.observed else {
        return Ok(());
    };
    heading(out, style, "The server, in the measured window")?;
    if let Some(why) = &seen.off {
        return paragraph(out, style, &format!("not observed: {}", plain(why)));
    }
    for line in lines(run, seen) {
        paragraph(out, style, &line)?;
    }
    Ok(())
}

/// What was seen of it, in sentences.
pub fn lines(run: &Run, seen: &Observed) -> Vec<String> {
    let lines = [
        Some(machine(run, seen)),
        Some(work(run, seen)),
        waits(run),
        Some(standing(seen)),
        missing(seen),
    ];
    lines.into_iter().flatten().collect()
}

/// Its machine.
fn machine(run: &Run, seen: &Observed) -> String {
    if seen.machine.source.is_none() {
        return "CPU, memory and disks of its machine: unknown".to_owned();
    }
    let share = |of: fn(&MachineSecond) -> Option<f64>| {
        units::known(watch::machine(run, of), units::percent)
    };
    let seconds: f64 = watch::rows(run).map(|row| row.seconds).sum();
    let per_second = |of: fn(&MachineSecond) -> Option<u64>| {
        let sum = watch::sum(run, |row| of(row.machine.as_ref()?));
        units::known(sum, |sum| {
            let each = sum as f64 / seconds.max(f64::MIN_POSITIVE);
            format!("{}/s", units::bytes(each as u64))
        })
    };
    let own = watch::mean(run, |row| {
        let cpu_s = row.machine.as_ref()?.server_cpu_s?;
        (row.seconds > 0.0).then(|| cpu_s / row.seconds)
    });
    let own = own.map_or(String::new(), |cpus| {
        format!(", its processes {} CPUs", units::rate(cpus))
    });
    let of = seen.machine.cpus.map_or(String::new(), |cpus| {
        format!(" of {}", units::counted(cpus.into(), "CPU", "CPUs"))
    });
    format!(
        "{}{of} busy{own}; I/O wait {}, stolen {}; disk {} busy, {} read, {} written",
        share(|of| of.busy),
        share(|of| of.io_wait),
        share(|of| of.steal),
        share(|of| of.disk_busy),
        per_second(|of| of.disk_read_bytes),
        per_second(|of| of.disk_write_bytes),
    )
}

/// What it did.
fn work(run: &Run, seen: &Observed) -> String {
    let hits = watch::sum(run, |row| row.cache_hits);
    let reads = watch::sum(run, |row| row.cache_reads);
    let found = hits.zip(reads).filter(|(hits, reads)| hits + reads > 0);
    let found = found.map(|(hits, reads)| hits as f64 / (hits + reads) as f64);
    let before = seen.before.as_ref();
    let cache = before.and_then(|state| state.cache_bytes);
    let data = before.and_then(|state| state.database_bytes);
    let log = watch::sum(run, |row| row.log_bytes);
    let most = |of: fn(&ServerSecond) -> Option<u32>| watch::rows(run).filter_map(of).max();
    let active = most(|row| row.active);
    let parts = [
        cached(found, cache, data),
        log.map(|log| format!("{} of log", units::bytes(log))),
        Some(happened(run, seen)),
        sessions(active, most(|row| row.lock_waits)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// What of the cache is known: the share of pages found in it, its size, and that of the data.
fn cached(found: Option<f64>, cache: Option<u64>, data: Option<u64>) -> Option<String> {
    let cache = cache.map(units::bytes);
    let text = match (found, cache) {
        (Some(share), cache) => {
            let size = cache.map_or(String::new(), |size| format!(" in {size}"));
            format!("cache: {:.1} % of the pages found{size}", share * 100.0)
        }
        (None, Some(size)) => format!("cache: {size}"),
        (None, None) => return data.map(|data| format!("a database of {}", units::bytes(data))),
    };
    Some(match data {
        Some(data) => format!("{text}, for a database of {}", units::bytes(data)),
        None => text,
    })
}

/// Most sessions at work and waiting for a lock, as far as they are known.
fn sessions(active: Option<u32>, locks: Option<u32>) -> Option<String> {
    let counted = |count: u32| units::counted(count.into(), "session", "sessions");
    Some(match (active, locks) {
        (Some(active), Some(locks)) => format!(
            "at most {} at work, {} waiting for a lock",
            counted(active),
            units::count(locks.into())
        ),
        (Some(active), None) => format!("at most {} at work", counted(active)),
        (None, Some(locks)) => format!("at most {} waiting for a lock", counted(locks)),
        (None, None) => return None,
    })
}

/// What happens in a server, and the questions that each is seen by.
const SEEN_BY: [(&str, [&str; 2]); 3] = [
    ("checkpoint", ["checkpoints", "status"]),
    ("vacuum", ["vacuums", "tables"]),
    ("backup", ["vacuums", "sessions and waits"]),
];

/// Checkpoints and the like by their number; what could not be seen is not said to be absent.
fn happened(run: &Run, seen: &Observed) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let all = [
        "checkpoint",
        "vacuum",
        "analyze",
        "backup",
        "index build",
        "table rebuild",
        "restart",
    ];
    for event in watch::events(run, &all) {
        *counts.entry(&event.what).or_default() += 1;
    }
    if counts.is_empty() {
        let refused = |what: &str| seen.missing.iter().any(|one| one.what == what);
        let (unseen, absent): (Vec<_>, Vec<_>) = SEEN_BY
            .iter()
            .partition(|(_, [one, other])| refused(one) || refused(other));
        let names = |of: Vec<&(&'static str, _)>| -> Vec<&str> {
            of.into_iter().map(|(name, _)| *name).collect()
        };
        let parts = [
            listed(&names(absent), "or").map(|names| format!("no {names} seen")),
            listed(&names(unseen), "and").map(|names| format!("{names} not seen")),
        ];
        return parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    }
    let each = counts.iter().map(|(what, count)| match count {
        1 => format!("1 {}", plain(what)),
        more => format!("{} times {}", units::count(*more), plain(what)),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// `a`, `a or b`, `a, b or c`.
fn listed(names: &[&str], last_by: &str) -> Option<String> {
    let (last, others) = names.split_last()?;
    Some(match others {
        [] => (*last).to_owned(),
        others => format!("{} {last_by} {last}", others.join(", ")),
    })
}

/// What sessions at work did, the most frequent first.
fn waits(run: &Run) -> Option<String> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for row in watch::rows(run) {
        for (event, sessions) in &row.waits {
            *sums.entry(event).or_default() += u64::from(*sessions);
        }
    }
    let all: u64 = sums.values().sum();
    let mut sums: Vec<(&str, u64)> = sums.into_iter().filter(|(_, sum)| *sum > 0).collect();
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse(*sum));
    let each = sums.iter().take(WAITS).map(|(event, sum)| {
        let share = units::percent(*sum as f64 / all as f64);
        format!("{} {share}", plain(event))
    });
    let each: Vec<String> = each.collect();
    (all > 0).then(|| format!("sessions at work: {}", each.join(", ")))
}

/// What a commit is worth there, and what looking has cost.
fn standing(seen: &Observed) -> String {
    let before = seen.before.as_ref();
    let durability = before.and_then(|state| state.durability.as_ref());
    let replication = before.and_then(|state| state.replication.as_deref());
    let mut line = format!(
        "durability class {}, replication {}",
        units::known(durability, |of| plain(&of.words())),
        units::known(replication, plain),
    );
    if !seen.settings_changed.is_empty() {
        let names: Vec<String> = seen
            .settings_changed
            .keys()
            .map(|name| plain(name))
            .collect();
        line += &format!("; settings changed meanwhile: {}", names.join(", "));
    }
    if let Some(cost) = &seen.cost {
        let cpu_s = cost.client_cpu_s.unwrap_or(0.0) + cost.server_cpu_s.unwrap_or(0.0);
        line += &format!(
            "; looking at it: {}, {} of CPU",
            units::counted(cost.queries, "query", "queries"),
            units::seconds(cpu_s)
        );
    }
    line
}

fn missing(seen: &Observed) -> Option<String> {
    let each = seen.missing.iter();
    let each: Vec<String> = each
        .map(|one| format!("{} ({})", plain(&one.what), plain(&one.why)))
        .collect();
    (!each.is_empty()).then(|| format!("not seen: {}", each.join("; ")))
}
