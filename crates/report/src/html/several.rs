//! The overview of a page of several runs.
//!
//! In: documents. Out: a table of all runs, their throughput over time, dot plots and percentile curves, then
//! the comparisons. Must never: take the best of several runs.

use super::comparisons::PageSides;
use super::document::Document;
use super::drawing::LineGroup;
use super::one::title;
use super::over_time::{Span, end_s, max_points};
use super::percentiles::{self, NamedLatency};
use super::table::{end_table, start_table};
use super::timeline::{Axis, ChartLine, Column, Timeline};
use super::{comparisons, dots, prices, seconds, start_section, suite, variants};
use crate::capacity::limits_text;
use crate::html::markup::{Html, markup, write_markup, writeln_markup};
use crate::text::plain;
use crate::text::verdict::short_verdict;
use crate::units::{self, or_dash, time_or_dash};
use prony_judge::capacity::{CapacityResult, ClientsResult};
use prony_judge::experiment::variant_names;
use prony_judge::price::Prices;
use prony_judge::reproduced::suite_summary;
use prony_judge::sweep::Sweep;
use prony_store::Run;
use std::fmt;

/// Maximum number of variants beside the first, or of configurations, that the title names.
const MAX_TITLE_NAMES: usize = 3;

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
    out.push_str("</section>\n");
    if let Some(prices) = prices {
        prices::write(out, prices)?;
    }
    comparisons::write(out, sides)
}

/// Draws throughput over time, throughput and response time by run, and percentile curves.
pub fn write_charts(out: &mut Html, documents: &[Document]) -> fmt::Result {
    let groups = variant_groups(documents);
    write_throughput_chart(out, documents, &groups)?;
    let names: Vec<String> = documents.iter().enumerate().map(run_name).collect();
    dots::write_runs(out, documents, &names)?;
    let named = documents.iter().zip(&names).zip(&groups);
    let curves = named.filter_map(|((document, name), group)| {
        let all = document.run.measured.all_kinds()?;
        Some(NamedLatency {
            name: name.clone(),
            latency: &all.response,
            group: group.clone(),
        })
    });
    let title = "Response time by percentile, all kinds of each run";
    percentiles::write(out, "percentiles-runs", title, &curves.collect::<Vec<_>>())
}

/// The title of the page: what its runs ask.
pub fn title_of_several(documents: &[Document], prices: Option<&Prices>) -> String {
    let runs: Vec<&Run> = documents.iter().map(|document| &document.run).collect();
    if let Some(summary) = suite_summary(&runs) {
        return format!("{}: {} runs", plain(&summary.title), documents.len());
    }
    let workload = plain(runs[0].workload.display_name());
    if runs
        .iter()
        .any(|run| run.workload.display_name() != runs[0].workload.display_name())
    {
        return format!("{} runs side by side", documents.len());
    }
    if let Some(prices) = prices {
        let names = prices.points.iter().map(|point| &*point.configuration);
        let names = prony_judge::distinct(names);
        return format!(
            "{workload}: what it costs on {}",
            named(&names, "configurations")
        );
    }
    if let Some(found) = CapacityResult::of(&runs) {
        return format!(
            "{workload}: the highest rate{}",
            limits_text(&found.requirements)
        );
    }
    if let Some(found) = ClientsResult::of(&runs) {
        let limits = limits_text(&found.requirements);
        return format!("{workload}: the best number of clients{limits}");
    }
    if let Some(sweep) = Sweep::of(&runs).filter(Sweep::has_numbers) {
        return format!("{workload} by {}", plain(&sweep.axis));
    }
    let sides = PageSides::of(documents);
    match &sides.names()[..] {
        [first, others @ ..] if sides.are_variants && !others.is_empty() => {
            let others: Vec<&str> = others.iter().map(String::as_str).collect();
            let shown = named(&others, "other variants");
            format!("{workload}: {shown} against {}", plain(first))
        }
        _ => format!("{workload}: {} runs", documents.len()),
    }
}

/// Names for a title, or their number if they are many.
fn named(names: &[&str], what: &str) -> String {
    let shown: Vec<String> = names.iter().map(|name| plain(name)).collect();
    match shown.len() {
        0..=MAX_TITLE_NAMES => shown.join(", "),
        many => format!("{many} {what}"),
    }
}

/// The look of each run in charts: that of its variant, if the runs have several.
fn variant_groups(documents: &[Document]) -> Vec<Option<LineGroup>> {
    let runs: Vec<&Run> = documents.iter().map(|document| &document.run).collect();
    let names = variant_names(&runs);
    let group = |run: &&Run| {
        let variant = &run.experiment.as_ref()?.variant;
        let number = names.iter().position(|name| name == variant)?;
        Some(LineGroup {
            number,
            name: plain(variant),
        })
    };
    runs.iter()
        .map(|run| group(run).filter(|_| names.len() > 1))
        .collect()
}

/// The name of a run in charts: its number, and its variant.
fn run_name((index, document): (usize, &Document)) -> String {
    let number = index + 1;
    match &document.run.experiment {
        Some(experiment) if !experiment.variant.is_empty() => {
            format!("run {number}: {}", plain(&experiment.variant))
        }
        _ => format!("run {number}"),
    }
}

/// Writes a line for each run; what is the same for all is said once.
fn write_overview(out: &mut Html, documents: &[Document]) -> fmt::Result {
    let runs: Vec<&Run> = documents.iter().map(|document| &document.run).collect();
    let has_variants = runs.iter().any(|run| run.experiment.is_some());
    let is_same = runs.iter().all(|run| title(run) == title(runs[0]));
    // The ids of variants' runs are in the table of contents.
    let name = if has_variants { "variant" } else { "id" };
    let mut columns = vec![
        "run",
        name,
        "verdict",
        "transactions/s",
        "p50",
        "p95",
        "p99",
    ];
    let mut caption = "The runs; percentiles are of committed transactions".to_owned();
    if is_same {
        caption += &format!(". All: {}", title(runs[0]));
    } else {
        columns.push("what");
    }
    start_table(out, &caption, &columns)?;
    for (index, run) in runs.into_iter().enumerate() {
        let all = run.measured.all_kinds();
        let percentile = |field: fn(&prony_store::Latency) -> Option<u64>| {
            time_or_dash(all.and_then(|all| field(&all.response)))
        };
        let text_cell = |text: String| markup!("<td class=\"line-text\">{}</td>", text);
        let name = if has_variants { variant_and_repeat(run) } else { plain(&run.id) };
        let what = if is_same { Html::default() } else { text_cell(title(run)) };
        writeln_markup!(
            out,
            "<tr><th scope=\"row\"><a href=\"#run-{0}\">{0}</a></th>{1}{2}<td>{3}</td>\
             <td>{4}</td><td>{5}</td><td>{6}</td>{7}</tr>",
            index + 1,
            text_cell(name),
            text_cell(short_verdict(run)),
            or_dash(all.filter(|_| !run.measured.is_empty()), |all| units::rate(
                all.tps
            )),
            percentile(|latency| latency.p50_ns),
            percentile(|latency| latency.p95_ns),
            percentile(|latency| latency.p99_ns),
            what
        )?;
    }
    end_table(out)
}

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
fn write_throughput_chart(
    out: &mut Html,
    documents: &[Document],
    groups: &[Option<LineGroup>],
) -> fmt::Result {
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
        let values = longest.iter().map(|(span, _)| tps_at(span.middle_s()));
        ChartLine {
            group: groups[index].clone(),
            ..ChartLine::new(name, values)
        }
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
