//! A simulated server that speaks just enough MySQL, and requests of several round trips.

use crate::support::*;
use prony_drive::io::sim::{Action, Answer, Machine, SimServer};
use prony_drive::{DriveJob, DriveResult, run_simulated};
use prony_plan::{DrivePlan, QueryMode};
use prony_server::{Environment, Target, resolve};
use prony_session::{Db, DbError, Outcome, Program, User};
use prony_wire::{Statement, StatementIds};

const PREPARE_NS: u64 = 700_000;
const EXECUTE_NS: u64 = 1_100_000;
const TEXT_NS: u64 = 1_900_000;

/// An OK packet with sequence number 1: no row changed, and autocommit is on.
const OK: &[u8] = b"\x07\0\0\x01\0\0\0\x02\0\0\0";
/// The answer to COM_STMT_PREPARE: the statement has number 1, no columns and no parameters.
const PREPARED: &[u8] = b"\x0c\0\0\x01\0\x01\0\0\0\0\0\0\0\0\0\0";

/// A greeting of protocol version 10: `mysql_native_password`, no TLS.
fn greeting() -> Vec<u8> {
    let capabilities: u32 = 1 | 1 << 3 | 1 << 9 | 1 << 13 | 1 << 15 | 1 << 16 | 1 << 17 | 1 << 19;
    let mut body = vec![10];
    body.extend_from_slice(b"8.0.0-sim\0");
    body.extend_from_slice(&7u32.to_le_bytes());
    body.extend_from_slice(b"12345678\0");
    body.extend_from_slice(&capabilities.to_le_bytes()[..2]);
    // Character set and status.
    body.extend_from_slice(&[45, 2, 0]);
    body.extend_from_slice(&capabilities.to_le_bytes()[2..]);
    body.push(21);
    body.extend_from_slice(&[0; 10]);
    body.extend_from_slice(b"123456789012\0mysql_native_password\0");
    let mut packet = vec![body.len() as u8, 0, 0, 0];
    packet.extend_from_slice(&body);
    packet
}

pub struct MySql;

impl SimServer for MySql {
    fn connect(&mut self, _: u32, _: u64) -> Result<u64, i32> {
        Ok(10_000)
    }

    fn greet(&mut self, _: u32, answers: &mut Vec<Answer>) {
        answers.push(Answer {
            after_ns: 20_000,
            action: Action::Send(greeting().into()),
        });
    }

    fn request(&mut self, _: u32, bytes: &[u8], _: u64, answers: &mut Vec<Answer>) {
        let mut packets = bytes;
        // A COM_STMT_CLOSE precedes other commands, and has no answer.
        while let [5, 0, 0, 0, 0x19, _, _, _, _, rest @ ..] = packets {
            packets = rest;
        }
        match (packets.get(3), packets.get(4)) {
            // The reply to the greeting has number 1.
            (Some(1), _) => answers.push(send(20_000, b"\x07\0\0\x02\0\0\0\x02\0\0\0")),
            (_, Some(0x16)) => answers.push(send(PREPARE_NS, PREPARED)),
            (_, Some(0x17)) => answers.push(send(EXECUTE_NS, OK)),
            (_, Some(3)) => answers.push(send(TEXT_NS, OK)),
            _ => {}
        }
    }
}

pub fn mysql_target() -> Target {
    let home = std::env::temp_dir();
    let env = Environment::new("tester", &home);
    let url = "mysql://tester@127.0.0.1/bench?ssl-mode=DISABLED";
    resolve(url, &env).expect("a target")
}

fn drive(program: &dyn Program, plan: &DrivePlan, machine: Machine) -> DriveResult {
    let target = mysql_target();
    let job: DriveJob<'_> = job(program, plan, &target);
    run_simulated(&job, machine, MySql, &mut TestObserver::default()).expect("the run starts")
}

async fn execute_once(db: &mut Db, statement: &Statement) -> Result<Outcome, DbError> {
    db.exec(statement, &[]).await?;
    Ok(Outcome::Committed)
}

/// One execution of a statement per transaction.
fn single_executions() -> impl Program {
    let statement = std::sync::Arc::new(StatementIds::new().add("DO 1"));
    ClosureProgram(move |_, mut db: Db| -> User {
        let statement = statement.clone();
        user(async move {
            loop {
                db.start(0).await?;
                let result = execute_once(&mut db, &statement).await;
                db.end(result).await?;
            }
        })
    })
}

/// A batch of three executions per transaction.
fn batches() -> impl Program {
    let mut set = StatementIds::new();
    let statements = ["DO 1", "DO 2", "DO 3"].map(|sql| set.add(sql));
    let statements = std::sync::Arc::new(statements);
    ClosureProgram(move |_, mut db: Db| -> User {
        let statements = statements.clone();
        user(async move {
            loop {
                db.start(0).await?;
                let [a, b, c] = &*statements;
                let batch = db.batch(&[(a, &[]), (b, &[]), (c, &[])]).await;
                let result = batch.map(|_| Outcome::Committed);
                db.end(result).await?;
            }
        })
    })
}

/// Checks that the server time of each committed transaction is `server_ns`, that the parts add up to the
/// response time, and that each transaction has this many round trips.
fn assert_server_time(driven: &DriveResult, server_ns: u64, round_trips: u64) {
    let measured = &driven.collected.measured;
    let tally = measured.all_kinds();
    assert!(tally.committed >= 10, "{}", tally.committed);
    let parts = tally
        .parts
        .as_ref()
        .expect("the machine provides timestamps");
    assert_eq!(parts.server.samples, tally.committed);
    assert_eq!(
        (parts.server.min_ns, parts.server.max_ns),
        (server_ns, server_ns)
    );
    assert_eq!(parts.server.mean_ns(), server_ns as f64);
    let sum = parts.send_wait.sum_ns + parts.server.sum_ns + parts.client_wait.sum_ns;
    assert_eq!(sum, tally.response.sum_ns);
    let timestamps = measured.timestamps;
    assert_eq!((timestamps.impossible, timestamps.missing), (0, 0));
    // Each reply has a timestamp, including those of transactions that the window cuts off.
    let min_timestamps = round_trips * tally.committed;
    assert!(
        (min_timestamps..min_timestamps + 64).contains(&timestamps.usable),
        "{timestamps:?}"
    );
}

fn plan_with_protocol(protocol: QueryMode) -> DrivePlan {
    DrivePlan {
        protocol,
        ..plan(1, 0.5)
    }
}

/// A client that is busy for 5 ms in each iteration, so that each reply waits.
fn busy_machine() -> Machine {
    Machine {
        stall_ns: 5 * MS,
        ..with_timestamps()
    }
}

#[test]
fn each_round_trip_of_the_extended_protocol_is_split() {
    for machine in [with_timestamps(), busy_machine()] {
        let driven = drive(
            &single_executions(),
            &plan_with_protocol(QueryMode::Extended),
            machine,
        );
        assert_server_time(&driven, PREPARE_NS + EXECUTE_NS, 2);
    }
}

#[test]
fn each_round_trip_of_a_batch_is_split_and_none_is_an_upper_bound() {
    for machine in [with_timestamps(), busy_machine()] {
        let driven = drive(
            &batches(),
            &plan_with_protocol(QueryMode::Extended),
            machine,
        );
        assert_server_time(&driven, 3 * (PREPARE_NS + EXECUTE_NS), 6);
        let tally = driven.collected.measured.all_kinds();
        assert_eq!(tally.parts.expect("parts").server_times_upper_bound, 0);
    }
    // In simple mode, all three share a round trip, and the time of each is unknown.
    let driven = drive(
        &batches(),
        &plan_with_protocol(QueryMode::Simple),
        with_timestamps(),
    );
    let tally = driven.collected.measured.all_kinds();
    assert_eq!(
        tally.parts.expect("parts").server_times_upper_bound,
        tally.committed
    );
}

#[test]
fn the_first_execution_of_a_prepared_statement_is_split() {
    let driven = drive(
        &single_executions(),
        &plan_with_protocol(QueryMode::Prepared),
        busy_machine(),
    );
    let tally = driven.collected.measured.all_kinds();
    let parts = tally.parts.expect("the machine provides timestamps");
    assert_eq!(parts.server.min_ns, EXECUTE_NS);
    // The first execution also prepared the statement.
    assert_eq!(parts.server.max_ns, PREPARE_NS + EXECUTE_NS);
    assert_eq!(driven.collected.measured.timestamps.impossible, 0);
}

#[test]
fn server_time_is_corrected_for_the_position_in_the_batch_in_each_round_trip() {
    let machine = Machine {
        send_cost_ns: 5_000,
        stall_ns: MS,
        ..with_timestamps()
    };
    let mut plan = plan_with_protocol(QueryMode::Extended);
    plan.clients = 32;
    let driven = drive(&single_executions(), &plan, machine);
    let measured = &driven.collected.measured;
    let parts = measured
        .all_kinds()
        .parts
        .expect("the machine provides timestamps");
    let expected_ns = (PREPARE_NS + EXECUTE_NS) as f64;
    let server_ns = parts.server.mean_ns();
    assert!((server_ns / expected_ns - 1.0).abs() < 0.01, "{server_ns}");
    assert_eq!(measured.timestamps.impossible, 0);
}

/// The server closes the connection between the round trips of one request.
#[test]
fn a_connection_lost_between_round_trips_fails_one_transaction() {
    struct ClosesAtThirdExecution(u32);
    impl SimServer for ClosesAtThirdExecution {
        fn connect(&mut self, slot: u32, now_ns: u64) -> Result<u64, i32> {
            MySql.connect(slot, now_ns)
        }
        fn greet(&mut self, slot: u32, answers: &mut Vec<Answer>) {
            MySql.greet(slot, answers);
        }
        fn request(&mut self, slot: u32, bytes: &[u8], now_ns: u64, answers: &mut Vec<Answer>) {
            self.0 += u32::from(bytes.get(4) == Some(&0x17));
            match bytes.get(4) {
                Some(0x17) if self.0 == 3 => answers.push(close(MS)),
                _ => MySql.request(slot, bytes, now_ns, answers),
            }
        }
    }
    let (program, plan, target) = (
        single_executions(),
        plan_with_protocol(QueryMode::Extended),
        mysql_target(),
    );
    let job = job(&program, &plan, &target);
    let driven = run_simulated(
        &job,
        with_timestamps(),
        ClosesAtThirdExecution(0),
        &mut TestObserver::default(),
    )
    .unwrap();
    let tally = driven.collected.measured.all_kinds();
    assert_eq!(tally.failed, 1);
    assert!(tally.committed > 100, "{}", tally.committed);
    let ended_outages = driven
        .events
        .iter()
        .filter(|event| event.until_ns.is_some());
    assert_eq!(ended_outages.count(), 1, "{:?}", driven.events);
}
