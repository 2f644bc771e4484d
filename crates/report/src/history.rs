//! The table of stored runs.
//!
//! In: summaries of runs, newest first. Out: a table of at most 100 columns; failed transactions have a line below
//! the row, and an experiment and a note another. Must never: read a document.

use crate::json;
use crate::style::Style;
use crate::table::Table;
use crate::text::{cut, plain};
use crate::units::{self, time_or_dash};
use prony_store::{RunSummary, RunVerdict};
use std::io::{self, Write};

/// The maximum width of a line, in characters.
const MAX_WIDTH: usize = 100;

/// Largest width of the columns between the id and the label, with the gaps around them, in characters.
const MIDDLE_WIDTH: usize = 51;
/// Their usual width, by which a terminal counts as narrow.
const USUAL_MIDDLE_WIDTH: usize = 43;
const MIN_LABEL_WIDTH: usize = 10;

/// Writes the table; `now_ns` is the time at which the runs are listed, nanoseconds since 1970.
pub fn write(
    out: &mut dyn Write,
    style: &Style,
    runs: &[RunSummary],
    now_ns: i64,
) -> io::Result<()> {
    if runs.is_empty() {
        return writeln!(out, "No runs are stored yet.");
    }
    let widest_id = runs.iter().map(|run| run.id.chars().count()).max();
    let widest_id = widest_id.unwrap_or(0);
    // A narrow terminal shows the ids below the rows, not half of each row in the next line.
    let is_narrow = widest_id + USUAL_MIDDLE_WIDTH > style.width;
    let id_width = if is_narrow { 0 } else { widest_id };
    let used = id_width + MIDDLE_WIDTH;
    let label_width = style.width.saturating_sub(used).max(MIN_LABEL_WIDTH);
    // The id contains the time: a separate column would not fit.
    let first: &[&str] = if is_narrow { &[] } else { &["run"] };
    let mut table = Table::new(&[])
        .with_texts(first)
        .with_numbers(&["age", "load", "figure", "p99 ok"])
        .with_texts(&["verdict", "label"]);
    for run in runs {
        let label = plain(run.annotation.label.as_deref().unwrap_or_default());
        let shown_label = cut(&label, label_width);
        let id = Some(plain(&run.id)).filter(|_| !is_narrow);
        let cells = [
            age(now_ns.saturating_sub(run.epoch_ns())),
            load(run),
            figure(run),
            time_or_dash(run.p99_ns),
            verdict(run),
            shown_label.clone(),
        ];
        table.row(id.into_iter().chain(cells));
        if is_narrow {
            table.below(format!("  {}", plain(&run.id)));
        }
        if let Some(line) = failures_line(run) {
            table.below(line);
        }
        let is_cut = label != shown_label;
        if let Some(line) = details_line(run, is_cut.then_some(label)) {
            table.below(line);
        }
    }
    table.write(out, style, 0)
}

/// Clients, and the rate of an open loop: `16`, `16 at 500 /s`.
pub(crate) fn load(run: &RunSummary) -> String {
    let clients = units::count(run.clients.into());
    match run.rate_tps {
        Some(rate) => format!("{clients} at {}", units::per_second(rate)),
        None => clients,
    }
}

/// The verdict, and whether the run meets what was required of it.
pub(crate) fn verdict(run: &RunSummary) -> String {
    let verdict = RunVerdict::of(run);
    // The answer of a run in progress is about no figures yet.
    let answer = run.answer.filter(|_| verdict != RunVerdict::Running);
    let answer = answer.map(|answer| format!(", {}", answer.name()));
    format!("{}{}", verdict.name(), answer.unwrap_or_default())
}

pub(crate) fn figure(run: &RunSummary) -> String {
    match (run.nopm, run.tps) {
        (Some(nopm), _) => format!("{} NOPM", units::rate(nopm)),
        (None, Some(tps)) => format!("{} TPS", units::rate(tps)),
        (None, None) => "–".to_owned(),
    }
}

/// The time since a run started in its largest unit: `45 s`, `12 min`, `5 h`, `30 d`.
pub(crate) fn age(ns: i64) -> String {
    let seconds = u64::try_from(ns / 1_000_000_000).unwrap_or(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// The line about failed transactions: their number and 99th percentile, and that of all attempts; absent if none
/// failed.
fn failures_line(run: &RunSummary) -> Option<String> {
    let failed = run.failed.filter(|failed| *failed > 0)?;
    let mut line = format!("  {} failed", units::count(failed));
    if let Some(ns) = run.failed_p99_ns {
        line += &format!(", p99 {}", units::time(ns as f64));
    }
    if let Some(ns) = run.attempts_p99_ns {
        line += &format!("; all attempts, p99 {}", units::time(ns as f64));
    }
    Some(line)
}

/// The line below a row: the experiment, the whole label if its column shows only a part of it, and the note; `None` if
/// there is none of them.
fn details_line(run: &RunSummary, cut_label: Option<String>) -> Option<String> {
    let experiment = run.experiment.as_ref();
    let parts = [
        experiment.map(|experiment| {
            let variant = plain(&experiment.variant);
            format!(
                "experiment {}/{} {variant}",
                experiment.position, experiment.runs
            )
        }),
        cut_label.map(|label| format!("[{label}]")),
        run.annotation.note.as_deref().map(plain),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| cut(&format!("  {}", parts.join("  ")), MAX_WIDTH))
}

/// Writes the summaries as a JSON array, each with its verdict, label and note.
pub fn write_json(out: &mut dyn Write, runs: &[RunSummary]) -> io::Result<()> {
    let rows = runs.iter().map(|run| {
        let mut row = serde_json::to_value(run)?;
        row["verdict"] = RunVerdict::of(run).name().into();
        row["label"] = run.annotation.label.clone().into();
        row["note"] = run.annotation.note.clone().into();
        Ok(row)
    });
    let rows = rows.collect::<Result<Vec<_>, serde_json::Error>>()?;
    json::write_pretty(out, &rows)
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
    use crate::sample_run::{closed, written};
    use prony_assertions::TextAssertions;
    use prony_store::{Annotation, Experiment, RunState, Severity};

    fn summary() -> RunSummary {
        let run = closed();
        RunSummary::new(&run.id, &run)
    }

    fn shown(runs: &[RunSummary]) -> String {
        let now_ns = summary().epoch_ns() + 3 * 3_600 * 1_000_000_000;
        written(|out| write(out, &Style::plain(), runs, now_ns))
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
        text.assert_starts_with("run ");
        let line = text.lines().nth(1).unwrap();
        line.assert_contains("–").assert_contains("running");
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
    fn a_narrow_terminal_has_whole_rows_with_the_ids_below() {
        let run = RunSummary {
            id: "20261120-233342-oltp-read-write-7f3a".into(),
            ..summary()
        };
        let narrow = Style {
            width: 60,
            ..Style::plain()
        };
        let now_ns = summary().epoch_ns();
        let text = written(|out| write(out, &narrow, &[run], now_ns));
        text.assert_contains("\n  20261120-233342-oltp-read-write-7f3a\n");
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(60), "{widest:?}:\n{text}");
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
        text.assert_contains(expected);
        assert_eq!(text.matches("doubts").count(), 1, "{text}");
        assert_eq!(text.matches("invalid").count(), 1, "{text}");
    }

    #[test]
    fn a_row_has_age_figure_percentile_verdict_and_label() {
        let labelled = |label: &str| RunSummary {
            annotation: Annotation {
                label: Some(label.to_owned()),
                note: None,
            },
            ..summary()
        };
        let text = shown(&[labelled("base")]);
        let row = "20261120-233342-tpcb-7f3a  3 h    64  27,700 TPS  9.24 ms  doubts   base\n  3 failed\n";
        text.assert_ends_with(row);
        let new_orders = RunSummary {
            nopm: Some(54_818.0),
            ..summary()
        };
        shown(&[new_orders]).assert_contains("  54,818 NOPM  ");
        let text = shown(&[labelled("a label that is too long for its column")]);
        text.assert_contains("\n  [a label that is too long for its column]\n");
    }

    #[test]
    fn failures_have_a_line_and_percentiles_name_their_population() {
        let run = RunSummary {
            failed: Some(1_203),
            failed_p99_ns: Some(60_000_000),
            attempts_p99_ns: Some(45_000_000),
            ..summary()
        };
        let text = shown(std::slice::from_ref(&run));
        text.lines().next().unwrap().assert_contains("p99 ok  ");
        let line = "\n  1,203 failed, p99 60.0 ms; all attempts, p99 45.0 ms\n";
        text.assert_contains(line);
        let few = RunSummary {
            failed: Some(3),
            failed_p99_ns: None,
            attempts_p99_ns: None,
            ..run
        };
        shown(&[few]).assert_contains("\n  3 failed\n");
        let none = RunSummary {
            failed: Some(0),
            ..summary()
        };
        shown(&[none]).assert_lacks("failed");
    }

    #[test]
    fn an_age_is_in_its_largest_unit() {
        let ages =
            [-5, 59, 60, 3_599, 3_600, 172_799, 172_800].map(|s: i64| age(s * 1_000_000_000));
        assert_eq!(
            ages,
            ["0 s", "59 s", "1 min", "59 min", "1 h", "47 h", "2 d"]
        );
    }

    #[test]
    fn an_empty_store_has_a_message() {
        assert_eq!(shown(&[]), "No runs are stored yet.\n");
    }
}
