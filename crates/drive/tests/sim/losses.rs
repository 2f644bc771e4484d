//! Database errors, and lost connections.

use crate::support::*;
use prony_assertions::TextAssertions;
use prony_drive::io::sim::Answer;
use prony_drive::{RunEventKind, run_simulated};
use prony_measure::ErrorClass;
use prony_server::Target;
use prony_session::{Db, Outcome, Program, User, UserId};
use prony_wire::StatementIds;
use std::time::Duration;

#[test]
fn errors_are_counted_by_class() {
    let mut count = 0;
    let server = admit_all(move |_, _, _, answers| {
        count += 1;
        answers.push(send(MS, if count % 10 == 0 { CONFLICT } else { DONE }));
    });
    let driven = drive(&selects(), &plan(2, 1.0), server);
    let tally = driven.collected.measured.all_kinds();
    let share = tally.failed as f64 / (tally.committed + tally.failed) as f64;
    assert!((share - 0.1).abs() < 0.01, "{share}");
    let errors = &driven.collected.measured.errors;
    let entry = errors.entries()[0].clone();
    assert_eq!(entry.class, ErrorClass::Serialization);
    assert_eq!(&entry.code, b"40001");
    assert_eq!(entry.count, tally.failed);
    assert_eq!(entry.example, "try again");
    assert!(driven.events.is_empty());
}

/// PostgreSQL replies to the COMMIT of a failed block that it rolled back, without an error.
#[test]
fn a_commit_to_which_the_server_replies_that_it_rolled_back_has_failed() {
    let mut ids = StatementIds::new();
    let statements = ["COMMIT", "ROLLBACK"].map(|sql| ids.add(sql));
    let program = repeat_with(statements, |db, id, [commit, rollback]| {
        Box::pin(async move {
            match id.client {
                0 => db.exec(commit, &[]).await?,
                1 => db.exec(rollback, &[]).await?,
                2 => db.batch(&[(rollback, &[]), (commit, &[])]).await?,
                // A batch that ends with a rollback on purpose.
                _ => db.batch(&[(commit, &[]), (rollback, &[])]).await?,
            };
            Ok(Outcome::Committed)
        })
    });
    let server = admit_all(|_, _, _, answers| answers.push(send(MS, ROLLED_BACK)));
    let driven = drive(&program, &plan(4, 0.1), server);
    let tally = driven.collected.measured.all_kinds();
    assert_eq!(tally.failed, tally.committed, "clients 0 and 2");
    let [error] = driven.collected.measured.errors.entries() else {
        panic!("{:?}", driven.collected.measured.errors);
    };
    assert_eq!((&error.code, error.count), (b"25P02", tally.failed));
    error.example.assert_contains("rolled the transaction back");
    assert!(driven.events.is_empty(), "the connections go on");
}

#[test]
fn a_batch_in_which_a_statement_has_no_result_does_not_commit() {
    let mut ids = StatementIds::new();
    let statements = ["UPDATE a SET n = 1", "UPDATE b SET n = 1"].map(|sql| ids.add(sql));
    let program = repeat_with(statements, |db, _, [a, b]| {
        Box::pin(async move {
            db.batch(&[(a, &[]), (b, &[])]).await?;
            Ok(Outcome::Committed)
        })
    });
    for (answer, commits) in [(DONE, true), (ONE_RESULT, false)] {
        let server = admit_all(move |_, _, _, answers| answers.push(send(MS, answer)));
        let driven = drive(&program, &plan(1, 0.1), server);
        let committed = driven.collected.measured.all_kinds().committed;
        assert_eq!(committed > 0, commits, "{committed}");
    }
}

#[test]
fn the_run_continues_after_an_outage() {
    // The server dies at one second and accepts again at two.
    let server = PgServer {
        accept: |now_ns| accept_unless((1000 * MS..2000 * MS).contains(&now_ns)),
        statement: |_, _: &[u8], now_ns: u64, answers: &mut Vec<Answer>| {
            if (1000 * MS..2000 * MS).contains(&now_ns) {
                answers.push(close(0));
            } else {
                answers.push(send(MS, DONE));
            }
        },
    };
    let (driven, observer) =
        simulate(&selects(), &plan(4, 4.0), with_timestamps(), server).unwrap();
    let tally = driven.collected.measured.all_kinds();
    assert_eq!(tally.failed, 4);
    let [outage, attempts] = &driven.events[..] else {
        panic!("{:?}", driven.events);
    };
    assert_eq!((outage.kind, outage.count), (RunEventKind::Outage, 4));
    assert_eq!(attempts.kind, RunEventKind::FailedAttempts);
    assert_eq!(attempts.cause.as_deref(), Some("refused"));
    let gap_ns = outage.until_ns.unwrap() - outage.from_ns;
    assert!((1000 * MS..2100 * MS).contains(&gap_ns), "{gap_ns}");
    assert!(observer.rows[3].0 > 3_900, "{:?}", observer.rows);
    let entry = driven.collected.measured.errors.entries()[0].clone();
    assert_eq!(entry.class, ErrorClass::LostConnection);
}

#[test]
fn a_server_that_does_not_reply_is_given_up_at_the_time_out_of_the_url() {
    let mut limited = target();
    limited.tcp.reply_timeout = Some(Duration::from_millis(200));
    let plan = plan(4, 2.0);
    let run = |target: &Target, delay_ns: fn(u64) -> Option<u64>| {
        let server = admit_all(move |_, _, now_ns, answers| {
            answers.extend(delay_ns(now_ns).map(|delay_ns| send(delay_ns, DONE)));
        });
        let program = selects();
        let job = job(&program, &plan, target);
        run_simulated(&job, with_timestamps(), server, &mut ()).expect("it starts")
    };
    // What is sent between 500 and 550 ms gets no reply.
    let silent = |now_ns: u64| (!(500 * MS..550 * MS).contains(&now_ns)).then_some(MS);
    let driven = run(&limited, silent);
    let tally = driven.collected.measured.all_kinds();
    assert_eq!(tally.failed, 4);
    let [outage] = &driven.events[..] else {
        panic!("{:?}", driven.events);
    };
    outage.detail.assert_contains("no reply within 200ms");
    let waited_ns = outage.from_ns - 500 * MS;
    assert!((200 * MS..350 * MS).contains(&waited_ns), "{waited_ns}");
    assert!(tally.committed > 4 * 1_500, "{tally:?}");
    // Without a limit they wait until the end.
    let unlimited = run(&target(), silent);
    assert!(unlimited.events.is_empty());
    assert!(unlimited.collected.measured.all_kinds().committed < 4 * 600);
    // A reply that is slow is not overdue.
    let slow = run(&limited, |_| Some(190 * MS));
    assert_eq!(slow.collected.measured.all_kinds().failed, 0);
    assert!(slow.events.is_empty(), "{:?}", slow.events);
    // Nor is one that arrives in parts.
    let server = admit_all(|_, _, _, answers| {
        answers.extend([send(190 * MS, &DONE[..9]), send(380 * MS, &DONE[9..])]);
    });
    let program = selects();
    let job = job(&program, &plan, &limited);
    let in_parts = run_simulated(&job, with_timestamps(), server, &mut ()).expect("it starts");
    assert_eq!(in_parts.collected.measured.all_kinds().failed, 0);
    assert!(in_parts.events.is_empty(), "{:?}", in_parts.events);
}

#[test]
fn a_late_event_of_a_lost_connection_does_not_affect_the_new_one() {
    // The loss is reported twice in one iteration: by the send and by the receive.
    let mut lost = false;
    let server = admit_all(move |_, _, now_ns, answers| {
        if now_ns < 500 * MS || std::mem::replace(&mut lost, true) {
            answers.push(send(MS, DONE));
        } else {
            answers.extend([close(MS), close(MS)]);
        }
    });
    let driven = drive(&selects(), &plan(1, 1.0), server);
    assert_eq!(driven.collected.measured.all_kinds().failed, 1);
    let outage = &driven.events[0];
    // The first attempt reopens the connection.
    assert_eq!(outage.until_ns.unwrap() - outage.from_ns, 30_000);
}

#[test]
fn users_that_wait_for_a_start_keep_waiting_when_their_connections_are_lost() {
    // Four clients, one start every 100 ms: all but one wait when the server closes all
    // connections.
    let mut plan = plan(4, 2.0);
    plan.pace = evenly(10.0);
    let server = admit_all(|_, _, now_ns, answers| {
        answers.push(send(2 * MS, DONE));
        if now_ns < 400 * MS {
            answers.push(close(1000 * MS - now_ns));
        }
    });
    let driven = drive(&selects(), &plan, server);
    let measured = &driven.collected.measured;
    let tally = measured.all_kinds();
    // The client whose start is due at that moment fails; the others have reconnected by their next
    // start.
    assert_eq!((tally.committed, tally.failed), (19, 1));
    assert_eq!(tally.response.max_ns, 2 * MS);
    let entry = &measured.errors.entries()[0];
    assert_eq!(entry.class, ErrorClass::LostConnection);
    let excluded = measured.excluded;
    assert_eq!((excluded.unfinished, excluded.never_started), (0, 0));
}

#[test]
fn the_loss_of_a_connection_after_the_reply_to_its_commit_is_not_ambiguous() {
    let server = admit_all(|_, _, _, answers| {
        answers.push(send(MS, DONE));
        answers.push(close(2 * MS));
    });
    let program = repeat(|db| {
        Box::pin(async move {
            // The connection is lost while the next transaction sleeps, before its first statement.
            db.sleep(Duration::from_millis(5)).await;
            let commit = StatementIds::new().add("COMMIT");
            db.exec(&commit, &[]).await?;
            Ok(Outcome::Committed)
        })
    });
    let driven = drive(&program, &plan(1, 0.5), server);
    let entry = driven.collected.measured.errors.entries()[0].clone();
    assert_eq!(entry.class, ErrorClass::LostConnection);
}

#[test]
fn an_idle_connection_that_is_lost_is_reopened_and_no_transaction_fails() {
    // The server ends each session half a second after its reply; the next start is a second away.
    let server = admit_all(|_, _, _, answers| {
        answers.push(send(MS, DONE));
        answers.push(close(500 * MS));
    });
    let mut plan = plan(1, 5.2);
    plan.pace = evenly(1.0);
    let driven = drive(&selects(), &plan, server);
    let tally = driven.collected.measured.all_kinds();
    assert_eq!((tally.committed, tally.failed), (6, 0));
    assert!(driven.events.len() >= 4, "{:?}", driven.events);
    let outages = driven
        .events
        .iter()
        .filter(|event| event.until_ns.is_some());
    assert!(outages.count() >= 4, "{:?}", driven.events);
}

/// Users whose reads go to another server; each transaction has two statements, 100 ms apart.
struct WritesAndReads;

impl Program for WritesAndReads {
    fn kinds(&self) -> &[&'static str] {
        &["write", "read"]
    }

    fn only_reads(&self, kind: usize) -> bool {
        kind == 1
    }

    fn create_user(&self, _: UserId, mut db: Db) -> User {
        user(async move {
            loop {
                for kind in [0, 1] {
                    db.start(kind).await?;
                    let first = db.query("SELECT 1").await.map(drop);
                    db.sleep(Duration::from_millis(100)).await;
                    let result = match first {
                        Ok(()) => db.query("SELECT 1").await.map(|_| Outcome::Committed),
                        Err(error) => Err(error),
                    };
                    db.end(result).await?;
                }
            }
        })
    }
}

#[test]
fn a_connection_that_is_lost_during_a_transaction_on_the_other_one_is_reopened_at_once() {
    // Each connection is lost 20 ms after its transaction, when the other one has a transaction.
    let mut statements = [0; 2];
    let server = admit_all(move |slot, _, _, answers| {
        statements[slot as usize] += 1;
        answers.push(send(MS, DONE));
        if statements[slot as usize] % 2 == 0 {
            answers.push(close(20 * MS));
        }
    });
    let target = Target {
        read_target: Some(Box::new(target())),
        ..target()
    };
    let plan = plan(1, 2.0);
    let job = job(&WritesAndReads, &plan, &target);
    let driven = run_simulated(&job, with_timestamps(), server, &mut ()).expect("it starts");
    let tally = driven.collected.measured.all_kinds();
    assert!(tally.committed > 15, "{tally:?}");
    assert_eq!(tally.failed, 0, "{:?}", driven.events);
    for outage in &driven.events {
        // One may be cut by the end of the run.
        let until_ns = outage.until_ns.unwrap_or(outage.from_ns);
        assert!(until_ns - outage.from_ns < 60 * MS, "{:?}", driven.events);
    }
}

#[test]
fn a_commit_in_flight_when_the_connection_is_lost_is_ambiguous() {
    let server = admit_all(|_, bytes, _, answers| {
        let commits = bytes.windows(6).any(|word| word == b"COMMIT");
        answers.push(if commits { close(MS) } else { send(MS, DONE) });
    });
    let program = repeat(|db| {
        Box::pin(async move {
            db.query("BEGIN").await?;
            let commit = StatementIds::new().add("COMMIT");
            db.exec(&commit, &[]).await?;
            Ok(Outcome::Committed)
        })
    });
    let driven = drive(&program, &plan(1, 0.5), server);
    let entry = driven.collected.measured.errors.entries()[0].clone();
    assert_eq!(entry.class, ErrorClass::AmbiguousCommit);
}

/// The error class of a transaction in a block whose connection is lost before the reply to this text.
fn class_of_lost_text(text: &'static str) -> ErrorClass {
    let server = admit_all(move |_, bytes, _, answers| {
        let has = |word: &str| {
            bytes
                .windows(word.len())
                .any(|window| window == word.as_bytes())
        };
        answers.push(match (has(text), has("ROLLBACK")) {
            (true, _) => close(MS),
            (_, true) => send(MS, DONE),
            _ => send(MS, IN_BLOCK),
        });
    });
    let program = ClosureProgram(move |_, mut db: prony_session::Db| -> prony_session::User {
        user(async move {
            loop {
                db.start(0).await?;
                let block = db.query("BEGIN").await.map(drop);
                let result = match block {
                    Ok(()) => db.query(text).await.map(|_| Outcome::Committed),
                    Err(error) => Err(error),
                };
                db.end(result).await?;
            }
        })
    });
    let driven = drive(&program, &plan(1, 0.5), server);
    let classes: Vec<_> = driven.collected.measured.errors.entries().to_vec();
    assert_eq!(classes.len(), 1, "{classes:?}");
    classes[0].class
}

#[test]
fn a_commit_sent_as_text_is_recognised() {
    for text in ["COMMIT", "END;", "/* tag */ COMMIT", "-- a; b\nend"] {
        let class = class_of_lost_text(text);
        assert_eq!(class, ErrorClass::AmbiguousCommit, "{text}");
    }
    // Other statements in a block commit nothing.
    for text in ["UPDATE t SET n = 1", "SELECT 1", "/* commit */ SELECT 1"] {
        let class = class_of_lost_text(text);
        assert_eq!(class, ErrorClass::LostConnection, "{text}");
    }
}

/// An `INSERT` outside a block is already committed when the connection is lost during the following
/// statement.
#[test]
fn a_loss_after_a_write_outside_a_block_is_ambiguous() {
    let server = admit_all(|_, bytes, _, answers| {
        let sleeps = bytes.windows(8).any(|word| word == b"pg_sleep");
        answers.push(if sleeps { close(MS) } else { send(MS, DONE) });
    });
    let program = repeat(|db| {
        Box::pin(async move {
            let mut statements = StatementIds::new();
            let insert = statements.add("INSERT INTO t VALUES (1)");
            let sleep = statements.add("SELECT pg_sleep(5)");
            db.exec(&insert, &[]).await?;
            db.exec(&sleep, &[]).await?;
            Ok(Outcome::Committed)
        })
    });
    let driven = drive(&program, &plan(1, 0.5), server);
    let entries = driven.collected.measured.errors.entries();
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!(entries[0].class, ErrorClass::AmbiguousCommit);
}

#[test]
fn a_protocol_violation_closes_the_connection() {
    let server = admit_all(|_, _, _, answers| {
        answers.push(send(MS, b"Z\0\0\0\x03"));
    });
    let driven = drive(&selects(), &plan(1, 1.0), server);
    let measured = &driven.collected.measured;
    assert_eq!(measured.all_kinds().committed, 0);
    // The user fails at once, and then after 50, 100, 200 and 400 ms: the loop does not flood a server that
    // closes all connections.
    assert_eq!(measured.all_kinds().failed, 5);
    let entry = measured.errors.entries()[0].clone();
    entry.example.assert_contains("the server sent");
}

/// The user would restart the transaction again and again, as sysbench does with ignored errors.
#[test]
fn a_user_that_waits_for_its_connection_does_not_outlive_the_run() {
    // The server dies at half a second and does not come back; the run waits for all started transactions.
    let server = PgServer {
        accept: |now_ns| accept_unless(now_ns >= 500 * MS),
        statement: |_, _: &[u8], now_ns: u64, answers: &mut Vec<Answer>| {
            answers.push(if now_ns >= 500 * MS { close(0) } else { send(MS, DONE) });
        },
    };
    let program = ClosureProgram(|_, mut db: prony_session::Db| -> prony_session::User {
        user(async move {
            loop {
                db.start(0).await?;
                while let Err(error) = db.query("SELECT 1").await.map(drop) {
                    if let Err(exit) = db.retry().await {
                        let _ = db.end(Err(error)).await;
                        return Err(exit);
                    }
                }
                db.end(Ok(Outcome::Committed)).await?;
            }
        })
    });
    let mut plan = plan(3, 2.0);
    plan.stop = prony_plan::Stop::NoStartsAfter(Duration::from_secs(2));
    plan.grace = Duration::MAX;
    let driven = drive(&program, &plan, server);
    let tally = driven.collected.measured.all_kinds();
    assert!(tally.committed > 0);
    assert_eq!(
        (tally.failed, driven.collected.measured.excluded.unfinished),
        (3, 0)
    );
    let health = driven.collected.measured.health;
    assert_eq!((health.connections, health.connections_lost), (0, 3));
}
