//! The table of stored runs.
//!
//! In: one row a run, newest first. Out: a table. Must never: open a document.

use crate::style::Style;
use crate::table::Table;
use crate::text::{cut, plain};
use crate::units;
use std::io::{self, Write};

/// One stored run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Its id.
    pub id: String,
    /// When it started, in words.
    pub started: String,
    /// `complete`, `partial` or `running`.
    pub state: String,
    /// Scale factor.
    pub scale: u64,
    /// Clients.
    pub clients: u64,
    /// Committed transactions a second; absent while there is none.
    pub tps: Option<f64>,
    /// 99th percentile of the response time, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Server and version, in words.
    pub server: String,
}

/// Writes the table.
pub fn write(out: &mut dyn Write, style: &Style, rows: &[Row]) -> io::Result<()> {
    if rows.is_empty() {
        return writeln!(out, "No runs are stored yet.");
    }
    let mut table = Table::new(&[
        "run",
        "started<",
        "scale",
        "clients",
        "transactions/s",
        "p99",
        "state<",
        "server<",
    ]);
    for row in rows {
        table.row([
            plain(&row.id),
            plain(&row.started),
            units::count(row.scale),
            units::count(row.clients),
            row.tps.map_or("–".into(), units::rate),
            row.p99_ns.map_or("–".into(), |ns| units::time(ns as f64)),
            plain(&row.state),
            cut(&plain(&row.server), 24),
        ]);
    }
    table.write(out, style, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_figures_shows_dashes_not_zeroes() {
        let row = Row {
            id: "20261120-233342-tpcb-7f3a".into(),
            state: "running".into(),
            ..Row::default()
        };
        let mut out = Vec::new();
        write(&mut out, &Style::plain(), &[row]).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("run "));
        let line = text.lines().nth(1).unwrap();
        assert!(line.contains("–") && line.contains("running"), "{line}");
    }

    #[test]
    fn no_runs_is_said_in_words() {
        let mut out = Vec::new();
        write(&mut out, &Style::plain(), &[]).unwrap();
        assert_eq!(out, b"No runs are stored yet.\n");
    }
}
