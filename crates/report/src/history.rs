//! The table of stored runs.
//!
//! In: one row a run, newest first. Out: a table of at most 100 columns. Must never: open a
//! document.

use crate::style::Style;
use crate::table::Table;
use crate::text::{cut, plain};
use crate::units;
use std::io::{self, Write};

/// One stored run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Its id, which begins with the local time of its start.
    pub id: String,
    /// `complete`, `partial`, `running`; `invalid` for a complete one whose figures must not be used.
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
    /// Its place in an experiment, such as `3/10 new`; absent for a run by itself.
    pub experiment: Option<String>,
}

/// Writes the table.
pub fn write(out: &mut dyn Write, style: &Style, rows: &[Row]) -> io::Result<()> {
    if rows.is_empty() {
        return writeln!(out, "No runs are stored yet.");
    }
    // Where runs belong together, that is what tells them apart, and not their server: there is no
    // room for both.
    let together = rows.iter().any(|row| row.experiment.is_some());
    // The time is in the name already: a column of its own would not fit.
    let mut table = Table::new(&[
        "run (local date and time of start)",
        "scale",
        "clients",
        "tps",
        "p99",
        "state<",
        if together { "experiment<" } else { "server<" },
    ]);
    for row in rows {
        table.row([
            plain(&row.id),
            units::count(row.scale),
            units::count(row.clients),
            row.tps.map_or("–".into(), units::rate),
            row.p99_ns.map_or("–".into(), |ns| units::time(ns as f64)),
            plain(&row.state),
            match (together, &row.experiment) {
                (false, _) => cut(&plain(&row.server), 16),
                (true, of) => cut(&plain(of.as_deref().unwrap_or_default()), 16),
            },
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
    fn the_longest_rows_fit_a_hundred_columns() {
        let row = Row {
            id: "20261120-233342-simple-update-7f3a".into(),
            state: "complete".into(),
            scale: 10_000,
            clients: 100_000,
            tps: Some(1_234_567.0),
            p99_ns: Some(123_000_000),
            server: "postgresql 18.10devel".into(),
            experiment: None,
        };
        let of_many = Row {
            experiment: Some("1000/100000 variant".into()),
            ..row.clone()
        };
        let mut out = Vec::new();
        for rows in [vec![row.clone()], vec![row, of_many]] {
            out.clear();
            write(&mut out, &Style::plain(), &rows).unwrap();
            let text = String::from_utf8_lossy(&out);
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(100), "{widest:?}:\n{text}");
        }
    }

    #[test]
    fn runs_of_an_experiment_say_where_in_it_they_belong() {
        let alone = Row {
            id: "20261120-233342-tpcb-7f3a".into(),
            server: "postgresql 17.2".into(),
            ..Row::default()
        };
        let one = Row {
            experiment: Some("3/10 a-long-name-of-a-variant".into()),
            ..alone.clone()
        };
        let mut out = Vec::new();
        write(&mut out, &Style::plain(), &[alone, one]).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("3/10 a-long-nam…"), "{text}");
        assert!(!text.contains("postgresql"), "{text}");
    }

    #[test]
    fn no_runs_is_said_in_words() {
        let mut out = Vec::new();
        write(&mut out, &Style::plain(), &[]).unwrap();
        assert_eq!(out, b"No runs are stored yet.\n");
    }
}
