//! `--cached`: the scale at which a share of the data fits into a server's memory.
//!
//! Computes a scale from the size of the memory. The memory of this machine is never used for a server on a
//! different machine.

use super::server;
use crate::args::{CachedArgs, ReferenceMemory};
use crate::exit::{Exit, Failure};
use prony_plan::WorkloadPlan;
use prony_plan::scenario::scale_for_memory;
use prony_report::units;
use prony_server::Control;
use prony_server::observe::machine::{Exporter, find_colocation, read_this_machine};
use prony_server::observe::{self, read_server_state};
use prony_store::scenario::CachedShare;

/// A scale that was chosen by a share of cached data.
pub struct ChosenScale {
    pub scale: u64,
    pub data_bytes: u64,
    /// The share and the memory from which the scale was computed.
    pub cached: CachedShare,
}

impl ChosenScale {
    pub fn description(&self) -> String {
        let CachedShare {
            share,
            of,
            of_bytes,
        } = &self.cached;
        // The scale is an integer, so the share of the data that fits may differ from the requested one.
        let fitting_share = (*of_bytes as f64 / self.data_bytes.max(1) as f64).min(1.0);
        let (fitting_percent, requested_percent) = (fitting_share * 100.0, share * 100.0);
        let note = if (fitting_percent - requested_percent).abs() < 0.5 {
            String::new()
        } else {
            format!("; {requested_percent:.0} % was requested")
        };
        format!(
            "Scale {}: about {} of data, of which {fitting_percent:.0} % fits into {of} ({}){note}.",
            units::count(self.scale),
            units::bytes(self.data_bytes),
            units::bytes(*of_bytes),
        )
    }
}

/// Chooses the scale for a share, if one is requested. `exporter_url` is the URL of the node_exporter on
/// the server's machine.
///
/// # Errors
/// If the size of this workload's data or the named memory is unknown.
pub fn choose_scale(
    control: &mut Control,
    args: &CachedArgs,
    plan: &WorkloadPlan,
    exporter_url: Option<&str>,
) -> Result<Option<ChosenScale>, Failure> {
    let Some(share) = args.cached else {
        return Ok(None);
    };
    let workload = server::find_workload(&plan.name)?;
    let bytes_per_scale = workload.bytes_per_scale(control.dialect(), plan);
    let bytes_per_scale = bytes_per_scale.ok_or_else(|| {
        let message = format!("--cached: the size of the data of {} is unknown", plan.name);
        Failure::usage(message, "give --scale")
    })?;
    let cached = cached_share(control, share, args.cached_of, exporter_url)?;
    let scale = scale_for_memory(cached.of_bytes, share, bytes_per_scale);
    Ok(Some(ChosenScale {
        scale,
        data_bytes: scale.saturating_mul(bytes_per_scale),
        cached,
    }))
}

/// The requested share, with the memory that it refers to.
pub fn cached_share(
    control: &mut Control,
    share: f64,
    memory: Option<ReferenceMemory>,
    exporter_url: Option<&str>,
) -> Result<CachedShare, Failure> {
    let (of, of_bytes) = reference_memory(control, memory, exporter_url)?;
    Ok(CachedShare {
        share,
        of,
        of_bytes,
    })
}

/// The memory that the data should fit into: name and size.
fn reference_memory(
    control: &mut Control,
    memory: Option<ReferenceMemory>,
    exporter_url: Option<&str>,
) -> Result<(String, u64), Failure> {
    if memory != Some(ReferenceMemory::Cache)
        && let Some(bytes) = machine_memory_bytes(control, exporter_url)?
    {
        return Ok(("the memory of the server's machine".to_owned(), bytes));
    }
    if memory == Some(ReferenceMemory::Memory) {
        let message = "the memory of the server's machine is unknown";
        let hint = "name its node_exporter (--server-metrics), or compare with its cache (--cached-of cache)";
        return Err(Failure::usage(message, hint));
    }
    let connection_failure =
        |error: prony_server::control::Error| Failure::of(Exit::Connect, &error);
    let facts = observe::read_server_facts(control).map_err(connection_failure)?;
    let (server_state, _) = read_server_state(control, &facts).map_err(connection_failure)?;
    let name = control.product().cache_setting;
    let bytes = server_state.cache_bytes.filter(|bytes| *bytes > 0);
    let bytes = bytes.ok_or_else(|| {
        let message = format!("--cached: the server does not report the size of {name}");
        Failure::usage(message, "give --scale")
    })?;
    Ok((name.to_owned(), bytes))
}

/// The memory of the server's machine, bytes: from its node_exporter, else this machine's memory if
/// the server is known to run here.
fn machine_memory_bytes(
    control: &mut Control,
    exporter_url: Option<&str>,
) -> Result<Option<u64>, Failure> {
    if let Some(url) = exporter_url {
        let hint = "check the URL of --server-metrics";
        let reading = Exporter::new(url)
            .and_then(|exporter| exporter.read())
            .map_err(|message| Failure::new(Exit::Connect, message, hint))?;
        return Ok(reading.memory_bytes);
    }
    match find_colocation(control).same_machine {
        Some(true) => Ok(read_this_machine().memory_bytes),
        _ => Ok(None),
    }
}
