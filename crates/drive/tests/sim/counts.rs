//! Gaps between ends are in the second in which nothing ended.
//!
//! Queries are counted in the second in which their reply arrives, and in the totals of the phase of this
//! second.

use crate::support::*;
use prony_drive::io::sim::SimServer;
use prony_drive::{DriveResult, LoadStart, Observer, run_simulated};
use prony_measure::{IntervalRow, QueryCounts, QueryKind, RunSchedule};
use prony_plan::{DrivePlan, Stop};
use prony_session::{Db, DbError, Outcome, Program};
use std::time::Duration;

/// What each row has.
#[derive(Default)]
struct Rows {
    queries: Vec<QueryCounts>,
    /// Start and end of the gaps of 50 ms or more, in ms from the start of the row.
    gaps_ms: Vec<Vec<(u64, u64)>>,
}

impl Observer for Rows {
    fn started(&mut self, _: &LoadStart) {}

    fn interval_ended(&mut self, row: &IntervalRow, _: &RunSchedule) {
        self.queries.push(row.interval.queries);
        let gaps = row.interval.gaps.until(row.interval.span.length_ns());
        let long = gaps.filter(|gap| gap.length_ns() >= 50 * MS);
        let in_ms = long.map(|gap| (gap.start_ns / MS, gap.end_ns / MS));
        self.gaps_ms.push(in_ms.collect());
    }
}

fn simulate_counts(
    program: &dyn Program,
    plan: &DrivePlan,
    delay_ns: u64,
) -> (DriveResult, Vec<QueryCounts>) {
    let mut rows = Rows::default();
    let target = target();
    let job = job(program, plan, &target);
    let driven =
        run_simulated(&job, with_timestamps(), replies_after(delay_ns), &mut rows).unwrap();
    (driven, rows.queries)
}

/// Two reads, a write and another query, with one ignored error and one reconnect in every transaction.
async fn counted_transaction(db: &mut Db) -> Result<Outcome, DbError> {
    for query in [
        QueryKind::Read,
        QueryKind::Read,
        QueryKind::Write,
        QueryKind::Other,
    ] {
        db.query("SELECT 1").await?;
        db.count_query(query);
    }
    db.count_ignored_error();
    db.count_reconnect();
    Ok(Outcome::Committed)
}

#[test]
fn queries_count_in_the_second_of_their_reply() {
    // A query takes 300 ms and a transaction 1.2 s, so the queries of a transaction count in several seconds.
    let mut plan = plan(1, 5.0);
    plan.stop = Stop::Transactions(3);
    let program = repeat(|db| Box::pin(counted_transaction(db)));
    let (driven, seconds) = simulate_counts(&program, &plan, 300 * MS);
    let totals: Vec<u64> = seconds.iter().map(QueryCounts::all).collect();
    assert_eq!(totals, [3, 3, 3, 3]);
    let by_kind = |counts: &QueryCounts| (counts.reads, counts.writes, counts.others);
    // Replies arrive at 0.3, 0.6, 0.9 s; 1.2, 1.5, 1.8 s; 2.1 s...
    assert_eq!(by_kind(&seconds[0]), (2, 1, 0));
    assert_eq!(by_kind(&seconds[1]), (2, 0, 1));
    assert_eq!(seconds[0].ignored_errors, 0);
    assert_eq!(seconds[1].ignored_errors, 1);
    let total = driven.collected.measured.queries;
    assert_eq!(by_kind(&total), (6, 3, 3));
    assert_eq!((total.ignored_errors, total.reconnects), (3, 3));
}

#[test]
fn queries_of_the_warm_up_and_after_the_window_are_not_in_the_result() {
    let mut plan = plan(4, 2.0);
    plan.warmup = Duration::from_secs(1);
    let program = repeat(|db| Box::pin(counted_transaction(db)));
    let (driven, seconds) = simulate_counts(&program, &plan, 10 * MS);
    let collected = &driven.collected;
    let warmup = collected.warmup.as_ref().expect("a warm-up").queries;
    // 4 clients with 10 ms per query make 400 queries per second. At each end of a phase, one more or less
    // per client.
    assert!(warmup.all().abs_diff(400) <= 4, "{warmup:?}");
    let measured = collected.measured.queries;
    assert!(measured.all().abs_diff(800) <= 4, "{measured:?}");
    let rows: u64 = seconds.iter().map(QueryCounts::all).sum();
    assert_eq!(rows, warmup.all() + measured.all());
}

#[test]
fn a_program_that_counts_no_queries_reports_none() {
    let (driven, seconds) = simulate_counts(&selects(), &plan(2, 2.0), MS);
    assert_eq!(driven.collected.measured.queries, QueryCounts::default());
    assert_eq!(seconds, [QueryCounts::default(); 2]);
}

/// A server that answers after a millisecond, except from 0.8 to 1.2 s, when it answers nobody, and 1.7 to 1.9 s, when it
/// does not answer the first client.
fn server_with_stalls() -> impl SimServer + Send {
    admit_all(|slot, _, now_ns, answers| {
        let now_ms = now_ns / MS;
        let until_ms = match now_ms {
            800..1_200 => 1_200,
            1_700..1_900 if slot == 0 => 1_900,
            _ => now_ms + 1,
        };
        answers.push(send(until_ms * MS - now_ns, DONE));
    })
}

#[test]
fn times_in_which_no_client_ended_a_transaction_are_gaps() {
    let mut rows = Rows::default();
    let (target, plan) = (target(), plan(8, 3.0));
    let program = selects();
    let job = job(&program, &plan, &target);
    run_simulated(&job, with_timestamps(), server_with_stalls(), &mut rows).unwrap();
    assert_eq!(rows.gaps_ms.len(), 3);
    let [(start, 1_000)] = rows.gaps_ms[0][..] else {
        panic!("{:?}", rows.gaps_ms);
    };
    let [(0, end)] = rows.gaps_ms[1][..] else {
        panic!("{:?}", rows.gaps_ms);
    };
    assert!(
        start.abs_diff(800) <= 10 && end.abs_diff(200) <= 10,
        "{:?}",
        rows.gaps_ms
    );
    assert_eq!(rows.gaps_ms[2], []);
}
