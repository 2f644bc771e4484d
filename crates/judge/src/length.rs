//! Whether the run was long enough for its figures, and complete.
//!
//! In: a Run. Out: `partial-run`, `short-run`, `not-judged`, `duration`, `few-transactions`,
//! `percentiles`. Must never: look at the values of the figures.

use crate::checks::{Finding, caveat, new_finding, note};
use crate::formatting::{count, percent};
use crate::stall::stops_by_count;
use crate::thresholds::{
    DURATION_NOTE_BELOW_S, FEW_TRANSACTIONS_MAX_MEAN_SHARE, FEW_TRANSACTIONS_MIN, P95_MIN_SAMPLES,
    P99_MIN_SAMPLES, SHORT_RUN_CAVEAT_BELOW_S, SPLIT_MIN_SAMPLES, STEADY_MIN_SECONDS,
};
use crate::{all_kinds, errors, housekeeping, observations, steady, workload};
use prony_store::{Run, RunState, Severity};

pub(crate) fn check_partial_run(run: &Run) -> Option<Finding> {
    let covered = if run.measured.is_empty() {
        "Nothing was measured.".to_owned()
    } else {
        format!("The figures cover {:.1} s.", run.measured.length_s)
    };
    let finding = match (run.state, &run.ended_because) {
        (RunState::Complete, _) => return None,
        (RunState::Partial, Some(reason)) => format!("The run ended early: {reason}. {covered}"),
        (RunState::Partial, None) => format!("The run ended early. {covered}"),
        (RunState::Running, _) => format!(
            "The run is not marked as ended: it is still in progress, or Prony was killed. {covered}"
        ),
    };
    caveat(
        finding,
        "Compare it only with runs of the same length, or run it again to the end.",
    )
}

pub(crate) fn check_short_run(run: &Run) -> Option<Finding> {
    let measured_s = run.measured.length_s;
    // `nothing-committed` covers a run that measured nothing.
    if measured_s >= SHORT_RUN_CAVEAT_BELOW_S || run.measured.is_empty() {
        return None;
    }
    new_finding(
        // However short it is, its figures are right for the time they cover.
        Severity::Caveat,
        format!("Only {measured_s:.1} s were measured: a single stall can decide the figures."),
        format!(
            "Measure for at least {SHORT_RUN_CAVEAT_BELOW_S:.0} s after a warm-up, and workloads that write for \
             several checkpoints."
        ),
    )
}

/// Checks that a load that writes is measured for long enough to include rare events, and a paced tpcc for as
/// long as the specification requires (TPC-C 5.5.2.1). Reports nothing if `checkpoint` or `short-run` already
/// say that the window is too short.
pub(crate) fn check_duration(run: &Run) -> Option<Finding> {
    let measured_s = run.measured.length_s;
    let (minimum_s, reason) = below_minimum(run)?;
    if measured_s < SHORT_RUN_CAVEAT_BELOW_S || housekeeping::check_checkpoint(run).is_some() {
        return None;
    }
    note(
        format!(
            "Measured for {measured_s:.0} s: less than the {:.0} minutes {reason}.",
            minimum_s / 60.0
        ),
        "This figure covers a short time. Measure for longer before you rely on it.",
    )
}

/// The time for which this load has to be measured, seconds, and why: a relative clause to "the minutes", such as "that
/// TPC-C requires". `None` if the window is as long, or if no minimum applies.
pub(crate) fn below_minimum(run: &Run) -> Option<(f64, &str)> {
    let specified =
        workload::description(run).and_then(|description| description.minimum_duration.as_ref());
    let (minimum_s, reason) = match specified {
        Some(minimum) => (minimum.duration_s, &*minimum.source),
        None => (
            DURATION_NOTE_BELOW_S,
            "that rare events need (checkpoints, vacuums)",
        ),
    };
    let writes = observations::written_bytes(run).is_some();
    let required = writes || specified.is_some();
    (required && run.measured.length_s < minimum_s).then_some((minimum_s, reason))
}

/// Whether the window has too few whole seconds to judge whether throughput and latency were steady. A long window may
/// have too few: seconds in which clients are idle, as at the end of a run by count, are not judged. Lost connections,
/// which prevent that judgement too, are reported by `outage`.
pub fn is_too_short_for_steadiness(run: &Run) -> bool {
    if run.measured.length_s < STEADY_MIN_SECONDS as f64 {
        return true;
    }
    let has_rows = !run.series.is_empty();
    has_rows && !errors::had_lost_users(run) && steady::judged_rows(run).is_none()
}

/// Lists the checks for which the window was too short, so that their silence is not taken for a good result.
pub(crate) fn check_not_judged(run: &Run) -> Option<Finding> {
    if run.measured.is_empty() || !is_too_short_for_steadiness(run) {
        return None;
    }
    let measured_s = run.measured.length_s;
    let mut checks = vec![format!(
        "steadiness of throughput and latency ({STEADY_MIN_SECONDS} whole seconds in which all clients \
         work are needed)"
    )];
    let split = all_kinds(run).and_then(|all| all.parts.as_ref());
    if split.is_some_and(|split| split.client_wait.samples < SPLIT_MIN_SAMPLES) {
        checks.push(format!(
            "the client's part of the response time ({SPLIT_MIN_SAMPLES} transactions are needed)"
        ));
    }
    note(
        format!(
            "Not judged: {}; {measured_s:.1} s were measured.",
            checks.join("; ")
        ),
        format!("Measure for at least {STEADY_MIN_SECONDS} s."),
    )
}

/// Checks that there are more than a handful of transactions, and that clients completed more than one each.
pub(crate) fn check_few_transactions(run: &Run) -> Option<Finding> {
    let all = all_kinds(run)?;
    let window_s = run.measured.length_s;
    let mean_s = all.busy_s / all.ended().max(1) as f64;
    let are_too_long = !stops_by_count(run) && mean_s > FEW_TRANSACTIONS_MAX_MEAN_SHARE * window_s;
    // `nothing-committed` covers a run without any.
    if all.committed == 0 || (all.committed >= FEW_TRANSACTIONS_MIN && !are_too_long) {
        return None;
    }
    let length = if are_too_long {
        format!(
            ", each as long as {} of the window on average",
            percent(mean_s / window_s)
        )
    } else {
        String::new()
    };
    caveat(
        format!(
            "Only {} committed in {window_s:.1} s{length}: too few to tell a rate or a response time.",
            count(all.committed, "transaction")
        ),
        "Check the errors and the server's log for what holds transactions up; if they take this long, measure for \
         much longer.",
    )
}

/// Checks that there are enough samples: a percentile is shown only if at least ten samples lie above it.
pub(crate) fn check_percentiles(run: &Run) -> Option<Finding> {
    let samples = all_kinds(run)?.response.samples;
    if samples == 0 || samples >= P99_MIN_SAMPLES || check_few_transactions(run).is_some() {
        return None;
    }
    let (severity, absent) = if samples < P95_MIN_SAMPLES {
        (Severity::Caveat, "95th percentile and those above")
    } else {
        (Severity::Note, "99th percentile and those above")
    };
    new_finding(
        severity,
        format!(
            "{} are too few for the {absent}: fewer than ten would lie above it.",
            count(samples, "response time")
        ),
        format!(
            "Measure until there are at least {P99_MIN_SAMPLES}: for longer, or with more clients."
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::find_check;
    use crate::sample::{healthy, observed_run, with_series};
    use prony_assertions::TextAssertions;
    use prony_store::{Description, MinimumDuration};

    #[test]
    fn an_incomplete_run_is_a_caveat() {
        let mut run = healthy();
        assert_eq!(check_partial_run(&run), None);
        run.state = RunState::Partial;
        assert!(check_partial_run(&run).is_some());
        run.ended_because = Some("interrupted (SIGINT)".to_owned());
        let check = check_partial_run(&run).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        let finding = &check.finding;
        finding.assert_contains("early: interrupted (SIGINT). ");
        run.state = RunState::Running;
        let finding = check_partial_run(&run).unwrap().finding;
        finding.assert_contains("still in progress");
    }

    #[test]
    fn a_short_run_is_a_caveat() {
        let severity = |seconds| {
            let mut run = healthy();
            run.measured.length_s = seconds;
            check_short_run(&run).map(|check| check.severity)
        };
        assert_eq!(severity(10.0), None);
        assert_eq!(severity(9.9), Some(Severity::Caveat));
        assert_eq!(severity(0.01), Some(Severity::Caveat));
    }

    #[test]
    fn checks_that_need_a_longer_window_are_listed() {
        let mut run = healthy();
        assert_eq!(check_not_judged(&run), None);
        let with_seconds = |count| {
            let mut run = with_series(&vec![10; count]);
            run.measured.length_s = 21.0;
            check_not_judged(&run).is_some()
        };
        assert_eq!([19, 20].map(with_seconds), [true, false], "whole seconds");
        run.measured.length_s = 19.9;
        let check = check_not_judged(&run).unwrap();
        assert_eq!(check.severity, Severity::Note);
        check.finding.assert_starts_with("Not judged: steadiness");
        check.finding.assert_lacks("client's part");
        let split = run.measured.kinds[0].parts.as_mut().unwrap();
        split.client_wait.samples = 99;
        let finding = check_not_judged(&run).unwrap().finding;
        finding.assert_contains("client's part");
    }

    #[test]
    fn a_missing_checkpoint_and_a_short_window_are_one_finding() {
        let mut run = observed_run();
        run.measured.length_s = 60.0;
        let ids = |run: &Run| -> Vec<String> {
            let checks = ["checkpoint", "duration"].into_iter();
            let found = checks.filter_map(|id| find_check(id)?.check(run));
            found.map(|check| check.id).collect()
        };
        assert_eq!(ids(&run), ["checkpoint"]);
        let finding = housekeeping::check_checkpoint(&run).unwrap().finding;
        finding.assert_contains("the measured window of 60 s");
        // A checkpoint within the window, which begins after 10 s.
        let checkpoint = &mut run.observed.as_mut().unwrap().events[0];
        checkpoint.at_s = 11.0;
        checkpoint.until_s = Some(69.0);
        assert_eq!(ids(&run), ["duration"]);
    }

    #[test]
    fn a_load_that_writes_needs_a_long_window() {
        let severity = |seconds, mut run: Run| {
            // Checkpoints in even the shortest window, which begins after 10 s.
            for checkpoint in &mut run.observed.get_or_insert_default().events {
                checkpoint.at_s = 11.0;
                checkpoint.until_s = Some(15.0);
            }
            run.measured.length_s = seconds;
            check_duration(&run).map(|check| check.severity)
        };
        assert_eq!(severity(600.0, observed_run()), None);
        assert_eq!(severity(599.0, observed_run()), Some(Severity::Note));
        assert_eq!(severity(9.0, observed_run()), None, "short-run reports it");
        assert_eq!(severity(60.0, healthy()), None, "writes were not observed");
        let mut paced = healthy();
        paced.workload.description = Some(Description {
            minimum_duration: Some(MinimumDuration {
                duration_s: 7_200.0,
                source: "that TPC-C requires of a measurement interval".into(),
            }),
            ..Description::default()
        });
        assert_eq!(severity(7200.0, paced.clone()), None);
        assert_eq!(severity(7199.0, paced), Some(Severity::Note));
    }

    #[test]
    fn percentiles_need_enough_samples() {
        let severity = |samples| {
            let mut run = healthy();
            run.measured.kinds[0].response.samples = samples;
            check_percentiles(&run).map(|check| check.severity)
        };
        assert_eq!(severity(1000), None);
        assert_eq!(severity(999), Some(Severity::Note));
        assert_eq!(severity(199), Some(Severity::Caveat));
        assert_eq!(severity(0), None, "nothing-committed reports it");
    }

    #[test]
    fn a_handful_of_transactions_is_a_doubt() {
        let doubt = |committed, mean_s: f64, stop| {
            let mut run = healthy();
            run.drive.stop = stop;
            let all = &mut run.measured.kinds[0];
            (all.committed, all.response.samples) = (committed, committed);
            all.busy_s = committed as f64 * mean_s;
            let checks = crate::judge(&run);
            let ids = checks.iter().filter(|check| check.is_doubt());
            let ids: Vec<&str> = ids.map(|check| check.id.as_str()).collect();
            ids.contains(&"few-transactions")
        };
        assert!(doubt(1, 0.1, None) && doubt(19, 0.1, None));
        assert!(!doubt(20, 0.1, None));
        assert!(!doubt(0, 0.1, None), "nothing-committed reports it");
        // 64 clients, most of which complete one transaction in a window of 60 s.
        assert!(doubt(80, 40.0, None) && !doubt(80, 30.0, None));
        let by_count = Some(prony_store::PlannedEnd::TransactionsPerClient(1));
        assert!(!doubt(80, 40.0, by_count));
    }
}
