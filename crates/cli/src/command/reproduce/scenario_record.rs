//! The scenario's part of the Run document.
//!
//! Combines a scenario and its completed steps; never contains a password.

use super::super::scenarios;
use prony_plan::Choice;
use prony_plan::scenario::{CachedPortion, Scenario};
use prony_store::Replication;
use prony_store::scenario::{OriginalSetup, PublishedFigure};

/// The steps that were completed before the run.
#[derive(Clone, Debug, Default)]
pub struct CompletedSteps {
    /// The size of the data as a share of the published size.
    pub size_share: f64,
    /// Whether the server was restarted.
    pub restarted: bool,
    /// Whether the data was loaded.
    pub loaded: bool,
    /// Whether the tables were read into the cache.
    pub prewarmed: bool,
}

/// The scenario in the form of the Run document.
pub fn scenario_document(scenario: &Scenario, steps: &CompletedSteps) -> prony_store::Scenario {
    prony_store::Scenario {
        id: scenario.id.clone(),
        title: scenario.title.clone(),
        source: scenario.source.name().to_owned(),
        source_location: scenario.source_location.clone(),
        published: scenario
            .figures
            .iter()
            .map(|figure| PublishedFigure {
                name: figure.metric,
                value: figure.value,
                high: figure.high,
                unit: figure.unit.to_owned(),
            })
            .collect(),
        original: original_setup(scenario),
        size_share: steps.size_share,
        qps_statements_per_txn: scenario.qps_statements_per_txn,
        cold: scenario.cold,
        restarted: steps.restarted,
        loaded: steps.loaded,
        prewarmed: steps.prewarmed,
        suite: None,
        notes: scenario.notes.clone(),
    }
}

fn original_setup(scenario: &Scenario) -> OriginalSetup {
    OriginalSetup {
        dialect: Some(scenario.dialect),
        product: scenario.product.clone(),
        version: scenario.version.clone(),
        machine: scenario.machine.clone(),
        cpus: scenario.cpus,
        // Published memory sizes in GB mean GiB.
        memory_bytes: scenario.memory_gb.map(|memory| memory << 30),
        disk: scenario.disk.clone(),
        data: scenarios::data_size(scenario),
        cached: scenario
            .cached
            .map(|cached| cached.description().to_owned()),
        cached_share: scenario.cached.and_then(|cached| match cached {
            CachedPortion::Whole => Some(1.0),
            CachedPortion::ThirtyPercent => Some(0.3),
            CachedPortion::Part => None,
        }),
        clients: scenario
            .clients
            .and_then(|clients| u32::try_from(clients).ok()),
        protocol: scenario.protocol,
        warmup_s: scenario.warmup.map(|time| time.as_secs_f64()),
        duration_s: scenario.duration.map(|time| time.as_secs_f64()),
        settings: scenario.settings.clone(),
        durability: scenario.durability.clone(),
        replication: (scenario.replication.as_deref()).and_then(Replication::from_name),
    }
}
