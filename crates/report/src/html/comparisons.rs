//! The comparisons on a page of several runs.
//!
//! In: documents, and `judge`'s comparison of each side with the first. Out: a plot of the changes, then the
//! differences and figures of each pair. Must never: show a ratio that the verdict forbids.

use super::document::Document;
use super::one::severity_class;
use super::table::{write_figure_table, write_text_table};
use super::{start_section, write_fold, write_verdict_line};
use crate::html::markup::{Html, markup, write_markup, writeln_markup};
use crate::text::comparison::{
    change_text, figure_cells, format_figure, group_by_severity, single_runs_caution,
};
use prony_judge::compare::sides::{
    CompareOptions, Side, SideComparison, SidesComparison, compare_sides,
};
use prony_judge::compare::{Difference, Verdict, compare};
use prony_judge::experiment::variant_names;
use prony_store::{Run, Severity};
use std::fmt;

/// Maximum number of comparisons with sections of their own.
const MAX_SECTIONS: usize = 3;
const NO_RATIO: &str = "<p>No ratio is given, because it would mislead.</p>\n";

/// What a page compares with its first run; if all runs belong to one experiment, with its first variant.
pub struct PageSides<'a> {
    /// Whether a side is a variant; otherwise it is a run.
    pub are_variants: bool,
    /// The sides; at least one.
    sides: Vec<Side<'a>>,
    /// The number of each side: of the variant, or of the run in the page.
    numbers: Vec<usize>,
}

impl<'a> PageSides<'a> {
    pub fn of(documents: &'a [Document]) -> PageSides<'a> {
        let runs: Vec<&Run> = documents.iter().map(|document| &document.run).collect();
        if let Some(names) = names_if_one_experiment(&runs)
            && runs.iter().all(|run| run.suite().is_none())
        {
            let side = |name: String| {
                let runs = runs.iter().copied();
                let runs = runs.filter(|run| run.variant() == Some(&name)).collect();
                Side { name, runs }
            };
            let mut sides: Vec<Side<'_>> = names.into_iter().map(side).collect();
            // Steps of a search differ in the rate, and have one answer together.
            if runs.iter().any(|run| run.search().is_some()) {
                sides.truncate(1);
            }
            return PageSides {
                are_variants: true,
                numbers: (1..=sides.len()).collect(),
                sides,
            };
        }
        // Neither repeats of the first run's variant nor other rows of its suite are compared with it.
        let is_side = |number: &usize| {
            let run = runs[number - 1];
            *number == 1
                || !(are_repeats(runs[0], run)
                    || runs[0].suite().is_some() && run.suite().is_some())
        };
        let numbers: Vec<usize> = (1..=runs.len()).filter(is_side).collect();
        let sides = numbers.iter().map(|number| Side {
            name: format!("run {number}"),
            runs: vec![runs[number - 1]],
        });
        PageSides {
            are_variants: false,
            sides: sides.collect(),
            numbers,
        }
    }

    pub fn names(&self) -> Vec<String> {
        self.sides.iter().map(|side| side.name.clone()).collect()
    }

    pub fn compare(&self) -> SidesComparison {
        compare_sides(&self.sides, &CompareOptions::default())
    }

    /// The id and the heading of the section of each side except the first.
    fn ids_and_headings(&self) -> Vec<(String, String)> {
        let others = self.sides.iter().zip(&self.numbers).skip(1);
        let section = |(side, number): (&Side<'_>, &usize)| {
            if self.are_variants {
                let heading = format!("{} against {}", side.name, self.sides[0].name);
                (format!("variant-{number}"), heading)
            } else {
                let heading = format!("Run {number} against run 1");
                (format!("pair-{number}"), heading)
            }
        };
        others.map(section).collect()
    }
}

/// Whether two runs are repeats of one variant of one experiment.
fn are_repeats(a: &Run, b: &Run) -> bool {
    match (&a.experiment, &b.experiment) {
        (Some(a), Some(b)) => a.id == b.id && a.variant == b.variant,
        _ => false,
    }
}

fn names_if_one_experiment(runs: &[&Run]) -> Option<Vec<String>> {
    let id = |run: &Run| Some(run.experiment.as_ref()?.id.clone());
    let first = id(runs.first()?)?;
    let is_one_experiment = runs.iter().all(|run| id(run).as_ref() == Some(&first));
    is_one_experiment.then(|| variant_names(runs))
}

pub fn write_nav_entries(out: &mut Html, sides: &PageSides<'_>) -> fmt::Result {
    let sections = sides.ids_and_headings();
    if sections.len() > MAX_SECTIONS {
        out.push_str("<li><a href=\"#comparisons\">Comparisons</a></li>");
        return Ok(());
    }
    let mut sections = sections.iter();
    sections.try_for_each(|(id, heading)| {
        write_markup!(out, "<li><a href=\"#{}\">{}</a></li>", id, heading)
    })
}

/// Writes a section for each comparison; if there are many, one section in which each can be opened.
pub fn write(out: &mut Html, sides: &PageSides<'_>) -> fmt::Result {
    let sections = sides.ids_and_headings();
    let is_folded = sections.len() > MAX_SECTIONS;
    if is_folded {
        start_section(out, 2, "comparisons", "Comparisons")?;
    }
    let compared = sides.compare().side_comparisons;
    let others = sides.sides.iter().skip(1).zip(&compared).zip(&sections);
    for ((other, comparison), (id, heading)) in others {
        let mut content = Html::default();
        let names = [sides.sides[0].name.as_str(), &other.name];
        if sides.are_variants {
            write_comparison_of_variants(&mut content, names, comparison)?
        } else {
            let runs = [sides.sides[0].runs[0], other.runs[0]];
            write_comparison_of_runs(&mut content, names, runs)?
        }
        if is_folded {
            write_fold(out, markup!(" id=\"{}\"", id), heading, content)?;
        } else {
            start_section(out, 2, id, heading)?;
            writeln_markup!(out, "{}</section>", content)?;
        }
    }
    if is_folded {
        out.push_str("</section>\n");
    }
    Ok(())
}

/// Writes the comparison of two runs; figures only if they are comparable.
fn write_comparison_of_runs(out: &mut Html, names: [&str; 2], runs: [&Run; 2]) -> fmt::Result {
    let comparison = compare(runs[0], runs[1], false);
    write_verdict(out, comparison.verdict, comparison.verdict.label())?;
    if comparison.figures.is_empty() {
        out.push_str(NO_RATIO);
    } else {
        let rows = comparison.figures.iter().map(|pair| {
            let [first, second] = [pair.a, pair.b].map(|value| format_figure(pair.unit, value));
            [pair.name.clone(), first, second, change_text(pair)]
        });
        let columns = ["figure", names[0], names[1], "change"];
        write_figure_table(out, "Figures", &columns, rows)?;
        writeln_markup!(out, "<p>{}</p>", single_runs_caution())?;
    }
    write_differences(out, names, &comparison.differences)
}

/// Writes the comparison of a variant with the first, by the medians of their repeats.
fn write_comparison_of_variants(
    out: &mut Html,
    names: [&str; 2],
    comparison: &SideComparison,
) -> fmt::Result {
    write_verdict(out, comparison.verdict, &comparison.label())?;
    if comparison.figures.is_empty() {
        out.push_str(NO_RATIO);
    } else {
        let [first_title, second_title] = names.map(|name| format!("{name}, median"));
        let columns = ["figure", &first_title, &second_title, "change", "interval"];
        let rows = comparison.figures.iter().map(|pair| {
            let name = std::iter::once(pair.name.clone());
            name.chain(figure_cells(pair)).collect::<Vec<_>>()
        });
        write_figure_table(out, "Figures", &columns, rows)?;
    }
    write_differences(out, names, &comparison.differences)
}

fn write_verdict(out: &mut Html, verdict: Verdict, label: &str) -> fmt::Result {
    let worst = match verdict {
        Verdict::Comparable => Severity::Note,
        Verdict::WithCaveats => Severity::Caveat,
        Verdict::ShownDespite | Verdict::NotComparable => Severity::Invalid,
    };
    write_verdict_line(out, severity_class(worst), label)
}

/// Writes the differences between two sides, the worst first.
fn write_differences(out: &mut Html, sides: [&str; 2], differences: &[Difference]) -> fmt::Result {
    for (heading, _, group) in group_by_severity(differences) {
        let columns = ["what differs", sides[0], sides[1], "why it matters"];
        let rows = group.into_iter().map(|difference| {
            let why = difference.why.to_owned();
            [&difference.what, &difference.a, &difference.b, &why].map(String::clone)
        });
        write_text_table(out, heading, columns, rows)?;
    }
    Ok(())
}
