//! The variants of an experiment, on a page with its runs.
//!
//! In: documents, and `judge`'s comparison of them. Out: a table of the variants by their medians, and the
//! significance of their differences. Must never: take the best of several runs.

use super::comparisons::{write_differences, write_verdict};
use super::document::Document;
use super::table::{end_table, start_table, write_row};
use crate::html::markup::{Html, writeln_markup};
use crate::text::comparison::{figure_cells, figure_sentence};
use crate::text::counts::counted_runs;
use crate::units::{self, or_dash};
use prony_judge::compare::sides::{
    CompareOptions, Side, SideComparison, SidesComparison, compare_sides,
};
use prony_judge::experiment::{Spread, all_have_nopm, variant_names, variants};
use prony_store::Run;
use std::fmt;

/// Writes the variants, if all runs belong to one experiment.
pub fn write(out: &mut Html, documents: &[Document]) -> fmt::Result {
    let runs: Vec<&Run> = documents.iter().map(|document| &document.run).collect();
    let Some(names) = names_if_one_experiment(&runs) else {
        return Ok(());
    };
    let rate = if all_have_nopm(&runs) {
        "NOPM, median"
    } else {
        "transactions/s, median"
    };
    let columns = ["variant", "runs", rate, "spread", "p99, median"];
    start_table(
        out,
        "The variants, by the medians of their runs; p99 of committed transactions",
        &columns,
    )?;
    let median = |spread: Option<Spread>, format_value: fn(f64) -> String| {
        or_dash(spread, |spread| format_value(spread.median))
    };
    for variant in variants(&names, &runs) {
        let cells = [
            counted_runs(&variant),
            median(variant.rate, units::rate),
            or_dash(variant.rate.and_then(|rate| rate.share()), units::percent),
            median(variant.p99_ns, units::time),
        ];
        write_row(out, &variant.name, &cells)?;
    }
    end_table(out)?;
    match names.len() {
        1 => Ok(()),
        _ => write_significance(out, &names, &runs),
    }
}

/// Writes the verdict, and the significance of the differences from the first variant.
fn write_significance(out: &mut Html, names: &[String], runs: &[&Run]) -> fmt::Result {
    let comparison = compare_variants(names, runs);
    writeln_markup!(out, "<p>{}</p>", comparison.label())?;
    for (side, name) in comparison.side_comparisons.iter().zip(&names[1..]) {
        for figure in comparison.headline_figures(side) {
            let text = figure_sentence([&names[0], name], figure);
            writeln_markup!(out, "<p>{}</p>", text)?;
        }
    }
    Ok(())
}

/// Compares each variant with the first.
pub fn compare_variants(names: &[String], runs: &[&Run]) -> SidesComparison {
    let sides = names.iter().map(|name| {
        let is_of_variant = |run: &&Run| {
            run.experiment
                .as_ref()
                .is_some_and(|experiment| experiment.variant == *name)
        };
        Side {
            name: name.clone(),
            runs: runs.iter().copied().filter(is_of_variant).collect(),
        }
    });
    compare_sides(&sides.collect::<Vec<Side>>(), &CompareOptions::default())
}

/// Writes the comparison of a variant with the first, by the medians of their repeats.
pub fn write_comparison(
    out: &mut Html,
    names: [&str; 2],
    comparison: &SideComparison,
) -> fmt::Result {
    write_verdict(out, comparison.verdict)?;
    if comparison.figures.is_empty() {
        out.push_str("<p>No ratio is given, because it would mislead.</p>\n");
    } else {
        let [first_title, second_title] = names.map(|name| format!("{name}, median"));
        let columns = ["figure", &first_title, &second_title, "change", "interval"];
        start_table(out, "Figures", &columns)?;
        for pair in &comparison.figures {
            write_row(out, &pair.name, &figure_cells(pair))?;
        }
        end_table(out)?;
    }
    write_differences(out, names, &comparison.differences)
}

/// The names of the variants, if all runs belong to one experiment.
pub fn names_if_one_experiment(runs: &[&Run]) -> Option<Vec<String>> {
    let id = |run: &Run| {
        run.experiment
            .as_ref()
            .map(|experiment| experiment.id.clone())
    };
    let first = runs.first().and_then(|run| id(run))?;
    let is_one_experiment = runs.iter().all(|run| id(run).as_ref() == Some(&first));
    is_one_experiment.then(|| variant_names(runs))
}
