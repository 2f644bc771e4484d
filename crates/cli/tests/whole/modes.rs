//! Every protocol mode, on every I/O engine, with every workload: Prony's counts equal the
//! server's.

use crate::common::{Bench, WAIT_TIMEOUT, engines, number, ok};
use prony_server::Control;
use prony_store::{Choice, Figures, Run, RunState};
use std::time::{Duration, Instant};

const PROTOCOLS: [&str; 3] = ["simple", "extended", "prepared"];
const CLIENTS: u64 = 3;

/// Counts by the server: rows added by transactions, reads of an account by its key, commits.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Counts {
    history: u64,
    reads: u64,
    commits: u64,
    /// Number of the test's own queries so far, which commit too.
    asked: u64,
}

impl Counts {
    fn take(control: &mut Control, asked: u64) -> Counts {
        Counts {
            asked: asked + 3,
            history: number(control, "SELECT count(*) FROM pgbench_history"),
            reads: number(
                control,
                "SELECT idx_scan FROM pg_stat_user_indexes \
                 WHERE indexrelname = 'pgbench_accounts_pkey'",
            ),
            commits: number(
                control,
                "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()",
            ),
        }
    }

    fn since(self, before: Counts) -> Counts {
        Counts {
            history: self.history - before.history,
            reads: self.reads - before.reads,
            commits: self.commits - before.commits,
            asked: self.asked - before.asked,
        }
    }
}

/// The growth of the counts, once all of Prony's sessions have ended: a session reports its counts
/// before it leaves `pg_stat_activity`. Waits until `reads` is reached, as servers before
/// PostgreSQL 15 add the counts later.
fn counted_since(control: &mut Control, before: Counts, reads: u64) -> Counts {
    const OTHERS: &str = "SELECT count(*) FROM pg_stat_activity \
        WHERE datname = current_database() AND backend_type = 'client backend' \
        AND pid <> pg_backend_pid()";
    let began = Instant::now();
    let mut asked = before.asked;
    loop {
        let alone = number(control, OTHERS) == 0;
        let now = Counts::take(control, asked + 1);
        asked = now.asked;
        let counts = now.since(before);
        if (alone && counts.reads >= reads) || began.elapsed() > WAIT_TIMEOUT {
            return counts;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Committed transactions, warm-up included, plus those in flight at the end that then ended.
fn ended(run: &Run) -> u64 {
    let committed = |part: &Figures| part.kinds[0].committed;
    run.warmup.as_ref().map_or(0, committed) + committed(&run.measured) + run.measured.unfinished
}

fn flawless(run: &Run, words: &str) {
    assert_eq!(
        run.state,
        RunState::Complete,
        "{words}: {:?}",
        run.ended_because
    );
    for part in run.warmup.iter().chain([&run.measured]) {
        assert_eq!(part.errors, [], "{words}");
        for kind in &part.kinds {
            assert_eq!(
                (kind.failed, kind.rolled_back, kind.skipped, kind.retries),
                (0, 0, 0, 0),
                "{words}"
            );
        }
    }
    assert_eq!(run.events, [], "{words}");
    assert!(ended(run) > 0, "{words}");
}

/// Runs each mode on each engine for a second, and for a number of transactions. A read of an
/// account is an index scan that the server counts; each transaction of these workloads makes
/// `reads` of them. The queries with which Prony first examines the data are the same in each run;
/// the first run shows how many they add.
fn counts_agree(database: &str, workload: &str, reads: u64, writes: bool) {
    let bench = Bench::new(database);
    ok(&bench.prony("load tpcb --scale 1"));
    let engines = engines(&bench);
    let mut control = bench.control();
    let mut looks = None;
    for engine in engines {
        for protocol in PROTOCOLS {
            // Observing the server makes it commit too.
            let words = format!(
                "run {workload} --io {engine} --protocol {protocol} --clients 3 --no-observe"
            );
            for length in [
                "--transactions 40",
                "--duration 1s --warmup 300ms --grace 1m",
            ] {
                let words = format!("{words} {length}");
                let before = Counts::take(&mut control, 0);
                let run = bench.run(&words);
                flawless(&run, &words);
                let mode = Choice::from_name(protocol);
                assert_eq!((&*run.drive.io, run.drive.protocol), (engine, mode));
                let ended = ended(&run);
                if length.starts_with("--transactions") {
                    assert_eq!(run.measured.kinds[0].committed, CLIENTS * 40, "{words}");
                    assert_eq!(ended, CLIENTS * 40, "{words}");
                } else {
                    assert!(run.measured.unfinished <= CLIENTS, "{words}");
                    assert!(run.warmup.is_some(), "{words}");
                }
                let counts = counted_since(
                    &mut control,
                    before,
                    reads * ended + looks.unwrap_or_default(),
                );
                assert_eq!(counts.history, if writes { ended } else { 0 }, "{words}");
                let more = counts.reads - (reads * ended).min(counts.reads);
                assert_eq!(*looks.get_or_insert(more), more, "{words}: {counts:?}");
                // The server's background work commits too.
                let commits = ended..=ended + counts.asked + 200;
                assert!(commits.contains(&counts.commits), "{words}: {counts:?}");
            }
        }
    }
    let shown = ok(&bench.prony("check tpcb"));
    assert!(shown.contains("balances-accounts-history"), "{shown}");
}

#[test]
fn tpcb_in_every_mode() {
    // The update finds the account by its key, and so does the query after it.
    counts_agree("modes_tpcb", "tpcb", 2, true);
}

#[test]
fn simple_update_in_every_mode() {
    counts_agree("modes_update", "simple-update", 2, true);
}

#[test]
fn select_only_in_every_mode() {
    counts_agree("modes_select", "select-only", 1, false);
}
