//! The audit of another tool's output.
//!
//! In: the runs in an output, each with its audit. Out: figures, checks and findings, as text or as JSON. Must
//! never: print control characters of the output.

use crate::printer::Printer;
use crate::style::Style;
use crate::terminal::findings::write_check_list;
use crate::text::plain;
use crate::units::{self, count, count_of};
use prony_judge::audit::Audit;
use prony_store::{KindFigures, ReportedRun, Run};
use serde_json::json;
use std::io::{self, Write};

/// A run in another tool's output.
#[derive(Clone, Debug)]
pub struct AuditedRun {
    /// The figures as they were printed.
    pub reported: ReportedRun,
    /// The same figures as a run of Prony.
    pub run: Run,
    pub audit: Audit,
}

pub fn write(out: &mut dyn Write, style: &Style, runs: &[AuditedRun]) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    for (index, audited) in runs.iter().enumerate() {
        if index > 0 {
            out.line("")?;
        }
        let number = match runs.len() {
            1 => String::new(),
            total => format!("{} of {total}: ", index + 1),
        };
        write_audit(out, &number, audited)?;
    }
    Ok(())
}

fn write_audit(out: &mut Printer<'_>, number: &str, audited: &AuditedRun) -> io::Result<()> {
    let audit = &audited.audit;
    out.wrapped(
        Style::bold,
        &format!("{number}{}", title(&audited.reported)),
    )?;
    out.paragraph(&plain(&figures_text(&audited.run)))?;
    if !audit.examined.is_empty() {
        out.heading("Examined")?;
        for text in &audit.examined {
            out.item("- ", 2, &plain(text))?;
        }
    }
    out.heading("Checks")?;
    if audit.checks.is_empty() {
        out.line("  no problems found")
    } else {
        write_check_list(out, &audit.checks)
    }
}

/// The title of a run: tool, version and workload.
fn title(reported: &ReportedRun) -> String {
    let workload = match reported.title.as_str() {
        "" => "an unknown workload",
        title => title,
    };
    let tool_and_version = format!("{} {}", reported.tool, reported.version);
    plain(&format!("{}, {workload}", tool_and_version.trim_end()))
}

fn figures_text(run: &Run) -> String {
    let empty = KindFigures::default();
    let all = run.measured.all_kinds().unwrap_or(&empty);
    let (response, scale) = (&all.response, run.workload.scale);
    let time = |name: &str, ns: f64| format!("{name} {}", units::time(ns));
    let percentile = |name, ns: Option<u64>| ns.map(|ns| time(name, ns as f64));
    let rates = run.rates.iter();
    let rates = rates.map(|rate| format!("{} {}", units::rate(rate.value), rate.name));
    let measurements = [
        (all.tps > 0.0).then(|| units::transactions_per_second(all.tps)),
        (response.samples > 0).then(|| time("mean", response.mean_ns)),
        percentile("p95", response.p95_ns),
        percentile("p99", response.p99_ns),
        (run.drive.clients > 0).then(|| count_of(run.drive.clients.into(), "client")),
        (scale > 0).then(|| format!("scale {}", count(scale.into()))),
        (run.measured.length_s > 0.0).then(|| units::span(run.measured.length_s)),
    ];
    let figures: Vec<String> = rates.chain(measurements.into_iter().flatten()).collect();
    match figures.as_slice() {
        [] => "no usable figure".to_owned(),
        figures => figures.join(", "),
    }
}

pub fn write_json(out: &mut dyn Write, runs: &[AuditedRun]) -> io::Result<()> {
    let entries = runs.iter().map(|audited| {
        json!({
            "reported": audited.reported,
            "checks": audited.audit.checks,
            "examined": audited.audit.examined,
        })
    });
    crate::json::write_pretty(out, &json!({ "runs": entries.collect::<Vec<_>>() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::written;
    use prony_assertions::TextAssertions;

    fn entry(reported: ReportedRun) -> AuditedRun {
        let run = reported.to_run();
        AuditedRun {
            audit: prony_judge::audit::audit(&reported, &run),
            run,
            reported,
        }
    }

    #[test]
    fn foreign_text_is_shown_and_cannot_control_the_terminal() {
        let reported = ReportedRun {
            tool: "pgbench",
            title: "\u{1b}[2Jscript <b>.sql".into(),
            clients: Some(1),
            tps: Some(1000.0),
            mean_ms: Some(1.0),
            messages: vec!["bad \u{7} line".into()],
            ..ReportedRun::default()
        };
        let text = written(|out| {
            write(
                out,
                &Style::plain(),
                &[entry(reported.clone()), entry(reported)],
            )
        });
        text.assert_starts_with("1 of 2: pgbench, ");
        text.assert_contains("script <b>.sql");
        text.assert_contains("trouble");
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{7}'),
            "{text}"
        );
        text.assert_contains("Little's law");
    }

    #[test]
    fn a_run_without_figures_is_reported() {
        let mut out = Vec::new();
        write(&mut out, &Style::plain(), &[entry(ReportedRun::default())]).unwrap();
        String::from_utf8(out)
            .unwrap()
            .assert_contains("no usable figure");
        let mut out = Vec::new();
        write_json(&mut out, &[entry(ReportedRun::default())]).unwrap();
        let read: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert!(read["runs"][0]["reported"].is_object());
    }
}
