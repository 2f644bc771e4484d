//! What the last minute was like.
//!
//! In: figures of seconds, as they come, some of them late or missing. Out: bars, the newest at the
//! right. Must never: average percentiles; where a bar is of several seconds it is the worst of them.

use crate::text::bars;

/// How many seconds are kept.
pub const SECONDS: usize = 60;

/// What stands for several seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// Their mean: rates and shares.
    Mean,
    /// The largest: percentiles.
    Worst,
}

/// One figure of the last minute.
#[derive(Clone, Debug, Default)]
pub struct Minute {
    /// Number of the second from the start of the load, and its figure.
    seconds: Vec<(i64, f64)>,
}

impl Minute {
    /// Adds the figure of a second that began `at_s` after the start of the load and took `seconds`.
    pub fn add(&mut self, at_s: f64, seconds: f64, figure: Option<f64>) {
        // By its middle: seconds begin where the clock was read, a little before or after a full one.
        let number = (at_s + seconds / 2.0).floor() as i64;
        self.seconds
            .retain(|(other, _)| *other > number - SECONDS as i64);
        if let Some(figure) = figure.filter(|figure| figure.is_finite()) {
            self.seconds.push((number, figure));
        }
    }

    /// The largest figure; 0 if there is none.
    pub fn top(&self) -> f64 {
        let figures = self.seconds.iter().map(|(_, figure)| *figure);
        figures.fold(0.0, f64::max)
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.seconds.is_empty()
    }

    /// The minute that ends with the second that began `at_s` after the start, in at most `room` bars:
    /// each of one second, or of as many as it takes. `top` is the full bar.
    pub fn bars(&self, at_s: f64, room: usize, fold: Fold, top: f64) -> String {
        if room == 0 {
            return String::new();
        }
        let step = SECONDS.div_ceil(room) as i64;
        let last = at_s.floor() as i64;
        // Bars begin at multiples of the step, so that a second stays in its bar.
        let first = (last - SECONDS as i64 + 1).div_euclid(step).max(0);
        let values: Vec<Option<f64>> = (first..=last.div_euclid(step))
            .map(|bar| self.between(bar * step, (bar + 1) * step, fold))
            .collect();
        bars(&values[values.len().saturating_sub(room)..], top)
    }

    fn between(&self, from: i64, to: i64, fold: Fold) -> Option<f64> {
        let inside = |entry: &&(i64, f64)| (from..to).contains(&entry.0);
        let figures = || {
            self.seconds
                .iter()
                .filter(inside)
                .map(|(_, figure)| *figure)
        };
        match (figures().count(), fold) {
            (0, _) => None,
            (count, Fold::Mean) => Some(figures().sum::<f64>() / count as f64),
            (_, Fold::Worst) => Some(figures().fold(0.0, f64::max)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(seconds: i32) -> Minute {
        let mut minute = Minute::default();
        (0..seconds).for_each(|s| minute.add(f64::from(s), 1.0, Some(f64::from(s + 1))));
        minute
    }

    #[test]
    fn a_minute_is_kept_and_no_more() {
        let minute = ramp(200);
        assert_eq!(minute.top(), 200.0);
        assert_eq!(minute.seconds.len(), SECONDS);
        let bars = minute.bars(199.0, 60, Fold::Mean, minute.top());
        assert_eq!(bars.chars().count(), 60);
        assert!(bars.starts_with('▆') && bars.ends_with('█'), "{bars}");
        let early = ramp(3).bars(2.0, 60, Fold::Mean, 3.0);
        assert_eq!(early, "▃▆█");
    }

    #[test]
    fn in_little_room_bars_stand_for_more_seconds() {
        let mut minute = ramp(60);
        minute.add(60.0, 1.0, Some(600.0));
        let worst = minute.bars(60.0, 30, Fold::Worst, 600.0);
        let mean = minute.bars(60.0, 30, Fold::Mean, 600.0);
        assert_eq!((worst.chars().count(), mean.chars().count()), (30, 30));
        assert!(
            worst.ends_with('█') && mean.ends_with('█'),
            "{worst} {mean}"
        );
        minute.add(61.0, 1.0, Some(0.0));
        assert!(minute.bars(61.0, 30, Fold::Worst, 600.0).ends_with('█'));
        assert!(minute.bars(61.0, 30, Fold::Mean, 600.0).ends_with('▅'));
        for room in 0..70 {
            let bars = minute.bars(61.0, room, Fold::Worst, 600.0);
            assert!(bars.chars().count() <= room, "{room}: {bars}");
        }
    }

    #[test]
    fn what_is_late_or_missing_leaves_a_gap() {
        let mut minute = Minute::default();
        minute.add(0.02, 0.98, Some(1.0));
        minute.add(1.0, 1.0, None);
        minute.add(1.98, 1.04, Some(f64::NAN));
        minute.add(3.001, 0.9, Some(1.0));
        assert_eq!(minute.bars(4.0, 60, Fold::Mean, 1.0), "█  █ ");
    }
}
