//! Measures the instructions of the loop:
//! `valgrind --tool=callgrind target/release/examples/sim_cost 200000`.
//!
//! In: a number of transactions. Out: the number of committed ones. Must never: use a socket or a real clock,
//! because callgrind's counts of two builds are compared.

use prony_drive::io::sim::{Action, Answer, Machine, SimServer};
use prony_drive::{DriveJob, LoadStart, Observer, run_simulated};
use prony_measure::{IntervalRow, RunSchedule};
use prony_plan::{DrivePlan, Stop};
use prony_server::{Environment, resolve};
use prony_session::{Db, Outcome, Program, User, UserId};
use prony_wire::StatementIds;
use std::sync::atomic::AtomicBool;

/// AuthenticationOk and ReadyForQuery.
const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
/// The reply to a statement without rows.
const DONE: &[u8] = b"2\0\0\0\x04C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";

struct PgServer;

impl SimServer for PgServer {
    fn connect(&mut self, _: u32, _: u64) -> Result<u64, i32> {
        Ok(10_000)
    }

    fn request(&mut self, slot: u32, bytes: &[u8], _: u64, answers: &mut Vec<Answer>) {
        let (after_ns, bytes) = match bytes.first() {
            Some(0) => (20_000, WELCOME),
            Some(b'X') | None => return,
            Some(_) => (100_000 + u64::from(slot) * 100, DONE),
        };
        answers.push(Answer {
            after_ns,
            action: Action::Send(bytes.into()),
        });
    }
}

struct Selects;

impl Program for Selects {
    fn kinds(&self) -> &[&'static str] {
        &["select"]
    }

    fn user(&self, _: UserId, mut db: Db) -> User {
        let statement = StatementIds::new().add("SELECT 1");
        Box::pin(async move {
            loop {
                if let Err(exit) = db.start(0).await {
                    return exit;
                }
                let result = db.exec(&statement, &[]).await;
                let result = result.map(|_| Outcome::Committed);
                if let Err(exit) = db.end(result).await {
                    return exit;
                }
            }
        })
    }
}

struct NullObserver;

impl Observer for NullObserver {
    fn started(&mut self, _: &LoadStart) {}
    fn interval_ended(&mut self, _: &IntervalRow, _: &RunSchedule) {}
}

fn main() {
    let transactions: u64 = std::env::args()
        .nth(1)
        .and_then(|count| count.parse().ok())
        .expect("usage: sim_cost TRANSACTIONS");
    let plan = DrivePlan {
        clients: 64,
        stop: Stop::Transactions(transactions / 64),
        ..DrivePlan::default()
    };
    let environment = Environment::new("tester", &std::env::temp_dir());
    let target = resolve("host=127.0.0.1 sslmode=disable user=tester", &environment);
    let job = DriveJob {
        program: &Selects,
        target: &target.expect("a target"),
        tcp_target: None,
        plan: &plan,
        seed: 1,
        interrupt: &AtomicBool::new(false),
        tap: None,
        on_connect_refused: None,
    };
    let machine = Machine {
        send_cost_ns: 1_000,
        has_timestamps: true,
        ..Machine::default()
    };
    let driven = run_simulated(&job, machine, PgServer, &mut NullObserver).expect("the run starts");
    println!("{}", driven.collected.measured.all_kinds().committed);
}
