//! Latencies per statement.

use crate::support::*;
use prony_drive::DriveResult;
use prony_drive::io::sim::Machine;
use prony_measure::Distribution;
use prony_plan::{DrivePlan, Stop};
use prony_session::{Db, DbError, Outcome, Program, StatementTable, User, UserExit, UserId};
use prony_wire::{Statement, StatementIds};
use std::sync::Arc;
use std::time::Duration;

/// A program of one statement on its own, a batch of two, pushed ones and a text; only the statements have
/// names.
struct FourRequests {
    begin: Statement,
    update: Statement,
    insert: Statement,
    commit: Statement,
    has_prologue: bool,
}

impl FourRequests {
    fn new(has_prologue: bool) -> Arc<Self> {
        let mut ids = StatementIds::new();
        // The first number has no name.
        ids.add("SELECT 0");
        Arc::new(FourRequests {
            begin: ids.add("BEGIN"),
            update: ids.add("UPDATE t SET a = 1"),
            insert: ids.add("INSERT INTO t VALUES (1)"),
            commit: ids.add("COMMIT"),
            has_prologue,
        })
    }

    async fn execute(&self, db: &mut Db) -> Result<(), DbError> {
        db.exec(&self.begin, &[]).await?;
        db.batch(&[(&self.update, &[]), (&self.insert, &[])])
            .await?;
        db.push(&self.insert, &[])?;
        db.push(&self.insert, &[])?;
        db.push(&self.commit, &[])?;
        db.sync().await?;
        db.query("SELECT 'text'").await?;
        Ok(())
    }

    async fn run(&self, mut db: Db) -> Result<(), UserExit> {
        if self.has_prologue {
            db.exec(&self.begin, &[]).await.map_err(user_failure)?;
            db.wait_for_common_start().await;
        }
        loop {
            db.start(0).await?;
            let result = self.execute(&mut db).await;
            db.end(result.map(|()| Outcome::Committed)).await?;
        }
    }
}

/// The program as the loop sees it.
struct Shared(Arc<FourRequests>);

impl Program for Shared {
    fn kinds(&self) -> &[&'static str] {
        &["four requests"]
    }

    fn statement_table(&self) -> StatementTable {
        let program = &self.0;
        let mut table = StatementTable::new();
        for (name, statement) in [
            ("begin", &program.begin),
            ("update", &program.update),
            ("insert", &program.insert),
            ("commit", &program.commit),
        ] {
            table.add(name, statement.sql(), statement);
        }
        table
    }

    fn has_prologue(&self) -> bool {
        self.0.has_prologue
    }

    fn create_user(&self, _: UserId, db: Db) -> User {
        let program = Arc::clone(&self.0);
        user(async move { program.run(db).await })
    }
}

fn plan_of_one_client(stop: Stop) -> DrivePlan {
    DrivePlan {
        clients: 1,
        stop,
        statement_latency: true,
        ..DrivePlan::default()
    }
}

/// Drives one client. `reply` returns the time after which the server answers request `n` of the run, from 0,
/// and the answer.
fn drive(
    has_prologue: bool,
    plan: &DrivePlan,
    reply: impl Fn(u64) -> (u64, &'static [u8]) + Send,
) -> DriveResult {
    let mut requests = 0;
    let server = admit_all(move |_, _, _, answers| {
        let (delay_ns, bytes) = reply(requests);
        requests += 1;
        answers.push(send(delay_ns, bytes));
    });
    let program = Shared(FourRequests::new(has_prologue));
    let (driven, _) = simulate(&program, plan, Machine::default(), server).unwrap();
    driven
}

/// The times of the round trips that begin with the statement at `index` of the table.
fn times(driven: &DriveResult, index: usize, statements: u32) -> &Distribution<u64> {
    let round_trips = driven.round_trips.as_ref().expect("measured");
    let mut entries = round_trips.entries();
    let entry =
        entries.find(|entry| (entry.first_statement, entry.statements) == (index, statements));
    entry.expect("executed").times
}

#[test]
fn each_round_trip_has_exactly_the_time_that_the_server_takes() {
    let delays_ns = [MS, 5 * MS, 3 * MS, 2 * MS];
    let plan = plan_of_one_client(Stop::Transactions(1_000));
    let driven = drive(false, &plan, |request| {
        (delays_ns[request as usize % 4], DONE)
    });
    let round_trips = driven.round_trips.as_ref().unwrap();
    let found: Vec<_> = round_trips
        .entries()
        .map(|entry| {
            let times = entry.times;
            let percentiles = [0.5, 0.95, 0.99].map(|quantile| times.quantile_ns(quantile));
            assert_eq!(percentiles, [Some(times.max_ns); 3]);
            (
                entry.first_statement,
                entry.statements,
                times.samples,
                times.mean_ns(),
                times.max_ns,
            )
        })
        .collect();
    let expected = [(0, 1, 0), (1, 2, 1), (2, 3, 2)].map(|(index, statements, request)| {
        let delay_ns: u64 = delays_ns[request];
        (index, statements, 1_000, delay_ns as f64, delay_ns)
    });
    assert_eq!(found, expected);
    // The text without a name takes the rest of the service time.
    assert_eq!(round_trips.service_ns, 1_000 * 11 * u128::from(MS));
}

#[test]
fn percentiles_of_a_statement_are_those_of_its_own_times() {
    // The server takes 1 µs longer for each `BEGIN`.
    let plan = plan_of_one_client(Stop::Transactions(1_000));
    let driven = drive(false, &plan, |request| match request % 4 {
        0 => (1_000 * (request / 4 + 1), DONE),
        _ => (MS, DONE),
    });
    let begin = times(&driven, 0, 1);
    assert_eq!((begin.min_ns, begin.max_ns), (1_000, 1_000_000));
    assert_eq!(begin.mean_ns(), 500_500.0);
    for (quantile, expected_ns) in [(0.5, 500_000), (0.95, 950_000), (0.99, 990_000)] {
        let ns = begin.quantile_ns(quantile).unwrap();
        // Two significant digits.
        assert!(
            ns.abs_diff(expected_ns) <= expected_ns / 100,
            "{quantile}: {ns}"
        );
    }
    assert_eq!(times(&driven, 1, 2).mean_ns(), MS as f64);
}

#[test]
fn only_round_trips_of_transactions_in_the_window_count() {
    let plan = DrivePlan {
        warmup: Duration::from_millis(1_000),
        ..plan_of_one_client(Stop::After(Duration::from_secs(2)))
    };
    // The prologue has the first request; then 5 ms for each request of the first 0.9 s of the warm-up.
    let driven = drive(true, &plan, |request| match request {
        0 => (500 * MS, DONE),
        1..=180 => (5 * MS, DONE),
        _ => (MS, DONE),
    });
    let begin = times(&driven, 0, 1);
    let committed = driven.collected.measured.all_kinds().committed;
    assert_eq!((begin.samples, committed), (500, 500));
    assert_eq!(begin.max_ns, MS);
    assert_eq!(
        driven.round_trips.as_ref().unwrap().service_ns,
        500 * 4 * u128::from(MS)
    );
}

#[test]
fn failed_round_trips_do_not_count() {
    let plan = plan_of_one_client(Stop::Transactions(100));
    // Every second transaction fails at its batch.
    let driven = drive(false, &plan, |request| match request % 6 {
        5 => (7 * MS, CONFLICT),
        _ => (MS, DONE),
    });
    let tally = driven.collected.measured.all_kinds();
    assert_eq!((tally.committed, tally.failed), (50, 50));
    assert_eq!(times(&driven, 0, 1).samples, 100);
    let batch = times(&driven, 1, 2);
    assert_eq!((batch.samples, batch.max_ns), (50, MS));
    // The time of transactions includes the failed requests.
    let service_ns = driven.round_trips.as_ref().unwrap().service_ns;
    assert_eq!(
        service_ns,
        50 * 4 * u128::from(MS) + 50 * 8 * u128::from(MS)
    );
}

#[test]
fn nothing_is_measured_unless_the_plan_asks_for_it() {
    let plan = DrivePlan {
        statement_latency: false,
        ..plan_of_one_client(Stop::Transactions(10))
    };
    let driven = drive(false, &plan, |_| (MS, DONE));
    assert_eq!(driven.collected.measured.all_kinds().committed, 10);
    assert!(driven.round_trips.is_none());
}
