//! The scenario as the Run document notes it.
//!
//! In: a scenario, and what was done for it. Out: a part of the document. Must never: hold a password.

use super::super::scenarios;
use prony_plan::Choice;
use prony_plan::scenario::{Engine, Scenario};
use prony_store::scenario::{Original, Published};

/// What was done before the run.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// What part of the published size was asked for.
    pub shrink: f64,
    /// The server was restarted.
    pub restarted: bool,
    /// The data was loaded.
    pub loaded: bool,
    /// The tables were read.
    pub prewarmed: bool,
}

/// The note.
pub fn note(one: &Scenario, done: Done) -> prony_store::Scenario {
    prony_store::Scenario {
        id: one.id.clone(),
        title: one.title.clone(),
        source: one.source.name().to_owned(),
        place: one.place.clone(),
        published: one
            .figures
            .iter()
            .map(|figure| Published {
                name: figure.measure.name().to_owned(),
                value: figure.value,
                unit: figure.unit.to_owned(),
            })
            .collect(),
        original: original(one),
        shrink: done.shrink,
        statements: one.statements,
        cold: one.cold,
        restarted: done.restarted,
        loaded: done.loaded,
        prewarmed: done.prewarmed,
        notes: one.notes.clone(),
    }
}

fn original(one: &Scenario) -> Original {
    let engine = match one.engine {
        Engine::PostgreSql => "postgresql",
        Engine::MySql => "mysql",
        Engine::SqlServer => "sqlserver",
    };
    Original {
        engine: engine.to_owned(),
        product: one.product.clone(),
        version: one.version.clone(),
        machine: one.machine.clone(),
        cpus: one.cpus,
        // GB of machines are powers of two.
        memory_bytes: one.memory_gb.map(|memory| memory << 30),
        data: scenarios::data(one),
        cached: one.cached.map(|cached| cached.words().to_owned()),
        clients: one.clients.and_then(|clients| u32::try_from(clients).ok()),
        protocol: one.protocol.map(|protocol| protocol.name().to_owned()),
        warmup_s: one.warmup.map(|time| time.as_secs_f64()),
        duration_s: one.duration.map(|time| time.as_secs_f64()),
        durability: one.durability.clone(),
        replication: one.replication.clone(),
    }
}
