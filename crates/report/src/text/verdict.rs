//! Whether the figures of a run can be used.
//!
//! In: a Run with its findings. Out: sentences. Must never: judge; the findings are already in the Run.

use crate::text::plain;
use crate::units::{count_of, span};
use prony_judge::{checks, is_judged, is_too_short_for_steadiness};
use prony_store::{Run, RunState, Severity};

/// The verdict on a run whose window has too few seconds.
pub(crate) const TOO_SHORT: &str = "too short to judge steadiness";

/// A notice that a run is not complete; `None` if it is.
pub(crate) fn incomplete_notice(run: &Run) -> Option<String> {
    match run.state {
        RunState::Complete => None,
        RunState::Running => Some(
            "STILL RUNNING, or killed: the figures cover the seconds that were recorded."
                .to_owned(),
        ),
        RunState::Partial => {
            let covered = if run.measured.is_empty() {
                "Nothing was measured.".to_owned()
            } else {
                format!(
                    "The figures cover the {} that were measured.",
                    span(run.measured.length_s)
                )
            };
            let reason = run.ended_because.as_deref();
            let reason = plain(reason.unwrap_or("no reason recorded"));
            let reason = reason.trim_end_matches('.');
            Some(format!("PARTIAL RESULT: ended early: {reason}. {covered}"))
        }
    }
}

/// Whether the figures of a run can be used.
pub(crate) struct VerdictText {
    pub severity: Severity,
    pub text: String,
}

/// The verdict in one sentence without a final period; `None` for a run in progress, which has not been checked.
pub(crate) fn verdict_sentence(run: &Run) -> Option<VerdictText> {
    let invalid = check_ids(run, Severity::Invalid);
    if !invalid.is_empty() {
        let consequence = if run.measured.is_empty() {
            "there is no figure"
        } else {
            "this figure must not be used"
        };
        return Some(VerdictText {
            severity: Severity::Invalid,
            text: format!("Invalid ({}): {consequence}", invalid.join(", ")),
        });
    }
    let observed = run.observed.as_ref();
    let is_too_short = is_too_short_for_steadiness(run);
    let too_short = |conjunction: &str| {
        if is_too_short { format!("{conjunction} {TOO_SHORT}") } else { String::new() }
    };
    if run.state == RunState::Complete && !is_judged(run) {
        let others = match run.rules_version {
            Some(version) => format!(", only by rules of version {version}"),
            None => String::new(),
        };
        return Some(VerdictText {
            severity: Severity::Caveat,
            text: format!("Not judged by this version of Prony{others} (prony judge RUN does it)"),
        });
    }
    let (severity, text) = match (run.state, doubts(run).len()) {
        (RunState::Running, _) => return None,
        (RunState::Partial, 0) if run.checks.is_empty() => (
            Severity::Caveat,
            "Not judged, and partial: the run ended early".to_owned(),
        ),
        (RunState::Partial, 0) => (
            Severity::Caveat,
            format!(
                "Partial: the run ended early{}; no other problems were found",
                too_short(" and is")
            ),
        ),
        (RunState::Complete, 0) if observed.is_some_and(|observed| observed.off.is_some()) => (
            Severity::Note,
            format!(
                "Valid by the client's figures, but {}the server was not observed",
                if is_too_short { format!("{TOO_SHORT}, and ") } else { String::new() }
            ),
        ),
        (RunState::Complete, 0) if is_too_short => {
            (Severity::Note, format!("Valid{}", too_short(", but")))
        }
        (RunState::Complete, 0) => (Severity::Note, "Valid: no problems were found".to_owned()),
        (_, number) => {
            let doubts = count_of(number as u64, "doubt");
            let state = match run.state {
                RunState::Partial => "Partial",
                RunState::Complete | RunState::Running => "Valid",
            };
            (
                Severity::Caveat,
                format!("{state}{}, with {doubts}", too_short(", but")),
            )
        }
    };
    Some(VerdictText { severity, text })
}

/// The verdict in one or two sentences, for a result with its checks; `None` for a run in progress. The first sentence
/// names the checks that raise doubts; the second one states the scope of the figure.
pub(crate) fn verdict_text(run: &Run) -> Option<VerdictText> {
    let VerdictText { severity, text } = verdict_sentence(run)?;
    if severity == Severity::Invalid {
        let text = format!("{text}, see the checks below.");
        return Some(VerdictText { severity, text });
    }
    let doubts = doubts(run);
    let verdict = if doubts.is_empty() {
        format!("{text}.")
    } else {
        format!("{text}: {}.", doubts.join(", "))
    };
    let limits = checks::scopes(&run.checks);
    let text = if limits.is_empty() {
        verdict
    } else {
        format!("{verdict} Scope: {}.", limits.join("; "))
    };
    Some(VerdictText { severity, text })
}

/// The ids of the checks with findings of this severity.
pub(crate) fn check_ids(run: &Run, severity: Severity) -> Vec<String> {
    let checks = run.checks.iter().filter(|check| check.severity == severity);
    checks.map(|check| plain(&check.id)).collect()
}

/// The verdict in a few words: `valid`, `1 doubt: steal`, `invalid: neighbours`.
pub(crate) fn short_verdict(run: &Run) -> String {
    let invalid = check_ids(run, Severity::Invalid);
    if !invalid.is_empty() {
        return format!("invalid: {}", invalid.join(", "));
    }
    let doubts = doubts(run);
    match (run.state, doubts.len() as u64) {
        (RunState::Running, _) => "running".to_owned(),
        (RunState::Partial, _) => "ended early".to_owned(),
        (RunState::Complete, _) if !is_judged(run) => "not judged".to_owned(),
        (RunState::Complete, 0) => "valid".to_owned(),
        (RunState::Complete, number) => {
            format!("{}: {}", count_of(number, "doubt"), doubts.join(", "))
        }
    }
}

/// The ids of the checks that raise doubts about the measurement.
fn doubts(run: &Run) -> Vec<String> {
    let doubts = run.checks.iter().filter(|check| check.is_doubt());
    doubts.map(|check| plain(&check.id)).collect()
}
