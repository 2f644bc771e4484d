//! A run imported from another tool's output: the reported values and the missing ones.
//!
//! In: an imported Run. Out: text. Must never: show zero for a figure that was not reported.

use super::latency::{cells, title_row};
use super::{counts, engine_name, findings, write_headline};
use crate::audit::title;
use crate::printer::Printer;
use crate::style::Style;
use crate::table::Table;
use crate::text::plain;
use crate::units::{count, count_with_noun};
use prony_store::{Choice, ImportSource, Run, Setting};
use std::io;

/// Writes the imported run.
pub fn write(out: &mut Printer<'_>, run: &Run, imported: &ImportSource) -> io::Result<()> {
    out.wrapped(Style::bold, &title(run))?;
    out.wrapped(Style::caution, &import_notice(imported))?;
    write_headline(out, run)?;
    write_response_times(out, run)?;
    counts::write_kinds(out, run)?;
    counts::write_shares(out, run)?;
    findings::write_checks(out, run)?;
    out.heading("Set-up")?;
    out.named(14, &setup_lines(run, imported))
}

/// A notice that the figures come from another tool's output.
pub fn import_notice(imported: &ImportSource) -> String {
    let source = plain(&imported.source);
    format!("IMPORTED: read from {source}, not measured by Prony.")
}

/// Writes the response times that the output reported.
fn write_response_times(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let mut table = Table::new(&title_row("kind"));
    for kind in &run.measured.kinds {
        let cells = cells(&kind.response);
        if cells.iter().any(|cell| cell != "–") {
            table.row(std::iter::once(plain(kind.name())).chain(cells));
        }
    }
    if table.is_empty() {
        return Ok(());
    }
    out.heading("Response time, as printed")?;
    out.table(&table)
}

/// The set-up as labels and values.
pub fn setup_lines(run: &Run, imported: &ImportSource) -> Vec<(&'static str, String)> {
    let (server, drive) = (&run.server, &run.drive);
    let mut reported = Vec::new();
    if server.engine.is_some() {
        let server = format!("{} {}", engine_name(server), server.version);
        reported.push(server.trim().to_owned());
    }
    if run.workload.scale > 0 {
        reported.push(format!("scale {}", count(run.workload.scale.into())));
    }
    for (number, singular, plural) in [
        (drive.clients, "client", "clients"),
        (drive.threads, "thread", "threads"),
    ] {
        if number > 0 {
            reported.push(count_with_noun(number.into(), singular, plural));
        }
    }
    if let Some(protocol) = drive.protocol {
        reported.push(format!("{} protocol", protocol.name()));
    }
    reported.extend(run.workload.settings.iter().map(Setting::to_string));
    vec![
        ("reported", plain(&reported.join(", "))),
        ("not reported", plain(&imported.not_reported.join(", "))),
        ("imported", plain(&run.started_at)),
    ]
}

#[cfg(test)]
mod tests {
    use crate::style::Style;
    use prony_store::{Engine, ReportedRun};

    #[test]
    fn unreported_values_are_listed_and_not_shown_as_zero() {
        let reported = ReportedRun {
            tool: "pgbench",
            version: "15\u{1b}[2J".into(),
            title: "mine.sql".into(),
            engine: Some(Engine::PostgreSql.into()),
            clients: Some(8),
            transactions: Some(1000),
            tps: Some(100.0),
            mean_ms: Some(80.0),
            actual_s: Some(10.0),
            ..ReportedRun::default()
        };
        let run = reported.into_run("-", "2026-11-20T23:33:42+00:00".into());
        let mut out = Vec::new();
        crate::terminal::write_full(&mut out, &Style::plain(), &run, None).unwrap();
        let text = String::from_utf8(out).unwrap();
        for expected in [
            "IMPORTED: read from -,",
            "100 transactions/s",
            "80.0 ms",
            "reported      PostgreSQL, 8 clients",
            "not reported  workload, scale, server version",
        ] {
            assert!(text.contains(expected), "{expected}:\n{text}");
        }
        assert!(
            !text.contains(" 0 ns") && !text.contains('\u{1b}'),
            "{text}"
        );
        assert!(!text.contains("This client"), "{text}");
    }
}
