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
use support::{Selects, engines, job, plan, target_at};

/// Resident memory of this process, in bytes.
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

#[test]
fn ten_thousand_connections_fit_into_150_megabytes() {
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
        let (program, target) = (Selects::new(), target_at(server.port));
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
