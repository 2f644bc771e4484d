//! Memory per connection. A separate test binary, because it opens most of the files that a process may
//! open, and measures the memory of the whole process.

#[path = "sockets/server.rs"]
#[allow(dead_code)]
mod server;
#[path = "sim/support.rs"]
#[allow(dead_code)]
mod support;

use prony_drive::{LoadStart, Observer, run};
use prony_measure::{IntervalRow, RunSchedule};
use server::FakeServer;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Mutex;
use std::time::Duration;
use support::{WELCOME, engines, job, plan, selects, target_at};

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .expect("VmRSS");
    let kilobytes: u64 = line
        .split_whitespace()
        .nth(1)
        .expect("a number")
        .parse()
        .expect("a number");
    kilobytes * 1024
}

/// Held by each test, because they measure the same memory.
static MEMORY: Mutex<()> = Mutex::new(());

/// Serves one client: answers its first statement with rows, without end.
fn send_endless_rows(listener: &TcpListener) {
    let (mut stream, _) = listener.accept().expect("a client");
    for answer in [WELCOME, b"T\0\0\0\x06\0\0"] {
        assert!(stream.read(&mut [0; 4096]).expect("a request") > 0);
        stream.write_all(answer).expect("a client that reads");
    }
    let rows = b"D\0\0\0\x12\0\x01\0\0\0\x0812345678".repeat(10_000);
    while stream.write_all(&rows).is_ok() {}
}

#[test]
fn endless_rows_need_little_memory_and_end_with_the_window_and_the_grace() {
    let _alone = MEMORY.lock();
    for io in engines() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let server = std::thread::spawn(move || send_endless_rows(&listener));
        let mut plan = plan(1, 2.0);
        (plan.io, plan.grace) = (io, Duration::from_millis(200));
        let before = resident_bytes();
        let mut peak = Peak::default();
        let (program, target) = (selects(), target_at(port));
        let driven = run(&job(&program, &plan, &target), &mut peak).expect("the run starts");
        server.join().expect("the server");
        assert_eq!(driven.collected.measured.excluded.in_flight.cut_off, 1);
        let growth = peak.0.saturating_sub(before);
        assert!(growth < 20_000_000, "{io:?}: {growth} bytes");
    }
}

#[test]
fn ten_thousand_connections_fit_into_150_megabytes() {
    let _alone = MEMORY.lock();
    // The server of this test holds the other end of each connection, in the same process.
    let mut clients = 10_000;
    if let Err(limit) = prony_drive::affinity::ensure_file_limit(2 * clients + 200) {
        clients = (limit - 200) / 2;
        eprintln!("testing {clients} connections only: the limit is {limit} open files");
        prony_drive::affinity::ensure_file_limit(limit).expect("the limit itself");
    }
    let server = FakeServer::start();
    for io in engines() {
        let mut plan = plan(clients as u32, 1.0);
        plan.io = io;
        let before = resident_bytes();
        let mut peak = Peak::default();
        let (program, target) = (selects(), target_at(server.port));
        let job = job(&program, &plan, &target);
        let driven = run(&job, &mut peak).expect("the run starts");
        assert_eq!(driven.collected.measured.health.connections, clients as u32);
        let bytes_per_connection = (peak.0 - before) / clients;
        eprintln!("{io:?}: {bytes_per_connection} bytes per connection");
        assert!(
            bytes_per_connection < 15_000,
            "{io:?}: {bytes_per_connection} bytes per connection"
        );
    }
}

/// The resident memory at the end of the first second.
#[derive(Default)]
struct Peak(u64);

impl Observer for Peak {
    fn started(&mut self, _: &LoadStart) {}

    fn interval_ended(&mut self, _: &IntervalRow, _: &RunSchedule) {
        self.0 = self.0.max(resident_bytes());
    }
}
