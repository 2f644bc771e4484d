//! Whether figures of a document contradict one another or its findings.
//!
//! In: a Run. Out: `contradiction`. Must never: name a document that Prony writes.

use crate::formatting::joined;
use crate::new_check;
use prony_store::{Check, Run, Severity};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Most findings that are named as different.
const MAX_DIFFERING: usize = 6;

/// The check that names figures of a document that contradict one another.
const CONTRADICTION: &str = "contradiction";

/// The finding that figures of the document contradict one another, once it was judged; `None` if they do not.
pub fn contradiction(run: &Run) -> Option<&Check> {
    run.check(CONTRADICTION)
}

/// Adds the finding `contradiction` if figures of the document contradict one another, or if its `stored` findings are not
/// those that the run has now; `None` if there are none to compare.
pub(crate) fn add_finding(run: &mut Run, stored: Option<&[Check]>) {
    let mut contradictions = prony_store::contradictions(run);
    contradictions.extend(stored.and_then(|stored| differing_findings(&run.checks, stored)));
    if contradictions.is_empty() {
        return;
    }
    run.checks.retain(|check| check.id != CONTRADICTION);
    let finding = new_check(
        CONTRADICTION,
        Severity::Invalid,
        format!(
            "The document contradicts itself: {}.",
            contradictions.join("; ")
        ),
        "It was changed after it was written, or is damaged: use the original, or measure again.",
    );
    run.checks.splice(..0, finding);
}

/// Names the findings that only one of both lists has, the worst first; `None` if they have the same. Texts are not
/// compared, because they may differ in the last digit of a figure.
fn differing_findings(computed: &[Check], stored: &[Check]) -> Option<String> {
    let keys = |checks: &[Check]| -> BTreeSet<(String, Severity, &'static str)> {
        let checks = checks.iter().filter(|check| check.id != CONTRADICTION);
        checks
            .map(|check| (check.id.clone(), check.severity, check.word()))
            .collect()
    };
    let (computed, stored) = (keys(computed), keys(stored));
    let mut differing: Vec<_> = computed.symmetric_difference(&stored).collect();
    if differing.is_empty() {
        return None;
    }
    differing.sort_by_key(|(_, severity, _)| Reverse(*severity));
    let named = differing.iter().take(MAX_DIFFERING);
    let texts = named.map(|(id, _, word)| format!("{id} ({word})"));
    Some(format!(
        "its findings are not those of its figures: {}",
        joined(texts, ", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{observed_mut, observed_run};
    use crate::{judge_if_unjudged, judge_run, worst};
    use prony_store::{
        CommitGap, EndpointFigures, ErrorCount, Event, GrowthReading, InFlight, IndustryMetric,
        KindFigures, Latency, LedgerAccount, LostCommit, NOPM, QueryCounts, RunState, Second,
        SecondPhase, StatementLatency, TPM,
    };

    /// The healthy run of ten minutes with a finding, metrics, a row over time and a count of what it added.
    fn judged() -> Run {
        let mut run = observed_run();
        let all = run.measured.kinds[0].clone();
        let half = |name: &str| KindFigures {
            kind: Some(name.to_owned()),
            committed: all.committed / 2,
            tps: all.tps / 2.0,
            response: Latency::default(),
            service: Latency::default(),
            ..all.clone()
        };
        let kinds = [half("new_order"), half("payment")];
        run.measured.kinds.extend(kinds);
        for row in &mut observed_mut(&mut run).series {
            row.rollbacks = Some(20);
            (row.other_commits, row.other_rollbacks) = (Some(40), Some(30));
        }
        let metric = |name: &str, value: f64| IndustryMetric {
            name: name.to_owned(),
            value,
            per_scale: value / 100.0,
            ..IndustryMetric::default()
        };
        run.rates = vec![
            metric(NOPM, all.tps * 30.0),
            metric(TPM, all.tps * 60.0 + 6_000.0),
        ];
        run.growth = vec![GrowthReading {
            what: "orders".to_owned(),
            kinds: vec!["new_order".to_owned()],
            before: Some(0),
            after: Some(all.committed / 2),
            committed: all.committed / 2,
            ..GrowthReading::default()
        }];
        run.series = vec![Second {
            phase: SecondPhase::Measured,
            at_s: run.window.warmup_s,
            length_s: run.measured.length_s,
            committed: all.committed,
            mean_ns: all.response.mean_ns,
            p99_ns: all.response.p99_ns,
            max_ns: all.response.max_ns,
            ..Second::default()
        }];
        run.machine_mut().health.steal_share = Some(0.05);
        judge_run(&mut run);
        run
    }

    /// What a reader of the document finds.
    fn read(run: &Run) -> Run {
        let document = serde_json::to_vec(run).unwrap();
        let mut run = prony_store::parse_document(&document).unwrap();
        judge_if_unjudged(&mut run);
        run
    }

    fn multiply(metric: &mut IndustryMetric, factor: f64) {
        metric.value *= factor;
        metric.per_scale *= factor;
    }

    #[test]
    fn what_somebody_edited_is_named() {
        let edits: [(Edit, &str); 17] = [
            (
                |run| run.id = "../../etc/x".to_owned(),
                "its id is not one of a run",
            ),
            (
                |run| {
                    run.series[0].connections = 64;
                    run.drive.clients = 0;
                },
                "clients is 0, but 64 connections were open",
            ),
            (
                |run| run.checks.clear(),
                "not those of its figures: steal (doubt)",
            ),
            (
                |run| run.checks[0].severity = Severity::Note,
                "not those of its figures: steal (doubt), steal (note)",
            ),
            (|run| run.drive.clients = 4_000, "littles-law (invalid)"),
            (
                |run| run.measured.kinds[0].busy_s *= 10.0,
                "littles-law (invalid)",
            ),
            (
                |run| run.drive.rate_tps = Some(5.0),
                "rate_tps is 5, by which 3050 transactions were due, but 9760000 committed",
            ),
            (
                |run| run.window.measured_s = 400.0,
                "measured_s of the window is 400, computed 600",
            ),
            (
                |run| run.window.warmup_s += 5.0,
                "warmup_s of the window is 15, computed 10",
            ),
            (
                |run| run.series[0].p99_ns = Some(60_000_000),
                "the second at 10 s has impossible times",
            ),
            // The rate of all kinds, and of none.
            (
                |run| multiply(&mut run.rates[0], 2.0),
                "NOPM is 960000, which is the rate of no kind",
            ),
            (
                |run| multiply(&mut run.rates[0], 1.3),
                "NOPM is 624000, which is the rate of no kind",
            ),
            (
                |run| multiply(&mut run.rates[1], 1.5),
                "TPM is 1449000, which exceeds the server's",
            ),
            (
                |run| multiply(&mut run.rates[1], 10.0),
                "TPM is 9660000, which exceeds the server's",
            ),
            (
                |run| run.growth[0].after = Some(4_799_000),
                "lost-commits (invalid)",
            ),
            (
                |run| run.growth[0].committed -= 1_000,
                "4799000 commits that add orders are fewer than the 4800000",
            ),
            (
                |run| run.measured.kinds[0].tps *= 2.0,
                "tps of all in the window is 32000, computed 16000",
            ),
        ];
        for (at, (edit, expected)) in edits.into_iter().enumerate() {
            let mut run = judged();
            edit(&mut run);
            let finding = &read(&run).checks[0];
            assert_eq!(finding.id, CONTRADICTION, "{at}");
            assert!(finding.finding.contains(expected), "{at}: {finding:?}");
        }
        let mut invalid = judged();
        invalid.drive.clients = 128;
        judge_run(&mut invalid);
        let found = invalid.checks.clone();
        assert_eq!(worst(&found), Some(Severity::Invalid));
        invalid
            .checks
            .retain(|check| check.severity < Severity::Invalid);
        assert_eq!(read(&invalid).checks[1..], found);
    }

    /// Five seconds, of which one has no commit, with what a run of clients that retry, a rate and a drill have besides.
    fn with_details() -> Run {
        let mut run = judged();
        run.series[0].p99_ns = Some(20_000_000);
        run.measured.kinds[0].response.p99_ns = Some(20_000_000);
        let row = run.series[0].clone();
        let shares = [0.2, 0.0, 0.3, 0.3, 0.2];
        let committed = row.committed;
        run.series = (0..5)
            .map(|at| Second {
                at_s: row.at_s + 120.0 * f64::from(at),
                length_s: 120.0,
                committed: (committed as f64 * shares[at as usize]) as u64,
                queries: Some(QueryCounts {
                    reads: 10,
                    writes: 20,
                    others: 30,
                    ..QueryCounts::default()
                }),
                server_mean_ns: Some(3.7e6),
                ..row.clone()
            })
            .collect();
        let figures = &mut run.measured;
        figures.unfinished = 3;
        figures.in_flight = Some(InFlight {
            committed: 2,
            cut_off: 1,
            ..InFlight::default()
        });
        figures.queries = Some(QueryCounts {
            reads: 50,
            writes: 100,
            others: 150,
            ..QueryCounts::default()
        });
        let all = &mut figures.kinds[0];
        (all.retries, all.retried, all.over_latency_limit) = (9, 5, 7);
        run.statements = Some(vec![StatementLatency {
            service_time_share: Some(0.9),
            latency: all.response.clone(),
            ..StatementLatency::default()
        }]);
        run.endpoints = [0.25, 0.75]
            .map(|share| EndpointFigures {
                tps: share * all.tps,
                ..EndpointFigures::default()
            })
            .to_vec();
        run.commit_gap = Some(CommitGap {
            from_s: 129.0,
            until_s: Some(250.5),
            ..CommitGap::default()
        });
        run.ledger = Some(LedgerAccount {
            acknowledged: committed,
            ambiguous: 4,
            ambiguous_found: 2,
            ..LedgerAccount::default()
        });
        judge_run(&mut run);
        run
    }

    fn all(run: &mut Run) -> &mut KindFigures {
        &mut run.measured.kinds[0]
    }

    type Edit = fn(&mut Run);

    /// Each edit of the run with details is named by this sentence.
    fn assert_named(edits: &[(Edit, &str)]) {
        let honest = with_details();
        assert_eq!(contradiction(&honest), None);
        for (at, (edit, expected)) in edits.iter().enumerate() {
            let mut run = honest.clone();
            edit(&mut run);
            let finding = &read(&run).checks[0];
            assert_eq!(finding.id, CONTRADICTION, "{at}");
            assert!(finding.finding.contains(expected), "{at}: {finding:?}");
        }
    }

    #[test]
    fn counts_that_somebody_edited_are_named() {
        assert_named(&[
            (
                |run| run.machine_mut().health.cpu_per_transaction_us = Some(0.01),
                "cpu_per_transaction_us is 0.01, computed ",
            ),
            (
                |run| {
                    run.events.push(Event {
                        at_s: 5.0,
                        until_s: Some(3.0),
                        ..Event::default()
                    });
                },
                "an event is from 5 s to 3 s",
            ),
            (
                |run| all(run).retried = 99,
                "retried of all in the window is 99, of 9 that retries",
            ),
            (
                |run| all(run).over_latency_limit = u64::MAX,
                "over_latency_limit of all",
            ),
            (
                |run| run.measured.unfinished = 300,
                "unfinished in the window, by their outcomes, is 300, computed 3",
            ),
            (
                |run| {
                    run.measured.errors = vec![ErrorCount {
                        count: 4,
                        ..ErrorCount::default()
                    }]
                },
                "failed in the window, by its errors, is 0, computed 4",
            ),
            (
                |run| {
                    let twin = run.measured.kinds[0].clone();
                    run.measured.kinds.push(twin);
                },
                "the figures of all kinds appear twice in the window",
            ),
            (
                |run| run.measured.queries.as_mut().unwrap().reads = 500,
                "reads of the queries in the window, by its seconds, is 500, computed 50",
            ),
        ]);
    }

    #[test]
    fn times_that_somebody_edited_are_named() {
        assert_named(&[
            (
                |run| all(run).response.p99_ns = Some(2_500_000),
                "p99_ns of the window is 2500000, outside of what",
            ),
            (
                |run| all(run).parts.as_mut().unwrap().server.mean_ns = 2e7,
                "mean of the server time of the window is 20000000, outside",
            ),
            (
                |run| all(run).response.max_ns *= 4,
                "the longest response time of the window is in none of its seconds",
            ),
            (
                |run| run.series.swap(0, 2),
                "begins before the end of the one before it",
            ),
            (
                |run| run.series[3].at_s = 1.0,
                "the second at 1 s begins before",
            ),
            (
                |run| run.commit_gap.as_mut().unwrap().until_s = Some(130.0),
                "the longest time without a commit is 1.000 s, but seconds without one follow each other for 120.000 s",
            ),
            (
                |run| run.commit_gap.as_mut().unwrap().until_s = Some(1.0),
                "the longest time without a commit is impossible",
            ),
            (
                |run| run.commit_gap.as_mut().unwrap().clients.min_s = 7.0,
                "the longest time without a commit is impossible",
            ),
        ]);
    }

    #[test]
    fn parts_that_somebody_edited_are_named() {
        assert_named(&[
            (
                |run| run.ledger.as_mut().unwrap().lost = u64::MAX,
                "lost of the ledger is 18446744073709551615, of",
            ),
            (
                |run| run.ledger.as_mut().unwrap().ambiguous_found = 5,
                "ambiguous_found of the ledger is 5, of 4",
            ),
            (
                |run| run.ledger.as_mut().unwrap().first_lost = vec![LostCommit::default()],
                "lost by name of the ledger is 1, of 0",
            ),
            (
                |run| run.statements.as_mut().unwrap()[0].service_time_share = Some(7.0),
                "is 7 of the service time",
            ),
            (
                |run| run.statements.as_mut().unwrap()[0].latency.mean_ns = 1e12,
                "of the time of the statement",
            ),
            (
                |run| run.endpoints[0].tps *= 3.0,
                "tps, by the sum of its servers, is 16000",
            ),
            (
                |run| {
                    all(run).lag = Some(Latency {
                        mean_ns: 9e9,
                        ..all(run).response.clone()
                    });
                },
                "percentile of the lag of all in the window is impossible",
            ),
        ]);
    }

    #[test]
    fn no_document_that_prony_writes_is_named() {
        let honest: [fn(&mut Run); 11] = [
            |_| {},
            |run| run.state = RunState::Partial,
            |run| run.drive.rate_tps = Some(16_000.0),
            |run| run.drive.rate_tps = Some(f64::MAX),
            // Seconds were lost in which starts became due.
            |run| {
                run.state = RunState::Partial;
                run.drive.rate_tps = Some(8_000.0);
            },
            // Others committed and rolled back in other databases.
            |run| {
                multiply(&mut run.rates[1], 10.0);
                for row in &mut observed_mut(run).series {
                    (row.other_commits, row.other_rollbacks) = (Some(100_000), Some(80_000));
                }
            },
            // Another server was observed than the one that had the load.
            |run| {
                for row in &mut observed_mut(run).series {
                    row.commits = Some(2);
                }
            },
            // Not every second of the server was read.
            |run| {
                multiply(&mut run.rates[1], 10.0);
                observed_mut(run).series[300].other_commits = None;
            },
            |run| {
                multiply(&mut run.rates[1], 10.0);
                observed_mut(run).series.truncate(300);
            },
            // Commits that ended after the window, and others whose replies were lost.
            |run| {
                run.growth[0].committed += 3;
                run.growth[0].ambiguous = 2;
                run.growth[0].after = Some(run.growth[0].committed + 1);
            },
            // Nothing committed.
            |run| {
                run.series.clear();
                run.warmup = None;
                run.measured.kinds.clear();
                run.rates.clear();
                run.drive.rate_tps = Some(0.01);
                run.growth[0].committed = 0;
                run.growth[0].after = Some(0);
            },
        ];
        for (at, change) in honest.into_iter().enumerate() {
            let mut run = judged();
            change(&mut run);
            judge_run(&mut run);
            assert_eq!(read(&run), run, "{at}");
            assert_eq!(contradiction(&run), None, "{at}");
        }
    }
}
