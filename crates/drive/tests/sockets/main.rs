//! Both engines on real sockets: many connections, kernel stamps, a slow client before a slow
//! server.

#[path = "../sim/support.rs"]
#[allow(dead_code)]
mod support;

mod engine;
mod server;

use prony_drive::{Driven, Job, run};
use prony_measure::Totals;
use prony_plan::DrivePlan;
use prony_session::{Outcome, Program};
use server::{FakeServer, replies_due};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use support::{Selects, Several, Watch, engines, job, plan, repeat, target_at};

fn drive(program: &dyn Program, plan: &DrivePlan, port: u16) -> Driven {
    run(&job(program, plan, &target_at(port)), &mut Watch::default()).expect("the run starts")
}

#[test]
fn two_thousand_connections() {
    let server = FakeServer::start();
    for io in engines() {
        let mut plan = plan(2000, 2.0);
        plan.io = io;
        plan.threads = 2;
        let driven = drive(&Selects::new(), &plan, server.port);
        let measured = &driven.collected.measured;
        let all = measured.all();
        assert_eq!(all.failed, 0, "{io:?}");
        assert!(driven.events.is_empty(), "{io:?}: {:?}", driven.events);
        assert_eq!(measured.health.connections, 2000, "{io:?}");
        // Each client had its turn, many times over.
        assert!(all.committed > 2000, "{io:?}: {}", all.committed);
        let occupied = all.busy_ns as f64 / 1e9 / measured.seconds();
        assert!((occupied / 2000.0 - 1.0).abs() < 0.25, "{io:?}: {occupied}");
    }
}

/// Files that were not counted on when the engine was made are as good as the others.
#[test]
fn users_open_further_connections_on_either_engine() {
    let server = FakeServer::start();
    for io in engines() {
        // Few users, so that each has long had its other connection again at the end, however busy the
        // machine is.
        let mut plan = plan(40, 3.0);
        plan.io = io;
        plan.threads = 2;
        let driven = drive(&Several, &plan, server.port);
        let measured = &driven.collected.measured;
        let all = measured.all();
        assert_eq!(all.failed, 0, "{io:?}");
        assert!(driven.events.is_empty(), "{io:?}: {:?}", driven.events);
        assert_eq!(measured.health.connections, 80, "{io:?}");
        assert!(all.committed > 400, "{io:?}: {}", all.committed);
        tiles(measured);
    }
}

/// The way for a sample of users over TCP leads nowhere here: no further connection takes it.
#[test]
fn further_connections_are_those_of_the_servers() {
    let server = FakeServer::start();
    for io in engines() {
        let mut plan = plan(4, 0.5);
        plan.io = io;
        let (target, dead) = (target_at(server.port), target_at(1));
        let job = Job {
            tcp_target: Some(&dead),
            ..job(&Several, &plan, &target)
        };
        let driven = run(&job, &mut Watch::default()).expect("all are let in");
        assert!(driven.events.is_empty(), "{io:?}: {:?}", driven.events);
    }
}

/// Whether replies bear stamps that are true. The kernel begins to stamp some time after the first
/// socket of the machine asks for it, and a step of the machine's clock makes stamps impossible.
#[test]
fn replies_bear_stamps_and_the_parts_tile_the_response() {
    let server = FakeServer::start();
    for io in engines() {
        let mut plan = plan(16, 1.0);
        plan.io = io;
        let mut seen = Vec::new();
        for _ in 0..5 {
            let measured = drive(&Selects::new(), &plan, server.port)
                .collected
                .measured;
            let stamps = measured.stamps;
            seen.push(stamps);
            let unusable = stamps.unstamped + stamps.impossible;
            if stamps.transmit_stamps > 0 && unusable * 100 < stamps.stamped {
                tiles(&measured);
                seen.clear();
                break;
            }
        }
        assert!(seen.is_empty(), "{io:?}: {seen:?}");
    }
}

/// The means of the parts sum to the mean of the response.
fn tiles(measured: &Totals) {
    let all = measured.all();
    let parts = all.parts.expect("parts over TCP");
    let sum = parts.send_wait.mean_ns() + parts.server.mean_ns() + parts.client_wait.mean_ns();
    // Responses whose stamp was unusable are not in the parts.
    let ratio = sum / all.response.mean_ns();
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
}

/// Takes four clients, each in a thread, and answers each request after 2 ms. Tells how long each
/// took by its own clock, from the request read to the reply about to be written.
fn slow_server(listener: TcpListener, tell: &Sender<Duration>) {
    for _ in 0..4 {
        let (mut stream, _) = listener.accept().expect("a client");
        let tell = tell.clone();
        std::thread::spawn(move || {
            let (mut inbox, mut logged_in) = (Vec::new(), false);
            let mut chunk = [0; 4096];
            while let Ok(length @ 1..) = stream.read(&mut chunk) {
                let read = Instant::now();
                let was_in = logged_in;
                inbox.extend_from_slice(&chunk[..length]);
                let out = replies_due(&mut inbox, &mut logged_in);
                if was_in && !out.is_empty() {
                    std::thread::sleep(Duration::from_millis(2));
                    let _ = tell.send(read.elapsed());
                }
                if stream.write_all(&out).is_err() {
                    return;
                }
            }
        });
    }
}

#[test]
fn a_slow_client_is_not_taken_for_a_slow_server() {
    for io in engines() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let (tell, hear) = channel();
        let accepting = std::thread::spawn(move || slow_server(listener, &tell));
        // Each user keeps the loop busy for 5 ms before it asks: with four of them a reply that
        // is there after 2 ms waits in the client for much longer.
        let program = repeat(|db| {
            Box::pin(async move {
                std::thread::sleep(Duration::from_millis(5));
                db.query("SELECT 1").await?;
                Ok(Outcome::Committed)
            })
        });
        let mut plan = plan(4, 2.0);
        plan.io = io;
        let driven = drive(&program, &plan, port);
        accepting.join().expect("the server accepted all");
        let own: Vec<Duration> = hear.iter().collect();
        let own_ns = own.iter().sum::<Duration>().as_nanos() as f64 / own.len() as f64;
        let all = driven.collected.measured.all();
        let parts = all.parts.as_ref().expect("parts over TCP");
        let (server_ns, client_ns) = (parts.server.mean_ns(), parts.client_wait.mean_ns());
        // Server time is the server's own, and the way there and back on a machine that has other
        // things to do; it holds hardly anything of what the client added.
        assert!(server_ns > 0.95 * own_ns, "{io:?}: {server_ns} of {own_ns}");
        // One of the three others' 5 ms at least, however long the server takes on a busy machine.
        assert!(client_ns > 5e6, "{io:?}: {client_ns}");
        assert!(
            server_ns - own_ns < 0.3 * client_ns,
            "{io:?}: {server_ns}, {own_ns}, {client_ns}"
        );
        tiles(&driven.collected.measured);
    }
}
