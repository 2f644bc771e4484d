//! Errors of the database, and connections that are lost.

use crate::support::*;
use prony_drive::Incident;
use prony_drive::io::sim::Answer;
use prony_measure::ErrorClass;
use prony_session::Outcome;
use prony_wire::Statements;
use std::time::Duration;

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

#[test]
fn users_that_wait_for_a_start_keep_waiting_when_their_connections_are_lost() {
    // Four clients, one start every 100 ms: all but one wait when the server drops them all.
    let mut plan = plan(4, 2.0);
    plan.pace = evenly(10.0);
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
    plan.pace = evenly(1.0);
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
