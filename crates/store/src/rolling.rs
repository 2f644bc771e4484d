//! Seconds of a run, with percentiles over several seconds if one has too few transactions.
//!
//! Takes rows in order and returns [`Second`]s. A percentile always has the samples that it needs, and never
//! mixes the warm-up with the measured window.

use crate::figures::second;
use crate::run::{RollingPercentiles, Second};
use prony_measure::{Distribution, IntervalRow, RunPhase};
use std::collections::VecDeque;

/// Maximum length of the period that a percentile covers, seconds.
const MAX_WINDOW_S: f64 = 60.0;
/// Number of samples that the highest percentile of a window needs, the 99th.
const SAMPLES_NEEDED: u64 = 1_000;

/// Makes [`Second`]s of the rows of a run.
#[derive(Debug, Default)]
pub struct SecondSeries {
    /// The latest rows of one phase, oldest first.
    recent: VecDeque<RecentSecond>,
    phase: Option<RunPhase>,
}

#[derive(Debug)]
struct RecentSecond {
    length_s: f64,
    response: Distribution<u32>,
}

impl SecondSeries {
    /// Converts the next row. `load_start_ns` is the start of the load on the run's clock.
    pub fn next_second(&mut self, row: &IntervalRow, load_start_ns: u64) -> Second {
        let mut second = second(row, load_start_ns);
        let phase = row.interval.span.phase;
        if self.phase.replace(phase) != Some(phase) {
            self.recent.clear();
        }
        if let Some(all) = row.interval.all_kinds() {
            self.recent.push_back(RecentSecond {
                length_s: second.length_s,
                response: all.response,
            });
            self.remove_unneeded();
        }
        if second.p99_ns.is_none() {
            second.rolling = self.rolling_percentiles();
        }
        second
    }

    /// Removes rows that no window can include.
    fn remove_unneeded(&mut self) {
        let (mut length_s, mut samples) = (0.0, 0);
        let mut needed_count = 0;
        for second in self.recent.iter().rev() {
            if length_s >= MAX_WINDOW_S || samples >= SAMPLES_NEEDED {
                break;
            }
            length_s += second.length_s;
            samples += second.response.samples;
            needed_count += 1;
        }
        self.recent.drain(..self.recent.len() - needed_count);
    }

    /// Percentiles over the fewest latest seconds that have enough samples; `None` if all of them together have too few.
    fn rolling_percentiles(&self) -> Option<RollingPercentiles> {
        let mut sum = Distribution::<u32>::default();
        let mut length_s = 0.0;
        for second in self.recent.iter().rev() {
            sum.add_same(&second.response);
            length_s += second.length_s;
            if let (Some(p95_ns), Some(p99_ns)) = (sum.quantile_ns(0.95), sum.quantile_ns(0.99)) {
                return Some(RollingPercentiles {
                    length_s,
                    p95_ns,
                    p99_ns,
                });
            }
        }
        None
    }
}
