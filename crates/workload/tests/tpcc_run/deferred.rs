//! Deliveries that nobody waits for.

use crate::support::{crowd, findings, loaded, plan};
use prony_drive::{Job, Observer, Start, Tap, run};
use prony_measure::{Outcome, Sample};
use prony_plan::WorkloadPlan;
use prony_session::Program;
use prony_workload::tpcc::OrderEntryProgram;
use prony_workload::tpcc::input::Kind;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

const S: u64 = 1_000_000_000;

/// All samples, by client.
type Samples = Arc<Mutex<Vec<(u32, Sample)>>>;

struct Recording(Samples);

impl Tap for Recording {
    fn started(&mut self, _: u64) {}
    fn sample(&mut self, client: u32, sample: &Sample) {
        self.0.lock().expect("no panic").push((client, *sample));
    }
    fn ended(&mut self, _: u64) {}
}

struct Silent;

impl Observer for Silent {
    fn started(&mut self, _: &Start) {}
    fn row(&mut self, _: &prony_measure::Row, _: &prony_measure::Schedule) {}
}

/// Each delivery and what its user did next, on a server where a delivery takes three seconds. The
/// seeds are such that some users have time for both.
fn deliveries(name: &str, profile: &str, seed: u64) -> (Vec<(Sample, Sample)>, WorkloadPlan) {
    let base = loaded(name);
    base.execute(
        "create function slow() returns trigger language plpgsql as \
           'begin perform pg_sleep(3); return null; end'; \
         create trigger slow after update on orders for each statement execute function slow()",
    );
    let plan = plan(&[("pacing", "spec"), ("profile", profile), ("home", "all")]);
    let program = OrderEntryProgram::ready(&mut base.control(), &plan).expect("loaded");
    let mut drive = crowd(20);
    drive.clients = 60;
    let samples = Samples::default();
    let tap = |_| -> Box<dyn Tap> { Box::new(Recording(Arc::clone(&samples))) };
    let job = Job {
        program: &program,
        target: &base.target,
        tcp_target: None,
        plan: &drive,
        seed,
        interrupt: &AtomicBool::new(false),
        tap: Some(&tap),
        refused: None,
    };
    run(&job, &mut Silent).expect("it starts");
    assert_eq!(findings(&base), [""; 0]);
    let samples = samples.lock().expect("no panic");
    let mut pairs = Vec::new();
    for client in 0..drive.clients {
        let own = samples.iter().filter(|(whose, _)| *whose == client);
        let own: Vec<Sample> = own.map(|(_, sample)| *sample).collect();
        let first = |pair: &&[Sample]| pair[0].kind == Kind::Delivery as u16;
        let both = own.windows(2).filter(first);
        pairs.extend(both.map(|pair| (pair[0], pair[1])));
    }
    (pairs, plan)
}

fn keying_ns(sample: &Sample) -> u64 {
    [18, 3, 2, 2, 2][usize::from(sample.kind)] * S
}

#[test]
fn a_terminal_keys_and_thinks_while_its_delivery_is_carried_out() {
    let (pairs, _) = deliveries("deferred", "standard", 147);
    let mut meanwhile = 0;
    for (delivery, next) in &pairs {
        assert_eq!(delivery.outcome, Outcome::Committed);
        assert!(delivery.response_ns() >= 3 * S, "its whole time is told");
        let entered_ns = next.scheduled_ns - delivery.scheduled_ns;
        assert!(entered_ns >= keying_ns(next), "{delivery:?} {next:?}");
        assert!(next.started_ns >= delivery.ended_ns, "one connection");
        // Had it waited, it would have keyed after the end.
        meanwhile += u32::from(next.scheduled_ns < delivery.ended_ns + keying_ns(next));
    }
    assert!(meanwhile >= 1, "{pairs:?}");
}

#[test]
fn without_deferring_a_user_waits_for_its_delivery() {
    let (pairs, plan) = deliveries("awaited", "hammerdb", 8);
    assert!(!pairs.is_empty());
    for (delivery, next) in &pairs {
        let entered_ns = next.scheduled_ns - delivery.ended_ns;
        assert!(entered_ns >= keying_ns(next), "{delivery:?} {next:?}");
    }
    let base = loaded("named");
    let program = OrderEntryProgram::ready(&mut base.control(), &plan).expect("loaded");
    assert!(program.limits().is_empty(), "that profile has none");
}

#[test]
fn limits_and_deferring_are_named_where_they_hold() {
    let base = loaded("limits");
    let ready = |options: &[(&str, &str)]| {
        OrderEntryProgram::ready(&mut base.control(), &plan(options)).expect("loaded")
    };
    let paced = ready(&[("pacing", "spec")]);
    let limits = paced.limits();
    let limit = |kind: Kind| limits[kind as usize];
    assert_eq!(limit(Kind::Delivery).p90_s, 80.0);
    assert!(limit(Kind::Delivery).deferred && !limit(Kind::StockLevel).deferred);
    assert_eq!(limit(Kind::StockLevel).p90_s, 20.0);
    assert_eq!(limit(Kind::NewOrder).p90_s, 5.0);
    assert!(
        paced
            .settings()
            .contains(&("delivery", "deferred".to_owned()))
    );
    let fast = ready(&[]);
    assert!(fast.limits().is_empty());
    assert!(fast.settings().iter().all(|(name, _)| *name != "delivery"));
}
