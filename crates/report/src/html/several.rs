//! The overview of a page of several runs.
//!
//! In: documents. Out: a table of all runs, their throughput over time, dot plots and percentile curves, then
//! the comparisons. Must never: take the best of several runs.

use super::chart::{Axis, Chart, ChartLine, time_label};
use super::document::Document;
use super::one::title;
use super::percentiles::{self, NamedLatency};
use super::seconds::{ThroughputPoint, end_s, group_size, throughput_points};
use super::table::{end_table, start_table, start_table_with_id, write_row_at_time};
use super::{comparisons, dots, start_section, variants};
use crate::html::markup::{Html, markup, write_markup, writeln_markup};
use crate::terminal::{is_unmeasured, verdict_text};
use crate::text::plain;
use crate::units::{self, or_dash, time_or_dash};
use std::fmt;

/// Writes the table of contents; `entries` are inserted after the entry of the overview.
pub fn write_nav(out: &mut Html, documents: &[Document], entries: &'static str) -> fmt::Result {
    out.push_str("<nav aria-label=\"Sections\"><ul><li><a href=\"#overview\">Overview</a></li>");
    out.push_str(entries);
    comparisons::write_nav_entries(out, documents)?;
    for (index, document) in documents.iter().enumerate() {
        let (number, id) = (index + 1, &document.run.id);
        write_markup!(
            out,
            "<li><a href=\"#run-{number}\">Run {number}: {id}</a></li>",
            number = number,
            id = id
        )?;
    }
    out.push_str("<li><a href=\"#documents-h\">Documents</a></li></ul></nav>\n");
    Ok(())
}

/// Writes the table of all runs, and the comparison of each with the first.
pub fn write(out: &mut Html, documents: &[Document]) -> fmt::Result {
    start_section(out, 2, "overview", "Overview")?;
    variants::write(out, documents)?;
    write_overview(out, documents)?;
    write_throughput_chart(out, documents)?;
    let names: Vec<String> = documents.iter().enumerate().map(run_name).collect();
    dots::write_runs(out, documents, &names)?;
    let curves = documents.iter().zip(&names).filter_map(|(document, name)| {
        let all = document.run.measured.all_kinds()?;
        Some(NamedLatency {
            name: name.clone(),
            latency: &all.response,
        })
    });
    let title = "Response time by percentile, all kinds of each run";
    percentiles::write(out, "percentiles-runs", title, &curves.collect::<Vec<_>>())?;
    comparisons::write_effects(out, documents)?;
    out.push_str("</section>\n");
    comparisons::write(out, documents)
}

/// The name of a run in charts: its number, and its variant and repeat.
fn run_name((index, document): (usize, &Document)) -> String {
    match document.run.experiment {
        None => format!("run {}", index + 1),
        Some(_) => format!("run {}: {}", index + 1, variant_and_repeat(&document.run)),
    }
}

fn write_overview(out: &mut Html, documents: &[Document]) -> fmt::Result {
    let has_variants = documents
        .iter()
        .any(|document| document.run.experiment.is_some());
    let mut columns = vec![
        "run",
        "transactions/s",
        "p50",
        "p95",
        "p99",
        "verdict",
        "what",
    ];
    if has_variants {
        columns.insert(1, "variant");
    }
    start_table(
        out,
        "The runs; percentiles are of committed transactions",
        &columns,
    )?;
    for (index, document) in documents.iter().enumerate() {
        let run = &document.run;
        let all = run.measured.all_kinds();
        let percentile = |field: fn(&prony_store::Latency) -> Option<u64>| {
            time_or_dash(all.and_then(|all| field(&all.response)))
        };
        let verdict = verdict_text(run).map_or("not judged yet".into(), |(_, text)| text);
        let variant = if has_variants {
            markup!("<td class=\"short\">{}</td>", variant_and_repeat(run))
        } else {
            Html::default()
        };
        writeln_markup!(
            out,
            "<tr><th scope=\"row\"><a href=\"#run-{0}\">{0}: {1}</a></th>{2}<td>{3}</td><td>{4}</td>\
             <td>{5}</td><td>{6}</td><td class=\"word\">{7}</td><td class=\"word\">{8}</td></tr>",
            index + 1,
            &run.id,
            variant,
            or_dash(all.filter(|_| !is_unmeasured(run)), |all| units::rate(
                all.tps
            )),
            percentile(|latency| latency.p50_ns),
            percentile(|latency| latency.p95_ns),
            percentile(|latency| latency.p99_ns),
            verdict.replace(", see the checks below", ""),
            title(run)
        )?;
    }
    end_table(out)
}

/// The variant of a run and the number of its repeat.
fn variant_and_repeat(run: &prony_store::Run) -> String {
    match &run.experiment {
        None => "–".to_owned(),
        Some(experiment) if experiment.variant.is_empty() => {
            format!("repeat {}", experiment.repeat)
        }
        Some(experiment) => format!(
            "{}, repeat {}",
            plain(&experiment.variant),
            experiment.repeat
        ),
    }
}

/// Writes the throughput of all runs over time, in one chart with its table.
fn write_throughput_chart(out: &mut Html, documents: &[Document]) -> fmt::Result {
    let max_length = documents
        .iter()
        .map(|document| document.run.series.len())
        .max();
    let group_size = group_size(max_length.unwrap_or(0));
    let series = documents
        .iter()
        .map(|document| throughput_points(&document.run, group_size));
    let series: Vec<_> = series.collect();
    let Some(longest_series) = series.iter().max_by_key(|points| points.len()) else {
        return Ok(());
    };
    // Times count from the start of each run. Points are matched by time, not by index, because a row of a
    // killed long run covers ten seconds.
    let times_s: Vec<f64> = longest_series.iter().map(|point| point.middle_s).collect();
    let tps_at = |points: &[ThroughputPoint], index: usize| {
        let time_s = times_s[index];
        let contains_time = |point: &&ThroughputPoint| {
            point.start_s <= time_s && time_s < 2.0 * point.middle_s - point.start_s
        };
        points.iter().find(contains_time)?.tps
    };
    let lines = series.iter().zip(documents).enumerate();
    let lines = lines.map(|(index, (points, document))| ChartLine {
        name: run_name((index, document)),
        values: (0..times_s.len())
            .map(|index| tps_at(points, index))
            .collect(),
    });
    let end_s = documents.iter().map(|document| end_s(&document.run));
    let end_s = end_s.fold(1.0, f64::max);
    let chart = Chart {
        id: "courses".to_owned(),
        title: "Throughput of the runs, each from its own start: transactions committed per second",
        times_s: &times_s,
        lines: lines.collect(),
        format_value: |tps| format!("{} /s", units::rate(tps)),
        axis: Axis::Linear,
        marks: &[],
        warmup_s: 0.0,
        end_s,
        table_id: "courses-table".to_owned(),
    };
    chart.draw(out)?;
    out.push_str("<details><summary>The seconds of all runs as a table</summary>");
    let names: Vec<String> = (1..=documents.len()).map(|n| format!("run {n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let columns = [&["from"], names.as_slice()].concat();
    let caption = "Transactions committed per second";
    start_table_with_id(out, "courses-table", caption, &columns)?;
    for (index, point) in longest_series.iter().enumerate() {
        let cell = |points: &Vec<_>| or_dash(tps_at(points, index), units::rate);
        let cells: Vec<String> = series.iter().map(cell).collect();
        write_row_at_time(
            out,
            point.middle_s,
            &time_label(point.start_s, end_s),
            &cells,
        )?;
    }
    end_table(out)?;
    out.push_str("</details>\n");
    Ok(())
}
