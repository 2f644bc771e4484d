//! Whether the run was long enough for its figures, and complete.
//!
//! In: a Run. Out: `partial-run`, `short-run`, `duration`, `percentiles`. Must never: look at the values of
//! the figures.

use crate::formatting::count;
use crate::thresholds::{DURATION_NOTE_S, P95_SAMPLES, P99_SAMPLES, SHORT_CAVEAT_S};
use crate::{all_kinds, new_check, nothing_measured, observations, workload};
use prony_store::{Check, Run, RunState, Severity};

pub(crate) fn partial(run: &Run) -> Option<Check> {
    let covered = match nothing_measured(run) {
        true => "Nothing was measured.".to_owned(),
        false => format!("The figures cover {:.1} s.", run.measured.length_s),
    };
    let finding = match (run.state, &run.ended_because) {
        (RunState::Complete, _) => return None,
        (RunState::Partial, Some(reason)) => format!("The run ended early: {reason}. {covered}"),
        (RunState::Partial, None) => format!("The run ended early. {covered}"),
        (RunState::Running, _) => format!(
            "The run is not marked as ended: it is still in progress, or Prony was killed. {covered}"
        ),
    };
    new_check(
        "partial-run",
        Severity::Caveat,
        finding,
        "Compare it only with runs of the same length, or run it again to the end.",
    )
}

pub(crate) fn short(run: &Run) -> Option<Check> {
    let measured_s = run.measured.length_s;
    // `nothing-committed` covers a run that measured nothing.
    if measured_s >= SHORT_CAVEAT_S || nothing_measured(run) {
        return None;
    }
    new_check(
        "short-run",
        // However short it is, its figures are right for the time they cover.
        Severity::Caveat,
        format!("Only {measured_s:.1} s were measured: a single stall can decide the figures."),
        format!(
            "Measure for at least {SHORT_CAVEAT_S:.0} s after a warm-up, and workloads that write for \
             several checkpoints."
        ),
    )
}

/// Checks that the run is long enough for rare events in a server that writes; for a paced tpcc, for the
/// duration that the specification requires (TPC-C 5.5.2.1).
pub(crate) fn duration(run: &Run) -> Option<Check> {
    let measured_s = run.measured.length_s;
    let specified =
        workload::description(run).and_then(|description| description.minimum_duration.as_ref());
    let (minimum_s, reason) = match specified {
        Some(minimum) => (minimum.duration_s, minimum.source.as_str()),
        None => (
            DURATION_NOTE_S,
            "that rare events need (checkpoints, vacuums)",
        ),
    };
    let writes = observations::written_bytes(run).is_some();
    // A shorter run has another caveat, `short-run`.
    if measured_s >= minimum_s || measured_s < SHORT_CAVEAT_S || !(writes || specified.is_some()) {
        return None;
    }
    new_check(
        "duration",
        Severity::Note,
        format!(
            "Measured for {measured_s:.0} s: less than the {:.0} minutes {reason}.",
            minimum_s / 60.0
        ),
        "This figure covers a short time. Measure for longer before you rely on it.",
    )
}

/// A percentile needs at least ten samples above it to be shown.
pub(crate) fn percentiles(run: &Run) -> Option<Check> {
    let samples = all_kinds(run)?.response.samples;
    if samples == 0 || samples >= P99_SAMPLES {
        return None;
    }
    let (severity, absent) = match samples {
        samples if samples < P95_SAMPLES => (Severity::Caveat, "95th percentile and those above"),
        _ => (Severity::Note, "99th percentile and those above"),
    };
    new_check(
        "percentiles",
        severity,
        format!(
            "{} are too few for the {absent}: fewer than ten would lie above it.",
            count(samples, "response time")
        ),
        format!(
            "Measure until there are at least {P99_SAMPLES}: for longer, or with more clients."
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{healthy, observed_run};
    use prony_store::{Description, MinimumDuration};

    #[test]
    fn an_incomplete_run_is_a_caveat() {
        let mut run = healthy();
        assert_eq!(partial(&run), None);
        run.state = RunState::Partial;
        assert!(partial(&run).is_some());
        run.ended_because = Some("interrupted (SIGINT)".to_owned());
        let check = partial(&run).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        assert!(
            check.finding.contains("early: interrupted (SIGINT). "),
            "{check:?}"
        );
        run.state = RunState::Running;
        assert!(partial(&run).unwrap().finding.contains("still in progress"));
    }

    #[test]
    fn a_short_run_is_a_caveat() {
        let severity = |seconds| {
            let mut run = healthy();
            run.measured.length_s = seconds;
            short(&run).map(|check| check.severity)
        };
        assert_eq!(severity(10.0), None);
        assert_eq!(severity(9.9), Some(Severity::Caveat));
        assert_eq!(severity(0.01), Some(Severity::Caveat));
    }

    #[test]
    fn a_load_that_writes_needs_a_long_window() {
        let severity = |seconds, mut run: Run| {
            run.measured.length_s = seconds;
            duration(&run).map(|check| check.severity)
        };
        assert_eq!(severity(600.0, observed_run()), None);
        assert_eq!(severity(599.0, observed_run()), Some(Severity::Note));
        assert_eq!(severity(9.0, observed_run()), None, "short-run reports it");
        assert_eq!(severity(60.0, healthy()), None, "writes were not observed");
        let mut paced = healthy();
        paced.workload.description = Some(Description {
            minimum_duration: Some(MinimumDuration {
                duration_s: 7_200.0,
                source: "that TPC-C requires of a measurement interval".to_owned(),
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
            percentiles(&run).map(|check| check.severity)
        };
        assert_eq!(severity(1000), None);
        assert_eq!(severity(999), Some(Severity::Note));
        assert_eq!(severity(199), Some(Severity::Caveat));
        assert_eq!(severity(0), None, "nothing-committed reports it");
    }
}
