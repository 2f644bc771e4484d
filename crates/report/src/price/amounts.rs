//! Formats amounts of money and ratios.
//!
//! In: an amount without its currency. Out: text with the digits that matter. Must never: round a small amount to zero.

use crate::units::{self, count};

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
