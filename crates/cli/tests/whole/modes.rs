//! Prony's counts equal the server's in every protocol mode, on every I/O engine.

use crate::common::*;
use prony_store::Choice;

const PROTOCOLS: [&str; 3] = ["simple", "extended", "prepared"];
const CLIENTS: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Counts {
    /// Number of rows of the history table.
    history_rows: u64,
    account_scans: u64,
    /// Number of commits of all sessions.
    commits: u64,
    /// Number of queries made by the test itself, which commit too.
    test_queries: u64,
}

impl Counts {
    fn read(control: &mut Control, test_queries: u64) -> Counts {
        Counts {
            test_queries: test_queries + 3,
            history_rows: query_number(control, "SELECT count(*) FROM pgbench_history"),
            account_scans: query_number(
                control,
                "SELECT idx_scan FROM pg_stat_user_indexes \
                 WHERE indexrelname = 'pgbench_accounts_pkey'",
            ),
            commits: query_number(
                control,
                "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()",
            ),
        }
    }

    fn growth_since(self, before: Counts) -> Counts {
        Counts {
            history_rows: self.history_rows - before.history_rows,
            account_scans: self.account_scans - before.account_scans,
            commits: self.commits - before.commits,
            test_queries: self.test_queries - before.test_queries,
        }
    }
}

/// Returns the growth of the counts after all of Prony's sessions have ended: a session reports its counts
/// before it leaves `pg_stat_activity`. Waits until `reads` is reached, because servers before PostgreSQL 15
/// add the counts later.
fn final_growth_since(control: &mut Control, before: Counts, reads: u64) -> Counts {
    const OTHER_SESSIONS: &str = "SELECT count(*) FROM pg_stat_activity \
        WHERE datname = current_database() AND backend_type = 'client backend' \
        AND pid <> pg_backend_pid()";
    let started = Instant::now();
    let mut test_queries = before.test_queries;
    loop {
        let is_alone = query_number(control, OTHER_SESSIONS) == 0;
        let current = Counts::read(control, test_queries + 1);
        test_queries = current.test_queries;
        let counts = current.growth_since(before);
        if (is_alone && counts.account_scans >= reads) || started.elapsed() > WAIT_TIMEOUT {
            return counts;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the number of committed transactions, including those of the warm-up and those in flight at the
/// end.
fn all_committed(run: &Run) -> u64 {
    let committed = |figures: &Figures| total_figures(figures).committed;
    run.warmup.as_ref().map_or(0, committed) + committed(&run.measured) + run.measured.unfinished
}

fn assert_no_errors(run: &Run, arguments: &str) {
    assert_eq!(
        run.state,
        RunState::Complete,
        "{arguments}: {:?}",
        run.ended_because
    );
    for figures in run.warmup.iter().chain([&run.measured]) {
        assert_eq!(figures.errors, [], "{arguments}");
        for kind in &figures.kinds {
            assert_eq!(
                (kind.failed, kind.rolled_back, kind.skipped, kind.retries),
                (0, 0, 0, 0),
                "{arguments}"
            );
        }
    }
    assert_eq!(run.events, [], "{arguments}");
    assert!(all_committed(run) > 0, "{arguments}");
}

/// Runs each mode on each engine for one second and for a number of transactions, and compares the counts.
/// Each transaction makes `reads` index scans of accounts, which the server counts. Prony's check of the data
/// before a run adds the same number of scans in each run; the first run determines it.
fn assert_counts_agree(database: &str, workload: &str, reads: u64, writes_history: bool) {
    let bench = TestBench::new(database);
    bench.ok("load tpcb --scale 1");
    let engines = io_engines(&bench);
    let mut control = bench.control();
    let mut check_reads = None;
    for engine in engines {
        for protocol in PROTOCOLS {
            // Observation is disabled because its queries commit too.
            let arguments = format!(
                "run {workload} --io {engine} --protocol {protocol} --clients 3 --no-observe"
            );
            for length in [
                "--transactions 40",
                "--duration 1s --warmup 300ms --grace 1m",
            ] {
                let arguments = format!("{arguments} {length}");
                let before = Counts::read(&mut control, 0);
                let run = bench.run(&arguments);
                assert_no_errors(&run, &arguments);
                let mode = Choice::from_name(protocol);
                assert_eq!((&*run.drive.io, run.drive.protocol), (engine, mode));
                let committed = all_committed(&run);
                if length.starts_with("--transactions") {
                    assert_eq!(
                        total_figures(&run.measured).committed,
                        CLIENTS * 40,
                        "{arguments}"
                    );
                    assert_eq!(committed, CLIENTS * 40, "{arguments}");
                } else {
                    assert!(run.measured.unfinished <= CLIENTS, "{arguments}");
                    assert!(run.warmup.is_some(), "{arguments}");
                }
                let counts = final_growth_since(
                    &mut control,
                    before,
                    reads * committed + check_reads.unwrap_or_default(),
                );
                assert_eq!(
                    counts.history_rows,
                    if writes_history { committed } else { 0 },
                    "{arguments}"
                );
                let extra_reads =
                    counts.account_scans - (reads * committed).min(counts.account_scans);
                assert_eq!(
                    *check_reads.get_or_insert(extra_reads),
                    extra_reads,
                    "{arguments}: {counts:?}"
                );
                // The server's background work commits too.
                let commits = committed..=committed + counts.test_queries + 200;
                assert!(commits.contains(&counts.commits), "{arguments}: {counts:?}");
            }
        }
    }
    let stdout = bench.ok("check tpcb");
    stdout.assert_contains("balances-accounts-history");
}

#[test]
fn counts_of_tpcb_agree_in_every_mode() {
    // The UPDATE and the SELECT after it each scan the primary key of the accounts once.
    assert_counts_agree("modes_tpcb", "tpcb", 2, true);
}

#[test]
fn counts_of_simple_update_agree_in_every_mode() {
    assert_counts_agree("modes_update", "simple-update", 2, true);
}

#[test]
fn counts_of_select_only_agree_in_every_mode() {
    assert_counts_agree("modes_select", "select-only", 1, false);
}
