//! The overview of a page of several runs.
//!
//! In: documents. Out: a table of all runs, their throughput over time, dot plots and percentile curves, then
//! the comparisons. Must never: take the best of several runs.

use super::comparisons::PageSides;
use super::document::Document;
use super::one::title;
use super::over_time::{Span, end_s, max_points};
use super::percentiles::{self, NamedLatency};
use super::table::{end_table, start_table};
use super::timeline::{Axis, ChartLine, Column, Timeline};
use super::{comparisons, dots, seconds, start_section, suite, variants};
use crate::html::markup::{Html, markup, write_markup, writeln_markup};
use crate::text::plain;
use crate::text::verdict::verdict_text;
use crate::units::{self, or_dash, time_or_dash};
use prony_judge::price::Prices;
use std::fmt;

/// Writes the table of contents; `entries` are inserted after the entry of the overview.
pub fn write_nav(
    out: &mut Html,
    documents: &[Document],
    sides: &PageSides<'_>,
    entries: &'static str,
) -> fmt::Result {
    out.push_str("<nav aria-label=\"Sections\"><ul><li><a href=\"#overview\">Overview</a></li>");
    out.push_str(entries);
    comparisons::write_nav_entries(out, sides)?;
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
pub fn write(
    out: &mut Html,
    documents: &[Document],
    sides: &PageSides<'_>,
    prices: Option<&Prices>,
) -> fmt::Result {
    start_section(out, 2, "overview", "Overview")?;
    suite::write(out, documents)?;
    variants::write(out, documents, sides, prices)?;
    write_overview(out, documents)?;
    write_charts(out, documents)?;
    comparisons::write_effects(out, sides)?;
    out.push_str("</section>\n");
    comparisons::write(out, sides)
}

/// Draws throughput over time, throughput and response time by run, and percentile curves.
pub fn write_charts(out: &mut Html, documents: &[Document]) -> fmt::Result {
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
    percentiles::write(out, "percentiles-runs", title, &curves.collect::<Vec<_>>())
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
            or_dash(all.filter(|_| !run.measured.is_empty()), |all| units::rate(
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

/// Writes the throughput of all runs over time, in one chart with its table. Times count from the start of each run.
fn write_throughput_chart(out: &mut Html, documents: &[Document]) -> fmt::Result {
    let runs = || documents.iter().map(|document| &document.run);
    let rows = runs().map(|run| run.series.len()).max().unwrap_or(0);
    let rows_of_point = rows.div_ceil(max_points(documents.len())).max(1);
    let series = runs().map(|run| {
        let points = run.series.chunks(rows_of_point);
        let points = points.map(|rows| (Span::of_seconds(rows), seconds::tps(rows)));
        points.collect::<Vec<_>>()
    });
    let series: Vec<_> = series.collect();
    let Some(longest) = series.iter().max_by_key(|points| points.len()) else {
        return Ok(());
    };
    // Points are matched by time, not by index, because a row of a killed long run covers ten seconds.
    let lines = series.iter().zip(documents).enumerate();
    let lines = lines.map(|(index, (points, document))| {
        let tps_at = |time_s: f64| {
            let mut points = points.iter();
            points.find(|(span, _)| span.contains(time_s))?.1
        };
        let name = run_name((index, document));
        ChartLine::new(
            name,
            longest.iter().map(|(span, _)| tps_at(span.middle_s())),
        )
    });
    let lines: Vec<ChartLine> = lines.collect();
    let columns = lines.iter().enumerate();
    let columns =
        columns.map(|(index, line)| line.column(format!("run {}", index + 1), units::rate));
    let columns: Vec<Column> = columns.collect();
    let timeline = Timeline {
        id_suffix: "runs".to_owned(),
        table_id: "seconds-runs".to_owned(),
        spans: longest.iter().map(|(span, _)| *span).collect(),
        marks: &[],
        warmup_s: 0.0,
        end_s: runs().map(end_s).fold(1.0, f64::max),
    };
    let title =
        "Throughput of the runs, each from its own start: transactions committed per second";
    let axis = Axis::Linear(units::per_second);
    timeline.draw(out, "throughput", title, lines, axis)?;
    let summary = "The seconds of all runs as a table";
    timeline.write_table(out, summary, "Transactions committed per second", &columns)
}
