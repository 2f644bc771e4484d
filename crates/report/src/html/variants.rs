//! The variants of an experiment, where a page holds its runs.
//!
//! In: documents, and what `judge` makes of them. Out: a table of the variants by their medians, and what
//! chance explains of their differences. Must never: take the best of several runs.

use super::document::Document;
use super::escape::Text;
use super::one::{end, table};
use crate::compare::sentence;
use crate::units;
use prony_judge::compare::sides::{Side, compare_sides};
use prony_judge::experiment::{Spread, leads_with_orders, variant_names, variants};
use prony_store::Run;
use std::fmt::{self, Write};

/// Writes them, if all runs are of one experiment of two variants or more.
pub fn write(out: &mut String, documents: &[Document]) -> fmt::Result {
    let runs: Vec<&Run> = documents.iter().map(|one| &one.run).collect();
    let names = variant_names(&runs);
    if !of_one_experiment(&runs) || names.len() < 2 {
        return Ok(());
    }
    let rate = match leads_with_orders(&runs) {
        true => "NOPM, median",
        false => "transactions/s, median",
    };
    let columns = ["variant", "runs", rate, "spread", "p99, median"];
    table(out, "The variants, by the medians of their runs", &columns)?;
    let figure = |of: Option<Spread>, shown: fn(f64) -> String| {
        of.map_or("–".to_owned(), |of| shown(of.median))
    };
    for one in variants(&names, &runs) {
        let counted = match one.counted == one.runs {
            true => units::count(one.runs as u64),
            false => format!("{} of {}", one.counted, one.runs),
        };
        let spread = one.rate.and_then(|rate| rate.share());
        writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{counted}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            Text(&one.name),
            figure(one.rate, units::rate),
            spread.map_or("–".to_owned(), units::percent),
            figure(one.p99_ns, units::time),
        )?;
    }
    end(out);
    chance(out, &names, &runs)
}

/// What chance explains of the differences to the first variant.
fn chance(out: &mut String, names: &[String], runs: &[&Run]) -> fmt::Result {
    let sides: Vec<Side> = names
        .iter()
        .map(|name| Side {
            name: name.clone(),
            runs: runs
                .iter()
                .copied()
                .filter(|run| variant(run) == Some(name))
                .collect(),
        })
        .collect();
    let found = compare_sides(&sides);
    writeln!(out, "<p>{}</p>", Text(found.words()))?;
    for (one, name) in found.against.iter().zip(&names[1..]) {
        for contrast in found.leading(one) {
            writeln!(
                out,
                "<p>{}</p>",
                Text(sentence([&names[0], name], contrast))
            )?;
        }
    }
    Ok(())
}

fn variant(run: &Run) -> Option<&String> {
    run.experiment.as_ref().map(|of| &of.variant)
}

fn of_one_experiment(runs: &[&Run]) -> bool {
    let id = |run: &Run| run.experiment.as_ref().map(|of| of.id.clone());
    let first = runs.first().and_then(|run| id(run));
    first.is_some() && runs.iter().all(|run| id(run) == first)
}
