//! The verdict on a run, and a judgement beside an earlier one.
//!
//! In: a Run with its findings. Out: a sentence, or the findings with what changed. Must never: judge; the
//! findings are already in the Run.

use super::findings;
use crate::printer::Printer;
use crate::style::Style;
use crate::text::verdict::verdict_text;
use crate::text::{plain, wrap};
use prony_store::{Check, Run, Severity};
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
    pub checks: Vec<Check>,
}

/// Writes the verdict and the findings on a run, and how they differ from earlier ones.
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
        let these = these.iter();
        let missing = these.filter(|check| !others.contains(&(&check.id, check.severity)));
        missing
            .map(|check| format!("{} ({})", plain(&check.id), check.word()))
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

pub(crate) fn severity_format(severity: Severity) -> fn(&Style, &str) -> String {
    match severity {
        Severity::Invalid => Style::alarm,
        Severity::Caveat => Style::caution,
        Severity::Note => Style::dim,
    }
}
