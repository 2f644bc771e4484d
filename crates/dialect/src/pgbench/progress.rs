//! The lines of `-P`, for standard error.
//!
//! In: an interval's figures. Out: a complete line with its line feed, so that no other output can interrupt
//! it.

use super::level::Level;
use super::number::format_fixed;

/// How a line prints its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ProgressTime {
    /// Seconds since the threads started.
    Elapsed(f64),
    /// `--progress-timestamp`: Unix time, seconds.
    Unix(f64),
}

/// The figures since the previous line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// When the line is printed.
    pub at: ProgressTime,
    /// Successful transactions per second.
    pub tps: f64,
    /// The mean latency of successful transactions, ms; 0 if there are none.
    pub latency_ms: f64,
    /// The standard deviation of the latency of successful transactions, ms; 0 if there are none.
    pub stddev_ms: f64,
    /// Failed transactions.
    pub failed: u64,
    /// With `-R`: mean lag, ms.
    pub lag_ms: Option<f64>,
    /// With `-R` and `-L`: skipped transactions.
    pub skipped: Option<u64>,
    /// With `--max-tries` other than 1: retried transactions, and retries.
    pub retried: Option<(u64, u64)>,
}

/// The line's text.
pub fn progress_line(level: &Level, progress: &Progress) -> String {
    let at = match progress.at {
        ProgressTime::Elapsed(seconds) => format_fixed(seconds, 1),
        ProgressTime::Unix(seconds) => format_fixed(seconds, 3),
    };
    let mut line = format!(
        "progress: {at} s, {} tps, lat {} ms stddev {}",
        format_fixed(progress.tps, 1),
        format_fixed(progress.latency_ms, 3),
        format_fixed(progress.stddev_ms, 3)
    );
    if level.at_least(15) {
        line += &format!(", {} failed", progress.failed);
    }
    if let Some(lag_ms) = progress.lag_ms {
        line += &format!(", lag {} ms", format_fixed(lag_ms, 3));
    }
    if let Some(skipped) = progress.skipped {
        line += &format!(", {skipped} skipped");
    }
    if let (true, Some((retried, retries))) = (level.at_least(15), progress.retried) {
        line += &format!(", {retried} retried, {retries} retries");
    }
    line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_lines_match_levels_13_and_15() {
        let progress = Progress {
            at: ProgressTime::Elapsed(1.0),
            tps: 1530.94,
            latency_ms: 1.09,
            stddev_ms: 1.848,
            failed: 785,
            lag_ms: Some(0.5),
            skipped: Some(3),
            retried: Some((34, 35)),
        };
        let line = |major| progress_line(&Level::of_major(major).unwrap(), &progress);
        assert_eq!(
            line(15),
            "progress: 1.0 s, 1530.9 tps, lat 1.090 ms stddev 1.848, 785 failed, lag 0.500 ms, 3 skipped, 34 retried, 35 retries\n"
        );
        assert_eq!(
            line(13),
            "progress: 1.0 s, 1530.9 tps, lat 1.090 ms stddev 1.848, lag 0.500 ms, 3 skipped\n"
        );
        let with_timestamp = Progress {
            at: ProgressTime::Unix(1_795_211_482.488),
            lag_ms: None,
            skipped: None,
            retried: None,
            ..progress
        };
        assert!(
            progress_line(&Level::default(), &with_timestamp)
                .starts_with("progress: 1795211482.488 s, ")
        );
    }
}
