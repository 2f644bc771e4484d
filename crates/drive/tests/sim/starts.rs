//! Ends and starts as other tools have them: starts that stop while what started goes on, starts
//! that are skipped, clients that end with their connection; and the tap on the samples.

use crate::support::*;
use prony_drive::io::sim::Answer;
use prony_drive::{Incident, Job, Tap};
use prony_measure::Sample;
use prony_plan::{DrivePlan, Stop};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A plan whose starts end after a second.
fn starts_for_a_second(clients: u32) -> DrivePlan {
    DrivePlan {
        stop: Stop::Starts(Duration::from_secs(1)),
        ..plan(clients, 1.0)
    }
}

#[test]
fn all_that_started_in_time_counts_however_late_it_ends() {
    let plan = starts_for_a_second(4);
    let (driven, _) = simulate(&Selects::new(), &plan, stamped(), after(300 * MS)).unwrap();
    let measured = &driven.collected.measured;
    // Starts at 0, 300, 600 and 900 ms; the last ones end at 1.2 s.
    assert_eq!(measured.all().committed, 16);
    assert_eq!(measured.leftover.unfinished, 0);
    assert!((1.2..1.25).contains(&measured.seconds()), "{measured:?}");
}

#[test]
fn a_sleep_that_began_in_time_is_slept_to_its_end() {
    let program = repeat(|db| {
        Box::pin(async move {
            db.query("SELECT 1").await?;
            db.sleep(Duration::from_secs(3)).await;
            Ok(prony_session::Outcome::Committed)
        })
    });
    let plan = starts_for_a_second(2);
    let (driven, _) = simulate(&program, &plan, stamped(), after(MS)).unwrap();
    assert_eq!(driven.collected.measured.all().committed, 2);
    assert!(driven.collected.measured.seconds() > 3.0);
}

#[test]
fn hopeless_starts_are_skipped_and_slow_transactions_are_late() {
    let mut plan = starts_for_a_second(1);
    plan.pace = evenly(100.0);
    plan.latency_limit = Some(Duration::from_millis(20));
    let (driven, _) = simulate(&Selects::new(), &plan, stamped(), after(50 * MS)).unwrap();
    let measured = &driven.collected.measured;
    let all = measured.all();
    // One client manages 20 of the 100 a second, and starts none that is over 20 ms late.
    assert!((18..=21).contains(&all.committed), "{}", all.committed);
    assert_eq!(all.late, all.committed);
    assert_eq!(
        all.committed + all.skipped + measured.leftover.never_started,
        100
    );
    assert!(all.skipped > 70, "{}", all.skipped);
    let lag = all.lag.as_ref().expect("an open loop has lags");
    assert_eq!(lag.samples, all.committed);
    assert!(lag.max_ns <= 20 * MS, "{}", lag.max_ns);
}

#[test]
fn skipped_starts_count_towards_a_clients_number() {
    let mut plan = starts_for_a_second(1);
    plan.pace = evenly(100.0);
    plan.latency_limit = Some(Duration::from_millis(20));
    plan.stop = Stop::Transactions(30);
    let (driven, _) = simulate(&Selects::new(), &plan, stamped(), after(50 * MS)).unwrap();
    let all = driven.collected.measured.all();
    assert_eq!(all.committed + all.skipped, 30);
    assert!(all.skipped > 20, "{}", all.skipped);
}

#[test]
fn a_client_may_end_with_its_connection() {
    let server = Server {
        refuse: |_| false,
        statement: |slot, _: &[u8], now_ns: u64, answers: &mut Vec<Answer>| {
            if slot == 1 && now_ns > 500 * MS {
                answers.push(close(0));
            } else {
                answers.push(send(MS, DONE));
            }
        },
    };
    let mut plan = starts_for_a_second(3);
    plan.reconnect = false;
    let (driven, _) = simulate(&Selects::new(), &plan, stamped(), server).unwrap();
    let failed = driven.events.iter();
    let failed = failed.filter(|event| event.what == Incident::UserFailed);
    assert_eq!(failed.map(|event| event.count).sum::<u64>(), 1);
    assert_eq!(driven.collected.measured.health.connections, 2);
    let committed = driven.collected.measured.all().committed;
    assert!((2_480..2_520).contains(&committed), "{committed}");
}

#[derive(Default)]
struct Seen {
    starts: Vec<u64>,
    samples: Vec<(u32, Sample)>,
    ends: Vec<u64>,
}

struct Recording(Arc<Mutex<Seen>>);

impl Tap for Recording {
    fn started(&mut self, start_ns: u64) {
        self.0.lock().unwrap().starts.push(start_ns);
    }

    fn sample(&mut self, client: u32, sample: &Sample) {
        self.0.lock().unwrap().samples.push((client, *sample));
    }

    fn ended(&mut self, now_ns: u64) {
        self.0.lock().unwrap().ends.push(now_ns);
    }
}

#[test]
fn a_tap_sees_every_sample_with_its_client() {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let (program, plan, target) = (Selects::new(), starts_for_a_second(3), target());
    let tap = |_| Box::new(Recording(Arc::clone(&seen))) as Box<dyn Tap>;
    let job = Job {
        tap: Some(&tap),
        ..job(&program, &plan, &target)
    };
    let driven =
        prony_drive::run_simulated(&job, stamped(), after(10 * MS), &mut Watch::default()).unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!((seen.starts.len(), seen.ends.len()), (1, 1));
    let all = driven.collected.measured.all();
    assert_eq!(seen.samples.len() as u64, all.committed);
    for client in 0..3 {
        let own = seen.samples.iter().filter(|(of, _)| *of == client);
        assert_eq!(own.count() as u64 * 3, all.committed);
    }
    let within = |sample: &Sample| (seen.starts[0]..=seen.ends[0]).contains(&sample.ended_ns);
    assert!(seen.samples.iter().all(|(_, sample)| within(sample)));
}
