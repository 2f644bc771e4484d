//! A suite of scenarios: what it takes before it starts, and its table afterwards.
//!
//! In: estimates as plain values, and `judge`'s summary of the runs. Out: tables with their sentences, for the
//! terminal and for pages. Must never: show a deviation of a row that was smaller or shorter than published.

use crate::printer::Printer;
use crate::style::Style;
use crate::table::Table;
use crate::text::comparison::ratio_as_change;
use crate::text::plain;
use crate::text::scenario::not_comparable_sentence;
use crate::text::sweep::{sweep_legend, sweep_table};
use crate::units::{self, or_dash};
use prony_judge::reproduced::{ComparedFigure, SuiteRow, SuiteSummary};
use serde::Serialize;
use std::io::{self, Write};

/// What a suite takes.
#[derive(Serialize)]
pub struct SuiteEstimate {
    pub id: String,
    /// Title, one line.
    pub title: String,
    /// The rows that are still to run.
    pub rows: Vec<RowEstimate>,
    /// Rows that have run already.
    pub done: usize,
    /// Runs of each row.
    pub repeats: u32,
    /// Largest amount of data on the server at one time, bytes; absent if the size of a row is unknown.
    pub peak_bytes: Option<u64>,
    /// Where the time of the loads comes from.
    pub load_source: String,
    /// The price sheet, its currency, and what its prices are of; absent without a sheet.
    pub prices: Option<SheetUsed>,
}

/// The price sheet of an estimate.
#[derive(Serialize)]
pub struct SheetUsed {
    pub file: String,
    pub currency: String,
    /// Remarks, such as one-time costs that are left out.
    pub remarks: Vec<String>,
}

/// What one row takes, for all its runs together.
#[derive(Serialize)]
pub struct RowEstimate {
    pub id: String,
    /// Size of the data, bytes; absent if it is chosen when the row starts.
    pub data_bytes: Option<u64>,
    /// Seconds of the loads; zero if the row loads nothing, absent if they cannot be estimated.
    pub load_s: Option<f64>,
    /// Seconds of warm-ups and measured windows.
    pub run_s: f64,
    /// Cost in the currency of the sheet; absent without a price of its machine.
    pub cost: Option<f64>,
}

pub fn write_estimate(out: &mut dyn Write, style: &Style, suite: &SuiteEstimate) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    out.line(style.bold(&suite.id))?;
    out.wrapped(Style::dim, &suite.title)?;
    let cost_title = suite.prices.as_ref().map(|prices| prices.currency.as_str());
    let mut titles = vec!["row", "data", "load", "run"];
    titles.extend(cost_title);
    let mut table = Table::new(&titles);
    for row in &suite.rows {
        table.row(estimate_cells(row, cost_title.is_some()));
    }
    out.table(&table)?;
    let runs = suite.rows.len() as u64 * u64::from(suite.repeats);
    let known_load_s: f64 = suite.rows.iter().filter_map(|row| row.load_s).sum();
    let run_s: f64 = suite.rows.iter().map(|row| row.run_s).sum();
    let is_complete = suite.rows.iter().all(|row| row.load_s.is_some());
    let bound = if is_complete { "about" } else { "at least" };
    let done_note = match suite.done {
        0 => String::new(),
        done => format!(
            " {} done already.",
            units::count_with_noun(done as u64, "row is", "rows are")
        ),
    };
    out.paragraph(&format!(
        "{}: {bound} {}, of which {} measure; restarts, checks and pauses come on top.{done_note}",
        units::count_of(runs, "run"),
        units::span(known_load_s + run_s),
        units::span(run_s),
    ))?;
    out.paragraph(&suite.load_source)?;
    if let Some(bytes) = suite.peak_bytes {
        out.paragraph(&format!(
            "Room for at least {} of data is needed, and for what the runs add.",
            units::bytes(bytes)
        ))?;
    }
    match &suite.prices {
        None => out.paragraph(
            "What it costs is unknown: no price sheet is given (--sheet FILE, as for prony price).",
        ),
        Some(prices) => write_cost(out, suite, prices),
    }
}

fn estimate_cells(row: &RowEstimate, has_cost: bool) -> Vec<String> {
    let mut cells = vec![
        row.id.clone(),
        or_dash(row.data_bytes, units::bytes),
        or_dash(row.load_s, units::span),
        units::span(row.run_s),
    ];
    if has_cost {
        cells.push(or_dash(row.cost, money));
    }
    cells
}

fn money(amount: f64) -> String {
    let cents = (amount * 100.0).round() as u64;
    format!("{}.{:02}", units::count(cents / 100), cents % 100)
}

fn write_cost(out: &mut Printer<'_>, suite: &SuiteEstimate, prices: &SheetUsed) -> io::Result<()> {
    let priced: Vec<f64> = suite.rows.iter().filter_map(|row| row.cost).collect();
    let unpriced_note = match suite.rows.len() - priced.len() {
        0 => String::new(),
        number => format!(
            " {} no price in it.",
            units::count_with_noun(number as u64, "row has", "rows have")
        ),
    };
    out.paragraph(&format!(
        "Cost of the server in that time, by {}: {} {}.{unpriced_note}",
        plain(&prices.file),
        money(priced.iter().sum()),
        plain(&prices.currency),
    ))?;
    out.paragraphs(prices.remarks.iter().map(|remark| plain(remark)))
}

const COLUMNS: [&str; 4] = ["figure", "published", "measured", "deviation"];

pub(crate) fn summary_table(summary: &SuiteSummary) -> Table {
    // On a narrow screen only the first columns are visible: among them whether a row has run.
    let mut table = Table::new(&["row"])
        .with_texts(&["runs", COLUMNS[0]])
        .with_numbers(&COLUMNS[1..])
        .with_texts(&["caches"]);
    for row in &summary.rows {
        let (runs, caches) = (runs_text(row), row.caches.join(", "));
        if row.figures.is_empty() {
            let cells = [&*row.id, &runs, "", "", "", "", &caches];
            table.row(cells.map(plain));
        }
        for (index, figure) in row.figures.iter().enumerate() {
            let [name, figures @ ..] = figure_cells(row, figure);
            let first = |text: &str| {
                if index == 0 { plain(text) } else { String::new() }
            };
            let cells = [first(&row.id), first(&runs), name].into_iter();
            table.row(cells.chain(figures).chain([first(&caches)]));
        }
    }
    table
}

fn runs_text(row: &SuiteRow) -> String {
    match (row.counted, row.runs) {
        (_, 0) => "not run".to_owned(),
        (counted, runs) if counted == runs => runs.to_string(),
        (counted, runs) => format!("{counted} of {runs} count"),
    }
}

/// Name, published, measured and deviation.
fn figure_cells(row: &SuiteRow, figure: &ComparedFigure) -> [String; 4] {
    let deviation = match (figure.change, figure.published) {
        (Some(change), _) => ratio_as_change(1.0 + change),
        (None, Some(_)) if !row.not_comparable_by.is_empty() => "not comparable".to_owned(),
        _ => "–".to_owned(),
    };
    let measured = match (figure.measured, figure.range) {
        (Some(median), Some((low, high))) => format!(
            "{} ({} to {})",
            units::rate(median),
            units::rate(low),
            units::rate(high)
        ),
        (median, _) => or_dash(median, units::rate),
    };
    // The names of rates say their units.
    let name = match &*figure.unit {
        unit @ ("ms" | "s" | "%") => format!("{} ({unit})", figure.name),
        _ => figure.name.clone(),
    };
    [
        plain(&name),
        or_dash(figure.published, |value| {
            units::value_or_range(value, figure.published_high)
        }),
        measured,
        deviation,
    ]
}

pub(crate) fn summary_sentences(summary: &SuiteSummary) -> Vec<String> {
    let mut sentences = vec![format!(
        "Requested: {}. Figures are medians of the runs that count, with the lowest and the highest of several. \
         Servers: {}.",
        plain(&summary.request),
        plain(&summary.servers.join("; ")),
    )];
    let rows = summary.rows.iter();
    let mut reasons: Vec<&str> = rows.flat_map(|row| row.not_comparable_by.clone()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    sentences.extend(not_comparable_sentence("such a row", &reasons));
    sentences.push(
        "Cold: restarted before the load. Read: the tables were read into the cache before the run. What else differs \
         from the document is on the page of each run (prony show ID)."
            .to_owned(),
    );
    sentences
}

/// Writes the table of a suite's rows.
pub fn write_summary(out: &mut dyn Write, style: &Style, summary: &SuiteSummary) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    out.heading(&format!("The suite {}", plain(&summary.id)))?;
    out.table(&summary_table(summary))?;
    out.paragraphs(summary_sentences(summary))?;
    if let Some(scaling) = &summary.scaling {
        out.heading("Throughput by CPUs")?;
        out.table(&sweep_table(scaling))?;
        out.paragraph(&sweep_legend(scaling))?;
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sample_run::{closed, written};
    use crate::terminal::reproduced::tests::run_with_scenario;
    use prony_assertions::TextAssertions;
    use prony_judge::reproduced::suite_summary;
    use prony_store::{Experiment, ExperimentKind, Run, SuiteRequest};

    /// A row of a suite with another row that has not run.
    pub(crate) fn run_in_suite(size_share: f64) -> Run {
        let mut run = run_with_scenario();
        run.checks.clear();
        let scenario = run.scenario.as_mut().expect("a scenario");
        scenario.id = "tpcb-cached".to_owned();
        scenario.size_share = size_share;
        scenario.original.clients = None;
        run.experiment = Some(Experiment {
            kind: ExperimentKind::Suite(SuiteRequest {
                id: "alloydb-16".to_owned(),
                request: "as <published>".to_owned(),
            }),
            id: "20261121-1".to_owned(),
            variant: "tpcb-cached".to_owned(),
            variants: ["tpcb-cached", "other"].map(str::to_owned).into(),
            repeat: 1,
            position: 1,
            runs: 2,
            ..Experiment::default()
        });
        run
    }

    fn shown(run: &Run) -> String {
        let summary = suite_summary(std::slice::from_ref(run)).expect("a suite");
        let text = written(|out| write_summary(out, &Style::plain(), &summary));
        text.lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n")
            .collect()
    }

    #[test]
    fn rows_have_deviations_only_if_they_ran_as_published() {
        let text = shown(&run_in_suite(1.0));
        text.assert_contains("tpcb-cached 1 TPS 20,359 27,700 +36.1 % warm\n");
        text.assert_contains("other not run\n");
        let text = shown(&run_in_suite(0.001));
        text.assert_contains("20,359 27,700 not comparable warm\n");
        text.replace('\n', " ")
            .assert_contains("such a row had less data than published");
    }

    #[test]
    fn an_estimate_says_how_long_how_large_and_what_it_costs() {
        let row = |id: &str, load_s, cost| RowEstimate {
            id: id.to_owned(),
            data_bytes: Some(60_000_000_000),
            load_s,
            run_s: 7_200.0,
            cost,
        };
        let mut estimate = SuiteEstimate {
            id: "a-suite".to_owned(),
            title: "a title".to_owned(),
            rows: vec![row("a", Some(1_800.0), Some(1.999)), row("b", None, None)],
            done: 1,
            repeats: 2,
            peak_bytes: Some(60_000_000_000),
            load_source: "Loads are assumed.".to_owned(),
            prices: None,
        };
        let shown = |estimate: &SuiteEstimate| {
            let text = written(|out| write_estimate(out, &Style::plain(), estimate));
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let text = shown(&estimate);
        for part in [
            "a 60 GB 30 min 2 h",
            "4 runs: at least 4 h 30 min, of which 4 h measure",
            "1 row is done already",
            "at least 60 GB of data",
            "no price sheet is given",
        ] {
            text.assert_contains(part);
        }
        estimate.prices = Some(SheetUsed {
            file: "prices.toml".to_owned(),
            currency: "EUR".to_owned(),
            remarks: Vec::new(),
        });
        let text = shown(&estimate);
        text.assert_contains("by prices.toml: 2.00 EUR. 1 row has no price in it.");
        assert!(suite_summary(&[closed()]).is_none());
    }
}
