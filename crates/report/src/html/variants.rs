//! The variants of an experiment, for a page that holds its runs.
//!
//! In: documents, and `judge`'s comparison of them. Out: a table of the variants by their medians, and
//! how far chance explains their differences. Must never: take the best of several runs.

use super::document::Document;
use super::escape::Escaped;

use super::several::{differences, verdict};
use super::table::{end, row, table};
use crate::compare::{figure, interval, sentence, signed};
use crate::experiment::counted_runs;
use crate::units::{self, or_dash};
use prony_judge::compare::sides::{
    CompareOptions, Side, SideComparison, SidesComparison, compare_sides,
};
use prony_judge::experiment::{Spread, all_have_nopm, variant_names, variants};
use prony_store::Run;
use std::fmt::{self, Write};

/// Writes the variants, if all runs belong to one experiment.
pub fn write(out: &mut String, documents: &[Document]) -> fmt::Result {
    let runs: Vec<&Run> = documents.iter().map(|one| &one.run).collect();
    let Some(names) = names_if_one_experiment(&runs) else {
        return Ok(());
    };
    let rate = match all_have_nopm(&runs) {
        true => "NOPM, median",
        false => "transactions/s, median",
    };
    let columns = ["variant", "runs", rate, "spread", "p99, median"];
    table(out, "The variants, by the medians of their runs", &columns)?;
    let median = |of: Option<Spread>, shown: fn(f64) -> String| or_dash(of, |of| shown(of.median));
    for one in variants(&names, &runs) {
        let cells = [
            counted_runs(&one),
            median(one.rate, units::rate),
            or_dash(one.rate.and_then(|rate| rate.share()), units::percent),
            median(one.p99_ns, units::time),
        ];
        row(out, Escaped(&one.name), &cells)?;
    }
    end(out)?;
    match names.len() {
        1 => Ok(()),
        _ => write_significance(out, &names, &runs),
    }
}

/// How far chance explains the differences to the first variant.
fn write_significance(out: &mut String, names: &[String], runs: &[&Run]) -> fmt::Result {
    let found = compare_variants(names, runs);
    writeln!(out, "<p>{}</p>", Escaped(found.label()))?;
    for (one, name) in found.against.iter().zip(&names[1..]) {
        for figure in found.leading(one) {
            let text = sentence([&names[0], name], figure);
            writeln!(out, "<p>{}</p>", Escaped(text))?;
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
                .is_some_and(|of| of.variant == *name)
        };
        Side {
            name: name.clone(),
            runs: runs.iter().copied().filter(is_of_variant).collect(),
        }
    });
    compare_sides(&sides.collect::<Vec<Side>>(), &CompareOptions::default())
}

/// Writes a variant against the first: by the medians of their repeats, never run by run.
pub fn write_comparison(out: &mut String, names: [&str; 2], one: &SideComparison) -> fmt::Result {
    verdict(out, one.verdict)?;
    if one.figures.is_empty() {
        out.push_str("<p>No ratio is given, because it would mislead.</p>\n");
    } else {
        let [first, second] = names.map(|name| format!("{name}, median"));
        let columns = ["figure", &first, &second, "change", "interval"];
        table(out, "Figures", &columns)?;
        for of in &one.figures {
            let [first, second] = [&of.a, &of.b].map(|side| figure(of.unit, side.median));
            let cells = [first, second, signed(of.ratio), interval(of)];
            row(out, Escaped(&of.name), &cells)?;
        }
        end(out)?;
    }
    differences(out, names, &one.differences)
}

/// The names of the variants, if all runs belong to one experiment.
pub fn names_if_one_experiment(runs: &[&Run]) -> Option<Vec<String>> {
    let id = |run: &Run| run.experiment.as_ref().map(|of| of.id.clone());
    let first = runs.first().and_then(|run| id(run))?;
    let all = runs.iter().all(|run| id(run).as_ref() == Some(&first));
    all.then(|| variant_names(runs))
}
