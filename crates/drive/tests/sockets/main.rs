//! Both engines on real sockets: many connections, kernel stamps, a slow client before a slow
//! server.

#[path = "../sim/support.rs"]
#[allow(dead_code)]
mod support;

mod engine;
mod server;
mod stamped;

use prony_drive::{Driven, Job, run};
use prony_measure::{Tally, Totals};
use prony_plan::{DrivePlan, IoEngine, Stop};
use prony_session::{Outcome, Program};
use server::{FakeServer, replies_due};
use std::io::{ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, SystemTime};
use support::{Selects, Several, Watch, engines, job, plan, repeat, target_at};

/// All that is under way ends by then, on any machine.
const GRACE: Duration = Duration::from_secs(60);

fn drive(program: &dyn Program, plan: &DrivePlan, port: u16) -> Driven {
    run(&job(program, plan, &target_at(port)), &mut Watch::default()).expect("the run starts")
}

#[test]
fn two_thousand_connections() {
    let server = FakeServer::start();
    for io in engines() {
        let mut plan = plan(2000, 2.0);
        plan.io = io;
        plan.grace = GRACE;
        // Each client has its turn, several times over, however slow the machine is. All on one
        // thread: of two, one may be done in an earlier second, and its connections with it.
        plan.stop = Stop::Transactions(5);
        let driven = drive(&Selects::new(), &plan, server.port);
        assert_eq!(flawless(&driven, io).committed, 5 * 2000, "{io:?}");
        let connections = driven.collected.measured.health.connections;
        assert_eq!(connections, 2000, "{io:?}");

        // What is under way at the end of the two seconds is awaited, and counts.
        plan.threads = 2;
        plan.stop = Stop::Starts(Duration::from_secs(2));
        let driven = drive(&Selects::new(), &plan, server.port);
        let all = flawless(&driven, io);
        let measured = &driven.collected.measured;
        // Each client is busy all the time: until no transaction starts any more at least, and until
        // the last has ended at most.
        let busy_s = all.busy_ns as f64 / 1e9 / 2000.0;
        let (least_s, most_s) = (0.75 * 2.0, 1.01 * measured.seconds());
        assert!(
            (least_s..most_s).contains(&busy_s),
            "{io:?}: {busy_s} {most_s}"
        );
    }
}

/// The figures of a run in which nothing went wrong.
fn flawless(driven: &Driven, io: IoEngine) -> Tally<u64> {
    let all = driven.collected.measured.all();
    assert_eq!(all.failed, 0, "{io:?}");
    assert!(driven.events.is_empty(), "{io:?}: {:?}", driven.events);
    all
}

/// Files that were not counted on when the engine was made are as good as the others.
#[test]
fn users_open_further_connections_on_either_engine() {
    let server = FakeServer::start();
    for (io, threads) in engines().into_iter().flat_map(|io| [(io, 1), (io, 2)]) {
        let mut plan = plan(40, 3.0);
        plan.io = io;
        plan.threads = threads;
        // By count, so that each has long had its other connection again at the end.
        plan.stop = Stop::Transactions(50);
        let driven = drive(&Several, &plan, server.port);
        let measured = &driven.collected.measured;
        assert_eq!(flawless(&driven, io).committed, 40 * 50, "{io:?}");
        // Of two threads one may be done in an earlier second.
        if threads == 1 {
            assert_eq!(measured.health.connections, 80, "{io:?}");
        }
        // Each user has its other connection anew once.
        tiles(measured, 40);
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
                tiles(&measured, 0);
                seen.clear();
                break;
            }
        }
        assert!(seen.is_empty(), "{io:?}: {seen:?}");
    }
}

/// The parts sum to the response: but for responses whose stamp was unusable, which are not in the
/// parts, and for times in which a user asked for a connection, of which there are so many.
fn tiles(measured: &Totals, renewals: u64) {
    let all = measured.all();
    let parts = all.parts.expect("parts over TCP");
    let sum_ns = parts.send_wait.sum_ns + parts.server.sum_ns + parts.client_wait.sum_ns;
    let response = &all.response;
    let without = response.samples - parts.server.samples + renewals;
    let apart_ns = response.sum_ns as f64 - sum_ns as f64;
    let share = apart_ns / response.sum_ns as f64;
    let explained = apart_ns <= (without * response.max_ns) as f64;
    assert!(
        (-0.01..0.05).contains(&share) || (share > 0.0 && explained),
        "{share} of {response:?}: {without}"
    );
}

/// A client of the slow server.
struct Asking {
    stream: TcpStream,
    inbox: Vec<u8>,
    logged_in: bool,
    /// When its request arrived in the kernel, and the reply to it.
    due: Option<(SystemTime, Vec<u8>)>,
}

impl Asking {
    fn accept(listener: &TcpListener) -> Asking {
        let (stream, _) = listener.accept().expect("a client");
        stream.set_nonblocking(true).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        stamped::ask(&stream);
        Asking {
            stream,
            inbox: Vec::new(),
            logged_in: false,
            due: None,
        }
    }

    /// Takes in what is there; false when the client is gone.
    fn look(&mut self) -> bool {
        let mut chunk = [0; 4096];
        let (length, arrived) = match stamped::read(&self.stream, &mut chunk) {
            Ok((0, _)) => return false,
            Ok(read) => read,
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        };
        self.inbox.extend_from_slice(&chunk[..length]);
        let was_in = self.logged_in;
        let out = replies_due(&mut self.inbox, &mut self.logged_in);
        if was_in && !out.is_empty() {
            self.due = Some((arrived, out));
            return true;
        }
        self.stream.write_all(&out).is_ok()
    }
}

/// Takes four clients and answers all of them at once, 2 ms after the last has asked. Tells how long
/// each request took by its own clock, from its arrival in the kernel to the reply about to be written.
fn slow_server(listener: &TcpListener) -> Vec<Duration> {
    let mut clients: Vec<Asking> = (0..4).map(|_| Asking::accept(listener)).collect();
    let mut own = Vec::new();
    loop {
        for client in &mut clients {
            if !client.look() {
                return own;
            }
        }
        if clients.iter().any(|client| client.due.is_none()) {
            // It is not woken by a request: that would keep the client from sending the next.
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        std::thread::sleep(Duration::from_millis(2));
        for client in &mut clients {
            let (arrived, out) = client.due.take().expect("it asked");
            own.push(arrived.elapsed().unwrap_or_default());
            if client.stream.write_all(&out).is_err() {
                return own;
            }
        }
    }
}

#[test]
fn a_slow_client_is_not_taken_for_a_slow_server() {
    for io in engines() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let serving = std::thread::spawn(move || slow_server(&listener));
        // Each user keeps the loop busy for 5 ms before it asks: of four replies that are there at
        // once, one is noticed at once, and the others after 5, 10 and 15 ms.
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
        let own = serving.join().expect("the server answered all");
        assert_eq!(own.len(), 400, "{io:?}");
        let own_ns = own.iter().sum::<Duration>().as_nanos() as f64 / own.len() as f64;
        let all = driven.collected.measured.all();
        let parts = all.parts.as_ref().expect("parts over TCP");
        let (server_ns, client_ns) = (parts.server.mean_ns(), parts.client_wait.mean_ns());
        // Server time is the server's own, and the way there and back; it holds hardly anything of
        // what the client added.
        assert!(server_ns > 0.95 * own_ns, "{io:?}: {server_ns} of {own_ns}");
        assert!(client_ns > 5e6, "{io:?}: {client_ns}");
        assert!(
            server_ns - own_ns < 0.3 * client_ns,
            "{io:?}: {server_ns}, {own_ns}, {client_ns}"
        );
        tiles(&driven.collected.measured, 0);
    }
}
