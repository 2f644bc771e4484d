//! The history of a figure over the last minute.
//!
//! In: one figure per second, possibly late or missing. Out: bars, the newest at the right. Must never:
//! average percentiles; a bar of several seconds shows their maximum.

use crate::text::bars;

/// Number of seconds in the history.
pub const SECONDS: usize = 60;

/// How several seconds are merged into one bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeMode {
    /// The mean, for rates and shares.
    Mean,
    /// The maximum, for percentiles and failures.
    Worst,
}

#[derive(Clone, Debug, Default)]
pub struct LastMinute {
    /// Seconds since the start of the load, and the figure of each.
    seconds: Vec<(i64, f64)>,
}

impl LastMinute {
    /// Adds the figure of a second that began `at_s` after the start of the load and took `length_s`.
    pub fn add(&mut self, at_s: f64, length_s: f64, figure: Option<f64>) {
        // Use the middle of the second for its number: its start may be slightly before or after a whole
        // second.
        let number = (at_s + length_s / 2.0).floor() as i64;
        self.seconds
            .retain(|(earlier, _)| *earlier > number - SECONDS as i64);
        if let Some(figure) = figure.filter(|figure| figure.is_finite()) {
            self.seconds.push((number, figure));
        }
    }

    /// The largest figure; 0 if there is none.
    pub fn top(&self) -> f64 {
        let figures = self.seconds.iter().map(|(_, figure)| *figure);
        figures.fold(0.0, f64::max)
    }

    /// Whether there is no figure.
    pub fn is_empty(&self) -> bool {
        self.seconds.is_empty()
    }

    /// The minute that ends with the second at `at_s`, in at most `width` bars. Each bar covers the same
    /// number of seconds. A full bar has the value `top`.
    pub fn bars(&self, at_s: f64, width: usize, mode: MergeMode, top: f64) -> String {
        if width == 0 {
            return String::new();
        }
        let step = SECONDS.div_ceil(width) as i64;
        let last = at_s.floor() as i64;
        // Align bars with multiples of the step, so that a second stays in the same bar.
        let first = (last - SECONDS as i64 + 1).div_euclid(step).max(0);
        let values: Vec<Option<f64>> = (first..=last.div_euclid(step))
            .map(|bar| self.merge(bar * step, (bar + 1) * step, mode))
            .collect();
        bars(&values[values.len().saturating_sub(width)..], top)
    }

    fn merge(&self, from: i64, to: i64, mode: MergeMode) -> Option<f64> {
        let inside = |entry: &&(i64, f64)| (from..to).contains(&entry.0);
        let figures = || {
            let seconds = self.seconds.iter();
            seconds.filter(inside).map(|(_, figure)| *figure)
        };
        match (figures().count(), mode) {
            (0, _) => None,
            (count, MergeMode::Mean) => Some(figures().sum::<f64>() / count as f64),
            (_, MergeMode::Worst) => Some(figures().fold(0.0, f64::max)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(seconds: i32) -> LastMinute {
        let mut minute = LastMinute::default();
        (0..seconds).for_each(|s| minute.add(f64::from(s), 1.0, Some(f64::from(s + 1))));
        minute
    }

    #[test]
    fn only_the_last_minute_is_stored() {
        let minute = ramp(200);
        assert_eq!(minute.top(), 200.0);
        assert_eq!(minute.seconds.len(), SECONDS);
        let bars = minute.bars(199.0, 60, MergeMode::Mean, minute.top());
        assert_eq!(bars.chars().count(), 60);
        assert!(bars.starts_with('▆') && bars.ends_with('█'), "{bars}");
        let early = ramp(3).bars(2.0, 60, MergeMode::Mean, 3.0);
        assert_eq!(early, "▃▆█");
    }

    #[test]
    fn narrow_bars_cover_several_seconds() {
        let mut minute = ramp(60);
        minute.add(60.0, 1.0, Some(600.0));
        let worst = minute.bars(60.0, 30, MergeMode::Worst, 600.0);
        let mean = minute.bars(60.0, 30, MergeMode::Mean, 600.0);
        assert_eq!((worst.chars().count(), mean.chars().count()), (30, 30));
        assert!(
            worst.ends_with('█') && mean.ends_with('█'),
            "{worst} {mean}"
        );
        minute.add(61.0, 1.0, Some(0.0));
        assert!(
            minute
                .bars(61.0, 30, MergeMode::Worst, 600.0)
                .ends_with('█')
        );
        assert!(minute.bars(61.0, 30, MergeMode::Mean, 600.0).ends_with('▅'));
        for width in 0..70 {
            let bars = minute.bars(61.0, width, MergeMode::Worst, 600.0);
            assert!(bars.chars().count() <= width, "{width}: {bars}");
        }
    }

    #[test]
    fn late_and_missing_seconds_leave_a_gap() {
        let mut minute = LastMinute::default();
        minute.add(0.02, 0.98, Some(1.0));
        minute.add(1.0, 1.0, None);
        minute.add(1.98, 1.04, Some(f64::NAN));
        minute.add(3.001, 0.9, Some(1.0));
        assert_eq!(minute.bars(4.0, 60, MergeMode::Mean, 1.0), "█  █ ");
    }
}
