//! Starts and ends as in other tools: a time limit for starts, skipped starts, clients that end when their
//! connection is lost. Also the order in which users get starts, and the listener that receives samples.

use crate::support::*;
use prony_drive::io::sim::{Answer, Machine};
use prony_drive::{DriveJob, RunEventKind, SampleListener};
use prony_measure::Sample;
use prony_plan::{DrivePlan, Stop};
use prony_session::{Db, Outcome, Program, User};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A plan in which no transaction starts after the first second.
fn plan_with_starts_for_1_s(clients: u32) -> DrivePlan {
    DrivePlan {
        stop: Stop::NoStartsAfter(Duration::from_secs(1)),
        ..plan(clients, 1.0)
    }
}

#[test]
fn transactions_that_started_in_time_count_however_late_they_end() {
    let plan = plan_with_starts_for_1_s(4);
    let driven = drive_selects(&plan, 300 * MS);
    let measured = &driven.collected.measured;
    // Starts at 0, 300, 600 and 900 ms; the last ones end at 1.2 s.
    assert_eq!(measured.all_kinds().committed, 16);
    assert_eq!(measured.excluded.unfinished, 0);
    assert!((1.2..1.25).contains(&measured.seconds()), "{measured:?}");
}

#[test]
fn a_transaction_that_sleeps_past_the_end_is_finished() {
    let program = repeat(|db| {
        Box::pin(async move {
            db.query("SELECT 1").await?;
            db.sleep(Duration::from_secs(3)).await;
            Ok(prony_session::Outcome::Committed)
        })
    });
    let plan = plan_with_starts_for_1_s(2);
    let driven = drive(&program, &plan, replies_after(MS));
    assert_eq!(driven.collected.measured.all_kinds().committed, 2);
    assert!(driven.collected.measured.seconds() > 3.0);
}

#[test]
fn starts_later_than_the_latency_limit_are_skipped_and_slow_transactions_exceed_it() {
    let mut plan = plan_with_starts_for_1_s(1);
    plan.pace = evenly(100.0);
    plan.latency_limit = Some(Duration::from_millis(20));
    let driven = drive_selects(&plan, 50 * MS);
    let measured = &driven.collected.measured;
    let tally = measured.all_kinds();
    // One client manages 20 of the 100 per second, and starts none that is over 20 ms late.
    assert!((18..=21).contains(&tally.committed), "{}", tally.committed);
    assert_eq!(tally.over_latency_limit, tally.committed);
    assert_eq!(
        tally.committed + tally.skipped + measured.excluded.never_started,
        100
    );
    assert!(tally.skipped > 70, "{}", tally.skipped);
    let lag = tally.lag.as_ref().expect("an open loop has lags");
    assert_eq!(lag.samples, tally.committed);
    assert!(lag.max_ns <= 20 * MS, "{}", lag.max_ns);
}

#[test]
fn skipped_starts_count_towards_a_clients_number_of_transactions() {
    let mut plan = plan_with_starts_for_1_s(1);
    plan.pace = evenly(100.0);
    plan.latency_limit = Some(Duration::from_millis(20));
    plan.stop = Stop::Transactions(30);
    let driven = drive_selects(&plan, 50 * MS);
    let tally = driven.collected.measured.all_kinds();
    assert_eq!(tally.committed + tally.skipped, 30);
    assert!(tally.skipped > 20, "{}", tally.skipped);
}

#[test]
fn without_reconnects_a_client_ends_when_its_connection_is_lost() {
    let server = admit_all(|slot, _, now_ns, answers| {
        if slot == 1 && now_ns > 500 * MS {
            answers.push(close(0));
        } else {
            answers.push(send(MS, DONE));
        }
    });
    let mut plan = plan_with_starts_for_1_s(3);
    plan.reconnect = false;
    let driven = drive(&selects(), &plan, server);
    let events = driven.events.iter();
    let failures = events.filter(|event| event.kind == RunEventKind::UserFailed);
    assert_eq!(failures.map(|event| event.count).sum::<u64>(), 1);
    assert_eq!(driven.collected.measured.health.connections, 2);
    let committed = driven.collected.measured.all_kinds().committed;
    assert!((2_480..2_520).contains(&committed), "{committed}");
}

#[test]
fn a_lost_idle_connection_is_reopened_only_if_the_plan_reconnects() {
    for reconnect in [true, false] {
        let connects = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&connects);
        // Closes the connection of one client while it is idle.
        let server = PgServer {
            accept: move |_| {
                counted.fetch_add(1, Ordering::Relaxed);
                accept_unless(false)
            },
            statement: |slot, _: &[u8], _, answers: &mut Vec<Answer>| {
                answers.push(send(MS, DONE));
                answers.extend((slot == 1).then(|| close(20 * MS)));
            },
        };
        let mut plan = plan_with_starts_for_1_s(3);
        // Each client has a start every 300 ms.
        plan.pace = evenly(10.0);
        plan.reconnect = reconnect;
        let driven = drive(&selects(), &plan, server);
        let events = driven.events.iter();
        let failures = events.filter(|event| event.kind == RunEventKind::UserFailed);
        let failed = failures.map(|event| event.count).sum::<u64>();
        let tally = driven.collected.measured.all_kinds();
        let connects = connects.load(Ordering::Relaxed);
        if reconnect {
            assert!(connects > 3, "{connects}");
            assert_eq!((failed, tally.failed), (0, 0), "{:?}", driven.events);
        } else {
            // The client notices the loss at its next statement, and ends.
            assert_eq!((connects, failed, tally.failed), (3, 1, 1));
            let events = driven.events.iter();
            let mut outages = events.filter(|event| event.kind == RunEventKind::Outage);
            assert!(outages.all(|event| event.until_ns.is_none()));
        }
    }
}

#[derive(Default)]
struct ListenerRecord {
    starts: Vec<u64>,
    samples: Vec<(u32, Sample)>,
    ends: Vec<u64>,
}

struct RecordingListener(Arc<Mutex<ListenerRecord>>);

impl SampleListener for RecordingListener {
    fn started(&mut self, start_ns: u64) {
        self.0.lock().unwrap().starts.push(start_ns);
    }

    fn sample(&mut self, client: u32, sample: &Sample) {
        self.0.lock().unwrap().samples.push((client, *sample));
    }

    fn ended(&mut self, now_ns: u64) {
        self.0.lock().unwrap().ends.push(now_ns);
    }
}

#[test]
fn a_listener_receives_every_sample_with_its_client() {
    let record = Arc::new(Mutex::new(ListenerRecord::default()));
    let (program, plan, target) = (selects(), plan_with_starts_for_1_s(3), target());
    let new_listener =
        |_| Box::new(RecordingListener(Arc::clone(&record))) as Box<dyn SampleListener>;
    let job = DriveJob {
        new_sample_listener: Some(&new_listener),
        ..job(&program, &plan, &target)
    };
    let driven = prony_drive::run_simulated(
        &job,
        with_timestamps(),
        replies_after(10 * MS),
        &mut TestObserver::default(),
    )
    .unwrap();
    let record = record.lock().unwrap();
    assert_eq!((record.starts.len(), record.ends.len()), (1, 1));
    let tally = driven.collected.measured.all_kinds();
    assert_eq!(record.samples.len() as u64, tally.committed);
    for client in 0..3 {
        let of_client = record.samples.iter().filter(|(owner, _)| *owner == client);
        assert_eq!(of_client.count() as u64 * 3, tally.committed);
    }
    let within = |sample: &Sample| (record.starts[0]..=record.ends[0]).contains(&sample.ended_ns);
    assert!(record.samples.iter().all(|(_, sample)| within(sample)));
}

/// Users that wait for a start get one in order of arrival, even if another user requests a start just as one
/// becomes due.
#[test]
fn scheduled_starts_go_to_the_user_that_waited_longest() {
    let record = Arc::new(Mutex::new(ListenerRecord::default()));
    let new_listener =
        |_| Box::new(RecordingListener(Arc::clone(&record))) as Box<dyn SampleListener>;
    let (program, target) = (selects(), target());
    let mut plan = plan_with_starts_for_1_s(5);
    plan.pace = evenly(300.0);
    let job = DriveJob {
        new_sample_listener: Some(&new_listener),
        ..job(&program, &plan, &target)
    };
    // Replies arrive and starts become due while the client is busy, and are noticed together.
    let machine = Machine {
        stall_ns: 4 * MS,
        ..with_timestamps()
    };
    prony_drive::run_simulated(
        &job,
        machine,
        replies_after(2 * MS),
        &mut TestObserver::default(),
    )
    .unwrap();
    let mut samples = std::mem::take(&mut record.lock().unwrap().samples);
    assert!(samples.len() > 200, "{}", samples.len());
    samples.sort_by_key(|(_, sample)| sample.scheduled_ns);
    let mut last_ended_ns = HashMap::new();
    let mut previous_since_ns = 0;
    for (client, sample) in samples {
        let since_ns = last_ended_ns.insert(client, sample.ended_ns).unwrap_or(0);
        assert!(
            since_ns >= previous_since_ns,
            "client {client} waited since {since_ns}, the one before it since {previous_since_ns}"
        );
        previous_since_ns = since_ns;
    }
}

/// A program whose users execute `requests` statements in each transaction. If `is_eager`, they start without
/// waiting whenever they can.
fn program_with_try_start(is_eager: bool, requests: u32) -> impl Program {
    ClosureProgram(move |_, mut db: Db| -> User {
        user(async move {
            loop {
                if !(is_eager && db.try_start(0)) {
                    db.start(0).await?;
                }
                for _ in 0..requests {
                    db.query("SELECT 1").await.map_err(user_failure)?;
                }
                if !db.has_waited_since_start() {
                    db.sleep(Duration::from_nanos(1)).await;
                }
                db.end_with_open_block(Outcome::Committed);
            }
        })
    })
}

#[test]
fn starts_without_waiting_follow_the_rules_of_other_starts() {
    let plan_with_stop = |stop| DrivePlan {
        stop,
        ..plan(3, 1.0)
    };
    let plans = [
        plan_with_starts_for_1_s(3),
        plan(3, 1.0),
        plan_with_stop(Stop::Transactions(7)),
        plan_with_stop(Stop::SharedTransactions {
            transactions: 11,
            within: Duration::from_secs(1),
        }),
        DrivePlan {
            pace: evenly(20.0),
            ..plan_with_starts_for_1_s(3)
        },
        DrivePlan {
            connect_per_transaction: true,
            ..plan_with_starts_for_1_s(3)
        },
    ];
    for plan in plans {
        let counts = |is_eager| {
            let program = program_with_try_start(is_eager, 2);
            let result = simulate(&program, &plan, with_timestamps(), replies_after(30 * MS));
            let measured = result.unwrap().0.collected.measured;
            let tally = measured.all_kinds();
            (
                tally.committed,
                tally.response.mean_ns(),
                measured.seconds(),
            )
        };
        let expected = counts(false);
        assert!(expected.0 >= 11, "{plan:?}");
        assert_eq!(counts(true), expected, "{plan:?}");
    }
}

#[test]
fn a_user_that_makes_no_request_does_not_start_without_waiting() {
    let plan = DrivePlan {
        stop: Stop::Transactions(50),
        ..plan(2, 1.0)
    };
    let (driven, _) = simulate(
        &program_with_try_start(true, 0),
        &plan,
        with_timestamps(),
        replies_after(MS),
    )
    .unwrap();
    assert_eq!(driven.collected.measured.all_kinds().committed, 100);
}
