//! What another tool printed, and what is to be said about it.
//!
//! In: runs made of an output, each with its audit. Out: their figures, findings and what was looked
//! at, for a person or as JSON. Must never: let a foreign text steer the terminal.

use crate::style::Style;
use crate::terminal::check_lines;
use crate::text::{plain, wrap};
use crate::units;
use prony_judge::audit::Audit;
use prony_store::{KindFigures, Run};
use serde_json::json;
use std::io::{self, Write};

/// One run of an output.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Made of it.
    pub run: Run,
    /// What is to be said about it.
    pub audit: Audit,
    /// The id under which it is stored.
    pub kept: Option<String>,
    /// Why it is not stored although that was asked.
    pub not_kept: Option<String>,
}

/// Writes them for a person.
pub fn write(out: &mut dyn Write, style: &Style, entries: &[Entry]) -> io::Result<()> {
    for (place, entry) in entries.iter().enumerate() {
        if place > 0 {
            writeln!(out)?;
        }
        let number = match entries.len() {
            1 => String::new(),
            all => format!("{} of {all}: ", place + 1),
        };
        one(out, style, &number, entry)?;
    }
    Ok(())
}

fn one(out: &mut dyn Write, style: &Style, number: &str, entry: &Entry) -> io::Result<()> {
    let run = &entry.run;
    for line in wrap(&format!("{number}{}", title(run)), style.width) {
        writeln!(out, "{}", style.bold(&line))?;
    }
    for line in wrap(&plain(&figures(run)), style.width - 2) {
        writeln!(out, "  {line}")?;
    }
    if !entry.audit.looked_at.is_empty() {
        writeln!(out, "\n{}", style.bold("Looked at"))?;
        for text in &entry.audit.looked_at {
            for (row, line) in wrap(&plain(text), style.width - 4).iter().enumerate() {
                writeln!(out, "  {}{line}", if row == 0 { "- " } else { "  " })?;
            }
        }
    }
    writeln!(out, "\n{}", style.bold("Checks"))?;
    match entry.audit.checks.is_empty() {
        true => writeln!(out, "  nothing stands against these figures")?,
        false => check_lines(out, style, &entry.audit.checks)?,
    }
    match (&entry.kept, &entry.not_kept) {
        (Some(id), _) => writeln!(out, "\nKept as an imported run: prony show {}", plain(id)),
        (None, Some(why)) => writeln!(out, "\n{}", plain(why)),
        (None, None) => Ok(()),
    }
}

/// Which tool and which workload, in a line.
pub(crate) fn title(run: &Run) -> String {
    let (tool, version) = match &run.imported {
        Some(imported) => (imported.tool.as_str(), imported.version.as_str()),
        None => ("", ""),
    };
    let workload = match run.workload.title.as_str() {
        "" => "an unknown workload",
        title => title,
    };
    plain(&format!("{tool} {version}, {workload}").replace(" ,", ","))
}

/// What it says, as far as it does.
fn figures(run: &Run) -> String {
    let mut said = Vec::new();
    for rate in &run.rates {
        said.push(format!("{} {}", units::rate(rate.value), rate.name));
    }
    let empty = KindFigures::default();
    let all = run.measured.kinds.first().unwrap_or(&empty);
    if all.tps > 0.0 {
        said.push(format!("{} transactions/s", units::rate(all.tps)));
    }
    if all.response.samples > 0 {
        said.push(format!("mean {}", units::time(all.response.mean_ns)));
    }
    for (name, ns) in [("p95", all.response.p95_ns), ("p99", all.response.p99_ns)] {
        if let Some(ns) = ns {
            said.push(format!("{name} {}", units::time(ns as f64)));
        }
    }
    if run.drive.clients > 0 {
        said.push(units::counted(
            run.drive.clients.into(),
            "client",
            "clients",
        ));
    }
    if run.workload.scale > 0 {
        said.push(format!("scale {}", units::count(run.workload.scale.into())));
    }
    if run.measured.seconds > 0.0 {
        said.push(units::span(run.measured.seconds));
    }
    match said.is_empty() {
        true => "no figure that could be used".to_owned(),
        false => said.join(", "),
    }
}

/// Writes them as one JSON document.
pub fn json(out: &mut dyn Write, entries: &[Entry]) -> io::Result<()> {
    let each = entries.iter().map(|entry| {
        json!({
            "run": entry.run,
            "checks": entry.audit.checks,
            "looked_at": entry.audit.looked_at,
            "kept": entry.kept,
        })
    });
    let document = json!({ "runs": each.collect::<Vec<_>>() });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_store::Reported;

    fn entry(reported: Reported) -> Entry {
        let run = reported
            .clone()
            .into_run("a\u{1b}file", "2026-11-20T23:33:42+00:00".into());
        Entry {
            audit: prony_judge::audit::audit(&reported, &run),
            run,
            kept: None,
            not_kept: None,
        }
    }

    #[test]
    fn foreign_text_is_shown_and_cannot_steer() {
        let reported = Reported {
            tool: "pgbench",
            title: "\u{1b}[2Jscript <b>.sql".into(),
            clients: Some(1),
            tps: Some(1000.0),
            mean_ms: Some(1.0),
            troubles: vec!["bad \u{7} line".into()],
            ..Reported::default()
        };
        let mut out = Vec::new();
        write(
            &mut out,
            &Style::plain(),
            &[entry(reported.clone()), entry(reported)],
        )
        .unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("1 of 2: pgbench, "), "{text}");
        assert!(
            text.contains("script <b>.sql") && text.contains("trouble"),
            "{text}"
        );
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{7}'),
            "{text}"
        );
        assert!(text.contains("Little's law"), "{text}");
    }

    #[test]
    fn an_output_without_figures_says_so() {
        let mut out = Vec::new();
        write(&mut out, &Style::plain(), &[entry(Reported::default())]).unwrap();
        assert!(String::from_utf8(out).unwrap().contains("no figure"));
        let mut out = Vec::new();
        json(&mut out, &[entry(Reported::default())]).unwrap();
        let read: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert!(read["runs"][0]["run"]["imported"].is_object());
    }
}
