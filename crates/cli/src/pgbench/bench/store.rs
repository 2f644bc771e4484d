//! A pgbench run in Prony's store.
//!
//! In: options and figures. Out: a Run document as every run has one. Must never: keep a benchmark
//! from running because there is no store, or print more than one line about it.

use super::super::call::Call;
use super::setup::Ready;
use crate::exit::Exit;
use crate::run::place::Place;
use crate::run::{Order, document};
use prony_dialect::pgbench::{RunOptions, ScriptSource};
use prony_drive::Driven;
use prony_plan::{DrivePlan, ObservePlan, Plan, ServerPlan, WorkloadPlan};
use prony_server::Target;
use prony_store::{Run, RunStore, RunWriter};
use prony_workload::Loaded;
use prony_workload::script::{SCRIPT, Scripts};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

fn plan(options: &RunOptions, drive: &DrivePlan, scale: u32) -> Plan {
    let mut lists: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for choice in &options.scripts {
        let (key, name) = match &choice.source {
            ScriptSource::Builtin(builtin) => ("builtin", builtin.name.to_owned()),
            ScriptSource::File(path) => ("files", path.to_string_lossy().into_owned()),
        };
        let list = lists.entry(key).or_default();
        list.push(format!("{name}@{}", choice.weight));
    }
    for (name, value) in &options.defines {
        let list = lists.entry("define").or_default();
        list.push(format!("{name}={value}"));
    }
    let options = lists
        .into_iter()
        .map(|(key, list)| (key.to_owned(), toml_list(list)));
    Plan {
        server: ServerPlan::Url(String::new()),
        workload: WorkloadPlan {
            name: "script".to_owned(),
            scale: Some(scale),
            options: options.collect(),
        },
        drive: drive.clone(),
        observe: ObservePlan::off(),
    }
}

fn toml_list(texts: Vec<String>) -> toml::Value {
    toml::Value::Array(texts.into_iter().map(toml::Value::String).collect())
}

/// Begins the document, and its journal if there is a store.
pub fn begin(
    call: &Call,
    options: &RunOptions,
    drive: &DrivePlan,
    target: &Target,
    ready: &Ready,
    program: &Arc<Scripts>,
    scale: u32,
) -> (Run, Option<RunWriter>) {
    let order = Order {
        asked: serde_json::json!({ "arguments": call.shown }),
        plan: plan(options, drive, scale),
        download: false,
        json: false,
        store: true,
        progress: Duration::ZERO,
        meant: Default::default(),
    };
    let place = Place::given(target.clone(), target.describe());
    let loaded = Loaded {
        program: program.clone(),
        scale,
    };
    let (facts, reached) = (&ready.facts, &ready.reached);
    let seed = options.random_seed;
    let mut run = document::begin(&order, &SCRIPT, &loaded, &place, facts, reached, seed);
    let writer = RunStore::open(None).and_then(|store| store.begin(&mut run));
    (run, writer.ok())
}

/// Completes the document. Without a store there is nothing to complete: whoever calls pgbench
/// asked for its report.
pub fn finish(
    call: &Call,
    drive: &DrivePlan,
    driven: &Driven,
    mut run: Run,
    writer: Option<RunWriter>,
    signal: Option<(Exit, &'static str)>,
) {
    let Some(writer) = writer else {
        return;
    };
    document::end(&mut run, drive, driven, None, &[], signal);
    run.checks = prony_judge::judge(&run);
    if let Err(error) = writer.finish(&run) {
        call.tell(
            &call
                .voice
                .warning(&format!("the run is not stored: {error}")),
        );
    }
}
