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
    let Some(verdict) = verdict_text(run) else {
        return Ok(());
    };
    let format = severity_format(verdict.severity);
    for line in wrap(&verdict.text, out.style.width - 2) {
        out.line(format!("  {}", format(out.style, &line)))?;
    }
    Ok(())
}

/// The findings on a run by earlier rules, or by none.
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
    let rules = |version: Option<u32>| match version {
        Some(version) => format!("rules of version {version}"),
        None => "no recorded rules".to_owned(),
    };
    let id = plain(&run.id);
    out.line(format!("{id}, judged by {}", rules(run.rules_version)))?;
    write_verdict(out, run)?;
    findings::write_checks(out, run)?;
    let mut differences = Vec::new();
    for (label, checks, others) in [
        ("new", &run.checks, &former.checks),
        ("no longer found", &former.checks, &run.checks),
    ] {
        let ids = only_in(checks, others);
        if !ids.is_empty() {
            differences.push(format!("{label}: {}", ids.join(", ")));
        }
    }
    let text = if differences.is_empty() {
        "the same findings".to_owned()
    } else {
        differences.join("; ")
    };
    out.line("")?;
    let former_rules = rules(former.rules_version);
    out.paragraph(&format!("Against {former_rules}: {text}."))
}

/// The checks that `others` do not have with the same severity.
fn only_in(checks: &[Check], others: &[Check]) -> Vec<String> {
    let others = others.iter().map(|check| (&check.id, check.severity));
    let others: BTreeSet<_> = others.collect();
    let checks = checks.iter();
    let missing = checks.filter(|check| !others.contains(&(&check.id, check.severity)));
    missing
        .map(|check| format!("{} ({})", plain(&check.id), check.word()))
        .collect()
}

pub(crate) fn severity_format(severity: Severity) -> fn(&Style, &str) -> String {
    match severity {
        Severity::Invalid => Style::alarm,
        Severity::Caveat => Style::caution,
        Severity::Note => Style::dim,
    }
}
