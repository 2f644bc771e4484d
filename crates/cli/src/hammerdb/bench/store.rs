//! A run in Prony's store.
//!
//! In: a request and figures. Out: a Run document as every run has one. Must never: keep a run from
//! being made because there is no store, or hold a password.

use super::monitor::Figures;
use super::{Means, Ready};
use crate::run::place::Place;
use crate::run::{Order, document};
use prony_drive::Driven;
use prony_plan::{ObservePlan, Plan, ServerPlan};
use prony_store::{Run, RunStore, RunWriter, Severity};
use serde_json::{Map, Value};
use std::time::Duration;

/// Begins the document, and its journal if there is a store. `dictionary`: the settings, passwords
/// hidden.
pub fn begin(
    means: &Means<'_>,
    ready: &Ready,
    dictionary: &Map<String, Value>,
) -> (Run, Option<RunWriter>) {
    let order = Order {
        asked: serde_json::json!({
            "hammerdbcli": dictionary,
            "virtual_users": means.request.vusers,
            "job": means.request.job,
            "minute_s": means.minute.as_secs_f64(),
        }),
        plan: Plan {
            server: ServerPlan::Url(String::new()),
            workload: ready.plan.clone(),
            drive: ready.drive.clone(),
            observe: ObservePlan::off(),
        },
        download: false,
        json: false,
        store: true,
        progress: Duration::ZERO,
        meant: Default::default(),
    };
    let place = Place::given(ready.target.clone(), ready.target.describe());
    let (facts, reached) = (&ready.facts, &ready.reached);
    let mut run = document::begin(
        &order,
        ready.workload,
        &ready.loaded,
        &place,
        facts,
        reached,
        ready.seed,
    );
    let writer = RunStore::open(None).and_then(|store| store.begin(&mut run));
    let writer = writer.map_err(|error| {
        super::super::complain(&format!("hammerdbcli: the run is not kept: {error}\n"));
    });
    (run, writer.ok())
}

/// Completes the document; whether it is stored.
pub fn finish(
    means: &Means<'_>,
    ready: &Ready,
    driven: &Driven,
    mut run: Run,
    writer: Option<RunWriter>,
    figures: Option<Figures>,
) -> (Run, bool) {
    let tpm = figures.map(|figures| figures.tpm as f64);
    let (drive, shares) = (&ready.drive, ready.loaded.program.shares());
    document::end(&mut run, drive, driven, tpm, &shares, means.signals.asked());
    run.checks = prony_judge::judge(&run);
    if let Some(figures) = figures {
        tell_of_others(&run, figures);
    }
    let invalid = run.checks.iter();
    for check in invalid.filter(|check| check.severity == Severity::Invalid) {
        super::super::complain(&format!(
            "hammerdbcli: these figures must not be used: {}; {}\n",
            check.finding, check.advice
        ));
    }
    let stored = match writer.map(|writer| writer.finish(&run)) {
        Some(Ok(_)) => {
            super::super::complain(&format!("hammerdbcli: kept: prony show {}\n", run.id));
            true
        }
        Some(Err(error)) => {
            super::super::complain(&format!("hammerdbcli: the run is not stored: {error}\n"));
            false
        }
        None => false,
    };
    (run, stored)
}

/// By how much the server's count of orders may be off from this run's own: what is under way at
/// the edges of the window, of so many virtual users.
const EDGES: f64 = 0.05;

/// NOPM is the growth of the schema's order numbers, as HammerDB has it: whoever else orders on the
/// schema counts too.
fn tell_of_others(run: &Run, figures: Figures) {
    let own = run.rates.iter().find(|rate| rate.name == "NOPM");
    let (Some(own), whole) = (own, figures.nopm as f64) else {
        return;
    };
    let edges = f64::from(run.drive.clients) / run.window.measured_s.max(1.0) * 60.0;
    if whole > own.value * (1.0 + EDGES) + edges {
        super::super::complain(&format!(
            "hammerdbcli: the schema grew by {} new orders a minute, and these virtual users made \
             {:.0}: somebody else ordered meanwhile\n",
            figures.nopm, own.value
        ));
    }
}
