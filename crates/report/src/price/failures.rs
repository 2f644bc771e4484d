//! The failed transactions of a priced configuration.
//!
//! In: a configuration with its runs. Out: one line. Must never: mix failed transactions with committed ones.

use crate::units::{self, count_with_noun};
use prony_judge::price::PricePoint;

/// The failed transactions of a configuration, and how long they and all attempts took; `None` if none failed.
pub(super) fn describe(point: &PricePoint) -> Option<String> {
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
