//! The comparisons on a page of several runs.
//!
//! In: documents, and `judge`'s comparison of each with the first. Out: a plot of the changes, then the
//! differences and figures of each pair. Must never: show a ratio that the verdict forbids.

use super::document::Document;
use super::one::severity_class;
use super::table::{end_table, start_table, write_row, write_text_row};
use super::{dots, start_section, variants};
use crate::html::markup::{Html, write_markup, writeln_markup};
use crate::text::comparison::{
    change_text, figure_sentence, format_figure, group_by_severity, single_runs_caution,
};
use prony_judge::compare::sides::{CompareOptions, Side, compare_sides};
use prony_judge::compare::{Comparison, Difference, Verdict, compare};
use prony_store::{Run, Severity};
use std::fmt;

/// Maximum number of comparisons with sections of their own.
const MAX_SECTIONS: usize = 3;

/// The comparisons after the overview: of runs with the first run, or, if all runs belong to one experiment,
/// of variants with the first variant.
enum ComparisonSections {
    /// Indexes of the runs that are not repeats of the first.
    Runs(Vec<usize>),
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
                    let heading = format!("{} against {}", name, &names[0]);
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

/// Writes the entries of the comparisons in the table of contents.
pub fn write_nav_entries(out: &mut Html, documents: &[Document]) -> fmt::Result {
    let sections = ComparisonSections::for_documents(documents).ids_and_headings();
    if sections.len() > MAX_SECTIONS {
        out.push_str("<li><a href=\"#comparisons\">Comparisons</a></li>");
    } else {
        for (id, heading) in sections {
            write_markup!(out, "<li><a href=\"#{}\">{}</a></li>", id, heading)?;
        }
    }
    Ok(())
}

/// Draws the changes of all comparisons in one plot; nothing if there is no comparison.
pub fn write_effects(out: &mut Html, documents: &[Document]) -> fmt::Result {
    let runs: Vec<&Run> = documents.iter().map(|document| &document.run).collect();
    let (names, comparison) = match ComparisonSections::for_documents(documents) {
        ComparisonSections::Runs(indexes) => {
            let indexes = || std::iter::once(0).chain(indexes.iter().copied());
            let sides: Vec<Side> = indexes().map(|index| single_run(runs[index])).collect();
            let names: Vec<String> = indexes()
                .map(|index| format!("run {}", index + 1))
                .collect();
            (names, compare_sides(&sides, &CompareOptions::default()))
        }
        ComparisonSections::Variants(names) => {
            let comparison = variants::compare_variants(&names, &runs);
            (names, comparison)
        }
    };
    dots::write_effects(out, &comparison, &names)
}

/// Writes a section for each comparison; if there are many, one section in which each can be opened.
pub fn write(out: &mut Html, documents: &[Document]) -> fmt::Result {
    let comparisons = ComparisonSections::for_documents(documents);
    let sections = comparisons.ids_and_headings();
    let is_folded = sections.len() > MAX_SECTIONS;
    if is_folded {
        start_section(out, 2, "comparisons", "Comparisons")?;
    }
    let runs: Vec<&Run> = documents.iter().map(|document| &document.run).collect();
    let compared_variants = match &comparisons {
        ComparisonSections::Variants(names) if !sections.is_empty() => {
            variants::compare_variants(names, &runs).side_comparisons
        }
        _ => Vec::new(),
    };
    for (number, (id, heading)) in sections.iter().enumerate() {
        if is_folded {
            writeln_markup!(out, "<details id=\"{}\"><summary>{}</summary>", id, heading)?
        } else {
            start_section(out, 2, id, heading)?
        }
        match &comparisons {
            ComparisonSections::Runs(indexes) => {
                let other = indexes[number];
                write_comparison(out, other + 1, &compare(runs[0], runs[other], false))?;
                write_significance(out, other + 1, runs[0], runs[other])?;
            }
            ComparisonSections::Variants(names) => {
                if let Some(side) = compared_variants.get(number) {
                    variants::write_comparison(out, [&names[0], &names[number + 1]], side)?;
                }
            }
        }
        out.push_str(if is_folded {
            "</details>\n"
        } else {
            "</section>\n"
        });
    }
    if is_folded {
        out.push_str("</section>\n");
    }
    Ok(())
}

fn single_run(run: &Run) -> Side<'_> {
    Side {
        name: String::new(),
        runs: vec![run],
    }
}

/// Writes a sentence on each main figure; nothing if the two runs are not comparable.
fn write_significance(out: &mut Html, number: usize, first: &Run, other: &Run) -> fmt::Result {
    let sides = [single_run(first), single_run(other)];
    let comparison = compare_sides(&sides, &CompareOptions::default());
    let second = format!("run {number}");
    let sides = comparison.side_comparisons.iter();
    for figure in sides.flat_map(|side| comparison.headline_figures(side)) {
        let text = figure_sentence(["run 1", &second], figure);
        writeln_markup!(out, "<p>{}</p>", text)?;
    }
    Ok(())
}

/// Writes the verdict of a comparison.
pub fn write_verdict(out: &mut Html, verdict: Verdict) -> fmt::Result {
    let worst = match verdict {
        Verdict::Comparable => Severity::Note,
        Verdict::WithCaveats => Severity::Caveat,
        Verdict::NotComparable => Severity::Invalid,
    };
    writeln_markup!(
        out,
        "<p class=\"verdict {}\"><strong>{}</strong></p>",
        severity_class(worst),
        verdict.label()
    )
}

/// Writes the comparison of run `number` with the first run.
fn write_comparison(out: &mut Html, number: usize, comparison: &Comparison) -> fmt::Result {
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
    out: &mut Html,
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

fn write_figures(out: &mut Html, number: usize, comparison: &Comparison) -> fmt::Result {
    let second = format!("run {number}");
    start_table(out, "Figures", &["figure", "run 1", &second, "change"])?;
    for pair in &comparison.figures {
        let [first, second] = [pair.a, pair.b].map(|value| format_figure(pair.unit, value));
        write_row(out, &pair.name, &[first, second, change_text(pair)])?;
    }
    end_table(out)?;
    writeln_markup!(out, "<p>{}</p>", single_runs_caution())
}
