//! The whole loop on a simulated network: exact figures, in milliseconds of real time.

mod counts;
mod further;
mod prologue;
mod shared;
mod starts;
#[allow(dead_code)]
mod support;

use prony_drive::io::sim::{Act, Answer, Machine, Script};
use prony_drive::{Driven, Incident};
use prony_measure::ErrorClass;
use prony_plan::{Arrival, Pace, Stop};
use prony_session::{Db, Outcome, User};
use prony_wire::Statements;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::*;

const MS: u64 = 1_000_000;

fn stamped() -> Machine {
    Machine {
        stamps: true,
        ..Machine::default()
    }
}

#[test]
fn a_reply_that_is_there_at_once_shows_its_delay_to_the_nanosecond() {
    for delay_ns in [1, 17, 999_999] {
        let plan = plan(1, 20.0 * delay_ns as f64 / 1e9);
        let (driven, _) = simulate(&Selects::new(), &plan, stamped(), after(delay_ns)).unwrap();
        let all = driven.collected.measured.all();
        assert!(all.committed >= 10, "{}", all.committed);
        assert_eq!(all.response.min_ns, delay_ns);
        assert_eq!(all.response.max_ns, delay_ns);
        assert_eq!(all.response.mean_ns(), delay_ns as f64);
    }
}

#[test]
fn a_closed_loop_obeys_littles_law_and_counts_exactly() {
    let mut plan = plan(8, 3.0);
    plan.warmup = Duration::from_secs(2);
    let (driven, watch) = simulate(&Selects::new(), &plan, stamped(), after(2 * MS)).unwrap();
    let measured = &driven.collected.measured;
    let all = measured.all();
    // 8 clients, 2 ms: 4,000 a second. The edges of the window cut one transaction a client.
    assert!(all.committed.abs_diff(12_000) <= 16, "{}", all.committed);
    let occupied = all.busy_ns as f64 / 1e9 / measured.seconds();
    assert!((occupied - 8.0).abs() < 0.02 * 8.0, "{occupied}");
    assert_eq!(watch.rows.len(), 5);
    let warm = driven.collected.warmup.as_ref().unwrap().all();
    let rows: u64 = watch.rows.iter().map(|row| row.0).sum();
    assert_eq!(rows, all.committed + warm.committed);
    assert!(measured.leftover.unfinished <= 8);
    assert_eq!(measured.leftover.misplaced, 0);
}

#[test]
fn an_even_rate_is_held_to_the_transaction() {
    let mut plan = plan(4, 2.0);
    plan.pace = Pace::Rate {
        rate_tps: 1000.0,
        arrival: Arrival::Even,
        queue_max: None,
    };
    let (driven, _) = simulate(&Selects::new(), &plan, stamped(), after(MS / 2)).unwrap();
    let all = driven.collected.measured.all();
    assert!(all.committed.abs_diff(2000) <= 1, "{}", all.committed);
    assert_eq!(all.response.max_ns, MS / 2);
    assert_eq!(driven.collected.measured.leftover.never_started, 0);
}

#[test]
fn a_poisson_rate_is_held_on_average() {
    let mut plan = plan(64, 20.0);
    plan.pace = Pace::Rate {
        rate_tps: 1000.0,
        arrival: Arrival::Poisson,
        queue_max: None,
    };
    let (driven, _) = simulate(&Selects::new(), &plan, stamped(), after(MS)).unwrap();
    let all = driven.collected.measured.all();
    // Four standard deviations of a Poisson count of 20,000.
    assert!(
        all.committed.abs_diff(20_000) < 4 * 142,
        "{}",
        all.committed
    );
}

#[test]
fn late_starts_are_not_skipped_and_count_from_their_schedule() {
    let mut plan = plan(1, 1.0);
    plan.pace = Pace::Rate {
        rate_tps: 1000.0,
        arrival: Arrival::Even,
        queue_max: None,
    };
    let (driven, _) = simulate(&Selects::new(), &plan, stamped(), after(2 * MS)).unwrap();
    let measured = &driven.collected.measured;
    let all = measured.all();
    // One client manages 500 of the 1,000 a second; the wait for a start grows by 1 ms each.
    assert!(all.committed.abs_diff(500) <= 1, "{}", all.committed);
    let service = all
        .service
        .as_ref()
        .expect("an open loop has service times");
    assert_eq!((service.min_ns, service.max_ns), (2 * MS, 2 * MS));
    assert_eq!(all.response.min_ns, 2 * MS);
    assert!(all.response.max_ns > 490 * MS, "{}", all.response.max_ns);
    let starts = all.committed + measured.leftover.unfinished + measured.leftover.never_started;
    assert_eq!(starts, 1000);
}

#[test]
fn errors_are_samples_of_their_class() {
    let mut count = 0;
    let server = Server {
        refuse: |_| false,
        statement: move |_, _: &[u8], _, answers: &mut Vec<Answer>| {
            count += 1;
            answers.push(send(MS, if count % 10 == 0 { CONFLICT } else { DONE }));
        },
    };
    let (driven, _) = simulate(&Selects::new(), &plan(2, 1.0), stamped(), server).unwrap();
    let all = driven.collected.measured.all();
    let share = all.failed as f64 / (all.committed + all.failed) as f64;
    assert!((share - 0.1).abs() < 0.01, "{share}");
    let errors = &driven.collected.measured.errors;
    let entry = errors.entries()[0].clone();
    assert_eq!(entry.class, ErrorClass::Serialization);
    assert_eq!(&entry.code, b"40001");
    assert_eq!(entry.count, all.failed);
    assert_eq!(entry.example, "try again");
    assert!(driven.events.is_empty());
}

#[test]
fn a_lost_server_is_an_outage_with_a_gap_and_the_run_goes_on() {
    // The server dies at one second and accepts again at two.
    let server = Server {
        refuse: |now_ns| (1000 * MS..2000 * MS).contains(&now_ns),
        statement: |_, _: &[u8], now_ns: u64, answers: &mut Vec<Answer>| {
            if (1000 * MS..2000 * MS).contains(&now_ns) {
                answers.push(close(0));
            } else {
                answers.push(send(MS, DONE));
            }
        },
    };
    let (driven, watch) = simulate(&Selects::new(), &plan(4, 4.0), stamped(), server).unwrap();
    let all = driven.collected.measured.all();
    assert_eq!(all.failed, 4);
    assert_eq!(driven.events.len(), 1, "{:?}", driven.events);
    let outage = &driven.events[0];
    assert_eq!((outage.what, outage.count), (Incident::Outage, 4));
    let gap_ns = outage.until_ns.unwrap() - outage.from_ns;
    assert!((1000 * MS..2100 * MS).contains(&gap_ns), "{gap_ns}");
    assert!(watch.rows[3].0 > 3_900, "{:?}", watch.rows);
    let entry = driven.collected.measured.errors.entries()[0].clone();
    assert_eq!(entry.class, ErrorClass::LostConnection);
}

#[test]
fn what_the_old_connection_still_says_is_not_the_new_ones() {
    // Its end shows twice in one turn: once for the send, once for the receive.
    let mut lost = false;
    let server = Server {
        refuse: |_| false,
        statement: move |_, _: &[u8], now_ns: u64, answers: &mut Vec<Answer>| {
            if now_ns < 500 * MS || std::mem::replace(&mut lost, true) {
                answers.push(send(MS, DONE));
            } else {
                answers.extend([close(MS), close(MS)]);
            }
        },
    };
    let (driven, _) = simulate(&Selects::new(), &plan(1, 1.0), stamped(), server).unwrap();
    assert_eq!(driven.collected.measured.all().failed, 1);
    let outage = &driven.events[0];
    // Opened again at its first try.
    assert_eq!(outage.until_ns.unwrap() - outage.from_ns, 30_000);
}

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
    let interrupt = AtomicBool::new(false);
    let job = prony_drive::Job {
        program: &Selects::new(),
        target: &prony_server::resolve(&url, &env).unwrap(),
        tcp_target: None,
        plan,
        seed: 1,
        interrupt: &interrupt,
        tap: None,
        refused: None,
    };
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
fn users_that_wait_for_a_start_keep_waiting_when_their_connections_are_lost() {
    // Four clients, one start every 100 ms: all but one wait when the server drops them all.
    let mut plan = plan(4, 2.0);
    plan.pace = Pace::Rate {
        rate_tps: 10.0,
        arrival: Arrival::Even,
        queue_max: None,
    };
    let server = Server {
        refuse: |_| false,
        statement: |_, _: &[u8], now_ns: u64, answers: &mut Vec<Answer>| {
            answers.push(send(2 * MS, DONE));
            if now_ns < 400 * MS {
                answers.push(close(1000 * MS - now_ns));
            }
        },
    };
    let (driven, _) = simulate(&Selects::new(), &plan, stamped(), server).unwrap();
    let measured = &driven.collected.measured;
    let all = measured.all();
    // The one whose start is due at that moment fails; the others have their connections back by
    // theirs.
    assert_eq!((all.committed, all.failed), (19, 1));
    assert_eq!(all.response.max_ns, 2 * MS);
    let entry = &measured.errors.entries()[0];
    assert_eq!(entry.class, ErrorClass::LostConnection);
    let leftover = measured.leftover;
    assert_eq!((leftover.unfinished, leftover.never_started), (0, 0));
}

#[test]
fn a_connection_lost_after_its_commit_is_not_ambiguous() {
    let server = Server {
        refuse: |_| false,
        statement: |_, _: &[u8], _, answers: &mut Vec<Answer>| {
            answers.push(send(MS, DONE));
            answers.push(close(2 * MS));
        },
    };
    let program = repeat(|db| {
        Box::pin(async move {
            let commit = Statements::new().add("COMMIT");
            db.exec(&commit, &[]).await?;
            db.sleep(Duration::from_millis(5)).await;
            db.exec(&commit, &[]).await?;
            Ok(Outcome::Committed)
        })
    });
    let (driven, _) = simulate(&program, &plan(1, 0.5), stamped(), server).unwrap();
    let entry = driven.collected.measured.errors.entries()[0].clone();
    assert_eq!(entry.class, ErrorClass::LostConnection);
}

#[test]
fn a_transaction_that_sleeps_at_the_end_is_finished_and_a_thinking_user_is_let_go() {
    let program = With(|id: prony_session::UserId, mut db: Db| -> User {
        Box::pin(async move {
            loop {
                if let Err(ended) = db.start(0).await {
                    return ended;
                }
                if id.client == 0 {
                    db.sleep(Duration::from_millis(300)).await;
                }
                let result = db.query("SELECT 1").await.map(|_| Outcome::Committed);
                if let Err(ended) = db.end(result).await {
                    return ended;
                }
                db.sleep(Duration::from_secs(3600)).await;
            }
        })
    });
    let (driven, _) = simulate(&program, &plan(2, 0.1), stamped(), after(MS)).unwrap();
    let collected = &driven.collected;
    assert_eq!(collected.measured.all().committed, 1);
    // Client 0 ended its transaction in the drain, where it counts as unfinished.
    assert_eq!(collected.measured.leftover.unfinished, 1);
    assert!(collected.drain_s < 0.5, "{}", collected.drain_s);
}

#[test]
fn an_idle_connection_that_is_lost_comes_back_without_a_failure() {
    // The server ends each session half a second after its reply; the next start is a second away.
    let server = Server {
        refuse: |_| false,
        statement: |_, _: &[u8], _, answers: &mut Vec<Answer>| {
            answers.push(send(MS, DONE));
            answers.push(close(500 * MS));
        },
    };
    let mut plan = plan(1, 5.2);
    plan.pace = Pace::Rate {
        rate_tps: 1.0,
        arrival: Arrival::Even,
        queue_max: None,
    };
    let (driven, _) = simulate(&Selects::new(), &plan, stamped(), server).unwrap();
    let all = driven.collected.measured.all();
    assert_eq!((all.committed, all.failed), (6, 0));
    assert!(driven.events.len() >= 4, "{:?}", driven.events);
    let outages = driven
        .events
        .iter()
        .filter(|event| event.until_ns.is_some());
    assert!(outages.count() >= 4, "{:?}", driven.events);
}

#[test]
fn a_commit_that_was_under_way_is_ambiguous() {
    let server = Server {
        refuse: |_| false,
        statement: |_, bytes: &[u8], _, answers: &mut Vec<Answer>| {
            let commit = bytes.windows(6).any(|word| word == b"COMMIT");
            answers.push(if commit { close(MS) } else { send(MS, DONE) });
        },
    };
    let program = repeat(|db| {
        Box::pin(async move {
            db.query("BEGIN").await?;
            let commit = Statements::new().add("COMMIT");
            db.exec(&commit, &[]).await?;
            Ok(Outcome::Committed)
        })
    });
    let (driven, _) = simulate(&program, &plan(1, 0.5), stamped(), server).unwrap();
    let entry = driven.collected.measured.errors.entries()[0].clone();
    assert_eq!(entry.class, ErrorClass::AmbiguousCommit);
}

#[test]
fn an_interrupted_run_keeps_what_it_measured() {
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut watch = Watch {
        rows: Vec::new(),
        interrupt_after: Some((2, interrupt.clone())),
    };
    let (program, plan) = (Selects::new(), plan(2, 1e6));
    let job = prony_drive::Job {
        program: &program,
        target: &target(),
        tcp_target: None,
        plan: &plan,
        seed: 1,
        interrupt: &interrupt,
        tap: None,
        refused: None,
    };
    let driven = prony_drive::run_simulated(&job, stamped(), after(MS), &mut watch).unwrap();
    assert!(driven.interrupted);
    let all = driven.collected.measured.all();
    assert!(all.committed >= 3_990, "{}", all.committed);
    let rows: u64 = watch.rows.iter().map(|row| row.0).sum();
    assert_eq!(rows, all.committed);
}

#[test]
fn server_time_leaves_out_what_the_client_adds() {
    let machine = Machine {
        stall_ns: 5 * MS,
        ..stamped()
    };
    let (driven, _) = simulate(&Selects::new(), &plan(4, 1.0), machine, after(2 * MS)).unwrap();
    let all = driven.collected.measured.all();
    let parts = all.parts.as_ref().unwrap();
    assert_eq!(parts.server.mean_ns(), 2.0 * MS as f64);
    assert_eq!(parts.client_wait.mean_ns(), 3.0 * MS as f64);
    assert_eq!(all.response.mean_ns(), 5.0 * MS as f64);
}

#[test]
fn server_time_is_corrected_for_the_place_in_the_batch() {
    let machine = Machine {
        send_cost_ns: 5_000,
        stall_ns: MS,
        ..stamped()
    };
    let (driven, _) = simulate(&Selects::new(), &plan(32, 1.0), machine, after(MS / 5)).unwrap();
    let measured = &driven.collected.measured;
    let all = measured.all();
    let parts = all.parts.as_ref().unwrap();
    let server_ns = parts.server.mean_ns();
    assert!((server_ns / 200_000.0 - 1.0).abs() < 0.01, "{server_ns}");
    // Without the correction the waits in the batch would be the server's.
    assert!(
        parts.send_wait.mean_ns() > 40_000.0,
        "{}",
        parts.send_wait.mean_ns()
    );
    let sum = parts.send_wait.mean_ns() + server_ns + parts.client_wait.mean_ns();
    assert!((sum / all.response.mean_ns() - 1.0).abs() < 1e-6, "{sum}");
    assert_eq!(measured.stamps.impossible, 0);
}

#[test]
fn merged_segments_and_batches_are_upper_bounds() {
    // The reply, and a notice that reaches the client before it reads.
    const NOTICE: &[u8] = b"N\0\0\0\x0eSNOTICE\0\0\0";
    let server = Server {
        refuse: |_| false,
        statement: |_, _: &[u8], _, answers: &mut Vec<Answer>| {
            answers.push(send(MS, DONE));
            answers.push(send(2 * MS, NOTICE));
        },
    };
    let machine = Machine {
        stall_ns: 5 * MS,
        ..stamped()
    };
    let (driven, _) = simulate(&Selects::new(), &plan(1, 0.1), machine, server).unwrap();
    let all = driven.collected.measured.all();
    let parts = all.parts.as_ref().unwrap();
    assert!(all.committed >= 10, "{}", all.committed);
    assert_eq!(all.committed, parts.upper_bounds);
    assert_eq!(parts.server.max_ns, 2 * MS);

    let program = repeat(|db| {
        Box::pin(async move {
            let mut set = Statements::new();
            let (one, two) = (set.add("SELECT 1"), set.add("SELECT 2"));
            db.batch(&[(&one, &[]), (&two, &[])]).await?;
            Ok(Outcome::Committed)
        })
    });
    let (driven, _) = simulate(&program, &plan(1, 0.1), stamped(), after(MS)).unwrap();
    let all = driven.collected.measured.all();
    assert_eq!(all.parts.as_ref().unwrap().upper_bounds, all.committed);
}

#[test]
fn a_count_of_transactions_is_each_clients_own() {
    let mut plan = plan(4, 0.0);
    plan.stop = Stop::Transactions(100);
    plan.warmup = Duration::from_millis(10);
    let (driven, _) = simulate(&Selects::new(), &plan, stamped(), after(MS)).unwrap();
    let all = driven.collected.measured.all();
    // With the one that was under way at the end of the warm-up: it is measured.
    assert_eq!(all.committed, 400);
    assert!(driven.collected.warmup.unwrap().all().committed >= 36);
}

#[test]
fn nothing_more_is_due_once_every_client_has_done_its_count() {
    let mut plan = plan(4, 0.0);
    plan.stop = Stop::Transactions(10);
    plan.pace = Pace::Rate {
        rate_tps: 100_000.0,
        arrival: Arrival::Even,
        queue_max: None,
    };
    let (driven, _) = simulate(&Selects::new(), &plan, stamped(), after(MS)).unwrap();
    assert_eq!(driven.collected.measured.all().committed, 40);
    assert_eq!(driven.collected.measured.leftover.never_started, 0);
}

#[test]
fn a_connection_for_each_transaction_counts_its_opening() {
    let mut plan = plan(2, 1.0);
    plan.connect_per_transaction = true;
    let (driven, _) = simulate(&Selects::new(), &plan, stamped(), after(MS)).unwrap();
    let all = driven.collected.measured.all();
    let connect = all.connect.as_ref().unwrap();
    // 10 µs until it is accepted, 20 µs to log in.
    assert_eq!((connect.min_ns, connect.max_ns), (30_000, 30_000));
    assert_eq!(all.response.mean_ns(), MS as f64 + 30_000.0);
    assert_eq!(all.failed, 0);
    assert!(driven.events.is_empty(), "{:?}", driven.events);
}

#[test]
fn think_time_is_kept() {
    let program = With(|_, mut db: Db| -> User {
        Box::pin(async move {
            loop {
                if let Err(ended) = db.start(0).await {
                    return ended;
                }
                let result = db.query("SELECT 1").await.map(|_| Outcome::Committed);
                if let Err(ended) = db.end(result).await {
                    return ended;
                }
                db.sleep(Duration::from_millis(9)).await;
            }
        })
    });
    let (driven, _) = simulate(&program, &plan(3, 1.0), stamped(), after(MS)).unwrap();
    let all = driven.collected.measured.all();
    assert!(all.committed.abs_diff(300) <= 3, "{}", all.committed);
    assert_eq!(all.response.mean_ns(), MS as f64);
}

#[test]
fn a_user_that_panics_or_awaits_nothing_ends_alone() {
    let calls = Arc::new(AtomicBool::new(false));
    let first = calls.clone();
    let program = With(move |id: prony_session::UserId, mut db: Db| -> User {
        let first = first.clone();
        Box::pin(async move {
            if id.client == 0 {
                first.store(true, Ordering::Relaxed);
                std::future::pending::<()>().await;
            }
            if id.client == 1 {
                panic!("on purpose");
            }
            loop {
                if let Err(ended) = db.start(0).await {
                    return ended;
                }
                let result = db.query("SELECT 1").await.map(|_| Outcome::Committed);
                if let Err(ended) = db.end(result).await {
                    return ended;
                }
            }
        })
    });
    let (driven, _) = simulate(&program, &plan(3, 0.1), stamped(), after(MS)).unwrap();
    assert!(calls.load(Ordering::Relaxed));
    let failed: Vec<_> = driven.events.iter().map(|event| event.what).collect();
    assert_eq!(failed, [Incident::UserFailed, Incident::UserFailed]);
    let said = &driven.events[1].detail;
    assert_eq!(said, "its program panicked: on purpose");
    assert!(driven.collected.measured.all().committed >= 99);
}

#[test]
fn a_user_that_asks_nothing_leaves_the_others_their_turns() {
    let program = With(|id: prony_session::UserId, mut db: Db| -> User {
        Box::pin(async move {
            loop {
                if let Err(ended) = db.start(0).await {
                    return ended;
                }
                let result = match id.client {
                    0 => Ok(Outcome::Committed),
                    _ => db.query("SELECT 1").await.map(|_| Outcome::Committed),
                };
                if let Err(ended) = db.end(result).await {
                    return ended;
                }
            }
        })
    });
    let (driven, _) = simulate(&program, &plan(2, 0.0001), stamped(), after(10_000)).unwrap();
    let all = driven.collected.measured.all();
    // One a nanosecond of the simulated time by the idle one, one every 10 µs by the other.
    assert!(
        (100_000..=100_012).contains(&all.committed),
        "{}",
        all.committed
    );
    assert_eq!(all.response.max_ns, 10_000);
}

#[test]
fn a_mistake_in_a_worker_keeps_the_figures_so_far() {
    // A kind that the program does not have.
    let program = With(|_, mut db: Db| -> User {
        Box::pin(async move {
            for number in 0.. {
                if let Err(ended) = db.start(u16::from(number == 20)).await {
                    return ended;
                }
                let result = db.query("SELECT 1").await.map(|_| Outcome::Committed);
                if let Err(ended) = db.end(result).await {
                    return ended;
                }
            }
            unreachable!("the count is endless")
        })
    });
    let (driven, watch) = simulate(&program, &plan(1, 5.0), stamped(), after(100 * MS)).unwrap();
    assert!(driven.failure.unwrap().contains("a worker panicked"));
    let kept: u64 = watch.rows.iter().map(|row| row.0).sum();
    assert!(kept >= 19, "{kept}");
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

#[test]
fn a_server_that_breaks_the_protocol_costs_its_connection() {
    let server = Server {
        refuse: |_| false,
        statement: |_, _: &[u8], _, answers: &mut Vec<Answer>| {
            answers.push(send(MS, b"Z\0\0\0\x03"));
        },
    };
    let (driven, _) = simulate(&Selects::new(), &plan(1, 1.0), stamped(), server).unwrap();
    let measured = &driven.collected.measured;
    assert_eq!(measured.all().committed, 0);
    // At once, and then after 50, 100, 200 and 400 ms: a server that drops all is not stormed.
    assert_eq!(measured.all().failed, 5);
    let entry = measured.errors.entries()[0].clone();
    assert!(
        entry.example.contains("the server sent"),
        "{}",
        entry.example
    );
}
