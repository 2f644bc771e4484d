//! The verdict on a run, and a judgement beside an earlier one.
//!
//! In: a Run with its findings. Out: a sentence, or the findings with what changed. Must never: judge; the
//! findings are already in the Run.

use super::{findings, is_unmeasured};
use crate::printer::Printer;
use crate::style::Style;
use crate::text::{plain, wrap};
use crate::units::count_with_noun;
use prony_judge::{is_too_short_for_steadiness, scope};
use prony_store::{Check, Run, RunState, Severity};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Writes whether the figures can be used, and the ids of the checks with findings.
pub(super) fn write_verdict(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let Some((worst, text)) = verdict_text(run) else {
        return Ok(());
    };
    let format = severity_format(worst);
    for line in wrap(&text, out.style.width - 2) {
        out.line(format!("  {}", format(out.style, &line)))?;
    }
    Ok(())
}

/// The findings on a run by earlier rules.
#[derive(Clone, Debug, Default)]
pub struct FormerJudgement {
    /// Version of those rules; absent if the run was not judged, or before version 2.0 of the document.
    pub rules_version: Option<u32>,
    /// The findings.
    pub checks: Vec<Check>,
}

/// Writes the verdict and the findings on a run, and how they differ from earlier ones.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_judgement(
    out: &mut dyn Write,
    style: &Style,
    run: &Run,
    former: &FormerJudgement,
) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    let version = |version: Option<u32>| match version {
        Some(version) => format!("rules of version {version}"),
        None => "no recorded rules".to_owned(),
    };
    out.line(format!(
        "{}, judged by {}",
        plain(&run.id),
        version(run.rules_version)
    ))?;
    write_verdict(out, run)?;
    findings::write_checks(out, run)?;
    let missing_in = |these: &[Check], others: &[Check]| -> Vec<String> {
        let others = others.iter().map(|check| (&check.id, check.severity));
        let others: BTreeSet<_> = others.collect();
        let missing = these
            .iter()
            .filter(|check| !others.contains(&(&check.id, check.severity)));
        missing
            .map(|check| format!("{} ({})", plain(&check.id), check.severity.name()))
            .collect()
    };
    let added = missing_in(&run.checks, &former.checks);
    let gone = missing_in(&former.checks, &run.checks);
    let differences = [("new", added), ("no longer found", gone)];
    let differences = differences.iter().filter(|(_, ids)| !ids.is_empty());
    let differences: Vec<String> = differences
        .map(|(label, ids)| format!("{label}: {}", ids.join(", ")))
        .collect();
    let text = if differences.is_empty() {
        "the same findings".to_owned()
    } else {
        differences.join("; ")
    };
    out.line("")?;
    out.paragraph(&format!(
        "Against {}: {text}.",
        version(former.rules_version)
    ))
}

/// The ids of the checks of this severity.
pub(crate) fn check_ids(run: &Run, severity: Severity) -> Vec<String> {
    let checks = run.checks.iter().filter(|check| check.severity == severity);
    checks.map(|check| plain(&check.id)).collect()
}

/// The verdict on a run.
pub(crate) struct VerdictSentence {
    /// The worst severity.
    pub severity: Severity,
    /// Whether the figures can be used, without a final period.
    pub text: String,
}

/// The format of a line with a verdict of this severity.
pub(crate) fn severity_format(severity: Severity) -> fn(&Style, &str) -> String {
    match severity {
        Severity::Invalid => Style::alarm,
        Severity::Caveat => Style::caution,
        Severity::Note => Style::dim,
    }
}

/// The verdict on a run whose window has too few seconds.
pub(crate) const TOO_SHORT: &str = "too short to judge steadiness";

/// The verdict; `None` for a run in progress, which has not been checked.
pub(crate) fn verdict_sentence(run: &Run) -> Option<VerdictSentence> {
    let invalid = check_ids(run, Severity::Invalid);
    if !invalid.is_empty() {
        let consequence = if is_unmeasured(run) {
            "there is no figure"
        } else {
            "this figure must not be used"
        };
        return Some(VerdictSentence {
            severity: Severity::Invalid,
            text: format!("Invalid ({}): {consequence}", invalid.join(", ")),
        });
    }
    let observed = run.observed.as_ref();
    let is_too_short = is_too_short_for_steadiness(run);
    let too_short = |conjunction: &str| {
        if is_too_short {
            format!("{conjunction} {TOO_SHORT}")
        } else {
            String::new()
        }
    };
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
                if is_too_short {
                    format!("{TOO_SHORT}, and ")
                } else {
                    String::new()
                }
            ),
        ),
        (RunState::Complete, 0) if is_too_short => {
            (Severity::Note, format!("Valid{}", too_short(", but")))
        }
        (RunState::Complete, 0) => (Severity::Note, "Valid: no problems were found".to_owned()),
        (_, number) => {
            let number = count_with_noun(number as u64, "doubt", "doubts");
            let state = match run.state {
                RunState::Partial => "Partial",
                RunState::Complete | RunState::Running => "Valid",
            };
            (
                Severity::Caveat,
                format!("{state}{}, with {number}", too_short(", but")),
            )
        }
    };
    Some(VerdictSentence { severity, text })
}

/// The ids of the checks that raise doubts about the measurement.
fn doubts(run: &Run) -> Vec<String> {
    let doubts = run.checks.iter().filter(|check| check.is_doubt());
    doubts.map(|check| plain(&check.id)).collect()
}

/// The worst severity and the verdict in one or two sentences, for a result with its checks; `None` for a run in
/// progress. The first sentence names the checks that raise doubts; the second one states the scope of the figure.
pub(crate) fn verdict_text(run: &Run) -> Option<(Severity, String)> {
    let VerdictSentence { severity, text } = verdict_sentence(run)?;
    if severity == Severity::Invalid {
        return Some((severity, format!("{text}, see the checks below.")));
    }
    let doubts = doubts(run);
    let verdict = if doubts.is_empty() {
        format!("{text}.")
    } else {
        format!("{text}: {}.", doubts.join(", "))
    };
    let limits = scope::limits(&run.checks);
    let text = if limits.is_empty() {
        verdict
    } else {
        format!("{verdict} Scope: {}.", limits.join("; "))
    };
    Some((severity, text))
}
