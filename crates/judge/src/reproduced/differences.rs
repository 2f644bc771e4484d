//! Differences between this run and the published one.
//!
//! In: a Run with its scenario. Out: everything that differs, or that is unknown here, with both values.
//! Must never: list what is the same.

use super::{CACHED_TOLERANCE, cache_observation, size};
use crate::formatting::{bytes, count, thousands};
use crate::{machine, observations};
use prony_plan::Choice;
use prony_store::scenario::{OriginalSetup, Scenario};
use prony_store::{DurabilityClass, Replication, Run, ServerEngine, ServerState};
use serde::Serialize;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its subject.
    pub what: &'static str,
    /// Its value in the published benchmark.
    pub published: String,
    /// Its value in this run.
    pub here: String,
}

const NOT_STATED: &str = "not stated";
const UNKNOWN: &str = "unknown";

/// Tolerance of a machine's memory, as a part of it: the operating system cannot use all of it.
const MEMORY_TOLERANCE: f64 = 0.1;
/// Tolerance of the window's length, as a part of it.
const TIME_TOLERANCE: f64 = 0.01;
/// Tolerance of the reads for each write, as a part of them: statements at both ends of a window are cut
/// off.
const MIX_TOLERANCE: f64 = 0.02;

/// All differences, the most important first; empty for a run without a scenario.
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
        cached_share(run, scenario),
        caches(scenario),
        clients(run, of),
        mix(run),
        protocol(run, of),
        durability(run, of),
        replication(run, of),
        host(run),
        duration(of.duration_s, run.measured.length_s, "measured"),
        duration(of.warmup_s, run.window.warmup_s, "warm-up"),
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

fn product(run: &Run, of: &OriginalSetup) -> Option<Difference> {
    let published = match &of.version {
        Some(version) => format!("{} {version}", of.product),
        None => format!("{}, version not stated", of.product),
    };
    let name = run.server.engine.as_ref().map_or("", ServerEngine::name);
    let version = run.server.version.split(" (").next().unwrap_or_default();
    difference("server", published, format!("{name} {version}"))
}

/// A figure of the server's machine; the client's own if both are on one machine.
fn machine_value<T>(run: &Run, observed: Option<T>, own: T) -> Option<T> {
    observed.or_else(|| machine::shares_machine(run).map(|_| own))
}

fn cpus(run: &Run, of: &OriginalSetup) -> Option<Difference> {
    let observed = observations::observed(run).and_then(|observed| observed.machine.cpus);
    let here = machine_value(run, observed, run.machine().host.cpus);
    if of.cpus.is_some() && of.cpus == here {
        return None;
    }
    let describe = |cpus: Option<u32>, none: &str| match cpus {
        Some(cpus) => count(cpus.into(), "CPU"),
        None => none.to_owned(),
    };
    difference(
        "CPUs",
        describe(of.cpus, NOT_STATED),
        describe(here, UNKNOWN),
    )
}

fn memory(run: &Run, of: &OriginalSetup) -> Option<Difference> {
    let observed = observations::observed(run).and_then(|observed| observed.machine.memory_bytes);
    let here = machine_value(run, observed, run.machine().host.memory_bytes);
    if let (Some(published), Some(here)) = (of.memory_bytes, here)
        && (here as f64 / published as f64 - 1.0).abs() <= MEMORY_TOLERANCE
    {
        return None;
    }
    // Memory as machines are sold, in powers of two.
    let gib = |size: u64| format!("{:.0} GiB", size as f64 / (1_u64 << 30) as f64);
    let describe = |size: Option<u64>, none: &str| size.map_or(none.to_owned(), gib);
    let published = describe(of.memory_bytes, NOT_STATED);
    difference("memory", published, describe(here, UNKNOWN))
}

fn before(run: &Run) -> Option<&ServerState> {
    observations::observed(run)?.before.as_ref()
}

fn data(run: &Run, scenario: &Scenario) -> Option<Difference> {
    let of = &scenario.original;
    let size = size::before(run).map_or(String::new(), |size| match size.whole_database {
        true => format!(", {} in the whole database", bytes(size.bytes)),
        false => format!(", {} in all", bytes(size.bytes)),
    });
    let rows = run.workload.setting("table_size");
    let rows = rows.and_then(|rows| rows.parse::<u64>().ok());
    let rows = rows.map_or(String::new(), |rows| {
        format!(" of {} rows", thousands(rows))
    });
    let here = format!("scale {}{rows}{size}", thousands(run.workload.scale.into()));
    if scenario.size_share >= 1.0 && run.cached.is_none() && scenario.loaded {
        return None;
    }
    difference("data", of.data.as_deref().unwrap_or(NOT_STATED), here)
}

/// The share of the data that the server's own cache can hold here.
fn cached_share(run: &Run, scenario: &Scenario) -> Option<Difference> {
    let published = scenario.original.cached.as_deref().unwrap_or(NOT_STATED);
    let cache = before(run).and_then(|state| state.cache_bytes);
    let here = cache.zip(size::before(run)).map(|(cache, data)| {
        let share = (cache as f64 / data.bytes as f64).min(1.0);
        let of = match data.whole_database {
            true => " of the whole database",
            false => "",
        };
        let text = format!(
            "the cache of {} holds {:.0} %{of}",
            bytes(cache),
            share * 100.0
        );
        (share, text)
    });
    let published_share = scenario.original.cached_share;
    let same = here.as_ref().zip(published_share);
    let same = same.is_some_and(|((share, _), published)| match published >= 1.0 {
        true => *share >= 1.0,
        false => (share / published - 1.0).abs() <= CACHED_TOLERANCE,
    });
    if same && cache_observation(run).is_none_or(|observed| observed.fits != Some(false)) {
        return None;
    }
    difference(
        "data cached",
        published,
        here.map_or(UNKNOWN.to_owned(), |(_, text)| text),
    )
}

fn caches(scenario: &Scenario) -> Option<Difference> {
    if !scenario.cold || scenario.restarted {
        return None;
    }
    let here = "not restarted: caches are warm";
    difference("caches", "restarted before the load", here)
}

fn clients(run: &Run, of: &OriginalSetup) -> Option<Difference> {
    let here = run.drive.clients;
    if of.clients == Some(here) {
        return None;
    }
    let published = of.clients.map_or(NOT_STATED.to_owned(), |clients| {
        count(clients.into(), "client")
    });
    difference("clients", published, count(here.into(), "client"))
}

/// Reads for each write, if both were published. A transaction that was restarted has made all its reads
/// and few of its writes.
fn mix(run: &Run) -> Option<Difference> {
    let found = super::deviations(run);
    let one = |name: &str| found.iter().find(|one| one.name == name);
    let (reads, writes) = (one("reads")?, one("writes")?);
    let published = reads.published / writes.published;
    let here = reads.measured? / writes.measured?;
    if !here.is_finite() || (here / published - 1.0).abs() <= MIX_TOLERANCE {
        return None;
    }
    let tries = run.measured.all().map_or(0, |all| all.retries);
    let why = match tries {
        0 => String::new(),
        tries => format!(
            ": includes the queries of retried transactions ({} retries), as in sysbench's report",
            thousands(tries)
        ),
    };
    difference(
        "reads a write",
        format!("{published:.2}"),
        format!("{here:.2}{why}"),
    )
}

fn protocol(run: &Run, of: &OriginalSetup) -> Option<Difference> {
    let published = of.protocol?;
    if run.drive.protocol == Some(published) {
        return None;
    }
    let here = run.drive.protocol.map_or("", Choice::name);
    difference("protocol", published.name(), here)
}

fn durability(run: &Run, of: &OriginalSetup) -> Option<Difference> {
    let observed = before(run).and_then(|state| state.durability.as_ref());
    let here = observed.map_or(UNKNOWN.to_owned(), |observed| {
        match observed.because.as_slice() {
            [] if observed.class == DurabilityClass::D3 && !observed.tables_unknown => {
                "class D3: a crash of the machine loses no commit".to_owned()
            }
            [] => format!("class {}", observed.description()),
            because => format!("class {}: {}", observed.description(), because.join(", ")),
        }
    });
    difference(
        "durability",
        of.durability.as_deref().unwrap_or(NOT_STATED),
        here,
    )
}

fn replication(run: &Run, of: &OriginalSetup) -> Option<Difference> {
    let here = before(run).and_then(|state| state.replication);
    if of.replication.is_some() && of.replication == here {
        return None;
    }
    let published = of.replication.map_or(NOT_STATED, Replication::name);
    difference(
        "replication",
        published,
        here.map_or(UNKNOWN, Replication::name),
    )
}

fn host(run: &Run) -> Option<Difference> {
    machine::shares_machine(run)?;
    let here = "on the server's machine, sharing its CPU";
    difference("client", "on its own machine", here)
}

fn duration(published: Option<f64>, here_s: f64, what: &'static str) -> Option<Difference> {
    let there_s = published?;
    if (here_s - there_s).abs() <= there_s * TIME_TOLERANCE {
        return None;
    }
    let describe = |seconds: f64| match seconds {
        short if short < 120.0 => format!("{short:.0} s"),
        long => format!("{:.0} min", long / 60.0),
    };
    difference(what, describe(there_s), describe(here_s))
}
