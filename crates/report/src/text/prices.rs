//! Price-performance in words, and the formats of its amounts and ratios.
//!
//! In: prices computed by `judge`. Out: text with the digits that matter. Must never: round a small amount to zero, or call
//! anything tpmC.

use crate::text::{cut, plain};
use crate::units::{self, count, count_with_noun, or_dash};
use prony_judge::price::{FigureRange, PricePoint};

/// Formats an amount of money, without its currency.
pub(crate) fn format_money(amount: f64) -> String {
    match amount {
        amount if amount >= 999.995 => {
            let cents = (amount * 100.0).round();
            let integer = count((cents / 100.0).floor() as u64);
            match cents % 100.0 {
                0.0 => integer,
                fraction => format!("{integer}.{fraction:02.0}"),
            }
        }
        amount if amount >= 1.0 || amount == 0.0 => format!("{amount:.2}"),
        amount => three_significant_digits(amount),
    }
}

/// Formats a ratio with three significant digits.
pub(crate) fn format_ratio(value: f64) -> String {
    match value {
        value if value >= 1.0 || value == 0.0 => units::rate(value),
        value => three_significant_digits(value),
    }
}

/// Formats a number below 1 with three significant digits.
fn three_significant_digits(value: f64) -> String {
    let decimals = (2.0 - value.log10().floor()).clamp(2.0, 12.0) as usize;
    format!("{value:.decimals$}")
}

/// A note that the cost per NOPM is not TPC-C's price-performance metric.
pub(crate) const NO_TPMC: &str = "The three-year cost per NOPM resembles TPC-C's price metric but is not that metric: NOPM is not tpmC.";

/// The cost of a configuration and the ratios derived from it, in the column order of all views. `has_nopm`:
/// the table has columns for NOPM.
pub(crate) fn ratio_cells(point: &PricePoint, has_nopm: bool) -> Vec<String> {
    let mut cells = vec![
        format_money(point.total_monthly_cost),
        units::rate(point.tps),
        units::or_unknown(point.tps_per_money, format_ratio),
        format_money(point.per_million_flat_out),
        format_money(point.per_million_at_utilisation),
    ];
    if has_nopm {
        cells.push(or_dash(point.nopm, units::rate));
        cells.push(or_dash(point.three_years_per_nopm, format_money));
    }
    cells
}

/// The number of runs behind the median TPS, and its confidence interval or range.
pub(crate) fn describe_spread(point: &PricePoint, range: FigureRange) -> String {
    let (low, high) = (units::rate(range.low), units::rate(range.high));
    let runs = units::count_of(point.runs.len() as u64, "run");
    if range.is_confidence_interval {
        format!("median of {runs}; with 95 % confidence between {low} and {high}")
    } else {
        format!("median of {runs} from {low} to {high}: too few runs for an interval")
    }
}

/// The names of the configuration and its variant in at most `width` characters; both are cut if they are too
/// long.
pub(crate) fn short_name(point: &PricePoint, width: usize) -> String {
    let configuration = plain(&point.configuration);
    let variant = plain(&point.variant);
    if variant.is_empty() {
        cut(&configuration, width)
    } else {
        let half = (width / 2).max(width.saturating_sub(variant.chars().count() + 3));
        let configuration = cut(&configuration, half);
        let remaining = width.saturating_sub(configuration.chars().count() + 3);
        format!("{configuration} ({})", cut(&variant, remaining))
    }
}

/// The number of runs behind a point, for a table column.
pub(crate) fn run_count_cell(point: &PricePoint) -> String {
    plain(&point.runs_text())
}

/// The number of runs behind a point, for a sentence: `by the median of 6 runs`.
pub(crate) fn basis_phrase(point: &PricePoint) -> String {
    match (point.runs.len(), point.repeats_planned) {
        (1, None | Some(..=1)) => "by one run".to_owned(),
        (1, Some(planned)) => format!("by one run of {planned}"),
        _ => format!("by the median of {} runs", point.runs_text()),
    }
}

/// The failed transactions of a configuration, and how long they and all attempts took; `None` if none failed.
pub(crate) fn describe_failures(point: &PricePoint) -> Option<String> {
    if point.failed == 0 {
        return None;
    }
    let p99 = |name: &str, ns: Option<u64>| match ns {
        Some(ns) => format!("; {name}: 99th percentile {}", units::time(ns as f64)),
        None => String::new(),
    };
    Some(format!(
        "{}{}{}",
        count_with_noun(point.failed, "transaction failed", "transactions failed"),
        p99("of failed transactions", point.failed_p99_ns),
        p99("of all attempts", point.attempts_p99_ns),
    ))
}
