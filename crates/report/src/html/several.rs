//! The overview and the comparisons on a page of several runs.
//!
//! In: documents, and `judge`'s comparison of each with the first. Out: a table of all runs, then the
//! differences and figures of each pair. Must never: show a ratio that the verdict forbids.

use super::chart::{Axis, Chart, ChartLine, time_label};
use super::document::Document;
use super::escape::Escaped;
use super::one::{severity_class, title};
use super::seconds::{ThroughputPoint, end_s, group_size, throughput_points};
use super::table::{
    end_table, start_table, start_table_with_id, write_row, write_row_at_time, write_text_row,
};
use super::{start_section, variants};
use crate::compare::{
    change_text, figure_sentence, format_figure, group_by_severity, single_runs_caution,
};
use crate::terminal::{is_unmeasured, verdict_text};
use crate::text::plain;
use crate::units::{self, or_dash, time_or_dash};
use prony_judge::compare::sides::{CompareOptions, Side, compare_sides};
use prony_judge::compare::{Comparison, Difference, Verdict, compare};
use prony_store::{Run, Severity};
use std::fmt::{self, Write};

/// The comparisons after the overview: of runs with the first run, or, if all runs belong to one experiment,
/// of variants with the first variant.
enum ComparisonSections {
    /// Indexes of the runs that are not repeats of the first.
    Runs(Vec<usize>),
    /// Names of the variants.
    Variants(Vec<String>),
}

impl ComparisonSections {
    fn for_documents(documents: &[Document]) -> ComparisonSections {
        let runs: Vec<&Run> = documents.iter().map(|document| &document.run).collect();
        if let Some(names) = variants::names_if_one_experiment(&runs) {
            return ComparisonSections::Variants(names);
        }
        let others = (1..runs.len()).filter(|index| !are_repeats(runs[0], runs[*index]));
        ComparisonSections::Runs(others.collect())
    }

    /// Ids and headings of the sections.
    fn ids_and_headings(&self) -> Vec<(String, String)> {
        match self {
            ComparisonSections::Runs(indexes) => {
                let numbers = indexes.iter().map(|index| index + 1);
                let section = |n| (format!("pair-{n}"), format!("Run {n} against run 1"));
                numbers.map(section).collect()
            }
            ComparisonSections::Variants(names) => {
                let others = names.iter().enumerate().skip(1);
                let section = |(index, name)| {
                    let heading = format!("{} against {}", Escaped(name), Escaped(&names[0]));
                    (format!("variant-{}", index + 1), heading)
                };
                others.map(section).collect()
            }
        }
    }
}

/// Whether two runs are repeats of one variant of one experiment.
fn are_repeats(a: &Run, b: &Run) -> bool {
    match (&a.experiment, &b.experiment) {
        (Some(a), Some(b)) => a.id == b.id && a.variant == b.variant,
        _ => false,
    }
}

/// Writes the table of contents; `entries` are inserted after the entry of the overview.
pub fn write_nav(out: &mut String, documents: &[Document], entries: &str) -> fmt::Result {
    out.push_str("<nav aria-label=\"Sections\"><ul><li><a href=\"#overview\">Overview</a></li>");
    out.push_str(entries);
    for (id, heading) in ComparisonSections::for_documents(documents).ids_and_headings() {
        write!(out, "<li><a href=\"#{id}\">{heading}</a></li>")?;
    }
    for (index, document) in documents.iter().enumerate() {
        let (number, id) = (index + 1, Escaped(&document.run.id));
        write!(
            out,
            "<li><a href=\"#run-{number}\">Run {number}: {id}</a></li>"
        )?;
    }
    out.push_str("<li><a href=\"#documents-h\">Documents</a></li></ul></nav>\n");
    Ok(())
}

/// Writes the table of all runs, and the comparison of each with the first.
pub fn write(out: &mut String, documents: &[Document]) -> fmt::Result {
    start_section(out, 2, "overview", "Overview")?;
    variants::write(out, documents)?;
    write_overview(out, documents)?;
    write_throughput_chart(out, documents)?;
    out.push_str("</section>\n");
    let comparisons = ComparisonSections::for_documents(documents);
    let sections = comparisons.ids_and_headings();
    match &comparisons {
        ComparisonSections::Runs(indexes) => {
            let first = &documents[0].run;
            for ((id, heading), index) in sections.iter().zip(indexes) {
                let (number, other) = (index + 1, &documents[*index].run);
                start_section(out, 2, id, heading)?;
                write_comparison(out, number, &compare(first, other, false))?;
                write_significance(out, number, first, other)?;
                out.push_str("</section>\n");
            }
        }
        ComparisonSections::Variants(names) => {
            let runs: Vec<&Run> = documents.iter().map(|document| &document.run).collect();
            let comparison = variants::compare_variants(names, &runs);
            for ((id, heading), (side, name)) in sections
                .iter()
                .zip(comparison.side_comparisons.iter().zip(&names[1..]))
            {
                start_section(out, 2, id, heading)?;
                variants::write_comparison(out, [&names[0], name], side)?;
                out.push_str("</section>\n");
            }
        }
    }
    Ok(())
}

fn write_overview(out: &mut String, documents: &[Document]) -> fmt::Result {
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
        let variant = match has_variants {
            true => format!(
                "<td class=\"short\">{}</td>",
                Escaped(variant_and_repeat(run))
            ),
            false => String::new(),
        };
        writeln!(
            out,
            "<tr><th scope=\"row\"><a href=\"#run-{0}\">{0}: {1}</a></th>{variant}<td>{2}</td><td>{3}</td>\
             <td>{4}</td><td>{5}</td><td class=\"word\">{6}</td><td class=\"word\">{7}</td></tr>",
            index + 1,
            Escaped(&run.id),
            or_dash(all.filter(|_| !is_unmeasured(run)), |all| units::rate(
                all.tps
            )),
            percentile(|latency| latency.p50_ns),
            percentile(|latency| latency.p95_ns),
            percentile(|latency| latency.p99_ns),
            Escaped(verdict.replace(", see the checks below", "")),
            Escaped(title(run)),
        )?;
    }
    end_table(out)
}

/// The variant of a run and the number of its repeat.
fn variant_and_repeat(run: &Run) -> String {
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

/// Writes a sentence on each main figure; nothing if the two runs are not comparable.
fn write_significance(out: &mut String, number: usize, first: &Run, other: &Run) -> fmt::Result {
    let side = |run| Side {
        name: String::new(),
        runs: vec![run],
    };
    let comparison = compare_sides(&[side(first), side(other)], &CompareOptions::default());
    let second = format!("run {number}");
    let sides = comparison.side_comparisons.iter();
    for figure in sides.flat_map(|side| comparison.headline_figures(side)) {
        let text = figure_sentence(["run 1", &second], figure);
        writeln!(out, "<p>{}</p>", Escaped(text))?;
    }
    Ok(())
}

/// Writes the throughput of all runs over time, in one chart with its table.
fn write_throughput_chart(out: &mut String, documents: &[Document]) -> fmt::Result {
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
        name: match document.run.experiment {
            None => format!("run {}", index + 1),
            Some(_) => format!("run {}: {}", index + 1, variant_and_repeat(&document.run)),
        },
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
    out.write_str("</details>\n")
}

/// Writes the verdict of a comparison.
pub fn write_verdict(out: &mut String, verdict: Verdict) -> fmt::Result {
    let worst = match verdict {
        Verdict::Comparable => Severity::Note,
        Verdict::WithCaveats => Severity::Caveat,
        Verdict::NotComparable => Severity::Invalid,
    };
    writeln!(
        out,
        "<p class=\"verdict {}\"><strong>{}</strong></p>",
        severity_class(worst),
        verdict.label()
    )
}

/// Writes the comparison of run `number` with the first run.
fn write_comparison(out: &mut String, number: usize, comparison: &Comparison) -> fmt::Result {
    write_verdict(out, comparison.verdict)?;
    if comparison.figures.is_empty() {
        out.push_str("<p>No ratio is given, because it would mislead.</p>\n");
    } else {
        write_figures(out, number, comparison)?;
    }
    let second = format!("run {number}");
    write_differences(out, ["run 1", &second], &comparison.differences)
}

/// Writes the differences between two sides, the worst first.
pub fn write_differences(
    out: &mut String,
    sides: [&str; 2],
    differences: &[Difference],
) -> fmt::Result {
    for (heading, _, group) in group_by_severity(differences) {
        let columns = ["what differs", sides[0], sides[1], "why it matters"];
        start_table(out, heading, &columns)?;
        for difference in group {
            let cells = [
                &*difference.what,
                &difference.a,
                &difference.b,
                difference.why,
            ];
            write_text_row(out, &cells)?;
        }
        end_table(out)?;
    }
    Ok(())
}

fn write_figures(out: &mut String, number: usize, comparison: &Comparison) -> fmt::Result {
    let second = format!("run {number}");
    start_table(out, "Figures", &["figure", "run 1", &second, "change"])?;
    for pair in &comparison.figures {
        let [first, second] = [pair.a, pair.b].map(|value| format_figure(pair.unit, value));
        write_row(
            out,
            Escaped(&pair.name),
            &[first, second, change_text(pair)],
        )?;
    }
    end_table(out)?;
    writeln!(out, "<p>{}</p>", single_runs_caution())
}
