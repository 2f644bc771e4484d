//! Servers that take their time to let a client in, or refuse it.

use crate::support::*;
use prony_drive::Driven;
use prony_drive::io::sim::{Act, Answer, Script};

/// A server that takes its time for some clients, and speaks to others meanwhile.
struct Slow {
    connects: u32,
}

impl Script for Slow {
    fn connect(&mut self, slot: u32, _: u64) -> Result<u64, i32> {
        self.connects += 1;
        Ok(if slot == 2 { 10 * MS } else { 10_000 })
    }

    fn request(&mut self, slot: u32, bytes: &[u8], _: u64, answers: &mut Vec<Answer>) {
        const NOTICE: &[u8] = b"N\0\0\0\x0eSNOTICE\0\0\0";
        if bytes[0] != 0 {
            return answers.push(send(MS, DONE));
        }
        answers.push(send(20_000, WELCOME));
        if slot == 0 {
            answers.extend([send(MS, &NOTICE[..7]), send(2 * MS, &NOTICE[7..])]);
        }
        if slot == 1 && self.connects <= 3 {
            answers.push(close(MS));
        }
    }
}

#[test]
fn what_comes_before_all_are_connected_is_taken_in() {
    let (driven, _) = simulate(
        &Selects::new(),
        &plan(3, 0.1),
        stamped(),
        Slow { connects: 0 },
    )
    .unwrap();
    assert_eq!(driven.collected.measured.all().failed, 0);
    assert_eq!(driven.collected.measured.health.connections, 3);
    assert!(driven.events.is_empty(), "{:?}", driven.events);
}

/// A server that takes each client once and never answers a later connect.
struct Once(u32);

impl Script for Once {
    fn connect(&mut self, _: u32, _: u64) -> Result<u64, i32> {
        self.0 += 1;
        Ok(if self.0 <= 2 { 10_000 } else { 3_600_000 * MS })
    }

    fn request(&mut self, _: u32, bytes: &[u8], _: u64, answers: &mut Vec<Answer>) {
        answers.push(send(MS, if bytes[0] == 0 { WELCOME } else { DONE }));
    }
}

/// Two seconds are allowed for each attempt to connect.
fn simulate_patient(
    hosts: &str,
    plan: &prony_plan::DrivePlan,
    server: impl Script + Send,
) -> Driven {
    let env = prony_server::Environment::new("tester", std::path::Path::new("/nonexistent"));
    let url = format!("host={hosts} sslmode=disable user=tester dbname=bench connect_timeout=2");
    let (program, target) = (Selects::new(), prony_server::resolve(&url, &env).unwrap());
    let job = job(&program, plan, &target);
    let mut watch = Watch::default();
    prony_drive::run_simulated(&job, stamped(), server, &mut watch).unwrap()
}

/// Two servers that take long to let one in; the first resets the connection then.
struct Tardy(u32);

impl Script for Tardy {
    fn connect(&mut self, _: u32, _: u64) -> Result<u64, i32> {
        self.0 += 1;
        Ok(1500 * MS)
    }

    fn request(&mut self, _: u32, bytes: &[u8], _: u64, answers: &mut Vec<Answer>) {
        answers.push(match (bytes[0], self.0) {
            (0, 1) => Answer {
                after_ns: MS,
                act: Act::Close(104), // ECONNRESET
            },
            (0, _) => send(MS, WELCOME),
            _ => send(MS, DONE),
        });
    }
}

#[test]
fn each_attempt_to_connect_has_its_own_time() {
    let driven = simulate_patient("127.0.0.1,127.0.0.2", &plan(1, 0.1), Tardy(0));
    assert_eq!(driven.collected.measured.all().failed, 0);
}

#[test]
fn a_connect_that_takes_too_long_is_told_to_who_asked_for_it() {
    let mut plan = plan(1, 10.0);
    plan.connect_per_transaction = true;
    let driven = simulate_patient("127.0.0.1", &plan, Once(0));
    let all = driven.collected.measured.all();
    // After that the user waits for a server that takes anyone, outside a transaction.
    assert_eq!((all.committed, all.failed), (1, 1));
    assert_eq!(driven.collected.measured.leftover.unfinished, 0);
}

#[test]
fn a_server_that_refuses_all_is_an_error_before_the_run() {
    let server = Server {
        refuse: |_| true,
        statement: |_, _: &[u8], _, _: &mut Vec<Answer>| {},
    };
    let error = simulate(&Selects::new(), &plan(2, 1.0), stamped(), server).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("0 of 2 connections"), "{text}");
    assert!(text.contains("Connection refused"), "{text}");
}
