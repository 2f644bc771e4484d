//! The variants of an experiment, on a page with its runs.
//!
//! In: documents, and `judge`'s comparison of them. Out: a table of the variants by their medians, and the
//! significance of their differences. Must never: take the best of several runs.

use super::comparisons::{PageSides, write_effects, write_sentences};
use super::document::Document;
use super::table::write_figure_table;
use crate::capacity::{clients_remark, clients_sentence};
use crate::html::markup::{Html, writeln_markup};
use crate::text::comparison::{disturbed_caution, noise_of_variant};
use crate::text::counts::counted_runs;
use crate::text::replay::replayed_over_repeats;
use crate::units::{self, or_dash};
use prony_judge::capacity::{CapacityResult, ClientsResult};
use prony_judge::experiment::{Spread, all_have_nopm, variants};
use prony_judge::price::Prices;
use prony_judge::sweep::Sweep;
use prony_store::Run;
use std::fmt;

/// Writes the variants, if all runs belong to one experiment; the points of a sweep with what they cost, if that is
/// known.
pub fn write(
    out: &mut Html,
    documents: &[Document],
    sides: &PageSides<'_>,
    prices: Option<&Prices>,
) -> fmt::Result {
    if !sides.are_variants {
        return write_effects(out, sides);
    }
    let runs: Vec<&Run> = documents.iter().map(|document| &document.run).collect();
    if let Some(mut sweep) = Sweep::of(&runs) {
        if let Some(prices) = prices {
            sweep.add_prices(prices);
        }
        return match CapacityResult::of(&runs) {
            Some(found) => {
                super::capacity::write(out, &found)?;
                // What the points cost stands in their own table.
                prices.map_or(Ok(()), |_| super::sweep::write_points(out, &sweep))
            }
            None => {
                if let Some(found) = ClientsResult::of(&runs) {
                    writeln_markup!(out, "<p><strong>{}</strong></p>", clients_sentence(&found))?;
                    if let Some(remark) = clients_remark(&found) {
                        writeln_markup!(out, "<p>{}</p>", remark)?;
                    }
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
    let rate = if all_have_nopm(&runs) {
        "NOPM, median"
    } else {
        "transactions/s, median"
    };
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

/// Writes whether the variants differ, each beside the first.
fn write_answer(out: &mut Html, sides: &PageSides<'_>) -> fmt::Result {
    if sides.names().len() < 2 {
        return Ok(());
    }
    let comparison = sides.compare();
    writeln_markup!(out, "<p>{}</p>", comparison.label())?;
    for side in &comparison.side_comparisons {
        write_sentences(out, &comparison, side)?;
    }
    if let Some(caution) = disturbed_caution(&comparison) {
        writeln_markup!(out, "<p>{}</p>", caution)?;
    }
    write_effects(out, sides)
}
