//! Whether the run was long enough for its figures, and whole.
//!
//! In: a Run. Out: `partial-run`, `short-run`, `duration`, `percentiles`. Must never: look at what
//! the figures say.

use crate::thresholds::{
    DURATION_NOTE_S, DURATION_TPCC_S, PERCENTILE_SAMPLES, SHORT_CAVEAT_S, TAIL_SAMPLES,
};
use crate::words::count;
use crate::{all, found, nothing_measured, watch, workload};
use prony_store::{Check, Run, Severity, State};

pub(crate) fn partial(run: &Run) -> Option<Check> {
    let covered = match nothing_measured(run) {
        true => "Nothing was measured.".to_owned(),
        false => format!("The figures cover {:.1} s.", run.measured.seconds),
    };
    let finding = match (run.state, &run.ended_because) {
        (State::Complete, _) => return None,
        (State::Partial, Some(why)) => format!("The run ended early: {why}. {covered}"),
        (State::Partial, None) => format!("The run ended early. {covered}"),
        (State::Running, _) => format!(
            "The run is not marked as ended: it is still going on, or Prony was killed. {covered}"
        ),
    };
    found(
        "partial-run",
        Severity::Caveat,
        finding,
        "Compare it with runs of the same length only, or run it again to its end.",
    )
}

pub(crate) fn short(run: &Run) -> Option<Check> {
    let measured_s = run.measured.seconds;
    // Of what was not measured at all `nothing-committed` speaks.
    if measured_s >= SHORT_CAVEAT_S || nothing_measured(run) {
        return None;
    }
    found(
        "short-run",
        // However short: its figures are right for the time they cover.
        Severity::Caveat,
        format!("Only {measured_s:.1} s were measured: single stalls decide the figures."),
        format!(
            "Measure for {SHORT_CAVEAT_S:.0} s at least, after a warm-up; writing workloads for \
             several checkpoints."
        ),
    )
}

/// Long enough for what comes seldom in a server that writes; for a paced tpcc, for what the
/// specification asks of it (TPC-C 5.5.2.1).
pub(crate) fn duration(run: &Run) -> Option<Check> {
    let measured_s = run.measured.seconds;
    let paced = run.workload.name == "tpcc" && workload::setting(run, "pacing ") == Some("spec");
    let (least_s, why) = match paced {
        true => (DURATION_TPCC_S, "which TPC-C asks of its measured interval"),
        false => (
            DURATION_NOTE_S,
            "in which what comes seldom (checkpoints, vacuums) finds room",
        ),
    };
    let writes = watch::written_bytes(run).is_some();
    // A shorter one has a caveat of its own.
    if measured_s >= least_s || measured_s < SHORT_CAVEAT_S || !(writes || paced) {
        return None;
    }
    found(
        "duration",
        Severity::Note,
        format!(
            "Measured for {measured_s:.0} s: less than the {:.0} minutes {why}.",
            least_s / 60.0
        ),
        "Take it for what it is: the figure of a short time. Measure for longer before you decide by it.",
    )
}

/// A percentile has at least ten samples beyond it, or it is not shown.
pub(crate) fn percentiles(run: &Run) -> Option<Check> {
    let samples = all(run)?.response.samples;
    if samples == 0 || samples >= PERCENTILE_SAMPLES {
        return None;
    }
    let (severity, absent) = match samples {
        samples if samples < TAIL_SAMPLES => (Severity::Caveat, "95th percentile and those above"),
        _ => (Severity::Note, "99th percentile and those above"),
    };
    found(
        "percentiles",
        severity,
        format!(
            "{} are too few for the {absent}: fewer than ten would lie beyond.",
            count(samples, "response time")
        ),
        format!(
            "Measure until there are {PERCENTILE_SAMPLES} at least: for longer, or with more clients."
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{healthy, watched};

    #[test]
    fn a_run_that_is_not_complete() {
        let mut run = healthy();
        assert_eq!(partial(&run), None);
        run.state = State::Partial;
        assert!(partial(&run).is_some());
        run.ended_because = Some("interrupted (SIGINT)".to_owned());
        let check = partial(&run).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        assert!(
            check.finding.contains("early: interrupted (SIGINT). "),
            "{check:?}"
        );
        run.state = State::Running;
        assert!(partial(&run).unwrap().finding.contains("still going on"));
    }

    #[test]
    fn a_run_that_is_short() {
        let severity = |seconds| {
            let mut run = healthy();
            run.measured.seconds = seconds;
            short(&run).map(|check| check.severity)
        };
        assert_eq!(severity(10.0), None);
        assert_eq!(severity(9.9), Some(Severity::Caveat));
        assert_eq!(severity(0.01), Some(Severity::Caveat));
    }

    #[test]
    fn a_load_that_writes_takes_its_time() {
        let severity = |seconds, mut run: Run| {
            run.measured.seconds = seconds;
            duration(&run).map(|check| check.severity)
        };
        assert_eq!(severity(600.0, watched()), None);
        assert_eq!(severity(599.0, watched()), Some(Severity::Note));
        assert_eq!(severity(9.0, watched()), None, "short-run says it");
        assert_eq!(severity(60.0, healthy()), None, "nobody saw it write");
        let mut paced = healthy();
        paced.workload.name = "tpcc".to_owned();
        paced.workload.settings = vec!["pacing spec".to_owned()];
        assert_eq!(severity(7200.0, paced.clone()), None);
        assert_eq!(severity(7199.0, paced), Some(Severity::Note));
    }

    #[test]
    fn samples_behind_percentiles() {
        let severity = |samples| {
            let mut run = healthy();
            run.measured.kinds[0].response.samples = samples;
            percentiles(&run).map(|check| check.severity)
        };
        assert_eq!(severity(1000), None);
        assert_eq!(severity(999), Some(Severity::Note));
        assert_eq!(severity(199), Some(Severity::Caveat));
        assert_eq!(severity(0), None, "nothing-committed says it");
    }
}
