//! Differences between this run and the published one.
//!
//! In: a Run with its scenario. Out: every condition that differs, or that is unknown for this run, with both
//! values. Must never: list what is the same.

use super::{CACHED_SHARE_TOLERANCE, DURATION_TOLERANCE, cache_observation, size};
use crate::formatting::{bytes, count, thousands};
use crate::machine;
use DeclaredFact::{HighAvailability, Iops, Region, Storage, StorageSize, Zones};
use prony_plan::Choice;
use prony_store::scenario::{OriginalSetup, Scenario};
use prony_store::{DeclaredFact, DurabilityClass, Replication, Run};
use serde::Serialize;

/// A difference between the published benchmark and this run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The property that differs.
    pub what: &'static str,
    /// Its value in the published benchmark.
    pub published: String,
    /// Its value in this run.
    pub measured: String,
}

const NOT_STATED: &str = "not stated";
pub(super) const UNKNOWN: &str = "unknown";

/// Relative tolerance of a machine's memory: the operating system cannot use all of it.
pub(super) const MEMORY_TOLERANCE: f64 = 0.1;
/// Relative tolerance of the size of the data, which documents round.
const DATA_SIZE_TOLERANCE: f64 = 0.15;
/// Relative tolerance of the reads per write: transactions at both ends of the window count in part.
const MIX_TOLERANCE: f64 = 0.02;

/// All differences, the most important first; empty for a run without a scenario.
pub fn differences(run: &Run) -> Vec<Difference> {
    let Some(scenario) = &run.scenario else {
        return Vec::new();
    };
    let original = &scenario.original;
    let machine = [
        product_difference(run, original),
        cpus_difference(run, original),
        memory_difference(run, original),
    ];
    let others = [
        max_connections_difference(run, original),
        data_difference(run, scenario),
        data_size_difference(run, scenario),
        cached_share_difference(run, scenario),
        caches_difference(scenario),
        clients_difference(run, original),
        mix_difference(run),
        protocol_difference(run, original),
        durability_difference(run, original),
        replication_difference(run, original),
        host_difference(run),
        client_cpus_difference(run, original),
        duration_difference(original.duration_s, run.measured.length_s, "measured"),
        duration_difference(original.warmup_s, run.window.warmup_s, "warm-up"),
    ];
    let settings = super::settings::setting_differences(run, original);
    let declared = declared_differences(run, original);
    let machine = machine.into_iter().flatten().chain(declared);
    let others = others.into_iter().flatten().chain(settings);
    machine.chain(others).collect()
}

fn difference(
    what: &'static str,
    published: impl Into<String>,
    measured: impl Into<String>,
) -> Option<Difference> {
    Some(Difference {
        what,
        published: published.into(),
        measured: measured.into(),
    })
}

fn product_difference(run: &Run, original: &OriginalSetup) -> Option<Difference> {
    let published = match &original.setup.version {
        Some(version) => format!("{} {version}", original.setup.product),
        None => format!("{}, version not stated", original.setup.product),
    };
    difference("server", published, run.server.name_and_version())
}

fn cpus_difference(run: &Run, original: &OriginalSetup) -> Option<Difference> {
    let measured = machine::server_cpus(run);
    if original.setup.cpus.is_some() && original.setup.cpus == measured {
        return None;
    }
    let describe = |cpus: Option<u32>, if_absent: &str| match cpus {
        Some(cpus) => count(cpus.into(), "CPU"),
        None => if_absent.to_owned(),
    };
    difference(
        "CPUs",
        describe(original.setup.cpus, NOT_STATED),
        describe(measured, UNKNOWN),
    )
}

fn memory_difference(run: &Run, original: &OriginalSetup) -> Option<Difference> {
    let measured = machine::server_memory_bytes(run);
    if let (Some(published), Some(measured)) = (original.memory_bytes, measured)
        && (measured as f64 / published as f64 - 1.0).abs() <= MEMORY_TOLERANCE
    {
        return None;
    }
    // Memory is published in GiB, even where "GB" is written.
    let gib = |size: u64| format!("{:.0} GiB", size as f64 / (1_u64 << 30) as f64);
    let describe = |size: Option<u64>, if_absent: &str| size.map_or(if_absent.to_owned(), gib);
    let published = describe(original.memory_bytes, NOT_STATED);
    difference("memory", published, describe(measured, UNKNOWN))
}

/// The limit of connections, by the server's setting of that name. It is a limit of the instance, not a load.
fn max_connections_difference(run: &Run, original: &OriginalSetup) -> Option<Difference> {
    let published = original.setup.max_connections?;
    let setting = run.server.settings.get("max_connections");
    let measured = setting.and_then(|value| match value.as_str() {
        Some(text) => text.parse().ok(),
        None => value.as_u64(),
    });
    if measured == Some(published) {
        return None;
    }
    let measured_text = measured.map_or(UNKNOWN.to_owned(), thousands);
    difference("maximum connections", thousands(published), measured_text)
}

fn data_difference(run: &Run, scenario: &Scenario) -> Option<Difference> {
    let original = &scenario.original;
    let size = size::data_size_before(run).map_or(String::new(), |size| {
        let what = if size.whole_database { "the whole database" } else { "all" };
        format!(", {} in {what}", bytes(size.bytes))
    });
    let table_size = run.workload.setting("table_size");
    let rows = match table_size.and_then(|size| size.parse::<u64>().ok()) {
        Some(rows) => format!(" of {} rows", thousands(rows)),
        None => String::new(),
    };
    let measured = format!("scale {}{rows}{size}", thousands(run.workload.scale.into()));
    // Without a published size, any size may differ from it.
    let is_known = original.data.is_some();
    if is_known && scenario.size_share >= 1.0 && run.cached.is_none() && scenario.loaded {
        return None;
    }
    difference(
        "data",
        original.data.as_deref().unwrap_or(NOT_STATED),
        measured,
    )
}

/// The size of the data, judged by the published one. Documents write GB where tools print GiB: both are accepted.
fn data_size_difference(run: &Run, scenario: &Scenario) -> Option<Difference> {
    let published_gb = scenario.original.setup.data_gb? as f64 * scenario.size_share;
    let size = size::data_size_before(run).filter(|size| !size.whole_database)?;
    let in_gb = size.bytes as f64 / 1e9;
    let in_gib = size.bytes as f64 / (1_u64 << 30) as f64;
    let is_same = |size: f64| (size / published_gb - 1.0).abs() <= DATA_SIZE_TOLERANCE;
    // Tables of a few pages say nothing about the size at scale.
    if is_same(in_gb) || is_same(in_gib) || run.cached.is_some() || published_gb < 0.01 {
        return None;
    }
    let share = match scenario.size_share {
        1.0 => String::new(),
        share => format!(
            ", of which {} % is {}",
            share * 100.0,
            bytes((published_gb * 1e9) as u64)
        ),
    };
    let published = format!(
        "about {} GB{share}",
        thousands(scenario.original.setup.data_gb?)
    );
    difference("size of the data", published, bytes(size.bytes))
}

/// The share of the data that the server's own cache can hold in this run.
fn cached_share_difference(run: &Run, scenario: &Scenario) -> Option<Difference> {
    let published = scenario.original.cached.as_deref().unwrap_or(NOT_STATED);
    let cache = run.state_before().and_then(|state| state.cache_bytes);
    let measured = cache.zip(size::data_size_before(run)).map(|(cache, data)| {
        let share = (cache as f64 / data.bytes as f64).min(1.0);
        let extent = if data.whole_database { " of the whole database" } else { "" };
        let text = format!(
            "the cache of {} holds {:.0} %{extent}",
            bytes(cache),
            share * 100.0
        );
        (share, text)
    });
    let published_share = scenario.original.cached_share;
    let shares = measured.as_ref().zip(published_share);
    let is_same = shares.is_some_and(|((share, _), published)| {
        if published >= 1.0 {
            *share >= 1.0
        } else {
            (share / published - 1.0).abs() <= CACHED_SHARE_TOLERANCE
        }
    });
    if is_same
        && cache_observation(run).is_none_or(|observed| observed.is_as_requested != Some(false))
    {
        return None;
    }
    difference(
        "data cached",
        published,
        measured.map_or(UNKNOWN.to_owned(), |(_, text)| text),
    )
}

fn caches_difference(scenario: &Scenario) -> Option<Difference> {
    if !scenario.cold || scenario.restarted {
        return None;
    }
    let measured = "not restarted: caches are warm";
    difference("caches", "restarted before the load", measured)
}

fn clients_difference(run: &Run, original: &OriginalSetup) -> Option<Difference> {
    let measured = run.drive.clients;
    if original.clients == Some(measured) {
        return None;
    }
    let published = original.clients.map_or(NOT_STATED.to_owned(), |clients| {
        count(clients.into(), "client")
    });
    difference("clients", published, count(measured.into(), "client"))
}

/// Reads per write, if both were published. Retries raise this ratio, because a transaction that is restarted
/// has often made all of its reads, and few of its writes.
fn mix_difference(run: &Run) -> Option<Difference> {
    let deviations = super::deviations(run);
    let deviation = |name: &str| deviations.iter().find(|deviation| deviation.name == name);
    let (reads, writes) = (deviation("reads")?, deviation("writes")?);
    let published = reads.published? / writes.published?;
    let measured = reads.measured? / writes.measured?;
    if !measured.is_finite() || (measured / published - 1.0).abs() <= MIX_TOLERANCE {
        return None;
    }
    let retries = run.measured.all_kinds().map_or(0, |all| all.retries);
    let explanation = match retries {
        0 => String::new(),
        retries => format!(
            ": includes the queries of retried transactions ({} retries), as in sysbench's report",
            thousands(retries)
        ),
    };
    difference(
        "reads per write",
        format!("{published:.2}"),
        format!("{measured:.2}{explanation}"),
    )
}

fn protocol_difference(run: &Run, original: &OriginalSetup) -> Option<Difference> {
    let published = original.setup.protocol?;
    if run.drive.protocol == Some(published) {
        return None;
    }
    let measured = run.drive.protocol.map_or("", Choice::name);
    difference("protocol", published.name(), measured)
}

fn durability_difference(run: &Run, original: &OriginalSetup) -> Option<Difference> {
    let observed = run
        .state_before()
        .and_then(|state| state.durability.as_ref());
    let measured = observed.map_or(UNKNOWN.to_owned(), |observed| {
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
        original.setup.durability.as_deref().unwrap_or(NOT_STATED),
        measured,
    )
}

fn replication_difference(run: &Run, original: &OriginalSetup) -> Option<Difference> {
    let measured = run.state_before().and_then(|state| state.replication);
    if original.replication.is_some() && original.replication == measured {
        return None;
    }
    let published = original.replication.map_or(NOT_STATED, Replication::name);
    difference(
        "replication",
        published,
        measured.map_or(UNKNOWN, Replication::name),
    )
}

/// Published facts that only the user of this run can know.
fn declared_differences(run: &Run, original: &OriginalSetup) -> impl Iterator<Item = Difference> {
    let availability = original
        .setup
        .high_availability
        .map(|kind| kind.name().to_owned());
    let iops = original.setup.iops.map(|limit| limit.to_string());
    let zones = original.setup.zones.map(|zones| zones.to_string());
    let facts = [
        (Storage, "disks", original.setup.disk.clone()),
        (
            StorageSize,
            "size of storage",
            original.setup.storage_size.clone(),
        ),
        (Iops, "IOPS limit", iops),
        (HighAvailability, "high availability", availability),
        (Zones, "zones", zones),
        (Region, "region", original.setup.region.clone()),
    ];
    facts.into_iter().filter_map(|(fact, what, published)| {
        let (published, declared) = (published?, run.server.declared.get(fact));
        if declared == Some(published.as_str()) {
            None
        } else {
            difference(what, published, declared.unwrap_or(UNKNOWN))
        }
    })
}

/// The client's machine by its CPUs: a smaller one may have been the limit.
fn client_cpus_difference(run: &Run, original: &OriginalSetup) -> Option<Difference> {
    let published = original.setup.client_machine.as_ref()?;
    let measured = run.machine().host.cpus;
    if original.setup.client_cpus == Some(measured) {
        return None;
    }
    let cpus = original.setup.client_cpus.map_or(String::new(), |cpus| {
        format!(", {}", count(cpus.into(), "CPU"))
    });
    difference(
        "client's machine",
        format!("{published}{cpus}"),
        count(measured.into(), "CPU"),
    )
}

fn host_difference(run: &Run) -> Option<Difference> {
    machine::shared_machine_evidence(run)?;
    let measured = "on the server's machine, sharing its CPU";
    difference("client", "on its own machine", measured)
}

/// The difference of a duration; `None` if none was published, or it is within the tolerance.
fn duration_difference(
    published_s: Option<f64>,
    measured_s: f64,
    subject: &'static str,
) -> Option<Difference> {
    let published_s = published_s?;
    if (measured_s - published_s).abs() <= published_s * DURATION_TOLERANCE {
        return None;
    }
    let describe = |seconds: f64| {
        if seconds < 120.0 {
            format!("{seconds:.0} s")
        } else {
            format!("{:.0} min", seconds / 60.0)
        }
    };
    difference(subject, describe(published_s), describe(measured_s))
}
