//! A run that another tool drove: what its output told, and what it did not.
//!
//! In: an imported Run. Out: text. Must never: show a zero for what was not told.

use super::{Stored, around, engine, heading, headline};
use crate::audit::title;
use crate::style::Style;
use crate::table::Table;
use crate::text::{plain, wrap};
use crate::units;
use prony_store::{Imported, Latency, Run};
use std::io::{self, Write};

/// Writes it.
pub fn write(
    out: &mut dyn Write,
    style: &Style,
    run: &Run,
    imported: &Imported,
    stored: Option<Stored<'_>>,
) -> io::Result<()> {
    for line in wrap(&title(run), style.width) {
        writeln!(out, "{}", style.bold(&line))?;
    }
    for line in wrap(&mark(imported), style.width) {
        writeln!(out, "{}", style.caution(&line))?;
    }
    headline(out, style, run)?;
    response(out, style, run)?;
    around::kinds(out, style, run)?;
    around::shares(out, style, run)?;
    around::checks(out, style, run)?;
    setup(out, style, run, imported)?;
    around::place(out, stored)
}

/// That it is no measurement of Prony's.
pub fn mark(imported: &Imported) -> String {
    let source = plain(&imported.source);
    format!("IMPORTED: read from {source}, not measured by Prony.")
}

/// Response times, as far as they were printed.
fn response(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    let known: Vec<(&str, Vec<Option<f64>>)> = run
        .measured
        .kinds
        .iter()
        .map(|kind| (kind.kind.as_str(), figures(&kind.response)))
        .filter(|(_, figures)| figures.iter().any(Option::is_some))
        .collect();
    if known.is_empty() {
        return Ok(());
    }
    heading(out, style, "Response time, as it was printed")?;
    let mut table = Table::new(&["kind", "p50", "p90", "p95", "p99", "p99.9", "max", "mean"]);
    for (kind, figures) in known {
        let cells = figures
            .into_iter()
            .map(|ns| ns.map_or("–".into(), units::time));
        table.row(std::iter::once(plain(kind)).chain(cells));
    }
    table.write(out, style, 2)
}

fn figures(of: &Latency) -> Vec<Option<f64>> {
    let exact = |ns: Option<u64>| ns.map(|ns| ns as f64);
    vec![
        exact(of.p50_ns),
        exact(of.p90_ns),
        exact(of.p95_ns),
        exact(of.p99_ns),
        exact(of.p999_ns),
        (of.max_ns > 0).then_some(of.max_ns as f64),
        (of.samples > 0).then_some(of.mean_ns),
    ]
}

fn setup(out: &mut dyn Write, style: &Style, run: &Run, imported: &Imported) -> io::Result<()> {
    heading(out, style, "Set-up")?;
    around::labelled(out, style, 10, &setup_lines(run, imported))
}

/// The set-up, each part with its label.
pub fn setup_lines(run: &Run, imported: &Imported) -> Vec<(&'static str, String)> {
    let (server, drive) = (&run.server, &run.drive);
    let mut told = Vec::new();
    if !server.engine.is_empty() {
        told.push(
            format!("{} {}", engine(&server.engine), server.version)
                .trim()
                .to_owned(),
        );
    }
    if run.workload.scale > 0 {
        told.push(format!("scale {}", units::count(run.workload.scale.into())));
    }
    for (number, one, many) in [
        (drive.clients, "client", "clients"),
        (drive.threads, "thread", "threads"),
    ] {
        if number > 0 {
            told.push(units::counted(number.into(), one, many));
        }
    }
    if !drive.protocol.is_empty() && drive.protocol != "not told" {
        told.push(format!("{} protocol", drive.protocol));
    }
    told.extend(run.workload.settings.iter().cloned());
    vec![
        ("told", plain(&told.join(", "))),
        ("not told", plain(&imported.untold.join(", "))),
        ("imported", plain(&run.started_at)),
    ]
}

#[cfg(test)]
mod tests {
    use crate::style::Style;
    use prony_store::Reported;

    #[test]
    fn what_was_not_told_is_named_and_no_zero() {
        let reported = Reported {
            tool: "pgbench",
            version: "15\u{1b}[2J".into(),
            title: "mine.sql".into(),
            engine: "postgresql".into(),
            clients: Some(8),
            transactions: Some(1000),
            tps: Some(100.0),
            mean_ms: Some(80.0),
            ran_s: Some(10.0),
            ..Reported::default()
        };
        let run = reported.into_run("-", "2026-11-20T23:33:42+00:00".into());
        let mut out = Vec::new();
        crate::terminal::write(&mut out, &Style::plain(), &run, None).unwrap();
        let text = String::from_utf8(out).unwrap();
        for said in [
            "IMPORTED: read from -,",
            "100 transactions/s",
            "80.0 ms",
            "told      PostgreSQL, 8 clients",
            "not told  workload, scale, server version",
        ] {
            assert!(text.contains(said), "{said}:\n{text}");
        }
        assert!(
            !text.contains(" 0 ns") && !text.contains('\u{1b}'),
            "{text}"
        );
        assert!(!text.contains("This client"), "{text}");
    }
}
