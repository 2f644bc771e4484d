//! Whether the run was long enough, and whole.
//!
//! In: a Run. Out: `partial-run`, `short-run`. Must never: look at what was measured.

use crate::found;
use crate::thresholds::SHORT_CAVEAT_S;
use prony_store::{Check, Run, Severity, State};

pub(crate) fn partial(run: &Run) -> Option<Check> {
    let measured_s = run.measured.seconds;
    let finding = match (run.state, &run.ended_because) {
        (State::Complete, _) => return None,
        (State::Partial, Some(why)) => {
            format!("The run ended early: {why}. The figures cover {measured_s:.1} s.")
        }
        (State::Partial, None) => {
            format!("The run ended early. The figures cover {measured_s:.1} s.")
        }
        (State::Running, _) => format!(
            "The run is not marked as ended: it is still going on, or Prony was killed. The \
             figures cover {measured_s:.1} s."
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
    if measured_s >= SHORT_CAVEAT_S {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;

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
}
