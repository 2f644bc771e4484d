//! What the examples share that count instructions: a simulated PostgreSQL server and network, and a run on
//! them.
//!
//! Neither uses a socket or a real clock, because callgrind's counts of two builds are compared.

use prony_drive::io::sim::{Action, Answer, Machine, SimServer};
use prony_drive::{DriveJob, DriveResult, run_simulated};
use prony_plan::DrivePlan;
use prony_server::{Environment, resolve};
use prony_session::Program;
use std::sync::atomic::AtomicBool;

/// The reply to a startup message: AuthenticationOk and ReadyForQuery.
const STARTUP_REPLY: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";

/// A simulated server, by its replies to the requests after the login.
pub struct PgServer<R>(pub R);

impl<R: FnMut(&[u8]) -> &'static [u8]> SimServer for PgServer<R> {
    fn connect(&mut self, _: u32, _: u64) -> Result<u64, i32> {
        Ok(10_000)
    }

    // Inlined, the server's instructions would be counted as the loop's.
    #[inline(never)]
    fn request(&mut self, slot: u32, bytes: &[u8], _: u64, answers: &mut Vec<Answer>) {
        let (after_ns, bytes) = match bytes.first() {
            Some(0) => (20_000, STARTUP_REPLY),
            Some(b'X') | None => return,
            Some(_) => (100_000 + u64::from(slot) * 100, self.0(bytes)),
        };
        answers.push(Answer {
            after_ns,
            action: Action::Send(bytes.into()),
        });
    }
}

/// Runs a program on a simulated server.
pub fn simulate(
    program: &dyn Program,
    plan: &DrivePlan,
    server: impl SimServer + Send,
) -> DriveResult {
    let environment = Environment::new("tester", &std::env::temp_dir());
    let target = resolve("host=127.0.0.1 sslmode=disable user=tester", &environment);
    let interrupt = AtomicBool::new(false);
    let target = target.expect("a target");
    let job = DriveJob::new(program, &target, plan, &interrupt);
    let machine = Machine {
        send_cost_ns: 1_000,
        has_timestamps: true,
        ..Machine::default()
    };
    run_simulated(&job, machine, server, &mut ()).expect("the run starts")
}
