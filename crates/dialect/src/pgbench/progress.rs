//! The lines of `-P`, for standard error.
//!
//! In: an interval's figures. Out: a complete line with its line feed, so that no other output can interrupt
//! it.

use super::level::Level;
use super::number::format_fixed;
use super::options::RunOptions;
use super::report::Counts;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ProgressTime {
    /// Seconds since the threads started.
    Elapsed(f64),
    /// `--progress-timestamp`: Unix time, seconds.
    Unix(f64),
}

/// The line about the `seconds` since the previous line, with the columns that the options require.
pub fn progress_line(
    level: &Level,
    options: &RunOptions,
    at: ProgressTime,
    counts: &Counts,
    seconds: f64,
) -> String {
    let at = match at {
        ProgressTime::Elapsed(elapsed_s) => format_fixed(elapsed_s, 1),
        ProgressTime::Unix(unix_s) => format_fixed(unix_s, 3),
    };
    let mut line = format!(
        "progress: {at} s, {} tps, lat {} ms stddev {}",
        format_fixed(counts.succeeded as f64 / seconds.max(1e-9), 1),
        format_fixed(counts.latency.mean_ms(), 3),
        format_fixed(counts.latency.stddev_ms(), 3)
    );
    if level.at_least(15) {
        line += &format!(", {} failed", counts.failures());
    }
    if options.rate_tps.is_some() {
        line += &format!(", lag {} ms", format_fixed(counts.lag.mean_ms(), 3));
    }
    if options.can_skip() {
        line += &format!(", {} skipped", counts.skipped);
    }
    if level.at_least(15) && options.max_tries != 1 {
        line += &format!(", {} retried, {} retries", counts.retried, counts.retries);
    }
    line + "\n"
}
