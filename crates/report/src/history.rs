//! The table of stored runs.
//!
//! In: summaries of runs, newest first. Out: a table of at most 100 columns; an experiment, a label and a note
//! are on a line below the row. Must never: read a document.

use crate::style::Style;
use crate::table::Table;
use crate::text::{cut, plain};
use crate::units::{self, count, or_dash, time_or_dash};
use prony_store::{RunState, RunSummary, Severity};
use std::io::{self, Write};

/// The maximum width of a line, in characters.
const MAX_WIDTH: usize = 100;

/// Writes the table.
pub fn write(out: &mut dyn Write, style: &Style, runs: &[RunSummary]) -> io::Result<()> {
    if runs.is_empty() {
        return writeln!(out, "No runs are stored yet.");
    }
    // The id contains the time: a separate column would not fit.
    let mut table = Table::new(&[
        "run (local date and time of start)",
        "scale",
        "clients",
        "tps",
        "p99",
        "state<",
        "server<",
    ]);
    for run in runs {
        let server = run.server.split(" (").next().unwrap_or_default();
        table.row([
            plain(&run.id),
            count(run.scale.into()),
            count(run.clients.into()),
            or_dash(run.tps, units::rate),
            time_or_dash(run.p99_ns),
            state(run).to_owned(),
            cut(&plain(server), 16),
        ]);
        if let Some(line) = details_line(run) {
            table.below(line);
        }
    }
    table.write(out, style, 0)
}

fn state(run: &RunSummary) -> &'static str {
    match run.state {
        RunState::Complete if run.worst_doubt == Some(Severity::Invalid) => "invalid",
        RunState::Complete => "complete",
        RunState::Partial => "partial",
        RunState::Running => "running",
    }
}

/// The line below a row: experiment, label and note; absent if the run has none.
fn details_line(run: &RunSummary) -> Option<String> {
    let experiment = run.experiment.as_ref();
    let label = run.annotation.label.as_ref();
    let parts = [
        experiment.map(|experiment| {
            let variant = plain(&experiment.variant);
            format!(
                "experiment {}/{} {variant}",
                experiment.position, experiment.runs
            )
        }),
        label.map(|label| format!("[{}]", plain(label))),
        run.annotation.note.as_deref().map(plain),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| cut(&format!("  {}", parts.join("  ")), MAX_WIDTH))
}

/// Writes the label and the note of a run.
pub fn write_annotation(
    out: &mut dyn Write,
    style: &Style,
    label: Option<&str>,
    note: Option<&str>,
) -> io::Result<()> {
    for (name, text) in [("label", label), ("note", note)] {
        if let Some(text) = text {
            writeln!(out, "{}: {}", style.dim(name), plain(text))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::closed;
    use prony_store::{Annotation, Experiment};

    fn summary() -> RunSummary {
        let run = closed();
        RunSummary::new(&run.id, &run)
    }

    fn shown(runs: &[RunSummary]) -> String {
        let mut out = Vec::new();
        write(&mut out, &Style::plain(), runs).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn position_in_experiment(variant: &str) -> Option<Experiment> {
        Some(Experiment {
            position: 3,
            runs: 10,
            variant: variant.to_owned(),
            ..Experiment::default()
        })
    }

    #[test]
    fn a_run_without_figures_shows_dashes_not_zeroes() {
        let run = RunSummary {
            state: RunState::Running,
            tps: None,
            p99_ns: None,
            ..summary()
        };
        let text = shown(&[run]);
        assert!(text.starts_with("run "));
        let line = text.lines().nth(1).unwrap();
        assert!(line.contains("–") && line.contains("running"), "{line}");
    }

    #[test]
    fn long_rows_fit_a_hundred_columns() {
        let run = RunSummary {
            id: "20261120-233342-simple-update-7f3a".into(),
            scale: 10_000,
            clients: 100_000,
            tps: Some(1_234_567.0),
            p99_ns: Some(123_000_000),
            server: "postgresql 18.10devel (Debian)".into(),
            ..summary()
        };
        let annotated = RunSummary {
            experiment: position_in_experiment("variant"),
            annotation: Annotation {
                label: Some("a label".into()),
                note: Some("a long note ".repeat(20)),
            },
            ..run.clone()
        };
        for runs in [vec![run.clone()], vec![run, annotated]] {
            let text = shown(&runs);
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(100), "{widest:?}:\n{text}");
        }
    }

    #[test]
    fn a_run_shows_its_position_in_an_experiment_and_its_validity() {
        let invalid = RunSummary {
            experiment: position_in_experiment("a-long-name-of-a-variant"),
            worst_doubt: Some(Severity::Invalid),
            ..summary()
        };
        let text = shown(&[summary(), invalid]);
        let expected = "\n  experiment 3/10 a-long-name-of-a-variant\n";
        assert!(text.contains(expected), "{text}");
        assert_eq!(text.matches("postgresql 17.2").count(), 2, "{text}");
        assert_eq!(text.matches("complete").count(), 1, "{text}");
        assert_eq!(text.matches("invalid").count(), 1, "{text}");
    }

    #[test]
    fn an_empty_store_has_a_message() {
        assert_eq!(shown(&[]), "No runs are stored yet.\n");
    }
}
