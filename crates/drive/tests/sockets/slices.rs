//! A run whose clients are split among several processes has the same starts as a run in one process.

use crate::server::{FakeServer, take_due_replies};
use crate::support::{TestObserver, engines, evenly, job, plan, selects, target_at};
use prony_drive::clock::Clock;
use prony_drive::{DriveJob, LoadStart, Observer, RunSlice, SampleListener, connect, run};
use prony_measure::{IntervalRow, RunSchedule, Sample};
use prony_plan::{Arrival, DrivePlan, Pace, Stop};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// When each transaction was due, from the start of the load, and its client.
#[derive(Default)]
struct ListenerRecord {
    start_ns: u64,
    due_ns: Vec<u64>,
    clients: Vec<u32>,
}

struct RecordingListener(Arc<Mutex<ListenerRecord>>);

impl SampleListener for RecordingListener {
    fn started(&mut self, start_ns: u64) {
        self.0.lock().unwrap().start_ns = start_ns;
    }

    fn sample(&mut self, client: u32, sample: &Sample) {
        let mut record = self.0.lock().unwrap();
        let due_ns = sample.scheduled_ns - record.start_ns;
        record.due_ns.push(due_ns);
        record.clients.push(client);
    }

    fn ended(&mut self, _: u64) {}
}

/// Runs a slice of the plan's clients. Returns when each transaction was due, and the ids of the clients.
fn run_slice(plan: &DrivePlan, slice: &RunSlice, port: u16) -> (Vec<u64>, Vec<u32>) {
    let record = Arc::new(Mutex::new(ListenerRecord::default()));
    let new_listener =
        |_| Box::new(RecordingListener(Arc::clone(&record))) as Box<dyn SampleListener>;
    let (program, target) = (selects(), target_at(port));
    let job = DriveJob {
        new_sample_listener: Some(&new_listener),
        ..job(&program, plan, &target)
    };
    let driven = connect(&job, slice, |ready| {
        let start_ns = Clock::System.now_ns() + 200_000_000;
        (
            start_ns,
            ready.start_at(start_ns, &mut TestObserver::default()),
        )
    });
    let (start_ns, driven) = driven.expect("all are accepted");
    assert_eq!(driven.start.schedule.start_ns, start_ns);
    let connections = driven.collected.measured.health.connections;
    assert!(connections as usize <= slice.clients.len(), "{connections}");
    let mut record = record.lock().unwrap();
    assert_eq!(record.start_ns, start_ns);
    record.due_ns.sort_unstable();
    record.clients.sort_unstable();
    record.clients.dedup();
    (
        std::mem::take(&mut record.due_ns),
        std::mem::take(&mut record.clients),
    )
}

#[test]
fn slices_have_the_same_starts_as_the_whole_run() {
    let server = FakeServer::start();
    let poisson = Pace::Rate {
        rate_tps: 300.0,
        arrival: Arrival::Poisson,
        queue_max: None,
    };
    for pace in [evenly(300.0), poisson] {
        let mut plan = plan(10, 1.0);
        plan.threads = 4;
        plan.pace = pace;
        // Count all transactions that are due within the second, however late they end.
        plan.stop = Stop::NoStartsAfter(Duration::from_secs(1));
        plan.grace = Duration::from_secs(60);
        let due_in_first_300_ms = |mut due_ns: Vec<u64>| {
            // A loaded machine may not reach the last starts within the second.
            due_ns.retain(|due_ns| *due_ns < 300_000_000);
            due_ns
        };
        let (full_run, _) = run_slice(&plan, &RunSlice::whole(&plan), server.port);
        let mut parts = Vec::new();
        for (workers, first, last) in [(0..1, 0, 2), (1..4, 3, 9)] {
            let slice = RunSlice::of_workers(&plan, workers);
            assert_eq!((slice.clients.start, slice.clients.end), (first, last + 1));
            let (due_ns, clients) = run_slice(&plan, &slice, server.port);
            assert!(clients.iter().all(|client| (first..=last).contains(client)));
            parts.extend(due_ns);
        }
        parts.sort_unstable();
        let (full_run, parts) = (due_in_first_300_ms(full_run), due_in_first_300_ms(parts));
        assert!(full_run.len() > 50, "{}", full_run.len());
        // The times differ by rounding: the gaps are added up from a different start.
        assert_eq!(full_run.len(), parts.len());
        let differences = full_run.iter().zip(&parts).map(|(a, b)| a.abs_diff(*b));
        assert!(differences.max() <= Some(1_000));
    }
}

#[test]
fn connections_of_a_load_that_is_never_started_are_closed() {
    let server = FakeServer::start();
    let (program, plan, target) = (selects(), plan(6, 1.0), target_at(server.port));
    let job = job(&program, &plan, &target);
    let result = connect(&job, &RunSlice::whole(&plan), |ready| {
        server.wait_until_open(6);
        drop(ready);
    });
    assert!(result.is_ok(), "{result:?}");
    server.wait_until_open(0);
}

/// Takes longer in `ready` than the start signal takes to reach all threads.
#[derive(Default)]
struct SlowObserver {
    /// When `ready` returned, on the run's clock.
    ready_ns: u64,
    start_ns: u64,
}

impl Observer for SlowObserver {
    fn ready(&mut self) {
        assert_eq!(self.start_ns, 0, "`ready` is called before `started`");
        std::thread::sleep(Duration::from_millis(50));
        self.ready_ns = Clock::System.now_ns();
    }

    fn started(&mut self, start: &LoadStart) {
        self.start_ns = start.schedule.start_ns;
    }

    fn interval_ended(&mut self, _: &IntervalRow, _: &RunSchedule) {}
}

/// What an observer prints in `ready` precedes the output of the users, however long `ready` takes.
#[test]
fn no_user_starts_before_the_observer_is_ready() {
    let server = FakeServer::start();
    let (program, mut plan, target) = (selects(), plan(2, 1.0), target_at(server.port));
    plan.stop = Stop::Transactions(1);
    let mut observer = SlowObserver::default();
    let driven = run(&job(&program, &plan, &target), &mut observer).expect("all are accepted");
    assert_eq!(driven.collected.measured.all_kinds().committed, 2);
    let (ready_ns, start_ns) = (observer.ready_ns, observer.start_ns);
    assert!(ready_ns > 0 && start_ns > ready_ns, "{start_ns} {ready_ns}");
}

/// CPU time of the worker's thread when the load starts, in nanoseconds.
struct CpuAtStart(Arc<AtomicU64>);

impl SampleListener for CpuAtStart {
    fn started(&mut self, _: u64) {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `time` is valid for the call.
        let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        assert_eq!(result, 0);
        let used_ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
        self.0.store(used_ns, Ordering::Relaxed);
    }

    fn sample(&mut self, _: u32, _: &Sample) {}

    fn ended(&mut self, _: u64) {}
}

/// Admits a client, and later sends it this notice without a request, or disconnects if the notice is empty.
/// Then answers requests until the client disconnects.
fn serve_with_notice(mut stream: TcpStream, notice: &[u8]) {
    let (mut inbox, mut logged_in, mut chunk) = (Vec::new(), false, [0; 4096]);
    let mut notice = Some(notice);
    while let Ok(length @ 1..) = stream.read(&mut chunk) {
        inbox.extend_from_slice(&chunk[..length]);
        let out = take_due_replies(&mut inbox, &mut logged_in);
        if stream.write_all(&out).is_err() {
            return;
        }
        if logged_in && let Some(notice) = notice.take() {
            // By the end of this sleep, the client's connection is up.
            std::thread::sleep(Duration::from_millis(300));
            if notice.is_empty() {
                return;
            } else {
                drop(stream.write_all(notice))
            }
        }
    }
}

/// Between the last connection and the start of the load, a server may send a notice, or close a connection.
#[test]
fn events_before_the_start_are_handled_at_once() {
    const NOTICE: &[u8] = b"N\0\0\0\x0eSNOTICE\0\0\0";
    for (io, first_notice) in engines()
        .into_iter()
        .flat_map(|io| [(io, NOTICE), (io, b"")])
    {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let serving = std::thread::spawn(move || {
            serve_with_notice(listener.accept().expect("a client").0, first_notice);
            if first_notice.is_empty() {
                serve_with_notice(listener.accept().expect("it comes back").0, NOTICE);
            }
        });
        let mut plan = plan(1, 0.3);
        plan.io = io;
        plan.stop = Stop::Transactions(10);
        let used_ns = Arc::new(AtomicU64::new(0));
        let new_listener =
            |_| Box::new(CpuAtStart(Arc::clone(&used_ns))) as Box<dyn SampleListener>;
        let (program, target) = (selects(), target_at(port));
        let job = DriveJob {
            new_sample_listener: Some(&new_listener),
            ..job(&program, &plan, &target)
        };
        let driven = connect(&job, &RunSlice::whole(&plan), |ready| {
            ready.start_at(
                Clock::System.now_ns() + 3_000_000_000,
                &mut TestObserver::default(),
            )
        });
        let tally = driven
            .expect("it is accepted")
            .collected
            .measured
            .all_kinds();
        assert_eq!((tally.committed, tally.failed), (10, 0), "{io:?}");
        // The worker slept until the start: a busy loop would have used seconds.
        let used_ns = used_ns.load(Ordering::Relaxed);
        assert!(used_ns < 300_000_000, "{io:?}: {used_ns}");
        serving.join().expect("it serves to the end");
    }
}
