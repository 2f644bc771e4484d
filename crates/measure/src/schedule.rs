//! When the phases of a run begin and end.
//!
//! In: start, warm-up, window and interval lengths. Out: the interval that contains a time. Must never:
//! read a clock. All times are nanoseconds on the run's clock.

use serde::{Deserialize, Serialize};

/// The phase of a run that an interval belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunPhase {
    /// Before the measured window; not in the result.
    Warmup,
    /// The measured window, whose figures are the result.
    Measured,
    /// After the window: transactions in flight at its end finish, and are counted separately.
    Drain,
}

/// The phases of a run in time.
///
/// Intervals are counted from the start of the warm-up, and again from the start of the window, so that
/// each interval lies in a single phase; the last one of each phase may be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSchedule {
    pub start_ns: u64,
    /// Length of the warm-up; 0 for none.
    pub warmup_ns: u64,
    /// Length of the measured window; absent if the run ends by count.
    pub window_ns: Option<u64>,
    /// Length of an interval; at least 1.
    pub interval_ns: u64,
}

/// The time of one interval: `start_ns <= t < end_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Index from the start of the load, from 0, without gaps.
    pub index: u32,
    /// The phase that contains it.
    pub phase: RunPhase,
    /// Its first nanosecond.
    pub start_ns: u64,
    /// The first nanosecond after it; `u64::MAX` for the drain.
    pub end_ns: u64,
}

impl Span {
    /// Its length, nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

impl RunSchedule {
    /// A schedule with intervals of one second.
    pub fn seconds(start_ns: u64, warmup_ns: u64, window_ns: Option<u64>) -> RunSchedule {
        RunSchedule {
            start_ns,
            warmup_ns,
            window_ns,
            interval_ns: 1_000_000_000,
        }
    }

    pub fn window_start_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.warmup_ns)
    }

    /// End of the measured window; `u64::MAX` if the run ends by count.
    pub fn window_end_ns(&self) -> u64 {
        match self.window_ns {
            Some(window_ns) => self.window_start_ns().saturating_add(window_ns),
            None => u64::MAX,
        }
    }

    /// How much of the time from `start_ns` to `end_ns` is in the measured window, nanoseconds.
    pub fn time_in_window_ns(&self, start_ns: u64, end_ns: u64) -> u64 {
        let start_ns = start_ns.max(self.window_start_ns());
        end_ns.min(self.window_end_ns()).saturating_sub(start_ns)
    }

    /// The interval that contains a time. A time before the start belongs to the first.
    pub fn span_at(&self, at_ns: u64) -> Span {
        let step_ns = self.interval_ns.max(1);
        let window_start_ns = self.window_start_ns();
        let window_end_ns = self.window_end_ns();
        let warmup_intervals = self.warmup_ns.div_ceil(step_ns);
        let at_ns = at_ns.max(self.start_ns);
        if at_ns < window_start_ns {
            let number = (at_ns - self.start_ns) / step_ns;
            let start_ns = self.start_ns + number * step_ns;
            Span {
                index: saturating_index(number),
                phase: RunPhase::Warmup,
                start_ns,
                end_ns: start_ns.saturating_add(step_ns).min(window_start_ns),
            }
        } else if at_ns < window_end_ns {
            let number = (at_ns - window_start_ns) / step_ns;
            let start_ns = window_start_ns + number * step_ns;
            Span {
                index: saturating_index(warmup_intervals + number),
                phase: RunPhase::Measured,
                start_ns,
                end_ns: start_ns.saturating_add(step_ns).min(window_end_ns),
            }
        } else {
            let window_intervals = self.window_ns.unwrap_or(0).div_ceil(step_ns);
            Span {
                index: saturating_index(warmup_intervals + window_intervals),
                phase: RunPhase::Drain,
                start_ns: window_end_ns,
                end_ns: u64::MAX,
            }
        }
    }

    /// The interval with this index.
    pub fn span(&self, index: u32) -> Span {
        let step_ns = self.interval_ns.max(1);
        let warmup_intervals = self.warmup_ns.div_ceil(step_ns);
        let index = u64::from(index);
        self.span_at(if index < warmup_intervals {
            self.start_ns.saturating_add(index * step_ns)
        } else {
            self.window_start_ns()
                .saturating_add((index - warmup_intervals).saturating_mul(step_ns))
        })
    }
}

/// An interval's index in 32 bits, which are enough for 136 years of seconds.
fn saturating_index(index: u64) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn the_last_interval_of_a_phase_ends_with_the_phase() {
        let schedule = RunSchedule::seconds(100, 2 * S + S / 2, Some(3 * S / 2));
        let spans: Vec<Span> = (0..6).map(|index| schedule.span(index)).collect();
        let phases: Vec<(RunPhase, u64, u64)> = spans
            .iter()
            .map(|span| (span.phase, span.start_ns - 100, span.length_ns()))
            .collect();
        assert_eq!(
            phases[..5],
            [
                (RunPhase::Warmup, 0, S),
                (RunPhase::Warmup, S, S),
                (RunPhase::Warmup, 2 * S, S / 2),
                (RunPhase::Measured, 2 * S + S / 2, S),
                (RunPhase::Measured, 3 * S + S / 2, S / 2),
            ]
        );
        assert_eq!(spans[5].phase, RunPhase::Drain);
        assert_eq!((spans[5].index, spans[5].end_ns), (5, u64::MAX));
        for span in &spans {
            assert_eq!(schedule.span_at(span.start_ns), *span);
            assert_eq!(schedule.span_at(span.end_ns - 1), *span);
        }
        assert_eq!(schedule.span_at(0), spans[0], "before the start");
    }

    #[test]
    fn a_run_by_count_has_no_end() {
        let schedule = RunSchedule::seconds(0, 0, None);
        let span = schedule.span_at(1_000_000 * S + 5);
        assert_eq!(span.phase, RunPhase::Measured);
        assert_eq!(span.index, 1_000_000);
        assert_eq!(schedule.span(u32::MAX).phase, RunPhase::Measured);
    }
}
