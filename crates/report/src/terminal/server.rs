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
    let active = match active {
        Some(count) => units::counted(count.into(), "session", "sessions"),
        None => "unknown sessions".to_owned(),
    };
    let locks = units::known(most(|row| row.lock_waits), |count| {
        units::count(count.into())
    });
    format!(
        "cache: {} of the pages found in {}, for {} of data; {} of log; {}; at most {active} at \
         work, {locks} waiting for a lock",
        units::known(found, |share| format!("{:.1} %", share * 100.0)),
        units::known(cache, units::bytes),
        units::known(data, units::bytes),
        units::known(log, units::bytes),
        happened(run),
    )
}

/// Checkpoints and the like by their number.
fn happened(run: &Run) -> String {
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
        return "no checkpoint, vacuum or backup seen".to_owned();
    }
    let each = counts.iter().map(|(what, count)| match count {
        1 => format!("1 {}", plain(what)),
        more => format!("{} times {}", units::count(*more), plain(what)),
    });
    each.collect::<Vec<_>>().join(", ")
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
        units::known(durability, |of| plain(&of.class)),
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
