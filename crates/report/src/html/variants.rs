//! The variants of an experiment, on a page with its runs.
//!
//! In: documents, and `judge`'s comparison of them. Out: a table of the variants by their medians, and the
//! significance of their differences. Must never: take the best of several runs.

use super::comparisons::PageSides;
use super::document::Document;
use super::dots::write_effects;
use super::table::write_figure_table;
use super::write_paragraphs;
use crate::capacity::{clients_remark, clients_sentence};
use crate::html::markup::{Html, writeln_markup};
use crate::text::comparison::{disturbed_caution, noise_of_variant, single_runs_caution};
use crate::text::counts::counted_runs;
use crate::text::difference::{answers, label_below};
use crate::text::replay::replayed_over_repeats;
use crate::units::{self, or_dash};
use prony_judge::capacity::{CapacityResult, ClientsResult};
use prony_judge::experiment::{Spread, all_have_nopm, variants};
use prony_judge::price::Prices;
use prony_judge::sweep::Sweep;
use prony_store::Run;
use std::fmt;

/// Maximum number of single runs with an answer each.
const MAX_RUN_ANSWERS: usize = 3;

/// Writes the variants, if all runs belong to one experiment; the points of a sweep with what they cost, if that is
/// known.
pub fn write(
    out: &mut Html,
    documents: &[Document],
    sides: &PageSides<'_>,
    prices: Option<&Prices>,
) -> fmt::Result {
    if !sides.are_variants {
        return write_answer(out, sides);
    }
    let runs: Vec<&Run> = documents.iter().map(|document| &document.run).collect();
    if let Some(mut sweep) = Sweep::of(&runs) {
        if let Some(prices) = prices {
            sweep.add_prices(prices);
        }
        return match CapacityResult::of(&runs) {
            Some(found) => {
                super::capacity::write(out, &found)?;
                // The table of the steps has no costs.
                if prices.is_some() {
                    super::sweep::write_points(out, &sweep)?;
                }
                Ok(())
            }
            None => {
                if let Some(found) = ClientsResult::of(&runs) {
                    writeln_markup!(out, "<p><strong>{}</strong></p>", clients_sentence(&found))?;
                    write_paragraphs(out, clients_remark(&found))?;
                } else if !sweep.has_numbers() {
                    // Such points are variants like others.
                    write_answer(out, sides)?;
                }
                super::sweep::write(out, &sweep)
            }
        };
    }
    let names = sides.names();
    write_answer(out, sides)?;
    let rate = if all_have_nopm(&runs) { "NOPM, median" } else { "transactions/s, median" };
    let columns = ["variant", "runs", rate, "spread", "p99, median", "noise"];
    let caption = "The variants, by the medians of their runs; p99 of committed transactions; noise: share of the \
                   CPUs that others used or the hypervisor withheld";
    let median = |spread: Option<Spread>, format_value: fn(f64) -> String| {
        or_dash(spread, |spread| format_value(spread.median))
    };
    let variants = variants(&names, &runs).into_iter();
    let rows = variants.map(|variant| {
        [
            variant.name.clone(),
            counted_runs(&variant),
            median(variant.rate, units::rate),
            or_dash(variant.rate.and_then(|rate| rate.share()), units::percent),
            median(variant.p99_ns, units::time),
            noise_of_variant(&runs, &variant.name),
        ]
    });
    write_figure_table(out, caption, &columns, rows)?;
    super::statements::write(out, replayed_over_repeats(&runs, usize::MAX))
}

/// Writes whether the sides differ from the first, with the chart of the intervals below it.
fn write_answer(out: &mut Html, sides: &PageSides<'_>) -> fmt::Result {
    if sides.names().len() < 2 {
        return Ok(());
    }
    let comparison = sides.compare();
    let answers = match answers(&comparison) {
        // Of many single runs nothing is known, and the chart names them.
        many if many.len() > MAX_RUN_ANSWERS && !sides.are_variants => vec![single_runs_caution()],
        answers => answers,
    };
    for answer in answers {
        writeln_markup!(out, "<p><strong>{}</strong></p>", answer)?;
    }
    if let Some(label) = label_below(&comparison) {
        writeln_markup!(out, "<p class=\"small\">{}</p>", label)?;
    }
    write_effects(out, &comparison, &sides.names())?;
    write_paragraphs(out, disturbed_caution(&comparison))
}
