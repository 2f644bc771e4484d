//! Tests deferred deliveries, during which the terminal continues with its next transaction.

use super::support::*;
use prony_drive::{DriveJob, SampleListener, run};
use prony_measure::{Outcome, Sample};
use prony_plan::{Stop, WorkloadPlan};
use prony_session::Program;
use prony_workload::tpcc::OrderEntryProgram;
use prony_workload::tpcc::input::TpccTransaction;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const NS_PER_S: u64 = 1_000_000_000;

type Samples = Arc<Mutex<Vec<(u32, Sample)>>>;

struct SampleCollector(Samples);

impl SampleListener for SampleCollector {
    fn started(&mut self, _: u64) {}
    fn sample(&mut self, client: u32, sample: &Sample) {
        self.0.lock().expect("no panic").push((client, *sample));
    }
    fn ended(&mut self, _: u64) {}
}

/// Runs users with keying and think times on a server where a delivery takes three seconds. Returns the plan,
/// and each delivery with the next transaction of the same user. With the seeds of the callers, some users have
/// time for a delivery and the transaction after it.
fn run_with_slow_deliveries(
    name: &str,
    profile: &str,
    seed: u64,
) -> (Vec<(Sample, Sample)>, WorkloadPlan) {
    let database = loaded_copy(name);
    database.execute(
        "create function slow() returns trigger language plpgsql as \
           'begin perform pg_sleep(3); return null; end'; \
         create trigger slow after update on orders for each statement execute function slow()",
    );
    let plan = workload_plan(
        "tpcc",
        &[("pacing", "spec"), ("profile", profile), ("home", "all")],
    );
    let program = OrderEntryProgram::prepare(&mut database.control(), &plan).expect("loaded");
    let drive_plan = drive_plan(60, Stop::After(Duration::from_secs(20)));
    let samples = Samples::default();
    let new_listener =
        |_| -> Box<dyn SampleListener> { Box::new(SampleCollector(Arc::clone(&samples))) };
    let interrupt = AtomicBool::new(false);
    let job = DriveJob {
        kept: None,
        program: &program,
        target: &database.target,
        tcp_target: None,
        plan: &drive_plan,
        seed,
        interrupt: &interrupt,
        new_sample_listener: Some(&new_listener),
        service: None,
        on_connect_refused: None,
    };
    run(&job, &mut ()).expect("it starts");
    assert_eq!(database.problems("tpcc"), [""; 0]);
    let samples = samples.lock().expect("no panic");
    let mut pairs = Vec::new();
    for client in 0..drive_plan.clients {
        let client_samples = samples.iter().filter(|(number, _)| *number == client);
        let client_samples: Vec<Sample> = client_samples.map(|(_, sample)| *sample).collect();
        let is_delivery = |pair: &&[Sample]| pair[0].kind == TpccTransaction::Delivery as u16;
        let deliveries = client_samples.windows(2).filter(is_delivery);
        pairs.extend(deliveries.map(|pair| (pair[0], pair[1])));
    }
    (pairs, plan)
}

/// The keying time of a sample's transaction.
fn keying_ns(sample: &Sample) -> u64 {
    [18, 3, 2, 2, 2][usize::from(sample.kind)] * NS_PER_S
}

#[test]
fn a_terminal_keys_and_thinks_during_its_deferred_delivery() {
    let (pairs, _) = run_with_slow_deliveries("deferred", "standard", 147);
    let mut overlapping = 0;
    for (delivery, next) in &pairs {
        assert_eq!(delivery.outcome, Outcome::Committed);
        assert!(
            delivery.response_ns() >= 3 * NS_PER_S,
            "the response time covers the whole delivery"
        );
        let keying_gap_ns = next.scheduled_ns - delivery.scheduled_ns;
        assert!(keying_gap_ns >= keying_ns(next), "{delivery:?} {next:?}");
        assert!(next.started_ns >= delivery.ended_ns, "one connection");
        // A terminal that waits for its delivery starts keying only after the delivery's end.
        overlapping += u32::from(next.scheduled_ns < delivery.ended_ns + keying_ns(next));
    }
    assert!(overlapping >= 1, "{pairs:?}");
}

#[test]
fn without_deferring_a_user_waits_for_its_delivery() {
    let (pairs, plan) = run_with_slow_deliveries("awaited", "hammerdb", 8);
    assert!(!pairs.is_empty());
    for (delivery, next) in &pairs {
        let keying_gap_ns = next.scheduled_ns - delivery.ended_ns;
        assert!(keying_gap_ns >= keying_ns(next), "{delivery:?} {next:?}");
    }
    let database = loaded_copy("unlimited");
    let program = OrderEntryProgram::prepare(&mut database.control(), &plan).expect("loaded");
    assert!(program.p90_limits().is_empty(), "the profile has no limits");
}

#[test]
fn limits_and_deferral_are_reported_if_they_apply() {
    let database = loaded_copy("limits");
    let prepare = |options: &[(&str, &str)]| prepare(&database, options);
    let paced = prepare(&[("pacing", "spec")]);
    let limits = paced.p90_limits();
    let limit_of = |kind: TpccTransaction| limits[kind as usize];
    assert_eq!(limit_of(TpccTransaction::Delivery).p90_s, 80.0);
    assert!(
        limit_of(TpccTransaction::Delivery).deferred
            && !limit_of(TpccTransaction::StockLevel).deferred
    );
    assert_eq!(limit_of(TpccTransaction::StockLevel).p90_s, 20.0);
    assert_eq!(limit_of(TpccTransaction::NewOrder).p90_s, 5.0);
    assert!(
        paced
            .settings()
            .contains(&("delivery", "deferred".to_owned()))
    );
    let unpaced = prepare(&[]);
    assert!(unpaced.p90_limits().is_empty());
    assert!(
        unpaced
            .settings()
            .iter()
            .all(|(name, _)| *name != "delivery")
    );
}
