//! The scenario's part of the Run document.
//!
//! Combines a scenario and its completed steps; never contains a password.

use super::super::scenarios;
use prony_plan::Choice;
use prony_plan::scenario::{CachedPortion, Scenario};
use prony_store::Replication;
use prony_store::scenario::{OriginalSetup, ScenarioLoad};
use prony_workload::LoadReport;

/// The steps that were completed before the run.
#[derive(Clone, Debug, Default)]
pub struct CompletedSteps {
    pub size_share: f64,
    pub restarted: bool,
    /// The load of the data; `None` if it was not loaded.
    pub load: Option<ScenarioLoad>,
    pub prewarmed: bool,
}

pub fn scenario_document(scenario: &Scenario, steps: &CompletedSteps) -> prony_store::Scenario {
    prony_store::Scenario {
        id: scenario.id.clone(),
        title: scenario.title.clone(),
        source: scenario.source.name().to_owned(),
        source_location: scenario.source_location.clone(),
        published: scenario.figures.clone(),
        original: original_setup(scenario),
        size_share: steps.size_share,
        qps_statements_per_txn: scenario.qps_statements_per_txn,
        cold: scenario.cold,
        restarted: steps.restarted,
        loaded: steps.load.is_some(),
        prewarmed: steps.prewarmed,
        load: steps.load.clone(),
        notes: scenario.notes.clone(),
    }
}

/// What a run's document says of the load before it.
pub fn scenario_load(report: &LoadReport) -> ScenarioLoad {
    let phases = report.phases.iter();
    let bytes = report.tables.iter().map(|table| match table.sizes_unknown {
        None => Some(table.table_bytes + table.index_bytes),
        Some(_) => None,
    });
    ScenarioLoad {
        seconds: report.seconds,
        phases: phases
            .map(|(phase, seconds)| (phase.name().to_owned(), *seconds))
            .collect(),
        jobs: report.jobs,
        rows: report.rows,
        bytes: bytes.sum::<Option<u64>>().filter(|bytes| *bytes > 0),
    }
}

fn original_setup(scenario: &Scenario) -> OriginalSetup {
    OriginalSetup {
        dialect: Some(scenario.dialect),
        setup: scenario.setup.clone(),
        // Published memory sizes in GB mean GiB.
        memory_bytes: scenario.memory_gb.map(|memory| memory << 30),
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
        warmup_s: scenario.warmup.map(|time| time.as_secs_f64()),
        duration_s: scenario.duration.map(|time| time.as_secs_f64()),
        replication: (scenario.replication.as_deref()).and_then(Replication::from_name),
    }
}
