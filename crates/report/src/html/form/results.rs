//! The results of a test by row and concurrency.
//!
//! In: Runs. Out: a table of medians. Must never: take the best of several runs, count a run that must not be used, or rank
//! the rows, which may be different loads.

use super::super::table;
use crate::html::markup::Html;
use crate::table::Table;
use crate::text::plain;
use crate::units::{self, or_dash};
use prony_judge::compare::is_same_load;
use prony_judge::experiment::{Spread, is_counted};
use prony_store::{Latency, Run};
use std::fmt;

/// Runs of one load with one number of clients.
pub(super) struct ResultRow<'a> {
    /// The scenario, the variant or the workload.
    pub name: String,
    pub clients: u32,
    pub runs: Vec<&'a Run>,
}

/// The runs by row, in their order.
pub(super) fn result_rows<'a>(runs: &[&'a Run]) -> Vec<ResultRow<'a>> {
    let mut rows: Vec<ResultRow<'a>> = Vec::new();
    for run in runs {
        let name = row_name(run);
        let is_same = |row: &&mut ResultRow<'_>| {
            row.name == name && row.clients == run.drive.clients && is_same_load(row.runs[0], run)
        };
        match rows.iter_mut().find(is_same) {
            Some(row) => row.runs.push(run),
            None => rows.push(ResultRow {
                name,
                clients: run.drive.clients,
                runs: vec![run],
            }),
        }
    }
    rows
}

fn row_name(run: &Run) -> String {
    let scenario = run.scenario.as_ref().map(|scenario| scenario.id.as_str());
    let variant = run.variant().filter(|name| !name.is_empty());
    plain(scenario.or(variant).unwrap_or(run.workload.display_name()))
}

type Read = fn(&Run) -> Option<f64>;
/// A title, how a figure is read, and how it is formatted.
type Column = (&'static str, Read, fn(f64) -> String);

impl ResultRow<'_> {
    fn counted(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().copied().filter(|run| is_counted(run))
    }

    /// The median of the counted runs; `None` if one of them does not have the figure.
    fn median(&self, read: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
        let values: Option<Vec<f64>> = self.counted().map(read).collect();
        Some(Spread::from_values(values?)?.median)
    }

    fn runs_text(&self) -> String {
        match (self.counted().count(), self.runs.len()) {
            (counted, runs) if counted == runs => runs.to_string(),
            (counted, runs) => format!("{counted} of {runs} count"),
        }
    }
}

fn tps(run: &Run) -> Option<f64> {
    Some(run.measured.all_kinds()?.tps)
}

fn response(run: &Run, read: fn(&Latency) -> Option<f64>) -> Option<f64> {
    let response = &run.measured.all_kinds()?.response;
    read(response).filter(|_| response.samples > 0)
}

/// Queries of a kind, per second.
fn queries(run: &Run, count: fn(&prony_store::QueryCounts) -> u64) -> Option<f64> {
    let seconds = Some(run.measured.length_s).filter(|seconds| *seconds > 0.0)?;
    Some(count(run.measured.queries.as_ref()?) as f64 / seconds)
}

fn failed_share(run: &Run) -> Option<f64> {
    let all = run.measured.all_kinds()?;
    (all.ended() > 0).then(|| all.failed as f64 / all.ended() as f64)
}

const RESULTS: [Column; 8] = [
    ("TPS", tps, units::rate),
    (
        "QPS",
        |run| queries(run, |counts| counts.reads + counts.writes + counts.others),
        units::rate,
    ),
    (
        "reads in 60 s",
        |run| Some(queries(run, |counts| counts.reads)? * 60.0),
        units::rate,
    ),
    (
        "writes in 60 s",
        |run| Some(queries(run, |counts| counts.writes)? * 60.0),
        units::rate,
    ),
    (
        "mean",
        |run| response(run, |times| Some(times.mean_ns)),
        units::time,
    ),
    (
        "p95",
        |run| response(run, |times| times.p95_ns.map(|ns| ns as f64)),
        units::time,
    ),
    (
        "p99",
        |run| response(run, |times| times.p99_ns.map(|ns| ns as f64)),
        units::time,
    ),
    ("failed", failed_share, units::percent),
];

/// Names of the industry metrics that the runs have, each once.
fn metrics(rows: &[ResultRow<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for rate in rows
        .iter()
        .flat_map(ResultRow::counted)
        .flat_map(|run| &run.rates)
    {
        let name = rate.name.as_str().to_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn metric(run: &Run, name: &str) -> Option<f64> {
    let rate = run.rates.iter().find(|rate| rate.name.as_str() == name)?;
    Some(rate.value)
}

pub(super) fn write_table(out: &mut Html, rows: &[ResultRow<'_>]) -> fmt::Result {
    let metrics = metrics(rows);
    let names: Vec<String> = metrics.iter().map(|name| plain(name)).collect();
    let mut titles = vec!["clients", "runs"];
    titles.extend(names.iter().map(String::as_str));
    titles.extend(RESULTS.map(|(title, ..)| title));
    let mut table = Table::new(&["row"]).with_numbers(&titles);
    for row in rows {
        let mut cells = vec![
            row.name.clone(),
            units::count(row.clients.into()),
            row.runs_text(),
        ];
        cells.extend(metrics.iter().map(|name| {
            let median = row.median(|run| metric(run, name));
            or_dash(median, units::rate)
        }));
        cells.extend(cells_of(row, &RESULTS));
        table.row(cells);
    }
    let caption = "Results by row and number of clients: medians; times are response times of committed transactions; \
                   – means not observed";
    table::write_table(out, caption, &table)
}

fn cells_of(row: &ResultRow<'_>, columns: &[Column]) -> Vec<String> {
    let columns = columns.iter();
    let cells = columns.map(|(_, read, format)| or_dash(row.median(read), format));
    cells.collect()
}
