//! Judges how far a Run's figures can be trusted.
//!
//! In: one finished [`Run`]. Out: its [`Check`]s: problems with the run's figures, the worst first, with
//! numbers, units and advice. Must never: report what is in order, change a figure, or depend on the loop
//! that produced the figures.
//!
//! Each check is a function from a Run to a finding, named after the id that it reports. `CHECKS` lists all
//! checks, and [`thresholds`] documents when each applies.

pub mod audit;
mod client;
mod client_setup;
pub mod compare;
mod consistency;
mod contradiction;
mod data;
pub mod doctor;
mod errors;
pub mod experiment;
mod foreign_load;
pub mod formatting;
mod growth;
mod housekeeping;
mod length;
mod limits;
mod littles_law;
mod machine;
pub mod memory;
pub mod observations;
pub mod percentile_intervals;
pub mod price;
mod rate;
pub mod reproduced;
#[cfg(test)]
mod rules_digest;
#[cfg(test)]
mod sample;
pub mod scope;
mod server;
mod shares;
mod short_stalls;
mod stall;
mod stamps;
pub mod statistics;
mod steady;
mod tables;
pub mod thresholds;
pub mod trend;
mod workload;

pub use contradiction::contradiction;
pub use errors::POOLER_SQLSTATES;
pub use housekeeping::unobserved_maintenance;
pub use length::is_too_short_for_steadiness;
use prony_store::{Check, KindFigures, Run, RunState, Severity};

/// Version of the checks and their [`thresholds`]; a run stores the version by which it was judged. A test
/// (`rules_digest`) fails if checks or thresholds change and the version does not.
pub const RULES_VERSION: u32 = 5;

/// One check: returns a finding, or `None` if there is nothing to report.
type Checker = fn(&Run) -> Option<Check>;

/// All checks, in the order in which findings of one severity are reported.
const CHECKS: [Checker; 59] = [
    errors::check_nothing_committed,
    server::check_restart,
    tables::check_tables_replaced,
    growth::check_lost_commits,
    consistency::check_consistency,
    server::check_server_commits,
    littles_law::check,
    errors::check_errors,
    rate::check_rate,
    rate::check_never_started,
    length::check_partial_run,
    length::check_short_run,
    length::check_not_judged,
    length::check_few_transactions,
    errors::check_outage,
    errors::check_users_ended,
    steady::check_unsteady,
    steady::check_warm_up,
    steady::check_drift,
    steady::latency::check,
    stall::check,
    short_stalls::check_short_stall,
    short_stalls::check_client_stall,
    data::check_durability,
    client::check_client_limit,
    client::check_throttled,
    client::check_run_queue,
    client::check_client_wait,
    client::check_loop_delay,
    client::check_client_machine,
    client::check_debug_build,
    client_setup::check_cpu_frequency,
    client_setup::check_network,
    stamps::check_stamps,
    machine::check_round_trip,
    machine::check_one_host,
    machine::check_steal,
    machine::check_server_steal,
    machine::check_neighbours,
    foreign_load::check_foreign_load,
    memory::check_swap,
    housekeeping::check_checkpoint,
    housekeeping::check_maintenance,
    data::check_data_scale,
    data::check_data_grown,
    data::check_dead_rows,
    workload::check_contention,
    shares::check,
    limits::check,
    length::check_percentiles,
    server::check_observer,
    server::check_bottleneck,
    memory::check_untuned,
    length::check_duration,
    client::check_client_headroom,
    data::check_statistics,
    stamps::check_clock_steps,
    stamps::check_no_split,
    server::check_unobserved,
];

/// Judges one run. Returns its findings, the worst first and doubt before scope; empty if there are none.
pub fn judge(run: &Run) -> Vec<Check> {
    let mut findings: Vec<Check> = CHECKS.iter().filter_map(|check| check(run)).collect();
    findings.extend(workload::remarks(run));
    findings.sort_by_key(|check| std::cmp::Reverse((check.severity, check.kind)));
    findings
}

/// Judges one run, and stores the findings and the version of the rules in it.
pub fn judge_run(run: &mut Run) {
    run.checks = judge(run);
    run.rules_version = Some(RULES_VERSION);
    contradiction::add_finding(run, None);
}

/// Judges a stored run, whose document anybody can edit. Every reader of documents calls this first. A run without a
/// verdict, whose process was killed, is judged. A run with a verdict of these rules is judged anew, and a finding says
/// so if its document contradicts itself or has other findings. Not judged are a run in progress and a run with a
/// verdict of other rules ([`is_judged`]).
pub fn judge_if_unjudged(run: &mut Run) {
    let has_verdict = run.rules_version.is_some() || !run.checks.is_empty();
    if run.state != RunState::Running && (is_judged(run) || !has_verdict) {
        let checks = judge(run);
        let stored = std::mem::replace(&mut run.checks, checks);
        run.rules_version = Some(RULES_VERSION);
        contradiction::add_finding(run, has_verdict.then_some(&stored));
    } else {
        contradiction::add_finding(run, None);
    }
}

/// Whether the run has a verdict of these rules. That of others is none of theirs: they may find what the others did not.
pub fn is_judged(run: &Run) -> bool {
    run.rules_version == Some(RULES_VERSION)
}

/// The worst severity among the checks; `None` if there are no checks.
pub fn worst(checks: &[Check]) -> Option<Severity> {
    checks.iter().map(|check| check.severity).max()
}

fn new_check(
    id: &str,
    severity: Severity,
    finding: impl Into<String>,
    advice: impl Into<String>,
) -> Option<Check> {
    Some(Check {
        id: id.to_owned(),
        severity,
        kind: scope::kind(id, severity),
        finding: finding.into(),
        advice: advice.into(),
    })
}

/// The figures of all kinds together; `None` for a run that measured nothing.
fn all_kinds(run: &Run) -> Option<&KindFigures> {
    run.measured.all_kinds()
}

/// Whether no part of the load was measured: the run ended in its warm-up, or before any load.
pub(crate) fn nothing_measured(run: &Run) -> bool {
    run.measured.length_s <= 0.0 && all_kinds(run).is_none_or(|all| ended(all) == 0)
}

/// Transactions that ended: committed, rolled back on purpose, or failed.
fn ended(kind: &KindFigures) -> u64 {
    kind.committed + kind.rolled_back + kind.failed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{healthy, observed_run};

    #[test]
    fn a_healthy_run_has_no_findings() {
        assert_eq!(judge(&healthy()), []);
        assert_eq!(judge(&observed_run()), []);
        assert_eq!(worst(&[]), None);
    }

    #[test]
    fn only_a_run_without_a_verdict_is_judged_when_it_is_read() {
        let mut run = healthy();
        run.machine_mut().health.steal_share = Some(0.5);
        run.rules_version = Some(RULES_VERSION - 1);
        judge_if_unjudged(&mut run);
        assert_eq!(run.checks, [], "other rules found nothing");
        assert!(!is_judged(&run));
        run.rules_version = None;
        judge_if_unjudged(&mut run);
        assert_eq!(run.checks[0].id, "steal", "no verdict was made");
        let judged = run.clone();
        judge_if_unjudged(&mut run);
        assert_eq!(run, judged);
        // Somebody removed the finding, or made it a note.
        for checks in [
            vec![],
            vec![Check {
                severity: Severity::Note,
                ..judged.checks[0].clone()
            }],
        ] {
            run.checks = checks;
            judge_if_unjudged(&mut run);
            let finding = &run.checks[0].finding;
            assert!(
                finding.contains("its findings are not those of its figures: steal ("),
                "{finding}"
            );
            assert_eq!(run.checks[1..], judged.checks);
        }
        run = healthy();
        run.measured.kinds[0].tps *= 10.0;
        judge_if_unjudged(&mut run);
        assert_eq!(run.checks[0].id, "contradiction");
        assert_eq!(worst(&run.checks), Some(Severity::Invalid));
        run = healthy();
        // The document as the store restores it from a journal, which lacks what is recorded at the end.
        run.state = RunState::Partial;
        run.ended_because = Some("interrupted".to_owned());
        run.measured.unfinished = 0;
        run.server.address = Some(prony_store::ServerAddress::Unix(
            "/run/x/.s.PGSQL.5432".into(),
        ));
        let ids = |run: &Run| -> Vec<String> {
            let ids = run.checks.iter().map(|check| check.id.clone());
            ids.collect()
        };
        judge_if_unjudged(&mut run);
        assert_eq!(ids(&run), ["partial-run", "one-host"]);
        let judged = run.clone();
        run.machine_mut().health.steal_share = Some(0.5);
        judge_if_unjudged(&mut run);
        assert_eq!(
            ids(&run),
            ["contradiction", "steal", "partial-run", "one-host"]
        );
        assert_eq!(run.checks[2..], judged.checks);
        run.checks.clear();
        run.state = RunState::Running;
        judge_if_unjudged(&mut run);
        assert_eq!(run.checks, [], "still in progress");
    }

    #[test]
    fn a_run_with_only_its_start_recorded_has_no_figure() {
        let mut run = healthy();
        run.state = RunState::Partial;
        run.measured = prony_store::Figures::default();
        run.series.clear();
        run.machine_mut().health = Default::default();
        run.timing = Default::default();
        let checks = judge(&run);
        let ids: Vec<&str> = checks.iter().map(|check| check.id.as_str()).collect();
        assert_eq!(ids, ["nothing-committed", "partial-run"]);
        for check in &checks {
            assert!(check.finding.contains("Nothing was measured"), "{check:?}");
        }
        // The store writes the kinds of the workload with zeros.
        let zeros = KindFigures {
            kind: None,
            ..KindFigures::default()
        };
        run.measured.kinds = vec![zeros.clone(), zeros];
        run.drive.open_loop = true;
        run.drive.rate_tps = Some(100.0);
        assert_eq!(judge(&run), checks);
    }

    #[test]
    fn findings_are_sorted_by_severity() {
        let mut run = healthy();
        run.server.address = Some(prony_store::ServerAddress::Unix(
            "/run/x/.s.PGSQL.5432".into(),
        ));
        run.machine_mut().health.steal_share = Some(0.05);
        run.measured.kinds[0].busy_s *= 0.9;
        let checks = judge(&run);
        let ids: Vec<&str> = checks.iter().map(|check| check.id.as_str()).collect();
        assert_eq!(ids, ["littles-law", "steal", "one-host"]);
        assert_eq!(worst(&checks), Some(Severity::Invalid));
    }

    /// The sources of a folder and its subfolders, without their tests.
    fn collect_sources(folder: &std::path::Path, texts: &mut Vec<String>) {
        for path in std::fs::read_dir(folder).unwrap().flatten() {
            let path = path.path();
            if path.is_dir() {
                collect_sources(&path, texts);
            } else if !path.ends_with("tests.rs") {
                let text = std::fs::read_to_string(path).unwrap();
                texts.push(text.split("#[cfg(test)]").next().unwrap().to_owned());
            }
        }
    }

    /// The tables in the documentation of `thresholds` name all ids that the sources can report, and no
    /// others.
    #[test]
    fn every_check_is_documented_in_the_thresholds() {
        let table = include_str!("thresholds.rs").lines();
        let rows = table.filter_map(|line| line.strip_prefix("//! | `")?.split('`').next());
        let rows: std::collections::BTreeSet<&str> = rows.collect();
        assert!(rows.len() > 40, "{rows:?}");
        let mut texts = Vec::new();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
        collect_sources(folder.as_ref(), &mut texts);
        for text in &texts {
            for arguments in text.split("new_check(").skip(1) {
                let quoted = arguments.trim_start().strip_prefix('"');
                let id = quoted.and_then(|quoted| quoted.split('"').next());
                assert!(
                    id.is_none_or(|id| rows.contains(id)),
                    "{id:?} is not documented"
                );
            }
        }
        for id in rows {
            let reported = texts.iter().any(|text| text.contains(&format!("\"{id}\"")));
            assert!(reported, "no check reports {id}");
        }
    }

    /// The tables also name the ids that the sources take from tables of their own.
    #[test]
    fn remarks_on_prices_and_audit_checks_are_documented() {
        let table = include_str!("thresholds.rs");
        let price_tables = table.split("//! For prices:").nth(1).unwrap();
        let rows = price_tables
            .lines()
            .filter_map(|line| line.strip_prefix("//! | "));
        let first_cells: Vec<&str> = rows.filter_map(|row| row.split(" | ").next()).collect();
        let sources = [
            include_str!("price/remarks.rs"),
            include_str!("audit/mod.rs"),
            include_str!("audit/mix.rs"),
            include_str!("audit/relations.rs"),
        ];
        let quoted = |text: &str| {
            text.trim_start()
                .strip_prefix('"')?
                .split('"')
                .next()
                .map(str::to_owned)
        };
        let mut ids: Vec<String> = Vec::new();
        for source in sources {
            ids.extend(source.split("new_check(").skip(1).filter_map(quoted));
            // Tables: the id, then its relations or its severity.
            let lines: Vec<&str> = source.lines().map(str::trim).collect();
            ids.extend(lines.windows(2).filter_map(|pair| {
                let is_entry = ["Caveat,", "Note,"].contains(&pair[1])
                    || pair[1].starts_with("&[RelationKind");
                is_entry.then(|| quoted(pair[0])).flatten()
            }));
        }
        ids.retain(|id| id != "nothing-committed");
        assert!(ids.len() >= 15, "{ids:?}");
        for id in &ids {
            let marked = format!("`{id}`");
            assert!(
                first_cells.iter().any(|cell| cell.contains(&marked)),
                "{id} is not in the table"
            );
        }
    }

    #[test]
    fn a_run_without_measurements_is_judged() {
        let mut run = healthy();
        run.measured = prony_store::Figures::default();
        run.machine_mut().health = prony_store::ClientHealth::default();
        run.timing = prony_store::Timing::default();
        let checks = judge(&run);
        assert_eq!(checks[0].id, "nothing-committed");
        for check in checks {
            let text = check.finding + &check.advice;
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }
}
