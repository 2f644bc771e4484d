//! A warm-up that ends when the load is steady.

use crate::server::FakeServer;
use crate::support::{evenly, job, plan, selects, target_at};
use prony_drive::{LoadStart, Observer, SampleListener, run};
use prony_measure::{IntervalRow, RunPhase, RunSchedule, Sample};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const S: u64 = 1_000_000_000;

/// An observer to which the load is steady after some seconds.
#[derive(Default)]
struct Watcher {
    /// How often the load is not steady yet.
    steady_after: usize,
    is_steady_calls: usize,
    /// The phase of each row, and its start, nanoseconds from that of the load.
    rows: Vec<(RunPhase, u64)>,
    /// The schedules with which the warm-up ended.
    decided: Vec<RunSchedule>,
}

impl Observer for Watcher {
    fn started(&mut self, start: &LoadStart) {
        assert_eq!(start.schedule.warmup_ns, 6 * S, "the longest");
    }

    fn interval_ended(&mut self, row: &IntervalRow, schedule: &RunSchedule) {
        let from_ns = row.interval.span.start_ns - schedule.start_ns;
        self.rows.push((row.interval.span.phase, from_ns));
    }

    fn is_steady(&mut self) -> bool {
        self.is_steady_calls += 1;
        self.is_steady_calls > self.steady_after
    }

    fn warmup_ends(&mut self, schedule: &RunSchedule) {
        self.decided.push(*schedule);
    }
}

struct Ends(Arc<Mutex<Vec<u64>>>);

impl SampleListener for Ends {
    fn started(&mut self, _: u64) {}

    fn sample(&mut self, _: u32, sample: &Sample) {
        self.0.lock().unwrap().push(sample.ended_ns);
    }

    fn ended(&mut self, _: u64) {}
}

/// Drives two threads; returns the observer and the length of the warm-up, seconds.
fn warm_up(steady_after: usize) -> (Watcher, u64) {
    let server = FakeServer::start();
    let (program, mut plan, target) = (selects(), plan(4, 2.0), target_at(server.port));
    plan.threads = 2;
    plan.pace = evenly(400.0);
    (plan.warmup, plan.warmup_max) = (Duration::from_secs(2), Some(Duration::from_secs(6)));
    let ends = Arc::new(Mutex::new(Vec::new()));
    let new_listener = |_| Box::new(Ends(Arc::clone(&ends))) as Box<dyn SampleListener>;
    let mut watcher = Watcher {
        steady_after,
        ..Watcher::default()
    };
    let mut job = job(&program, &plan, &target);
    job.new_sample_listener = Some(&new_listener);
    let driven = run(&job, &mut watcher).expect("all are accepted");
    let schedule = driven.start.schedule;
    assert_eq!(watcher.decided, [schedule], "decided once");
    let collected = &driven.collected;
    let window = schedule.window_start_ns()..schedule.window_end_ns();
    assert_eq!(collected.measured.seconds(), 2.0);
    let warmup = collected.warmup.as_ref().expect("a warm-up");
    assert_eq!(warmup.seconds(), schedule.warmup_ns as f64 / 1e9);
    // Each transaction is in the phase in which it ended, on both threads.
    let ends = ends.lock().unwrap();
    let in_window = ends.iter().filter(|at_ns| window.contains(at_ns)).count();
    let before = ends.iter().filter(|at_ns| **at_ns < window.start).count();
    assert_eq!(collected.measured.all_kinds().committed, in_window as u64);
    assert_eq!(warmup.all_kinds().committed, before as u64);
    for (at, (phase, from_ns)) in watcher.rows.iter().enumerate() {
        let is_before = schedule.start_ns + from_ns < window.start;
        assert_eq!(
            (*phase == RunPhase::Warmup, *from_ns),
            (is_before, at as u64 * S)
        );
    }
    (watcher, schedule.warmup_ns / S)
}

#[test]
fn the_window_begins_when_the_load_is_steady() {
    // On a busy machine the decision may come a second later, never before.
    let (_, at_once) = warm_up(0);
    assert!((2..6).contains(&at_once), "{at_once}");
    let (watcher, later) = warm_up(2);
    assert!((4..=6).contains(&later), "{later}");
    assert!(watcher.is_steady_calls >= 3);
}

#[test]
fn a_load_that_is_never_steady_warms_up_for_the_longest_time() {
    let (_, longest) = warm_up(usize::MAX);
    assert_eq!(longest, 6);
}
