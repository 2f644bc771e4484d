//! Both I/O engines on real sockets: many connections, kernel timestamps, a slow client with a slow server.

#[path = "../sim/support.rs"]
#[allow(dead_code)]
mod support;

mod engine;
mod receive_stamps;
mod server;
mod slices;
mod waits;
mod warmup;

use prony_drive::{DriveJob, DriveResult, KeptConnections, run};
use prony_measure::{Tally, Totals};
use prony_plan::{Arrival, DrivePlan, IoEngine, Pace, Stop};
use prony_session::{Outcome, Program};
use server::{FakeServer, take_due_replies};
use std::io::{ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, SystemTime};
use support::{TestObserver, TwoConnections, engines, job, plan, repeat, selects, target_at};

/// All transactions in flight end within this time, on any machine.
const GRACE: Duration = Duration::from_secs(60);

fn drive(program: &dyn Program, plan: &DrivePlan, port: u16) -> DriveResult {
    run(
        &job(program, plan, &target_at(port)),
        &mut TestObserver::default(),
    )
    .expect("the run starts")
}

#[test]
fn two_thousand_connections_complete_all_transactions() {
    let server = FakeServer::start();
    for io in engines() {
        let mut plan = plan(2000, 2.0);
        plan.io = io;
        plan.grace = GRACE;
        // Each client makes several transactions, however slow the machine is. The plan has one thread,
        // because one of two threads could finish in an earlier second and close its connections.
        plan.stop = Stop::Transactions(5);
        let driven = drive(&selects(), &plan, server.port);
        assert_eq!(
            totals_without_errors(&driven, io).committed,
            5 * 2000,
            "{io:?}"
        );
        let connections = driven.collected.measured.health.connections;
        assert_eq!(connections, 2000, "{io:?}");

        // Transactions in flight after two seconds are awaited and counted.
        plan.threads = 2;
        plan.stop = Stop::NoStartsAfter(Duration::from_secs(2));
        let driven = drive(&selects(), &plan, server.port);
        let tally = totals_without_errors(&driven, io);
        let measured = &driven.collected.measured;
        // Each client is busy all the time: at least until no transaction starts any more, and at
        // most until the last has ended.
        let busy_s = tally.busy_ns as f64 / 1e9 / 2000.0;
        let (min_s, max_s) = (0.75 * 2.0, 1.01 * measured.seconds());
        assert!((min_s..max_s).contains(&busy_s), "{io:?}: {busy_s} {max_s}");
    }
}

/// The totals of a run without any error.
fn totals_without_errors(driven: &DriveResult, io: IoEngine) -> Tally<u64> {
    let tally = driven.collected.measured.all_kinds();
    assert_eq!(tally.failed, 0, "{io:?}");
    assert!(driven.events.is_empty(), "{io:?}: {:?}", driven.events);
    tally
}

/// The steps of a search differ in their pace only: the connections of a closed loop serve the loads at a rate after it.
#[test]
fn connections_stay_open_between_loads_that_share_them() {
    for io in engines() {
        let server = FakeServer::start();
        let (target, program) = (target_at(server.port), selects());
        let kept = KeptConnections::default();
        let mut plan = plan(30, 1.0);
        plan.io = io;
        plan.grace = GRACE;
        plan.threads = 2;
        let rate = Pace::Rate {
            rate_tps: 300.0,
            arrival: Arrival::Even,
            queue_max: None,
        };
        for pace in [Pace::Closed, rate, rate] {
            plan.pace = pace;
            let job = DriveJob {
                kept: Some(&kept),
                ..job(&program, &plan, &target)
            };
            let driven = run(&job, &mut TestObserver::default()).expect("the run starts");
            assert!(totals_without_errors(&driven, io).committed > 0, "{io:?}");
            let connections = driven.collected.measured.health.connections;
            assert_eq!(connections, 30, "{io:?}");
            server.wait_until_open(30);
            assert_eq!(server.accepted(), 30, "{io:?}");
        }
        drop(kept);
        server.wait_until_open(0);
    }
}

/// Sockets of slots that were added after the engine was created work like the others.
#[test]
fn users_open_additional_connections_on_both_engines() {
    let server = FakeServer::start();
    for (io, threads) in engines().into_iter().flat_map(|io| [(io, 1), (io, 2)]) {
        let mut plan = plan(40, 3.0);
        plan.io = io;
        plan.threads = threads;
        // The run ends by count, so each user has reopened its other connection long before the end.
        plan.stop = Stop::Transactions(50);
        let driven = drive(&TwoConnections, &plan, server.port);
        let measured = &driven.collected.measured;
        assert_eq!(
            totals_without_errors(&driven, io).committed,
            40 * 50,
            "{io:?}"
        );
        // One of two threads may finish in an earlier second, and close its connections.
        if threads == 1 {
            assert_eq!(measured.health.connections, 80, "{io:?}");
        }
        // Each user reopens its other connection once.
        assert_parts_add_up(measured, 40);
    }
}

/// In this test, no server listens at the route of the TCP sample.
#[test]
fn additional_connections_do_not_use_the_route_of_the_tcp_sample() {
    let server = FakeServer::start();
    for io in engines() {
        let mut plan = plan(4, 0.5);
        plan.io = io;
        let (target, target_without_server) = (target_at(server.port), target_at(1));
        let job = DriveJob {
            tcp_target: Some(&target_without_server),
            ..job(&TwoConnections, &plan, &target)
        };
        let driven = run(&job, &mut TestObserver::default()).expect("all are accepted");
        assert!(driven.events.is_empty(), "{io:?}: {:?}", driven.events);
    }
}

/// Tries several times: the kernel begins to timestamp some time after the first socket on the machine
/// requests it, and a step of the machine's clock makes timestamps unusable.
#[test]
fn replies_have_timestamps_and_the_parts_add_up_to_the_response_time() {
    let server = FakeServer::start();
    for io in engines() {
        let mut plan = plan(16, 1.0);
        plan.io = io;
        let mut attempts = Vec::new();
        for _ in 0..5 {
            let measured = drive(&selects(), &plan, server.port).collected.measured;
            let timestamps = measured.timestamps;
            attempts.push(timestamps);
            let unusable = timestamps.missing + timestamps.impossible;
            if timestamps.transmit_timestamps > 0 && unusable * 100 < timestamps.usable {
                assert_parts_add_up(&measured, 0);
                attempts.clear();
                break;
            }
        }
        assert!(attempts.is_empty(), "{io:?}: {attempts:?}");
    }
}

/// Checks that the parts add up to the response time, with two exceptions: the parts do not include responses
/// with an unusable timestamp, nor the time in which a user opened a connection, which happens
/// `reopened_count` times.
fn assert_parts_add_up(measured: &Totals, reopened_count: u64) {
    let tally = measured.all_kinds();
    let parts = tally.parts.expect("parts over TCP");
    let sum_ns = parts.send_wait.sum_ns + parts.server.sum_ns + parts.client_wait.sum_ns;
    let response = &tally.response;
    let without_parts = response.samples - parts.server.samples + reopened_count;
    let difference_ns = response.sum_ns as f64 - sum_ns as f64;
    let share = difference_ns / response.sum_ns as f64;
    let explained = difference_ns <= (without_parts * response.max_ns) as f64;
    assert!(
        (-0.01..0.05).contains(&share) || (share > 0.0 && explained),
        "{share} of {response:?}: {without_parts}"
    );
}

struct SlowServerClient {
    stream: TcpStream,
    inbox: Vec<u8>,
    logged_in: bool,
    /// The arrival time of the client's request in the kernel, and the reply to send.
    due_reply: Option<(SystemTime, Vec<u8>)>,
}

impl SlowServerClient {
    fn accept(listener: &TcpListener) -> SlowServerClient {
        let (stream, _) = listener.accept().expect("a client");
        stream.set_nonblocking(true).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        receive_stamps::enable_timestamps(&stream);
        SlowServerClient {
            stream,
            inbox: Vec::new(),
            logged_in: false,
            due_reply: None,
        }
    }

    /// Reads what has arrived; false if the client has disconnected.
    fn read_available(&mut self) -> bool {
        let mut chunk = [0; 4096];
        let (length, arrived) = match receive_stamps::read_with_timestamp(&self.stream, &mut chunk)
        {
            Ok((0, _)) => return false,
            Ok(read) => read,
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        };
        self.inbox.extend_from_slice(&chunk[..length]);
        let was_logged_in = self.logged_in;
        let out = take_due_replies(&mut self.inbox, &mut self.logged_in);
        if was_logged_in && !out.is_empty() {
            self.due_reply = Some((arrived, out));
            return true;
        }
        self.stream.write_all(&out).is_ok()
    }
}

/// Accepts four clients and answers all of them at once, 2 ms after the last request. Returns how long
/// each request took by the server's clock, from its arrival in the kernel until just before the reply
/// is written.
fn slow_server(listener: &TcpListener) -> Vec<Duration> {
    let mut clients: Vec<SlowServerClient> =
        (0..4).map(|_| SlowServerClient::accept(listener)).collect();
    let mut server_times = Vec::new();
    loop {
        for client in &mut clients {
            if !client.read_available() {
                return server_times;
            }
        }
        if clients.iter().any(|client| client.due_reply.is_none()) {
            // A request must not wake this thread: that would keep the client from sending the next one.
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        std::thread::sleep(Duration::from_millis(2));
        for client in &mut clients {
            let (arrived, out) = client.due_reply.take().expect("it sent a request");
            server_times.push(arrived.elapsed().unwrap_or_default());
            if client.stream.write_all(&out).is_err() {
                return server_times;
            }
        }
    }
}

#[test]
fn a_slow_client_does_not_count_as_a_slow_server() {
    for io in engines() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let serving = std::thread::spawn(move || slow_server(&listener));
        // Each user keeps the loop busy for 5 ms before its request. Of four replies that arrive together,
        // one is processed at once, and the others after 5, 10 and 15 ms.
        let program = repeat(|db| {
            Box::pin(async move {
                std::thread::sleep(Duration::from_millis(5));
                db.query("SELECT 1").await?;
                Ok(Outcome::Committed)
            })
        });
        let mut plan = plan(4, 2.0);
        plan.io = io;
        plan.stop = Stop::Transactions(100);
        let driven = drive(&program, &plan, port);
        let server_times = serving.join().expect("the server answered all");
        assert_eq!(server_times.len(), 400, "{io:?}");
        let server_mean_ns =
            server_times.iter().sum::<Duration>().as_nanos() as f64 / server_times.len() as f64;
        let tally = driven.collected.measured.all_kinds();
        let parts = tally.parts.as_ref().expect("parts over TCP");
        let (server_ns, client_ns) = (parts.server.mean_ns(), parts.client_wait.mean_ns());
        // Server time is the server's own time plus the network; it contains hardly any of the time that
        // the client added.
        assert!(
            server_ns > 0.95 * server_mean_ns,
            "{io:?}: {server_ns} of {server_mean_ns}"
        );
        assert!(client_ns > 5e6, "{io:?}: {client_ns}");
        assert!(
            server_ns - server_mean_ns < 0.3 * client_ns,
            "{io:?}: {server_ns}, {server_mean_ns}, {client_ns}"
        );
        assert_parts_add_up(&driven.collected.measured, 0);
    }
}

/// The system may refuse the policy; then no worker runs under it.
#[test]
fn workers_leave_the_batch_policy_when_a_user_sleeps() {
    let server = FakeServer::start();
    let mut plan = plan(8, 1.0);
    plan.stop = Stop::Transactions(3);
    let policies = |program: &dyn Program| {
        let batch = drive(program, &plan, server.port)
            .collected
            .measured
            .health
            .batch;
        (batch.active + batch.refused, batch.reverted)
    };
    let busy = repeat(|db| {
        Box::pin(async move {
            db.sleep(Duration::from_nanos(1)).await;
            db.query("SELECT 1").await.map(|_| Outcome::Committed)
        })
    });
    assert_eq!(policies(&busy), (1, 0), "it only reads the clock");
    let sleepy = repeat(|db| {
        Box::pin(async move {
            db.sleep(Duration::from_micros(500)).await;
            db.query("SELECT 1").await.map(|_| Outcome::Committed)
        })
    });
    let is_refused = drive(&busy, &plan, server.port)
        .collected
        .measured
        .health
        .batch
        .refused;
    assert_eq!(policies(&sleepy), (is_refused, 1 - is_refused));
}
