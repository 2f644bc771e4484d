//! Counts of queries: in the second of the reply, in the totals, in no figure of another part.

use crate::support::*;
use prony_drive::{Driven, Observer, Start, run_simulated};
use prony_measure::{Queries, Query, Row, Schedule};
use prony_plan::{DrivePlan, Stop};
use prony_session::{Db, DbError, Outcome, Program};
use std::time::Duration;

/// Keeps what each row counted.
#[derive(Default)]
struct Seconds(Vec<Queries>);

impl Observer for Seconds {
    fn started(&mut self, _: &Start) {}

    fn row(&mut self, row: &Row, _: &Schedule) {
        self.0.push(row.interval.queries);
    }
}

fn simulated(program: &dyn Program, plan: &DrivePlan, delay_ns: u64) -> (Driven, Vec<Queries>) {
    let mut seconds = Seconds::default();
    let target = target();
    let job = job(program, plan, &target);
    let driven = run_simulated(&job, stamped(), after(delay_ns), &mut seconds).unwrap();
    (driven, seconds.0)
}

/// Two reads, a write and another, with a try that is begun again in every transaction.
async fn counted(db: &mut Db) -> Result<Outcome, DbError> {
    for query in [Query::Read, Query::Read, Query::Write, Query::Other] {
        db.query("SELECT 1").await?;
        db.count(query);
    }
    db.count_ignored();
    db.count_reconnect();
    Ok(Outcome::Committed)
}

#[test]
fn queries_count_in_the_second_of_their_reply() {
    // A query takes 300 ms, a transaction 1.2 s: it counts in several seconds.
    let mut plan = plan(1, 5.0);
    plan.stop = Stop::Transactions(3);
    let program = repeat(|db| Box::pin(counted(db)));
    let (driven, seconds) = simulated(&program, &plan, 300 * MS);
    let all: Vec<u64> = seconds.iter().map(Queries::all).collect();
    assert_eq!(all, [3, 3, 3, 3]);
    let sorts = |counts: &Queries| (counts.reads, counts.writes, counts.others);
    // Replies at 0.3, 0.6, 0.9 | 1.2, 1.5, 1.8 | 2.1...
    assert_eq!(sorts(&seconds[0]), (2, 1, 0));
    assert_eq!(sorts(&seconds[1]), (2, 0, 1));
    assert_eq!(seconds[0].errors, 0);
    assert_eq!(seconds[1].errors, 1);
    let total = driven.collected.measured.queries;
    assert_eq!(sorts(&total), (6, 3, 3));
    assert_eq!((total.errors, total.reconnects), (3, 3));
}

#[test]
fn the_warm_up_and_what_comes_after_the_window_are_apart() {
    let mut plan = plan(4, 2.0);
    plan.warmup = Duration::from_secs(1);
    let program = repeat(|db| Box::pin(counted(db)));
    let (driven, seconds) = simulated(&program, &plan, 10 * MS);
    let collected = &driven.collected;
    let warmup = collected.warmup.as_ref().expect("a warm-up").queries;
    // 4 clients, 10 ms a query: 400 a second; a round trip hangs over at each edge.
    assert!(warmup.all().abs_diff(400) <= 4, "{warmup:?}");
    let measured = collected.measured.queries;
    assert!(measured.all().abs_diff(800) <= 4, "{measured:?}");
    let rows: u64 = seconds.iter().map(Queries::all).sum();
    assert_eq!(rows, warmup.all() + measured.all());
}

#[test]
fn who_counts_nothing_shows_nothing() {
    let (driven, seconds) = simulated(&Selects::new(), &plan(2, 2.0), MS);
    assert_eq!(driven.collected.measured.queries, Queries::default());
    assert_eq!(seconds, [Queries::default(); 2]);
}
