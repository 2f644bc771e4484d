//! Several runs on one page.
//!
//! In: documents, and what `judge` makes of each beside the first. Out: a table of all, then what
//! differs and the figures of each pair. Must never: give a ratio that the verdict forbids.

use super::chart::{Axis, Chart, Line, clock};
use super::document::Document;
use super::escape::Text;
use super::one::{class, end, table, table_of, title, words};
use super::seconds::{end_s, row, throughput, together};
use super::{section, variants};
use crate::compare::{ONE_RUN_EACH, change, sentence};
use crate::terminal::{nothing_measured, verdict_words};
use crate::units;
use prony_judge::compare::sides::{Side, compare_sides};
use prony_judge::compare::{Comparison, Difference, Unit, Verdict, compare};
use prony_store::{Run, Severity};
use std::fmt::{self, Write};

/// As many runs have a line in the chart of all: more lines cannot be told apart.
const LINES: usize = 5;

/// The table of contents; `more` are entries for what follows the overview.
pub fn nav(out: &mut String, documents: &[Document], more: &str) -> fmt::Result {
    out.push_str("<nav aria-label=\"Sections\"><ul><li><a href=\"#overview\">Overview</a></li>");
    out.push_str(more);
    for number in 2..=documents.len() {
        write!(
            out,
            "<li><a href=\"#pair-{number}\">Run {number} against run 1</a></li>"
        )?;
    }
    for (place, document) in documents.iter().enumerate() {
        let (number, id) = (place + 1, Text(&document.run.id));
        write!(
            out,
            "<li><a href=\"#run-{number}\">Run {number}: {id}</a></li>"
        )?;
    }
    out.push_str("<li><a href=\"#documents-h\">Documents</a></li></ul></nav>\n");
    Ok(())
}

/// Writes the table of all, and each beside the first.
pub fn write(out: &mut String, documents: &[Document]) -> fmt::Result {
    section(out, 2, "overview", "Overview")?;
    variants::write(out, documents)?;
    overview(out, documents)?;
    courses(out, documents)?;
    out.push_str("</section>\n");
    let Some((first, others)) = documents.split_first() else {
        return Ok(());
    };
    for (place, other) in others.iter().enumerate() {
        let number = place + 2;
        let heading = format!("Run {number} against run 1");
        section(out, 2, &format!("pair-{number}"), &heading)?;
        pair(out, number, &compare(&first.run, &other.run))?;
        chance(out, number, &first.run, &other.run)?;
        out.push_str("</section>\n");
    }
    Ok(())
}

fn overview(out: &mut String, documents: &[Document]) -> fmt::Result {
    let columns = [
        "run",
        "transactions/s",
        "p50",
        "p95",
        "p99",
        "verdict",
        "what",
    ];
    table(out, "The runs, in the order given", &columns)?;
    for (place, document) in documents.iter().enumerate() {
        let run = &document.run;
        let all = run.measured.kinds.first();
        let of = |read: fn(&prony_store::Latency) -> Option<u64>| {
            let ns = all.and_then(|all| read(&all.response));
            ns.map_or("–".into(), |ns| units::time(ns as f64))
        };
        let verdict = verdict_words(run).map_or("not judged yet".into(), |(_, words)| words);
        writeln!(
            out,
            "<tr><th scope=\"row\"><a href=\"#run-{0}\">{0}: {1}</a></th><td>{2}</td><td>{3}</td>\
             <td>{4}</td><td>{5}</td><td class=\"word\">{6}</td><td class=\"word\">{7}</td></tr>",
            place + 1,
            Text(&run.id),
            all.filter(|_| !nothing_measured(run))
                .map_or("–".into(), |all| units::rate(all.tps)),
            of(|of| of.p50_ns),
            of(|of| of.p95_ns),
            of(|of| of.p99_ns),
            Text(verdict.replace(", see the checks below", "")),
            Text(title(run)),
        )?;
    }
    end(out);
    Ok(())
}

/// What chance explains of the leading figures; nothing where the two do not compare.
fn chance(out: &mut String, number: usize, first: &Run, other: &Run) -> fmt::Result {
    let side = |run| Side {
        name: String::new(),
        runs: vec![run],
    };
    let found = compare_sides(&[side(first), side(other)]);
    let second = format!("run {number}");
    for one in found.against.iter().flat_map(|one| found.leading(one)) {
        writeln!(out, "<p>{}</p>", Text(sentence(["run 1", &second], one)))?;
    }
    Ok(())
}

/// The throughput of all over time, in one chart with its table.
fn courses(out: &mut String, documents: &[Document]) -> fmt::Result {
    let longest = documents.iter().map(|one| one.run.series.len()).max();
    let size = together(longest.unwrap_or(0));
    let drawn = &documents[..documents.len().min(LINES)];
    let each: Vec<_> = drawn.iter().map(|one| throughput(&one.run, size)).collect();
    let Some(most) = each.iter().max_by_key(|points| points.len()) else {
        return Ok(());
    };
    // Each counts its seconds from its own start, so that places of the series are moments.
    let at_s: Vec<f64> = most.iter().map(|(_, at_s, _)| *at_s).collect();
    let value = |points: &[(f64, f64, Option<f64>)], place: usize| points.get(place)?.2;
    let lines = each.iter().enumerate().map(|(place, points)| Line {
        name: format!("run {}", place + 1),
        values: (0..at_s.len()).map(|at| value(points, at)).collect(),
    });
    let end_s = drawn.iter().map(|one| end_s(&one.run)).fold(1.0, f64::max);
    let chart = Chart {
        id: "courses".to_owned(),
        title: "Throughput of the runs, each from its own start: transactions committed a second",
        at_s: &at_s,
        lines: lines.collect(),
        unit: |tps| format!("{} /s", units::rate(tps)),
        axis: Axis::Linear,
        marks: &[],
        warmup_s: 0.0,
        end_s,
        table: "courses-table".to_owned(),
    };
    chart.draw(out)?;
    if documents.len() > LINES {
        writeln!(
            out,
            "<p>Of the first {LINES} runs; the others have theirs below.</p>"
        )?;
    }
    out.push_str("<details><summary>The seconds of all as a table</summary>");
    let names: Vec<&str> = chart.lines.iter().map(|line| line.name.as_str()).collect();
    let columns = [&["from"], names.as_slice()].concat();
    let id = Some("courses-table");
    table_of(out, id, "Transactions committed a second", &columns)?;
    for (place, (from_s, at_s, _)) in most.iter().enumerate() {
        let cell = |points: &Vec<_>| value(points, place).map_or("–".into(), units::rate);
        let cells: Vec<String> = each.iter().map(cell).collect();
        row(out, *at_s, &clock(*from_s, end_s), &cells)?;
    }
    end(out);
    out.push_str("</details>\n");
    Ok(())
}

fn pair(out: &mut String, number: usize, found: &Comparison) -> fmt::Result {
    let worst = match found.verdict {
        Verdict::Comparable => Severity::Note,
        Verdict::WithCaveats => Severity::Caveat,
        Verdict::NotComparable => Severity::Invalid,
    };
    let verdict = found.verdict.words();
    writeln!(
        out,
        "<p class=\"verdict {}\"><strong>{verdict}</strong></p>",
        class(worst)
    )?;
    if found.figures.is_empty() {
        out.push_str("<p>No ratio is given: it would mislead.</p>\n");
    } else {
        figures(out, number, found)?;
    }
    for (severity, heading) in [
        (Severity::Invalid, "Why not"),
        (Severity::Caveat, "To be weighed"),
        (Severity::Note, "To be known"),
    ] {
        let of_it = found
            .differences
            .iter()
            .filter(|one| one.severity == severity);
        let of_it: Vec<&Difference> = of_it.collect();
        if of_it.is_empty() {
            continue;
        }
        let second = format!("run {number}");
        table(
            out,
            heading,
            &["what differs", "run 1", &second, "why it matters"],
        )?;
        for one in of_it {
            words(out, &[&one.what, &one.a, &one.b, one.why])?;
        }
        end(out);
    }
    Ok(())
}

fn figures(out: &mut String, number: usize, found: &Comparison) -> fmt::Result {
    let second = format!("run {number}");
    table(out, "Figures", &["figure", "run 1", &second, "change"])?;
    for pair in &found.figures {
        let show = |value: f64| match pair.unit {
            Unit::Rate => units::rate(value),
            Unit::Nanoseconds => units::time(value),
        };
        writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>",
            Text(&pair.name),
            show(pair.a),
            show(pair.b),
            change(pair),
        )?;
    }
    end(out);
    writeln!(out, "<p>{ONE_RUN_EACH}</p>")
}
