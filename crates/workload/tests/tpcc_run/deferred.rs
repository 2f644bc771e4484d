//! Deferred deliveries.

use crate::support::{eight_clients, findings, loaded_copy, plan};
use prony_drive::{DriveJob, LoadStart, Observer, Tap, run};
use prony_measure::{Outcome, Sample};
use prony_plan::WorkloadPlan;
use prony_session::Program;
use prony_workload::tpcc::OrderEntryProgram;
use prony_workload::tpcc::input::TpccTransaction;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

const S: u64 = 1_000_000_000;

/// All samples, with their clients.
type Samples = Arc<Mutex<Vec<(u32, Sample)>>>;

/// Collects all samples.
struct SampleTap(Samples);

impl Tap for SampleTap {
    fn started(&mut self, _: u64) {}
    fn sample(&mut self, client: u32, sample: &Sample) {
        self.0.lock().expect("no panic").push((client, *sample));
    }
    fn ended(&mut self, _: u64) {}
}

struct SilentObserver;

impl Observer for SilentObserver {
    fn started(&mut self, _: &LoadStart) {}
    fn interval_ended(&mut self, _: &prony_measure::IntervalRow, _: &prony_measure::RunSchedule) {}
}

/// Each delivery with its user's next transaction, on a server where a delivery takes three seconds.
/// With the seeds chosen, some users have time for both.
fn deliveries(name: &str, profile: &str, seed: u64) -> (Vec<(Sample, Sample)>, WorkloadPlan) {
    let database = loaded_copy(name);
    database.execute(
        "create function slow() returns trigger language plpgsql as \
           'begin perform pg_sleep(3); return null; end'; \
         create trigger slow after update on orders for each statement execute function slow()",
    );
    let plan = plan(&[("pacing", "spec"), ("profile", profile), ("home", "all")]);
    let program = OrderEntryProgram::prepare(&mut database.control(), &plan).expect("loaded");
    let mut drive_plan = eight_clients(20);
    drive_plan.clients = 60;
    let samples = Samples::default();
    let tap = |_| -> Box<dyn Tap> { Box::new(SampleTap(Arc::clone(&samples))) };
    let job = DriveJob {
        program: &program,
        target: &database.target,
        tcp_target: None,
        plan: &drive_plan,
        seed,
        interrupt: &AtomicBool::new(false),
        tap: Some(&tap),
        on_connect_refused: None,
    };
    run(&job, &mut SilentObserver).expect("it starts");
    assert_eq!(findings(&database), [""; 0]);
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

fn keying_ns(sample: &Sample) -> u64 {
    [18, 3, 2, 2, 2][usize::from(sample.kind)] * S
}

#[test]
fn a_terminal_keys_and_thinks_during_its_deferred_delivery() {
    let (pairs, _) = deliveries("deferred", "standard", 147);
    let mut overlapping = 0;
    for (delivery, next) in &pairs {
        assert_eq!(delivery.outcome, Outcome::Committed);
        assert!(
            delivery.response_ns() >= 3 * S,
            "the response time covers the whole delivery"
        );
        let entered_ns = next.scheduled_ns - delivery.scheduled_ns;
        assert!(entered_ns >= keying_ns(next), "{delivery:?} {next:?}");
        assert!(next.started_ns >= delivery.ended_ns, "one connection");
        // A terminal that waits for its delivery starts keying only after the delivery's end.
        overlapping += u32::from(next.scheduled_ns < delivery.ended_ns + keying_ns(next));
    }
    assert!(overlapping >= 1, "{pairs:?}");
}

#[test]
fn without_deferring_a_user_waits_for_its_delivery() {
    let (pairs, plan) = deliveries("awaited", "hammerdb", 8);
    assert!(!pairs.is_empty());
    for (delivery, next) in &pairs {
        let entered_ns = next.scheduled_ns - delivery.ended_ns;
        assert!(entered_ns >= keying_ns(next), "{delivery:?} {next:?}");
    }
    let database = loaded_copy("unlimited");
    let program = OrderEntryProgram::prepare(&mut database.control(), &plan).expect("loaded");
    assert!(program.limits().is_empty(), "the profile has no limits");
}

#[test]
fn limits_and_deferral_are_reported_if_they_apply() {
    let database = loaded_copy("limits");
    let prepare = |options: &[(&str, &str)]| {
        OrderEntryProgram::prepare(&mut database.control(), &plan(options)).expect("loaded")
    };
    let paced = prepare(&[("pacing", "spec")]);
    let limits = paced.limits();
    let limit = |kind: TpccTransaction| limits[kind as usize];
    assert_eq!(limit(TpccTransaction::Delivery).p90_s, 80.0);
    assert!(
        limit(TpccTransaction::Delivery).deferred && !limit(TpccTransaction::StockLevel).deferred
    );
    assert_eq!(limit(TpccTransaction::StockLevel).p90_s, 20.0);
    assert_eq!(limit(TpccTransaction::NewOrder).p90_s, 5.0);
    assert!(
        paced
            .settings()
            .contains(&("delivery", "deferred".to_owned()))
    );
    let unpaced = prepare(&[]);
    assert!(unpaced.limits().is_empty());
    assert!(
        unpaced
            .settings()
            .iter()
            .all(|(name, _)| *name != "delivery")
    );
}
