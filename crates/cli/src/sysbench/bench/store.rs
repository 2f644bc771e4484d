//! A sysbench run in Prony's store.
//!
//! In: what is run, and figures. Out: a Run document as every run has one. Must never: keep a benchmark
//! from running because there is no store, or print more than one line about it.

use super::super::call::Call;
use super::{Bench, complain};
use crate::exit::Exit;
use crate::run::place::Place;
use crate::run::{Order, document};
use prony_drive::Driven;
use prony_plan::{DrivePlan, ObservePlan, Plan, ServerPlan};
use prony_session::Share;
use prony_store::{Run, RunStore, RunWriter};
use prony_workload::Loaded;
use std::time::Duration;

/// Begins the document, and its journal if there is a store.
pub fn begin(
    call: &Call,
    bench: &Bench<'_>,
    drive: &DrivePlan,
    seed: u64,
) -> (Run, Option<RunWriter>) {
    let order = Order {
        asked: serde_json::json!({ "arguments": call.shown }),
        plan: Plan {
            server: ServerPlan::Url(String::new()),
            workload: bench.plan.clone(),
            drive: drive.clone(),
            observe: ObservePlan::off(),
        },
        download: false,
        json: false,
        store: true,
        progress: Duration::ZERO,
        meant: Default::default(),
    };
    let targets = std::iter::once(&bench.target).chain(&bench.target.others);
    let shown: Vec<String> = targets.map(|target| target.describe()).collect();
    let place = Place::given(bench.target.clone(), shown.join(", "));
    let loaded = Loaded {
        program: bench.program.clone(),
        scale: bench.scale,
    };
    let (facts, reached) = (&bench.facts, &bench.reached);
    let mut run = document::begin(
        &order,
        bench.workload,
        &loaded,
        &place,
        facts,
        reached,
        seed,
    );
    let writer = RunStore::open(None).and_then(|store| store.begin(&mut run));
    (run, writer.ok())
}

/// Completes the document. Without a store there is nothing to complete: whoever calls sysbench
/// asked for its report.
pub fn finish(
    drive: &DrivePlan,
    driven: &Driven,
    shares: &[Share],
    mut run: Run,
    writer: Option<RunWriter>,
    signal: Option<(Exit, &'static str)>,
) {
    let Some(writer) = writer else {
        return;
    };
    document::end(&mut run, drive, driven, None, shares, signal);
    run.checks = prony_judge::judge(&run);
    if let Err(error) = writer.finish(&run) {
        complain(&format!("the run is not stored: {error}"));
    }
}
