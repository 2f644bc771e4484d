//! `--cached`: the scale at which a share of the data fits into a server's memory.
//!
//! In: a share, a workload, a control connection. Out: a scale, and what it was measured against. Must
//! never: take the memory of this machine for that of a server elsewhere.

use super::server;
use crate::args::{CachedArgs, CachedOf};
use crate::exit::{Exit, Failure};
use prony_plan::WorkloadPlan;
use prony_plan::scenario::{Engine, data_bytes, scale_for};
use prony_report::units;
use prony_server::observe::machine::{Exporter, neighbour, read_here};
use prony_server::observe::{self, state};
use prony_server::{Control, Product};
use prony_store::scenario::Cached;

/// A scale that was chosen.
pub struct Sizing {
    /// The scale.
    pub scale: u64,
    /// Data of that scale, bytes.
    pub data_bytes: u64,
    /// How it came about.
    pub cached: Cached,
}

impl Sizing {
    /// What was chosen, and by what.
    pub fn words(&self) -> String {
        let Cached {
            share,
            of,
            of_bytes,
        } = &self.cached;
        // Scales are whole numbers: what they give is not always what was asked for.
        let fits = (*of_bytes as f64 / self.data_bytes.max(1) as f64).min(1.0);
        let (fits, asked) = (fits * 100.0, share * 100.0);
        let asked = match (fits - asked).abs() < 0.5 {
            true => String::new(),
            false => format!("; {asked:.0} % were asked for"),
        };
        format!(
            "Scale {}: about {} of data, of which {fits:.0} % fit into {of} ({}){asked}.",
            units::count(self.scale),
            units::bytes(self.data_bytes),
            units::bytes(*of_bytes),
        )
    }
}

/// Chooses the scale for a share, where one is asked for. `metrics` is the URL of the node_exporter on
/// the server's machine.
///
/// # Errors
/// Nothing is known of the size of this workload's data, or of the memory that was named.
pub fn choose(
    control: &mut Control,
    asked: &CachedArgs,
    plan: &WorkloadPlan,
    metrics: Option<&str>,
) -> Result<Option<Sizing>, Failure> {
    let Some(share) = asked.cached else {
        return Ok(None);
    };
    let data = match plan.name.as_str() {
        // What they share with others is the shape of the tables, not their size.
        own @ ("hot-row" | "bulk_insert" | "script") => own,
        name => server::workload(name)?.data(),
    };
    let engine = match control.product() {
        Product::Postgres => Engine::PostgreSql,
        Product::Mysql | Product::MariaDb => Engine::MySql,
    };
    let bytes = data_bytes(data, &plan.options, engine).ok_or_else(|| {
        let what = format!(
            "--cached: how large the data of {} becomes is not known",
            plan.name
        );
        Failure::new(Exit::Usage, what, "give --scale")
    })?;
    let cached = wanted(control, share, asked.cached_of, metrics)?;
    let scale = scale_for(cached.of_bytes, share, bytes);
    Ok(Some(Sizing {
        scale,
        data_bytes: scale.saturating_mul(bytes),
        cached,
    }))
}

/// A share, with what the data is to fit into.
///
/// # Errors
/// Nothing is known of the memory that was named.
pub fn wanted(
    control: &mut Control,
    share: f64,
    of: Option<CachedOf>,
    metrics: Option<&str>,
) -> Result<Cached, Failure> {
    let (of, of_bytes) = memory(control, of, metrics)?;
    Ok(Cached {
        share,
        of,
        of_bytes,
    })
}

/// What data is to fit into: its name and size.
fn memory(
    control: &mut Control,
    of: Option<CachedOf>,
    metrics: Option<&str>,
) -> Result<(String, u64), Failure> {
    if of != Some(CachedOf::Cache)
        && let Some(bytes) = machine(control, metrics)?
    {
        return Ok(("the memory of the server's machine".to_owned(), bytes));
    }
    if of == Some(CachedOf::Memory) {
        let what = "--cached-of memory: the memory of the server's machine is not known";
        let hint = "name its node_exporter with --server-metrics where there is that option, or take \
                    --cached-of cache";
        return Err(Failure::new(Exit::Usage, what, hint));
    }
    let lost =
        |error: prony_server::control::Error| server::told(Exit::Connect, &error.to_string());
    let facts = observe::observe(control).map_err(lost)?;
    let found = state(control, &facts).map_err(lost)?;
    let name = match control.product() {
        Product::Postgres => "shared_buffers",
        Product::Mysql | Product::MariaDb => "innodb_buffer_pool_size",
    };
    let bytes = found.cache_bytes.filter(|bytes| *bytes > 0);
    let bytes = bytes.ok_or_else(|| {
        let what = format!("--cached: the server does not say how large {name} is");
        Failure::new(Exit::Usage, what, "give --scale")
    })?;
    Ok((name.to_owned(), bytes))
}

/// The memory of the server's machine, bytes: as its node_exporter says, else this machine's own where
/// the server is known to run on it.
fn machine(control: &mut Control, metrics: Option<&str>) -> Result<Option<u64>, Failure> {
    if let Some(url) = metrics {
        let hint = "see the URL of --server-metrics";
        let reading = Exporter::new(url)
            .and_then(|exporter| exporter.read())
            .map_err(|what| Failure::new(Exit::Connect, what, hint))?;
        return Ok(reading.memory_bytes);
    }
    match neighbour(control).shared {
        Some(true) => Ok(read_here().memory_bytes),
        _ => Ok(None),
    }
}
