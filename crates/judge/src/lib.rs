//! Judges what figures are worth: whether they can be trusted, whether they compare, and what follows from them.
//!
//! In: finished [`Run`]s: one, the sides of a comparison, or the runs of an experiment, of a search or of a history;
//! requirements; price sheets; the parsed output of other tools; facts of a machine and a server before a load. Out:
//! [`Check`]s, the worst first, with numbers, units and advice; verdicts, curves and prices as plain data, which
//! `report` shows. Must never: report what is in order as a check, change a figure, read the system, or depend on the
//! loop that produced the figures.
//!
//! - One run: [`checks`] lists all checks, each with the conditions under which it reports; their functions are in a file
//!   for each subject, their numbers in [`thresholds`]. [`contradiction()`] finds that its document was edited,
//!   [`requirements`] whether it meets what is required, [`reproduced`] how far it is from the published scenario that it
//!   repeats, [`outage`], [`drill`] and [`ledger`] what an outage did.
//! - Several runs: [`compare`] decides whether figures may be compared, with [`statistics`] for what chance explains.
//!   [`experiment`] and [`replay`] summarise repeats, [`sweep`] draws the curve over a setting, [`capacity`] finds the
//!   highest rate or number of clients, [`trend`] the changes of level in a history. `limiter` names what limits a
//!   throughput.
//! - Other input: [`price`] computes what throughput costs, [`audit`] whether another tool's output can be right,
//!   [`doctor`] whether machine and server are fit for a load.
//! - For all of them: [`observations`], [`percentile_intervals`], [`noise`] and [`memory`] read a Run, [`formatting`]
//!   formats figures in findings.

pub mod audit;
mod burst;
pub mod capacity;
pub mod checks;
mod client;
mod client_setup;
pub mod compare;
mod consistency;
mod contradiction;
mod data;
mod declared;
pub mod doctor;
pub mod drill;
mod endpoints;
mod errors;
pub mod experiment;
mod foreign_load;
pub mod formatting;
mod growth;
mod housekeeping;
pub mod ledger;
mod length;
mod limiter;
mod limits;
mod littles_law;
mod machine;
mod machines;
mod marks;
pub mod memory;
pub mod noise;
pub mod observations;
pub mod outage;
pub mod percentile_intervals;
mod pooler;
pub mod price;
mod rate;
pub mod replay;
pub mod reproduced;
pub mod requirements;
#[cfg(test)]
mod rules_digest;
#[cfg(test)]
mod sample;
mod server;
mod service;
mod shares;
mod short_stalls;
mod stall;
mod stamps;
pub mod statistics;
mod steady;
pub mod sweep;
mod tables;
pub mod thresholds;
pub mod trend;
mod workload;

use checks::new_check;
pub use contradiction::contradiction;
pub use housekeeping::unobserved_maintenance;
pub use length::is_too_short_for_steadiness;
pub use machines::{ClientProof, client_proof};
pub use pooler::{POOLER_PROTOCOLS, POOLER_SQLSTATES};
use prony_store::{Check, KindFigures, Run, RunState, Severity};
use requirements::Baseline;
pub use service::absent_by_reason;
pub use steady::WarmingUp;

/// Version of the checks and their [`thresholds`]; a run stores the version by which it was judged. A test
/// (`rules_digest`) fails if checks or thresholds change and the version does not.
pub const RULES_VERSION: u32 = 7;

/// Judges one run. Returns its findings, the worst first and doubt before scope; empty if there are none.
pub fn judge(run: &Run) -> Vec<Check> {
    let checks = checks::CHECKS.iter();
    let mut findings: Vec<Check> = checks.filter_map(|spec| spec.check(run)).collect();
    findings.extend(workload::remarks(run));
    findings.sort_by_key(|check| std::cmp::Reverse((check.severity, check.kind)));
    findings
}

/// Judges one run, and stores the findings, the version of the rules and the answer to what was required of it.
pub fn judge_run(run: &mut Run) {
    judge_run_beside(run, &[]);
}

/// As [`judge_run`]; the runs with which its requirements compare it are among `baselines`.
pub fn judge_run_beside(run: &mut Run, baselines: &[Baseline]) {
    run.checks = judge(run);
    run.rules_version = Some(RULES_VERSION);
    contradiction::add_finding(run, None);
    requirements::answer_run(run, baselines);
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
        contradiction::add_finding(run, has_verdict.then_some(&*stored));
        requirements::answer_run(run, &[]);
    } else {
        contradiction::add_finding(run, None);
    }
}

/// Whether the run has a verdict of these rules. A verdict of other rules does not count: these may find what those did
/// not.
pub fn is_judged(run: &Run) -> bool {
    run.rules_version == Some(RULES_VERSION)
}

/// The worst severity among the checks; `None` if there are no checks.
pub fn worst(checks: &[Check]) -> Option<Severity> {
    checks.iter().map(|check| check.severity).max()
}

/// Each value once, in the order of their first occurrence.
pub fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

/// The figures of all kinds together; `None` for a run that measured nothing.
fn all_kinds(run: &Run) -> Option<&KindFigures> {
    run.measured.all_kinds()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{healthy, observed_run};
    use prony_assertions::TextAssertions;

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
            finding.assert_contains("its findings are not those of its figures: steal (");
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
            check.finding.assert_contains("Nothing was measured");
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
            text.assert_lacks("NaN").assert_lacks("inf");
        }
    }
}
