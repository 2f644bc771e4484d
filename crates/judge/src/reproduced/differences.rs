//! What is different here from where a scenario was published.
//!
//! In: a Run with its scenario. Out: each thing that differs, or of which nothing is known here, with both
//! sides. Must never: list what is the same.

use super::{CACHED_TOLERANCE, cached, size};
use crate::words::{bytes, count, thousands};
use crate::{machine, watch};
use prony_store::scenario::{Original, Scenario};
use prony_store::{Run, ServerState};
use serde::Serialize;

/// Something that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What.
    pub what: &'static str,
    /// As it was where the figures were published.
    pub published: String,
    /// As it is here.
    pub here: String,
}

const UNSAID: &str = "not said";
const UNKNOWN: &str = "unknown";

/// A machine's memory is the same within this part of it: some of it is not the system's to give.
const MEMORY_TOLERANCE: f64 = 0.1;
/// A window is as long within this part of it.
const TIME_TOLERANCE: f64 = 0.01;
/// Reads a write are as many within this part of them: statements at both ends of a window are cut off.
const MIX_TOLERANCE: f64 = 0.02;

/// All that differs, the weightiest first; nothing for a run of its own.
pub fn differences(run: &Run) -> Vec<Difference> {
    let Some(scenario) = &run.scenario else {
        return Vec::new();
    };
    let of = &scenario.original;
    let found = [
        product(run, of),
        cpus(run, of),
        memory(run, of),
        data(run, scenario),
        share_cached(run, scenario),
        caches(scenario),
        clients(run, of),
        mix(run),
        protocol(run, of),
        durability(run, of),
        replication(run, of),
        host(run),
        time(of.duration_s, run.measured.seconds, "measured"),
        time(of.warmup_s, run.window.warmup_s, "warm-up"),
    ];
    found.into_iter().flatten().collect()
}

fn difference(
    what: &'static str,
    published: impl Into<String>,
    here: impl Into<String>,
) -> Option<Difference> {
    Some(Difference {
        what,
        published: published.into(),
        here: here.into(),
    })
}

fn product(run: &Run, of: &Original) -> Option<Difference> {
    let there = match &of.version {
        Some(version) => format!("{} {version}", of.product),
        None => format!("{}, version not said", of.product),
    };
    let name = match run.server.engine.as_str() {
        "postgresql" => "PostgreSQL",
        "mysql" => "MySQL",
        "mariadb" => "MariaDB",
        other => other,
    };
    let version = run.server.version.split(" (").next().unwrap_or_default();
    difference("server", there, format!("{name} {version}"))
}

/// A figure of the server's machine; the client's own where both are one.
fn of_machine<T>(run: &Run, seen: Option<T>, own: T) -> Option<T> {
    seen.or_else(|| machine::shares_machine(run).map(|_| own))
}

fn cpus(run: &Run, of: &Original) -> Option<Difference> {
    let seen = watch::observed(run).and_then(|seen| seen.machine.cpus);
    let here = of_machine(run, seen, run.host.cpus);
    if of.cpus.is_some() && of.cpus == here {
        return None;
    }
    let words = |cpus: Option<u32>, none: &str| match cpus {
        Some(cpus) => count(cpus.into(), "CPU"),
        None => none.to_owned(),
    };
    difference("CPUs", words(of.cpus, UNSAID), words(here, UNKNOWN))
}

fn memory(run: &Run, of: &Original) -> Option<Difference> {
    let seen = watch::observed(run).and_then(|seen| seen.machine.memory_bytes);
    let here = of_machine(run, seen, run.host.memory_bytes);
    if let (Some(there), Some(here)) = (of.memory_bytes, here)
        && (here as f64 / there as f64 - 1.0).abs() <= MEMORY_TOLERANCE
    {
        return None;
    }
    // As machines are sold, in powers of two.
    let gib = |size: u64| format!("{:.0} GiB", size as f64 / (1_u64 << 30) as f64);
    let words = |size: Option<u64>, none: &str| size.map_or(none.to_owned(), gib);
    let there = words(of.memory_bytes, UNSAID);
    difference("memory", there, words(here, UNKNOWN))
}

fn before(run: &Run) -> Option<&ServerState> {
    watch::observed(run)?.before.as_ref()
}

fn data(run: &Run, scenario: &Scenario) -> Option<Difference> {
    let of = &scenario.original;
    let size = size::before(run).map_or(String::new(), |size| match size.whole_database {
        true => format!(", {} in the whole database", bytes(size.bytes)),
        false => format!(", {} in all", bytes(size.bytes)),
    });
    let rows = run.workload.settings.iter();
    let mut rows = rows.filter_map(|setting| setting.strip_prefix("table_size "));
    let rows = rows.next().and_then(|rows| rows.parse::<u64>().ok());
    let rows = rows.map_or(String::new(), |rows| {
        format!(" of {} rows", thousands(rows))
    });
    let here = format!("scale {}{rows}{size}", thousands(run.workload.scale.into()));
    if scenario.shrink >= 1.0 && run.cached.is_none() && scenario.loaded {
        return None;
    }
    difference("data", of.data.as_deref().unwrap_or(UNSAID), here)
}

/// How much of the data the server's own cache can hold here.
fn share_cached(run: &Run, scenario: &Scenario) -> Option<Difference> {
    let there = scenario.original.cached.as_deref().unwrap_or(UNSAID);
    let cache = before(run).and_then(|state| state.cache_bytes);
    let here = cache.zip(size::before(run)).map(|(cache, data)| {
        let share = (cache as f64 / data.bytes as f64).min(1.0);
        let of = match data.whole_database {
            true => " of the whole database",
            false => "",
        };
        let words = format!(
            "the cache of {} holds {:.0} %{of}",
            bytes(cache),
            share * 100.0
        );
        (share, words)
    });
    let whole = there.starts_with("all");
    let third = there.contains("30 %");
    let same = here.as_ref().is_some_and(|(share, _)| {
        (whole && *share >= 1.0) || (third && (share / 0.3 - 1.0).abs() <= CACHED_TOLERANCE)
    });
    if same && cached(run).is_none_or(|seen| seen.fits != Some(false)) {
        return None;
    }
    difference(
        "data cached",
        there,
        here.map_or(UNKNOWN.to_owned(), |(_, words)| words),
    )
}

fn caches(scenario: &Scenario) -> Option<Difference> {
    if !scenario.cold || scenario.restarted {
        return None;
    }
    let here = "not restarted: caches are not cold";
    difference("caches", "restarted before the load", here)
}

fn clients(run: &Run, of: &Original) -> Option<Difference> {
    let here = run.drive.clients;
    if of.clients == Some(here) {
        return None;
    }
    let there = of
        .clients
        .map_or(UNSAID.to_owned(), |clients| count(clients.into(), "client"));
    difference("clients", there, count(here.into(), "client"))
}

/// Reads for each write, where both were published. A try that began anew has asked all its reads and few of
/// its writes.
fn mix(run: &Run) -> Option<Difference> {
    let found = super::deviations(run);
    let one = |name: &str| found.iter().find(|one| one.name == name);
    let (reads, writes) = (one("reads")?, one("writes")?);
    let there = reads.published / writes.published;
    let here = reads.measured? / writes.measured?;
    if !here.is_finite() || (here / there - 1.0).abs() <= MIX_TOLERANCE {
        return None;
    }
    let tries = run.measured.kinds.first().map_or(0, |all| all.retries);
    let why = match tries {
        0 => String::new(),
        tries => format!(
            ": what tries that began anew (deadlocks; {}) had asked counts too, as in sysbench's report",
            thousands(tries)
        ),
    };
    difference(
        "reads a write",
        format!("{there:.2}"),
        format!("{here:.2}{why}"),
    )
}

fn protocol(run: &Run, of: &Original) -> Option<Difference> {
    let there = of.protocol.as_deref();
    if there.is_none_or(|there| there == run.drive.protocol) {
        return None;
    }
    difference(
        "protocol",
        there.unwrap_or(UNSAID),
        run.drive.protocol.clone(),
    )
}

fn durability(run: &Run, of: &Original) -> Option<Difference> {
    let seen = before(run).and_then(|state| state.durability.as_ref());
    let here = seen.map_or(UNKNOWN.to_owned(), |seen| match seen.because.as_slice() {
        [] if seen.words() == "D3" => "class D3: a crash of the machine loses no commit".to_owned(),
        [] => format!("class {}", seen.words()),
        because => format!("class {}: {}", seen.words(), because.join(", ")),
    });
    difference(
        "durability",
        of.durability.as_deref().unwrap_or(UNSAID),
        here,
    )
}

fn replication(run: &Run, of: &Original) -> Option<Difference> {
    let here = before(run).and_then(|state| state.replication.as_deref());
    if of.replication.is_some() && of.replication.as_deref() == here {
        return None;
    }
    let there = of.replication.as_deref().unwrap_or(UNSAID);
    difference("replication", there, here.unwrap_or(UNKNOWN))
}

fn host(run: &Run) -> Option<Difference> {
    machine::shares_machine(run)?;
    let here = "on the server's machine, and takes CPU from it";
    difference("client", "on a machine of its own", here)
}

fn time(there: Option<f64>, here_s: f64, what: &'static str) -> Option<Difference> {
    let there_s = there?;
    if (here_s - there_s).abs() <= there_s * TIME_TOLERANCE {
        return None;
    }
    let words = |seconds: f64| match seconds {
        short if short < 120.0 => format!("{short:.0} s"),
        long => format!("{:.0} min", long / 60.0),
    };
    difference(what, words(there_s), words(here_s))
}
