//! Maps values to positions on a chart, and chooses the ticks of an axis.
//!
//! In: the smallest and largest value. Out: positions in units of the drawing, round ticks. Must never:
//! return a position that is not finite, or more ticks than are readable.

const MAX_TICKS: usize = 12;

#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// The values at both ends; their logarithms on a logarithmic scale.
    low: f64,
    high: f64,
    /// Positions of `low` and `high` on the drawing.
    start: f64,
    end: f64,
    is_logarithmic: bool,
    /// Values of the ticks, ascending.
    pub ticks: Vec<f64>,
}

impl Scale {
    /// A linear scale from `low` to exactly `high`, drawn from position `start` to `end`, with at most six ticks at
    /// round values.
    pub fn linear(low: f64, high: f64, start: f64, end: f64) -> Scale {
        let step = round_up(((high - low) / 5.0).max(f64::MIN_POSITIVE));
        let first = (low / step).ceil();
        let ticks = (0..6).map(|n| (first + f64::from(n)) * step);
        Scale {
            low,
            high,
            start,
            end,
            is_logarithmic: false,
            ticks: ticks.filter(|tick| *tick <= high).collect(),
        }
    }

    /// A linear scale around values of at least zero: from zero, a difference of a few per cent would hardly be seen. Its
    /// margin is so wide that no two ticks have the same label.
    pub fn around(low: f64, high: f64, start: f64, end: f64) -> Scale {
        let margin = ((high - low) * 0.05).max(high * 0.02);
        Scale::linear((low - margin).max(0.0), high + margin, start, end)
    }

    /// A linear scale from zero to a round value of at least `maximum`.
    pub fn from_zero(maximum: f64, start: f64, end: f64) -> Scale {
        let maximum = positive_or_one(maximum);
        let step = round_up((maximum / 4.0).max(1e-300));
        let count = (maximum / step).ceil().clamp(1.0, MAX_TICKS as f64);
        let ticks = (0..=count as u32).map(|n| f64::from(n) * step).collect();
        Scale {
            ticks,
            ..Scale::linear(0.0, (count * step).max(f64::MIN_POSITIVE), start, end)
        }
    }

    /// A logarithmic scale between round values, for values with a range too wide for a linear axis. Both limits must be
    /// above zero.
    pub fn logarithmic(minimum: f64, maximum: f64, start: f64, end: f64) -> Scale {
        // Times outside this range are not real: shorter than any clock's resolution or longer than any run.
        let minimum = if minimum.is_finite() { minimum } else { 1.0 }.clamp(1e-3, 1e18);
        let maximum = if maximum.is_finite() { maximum } else { minimum }.clamp(minimum, 1e18);
        Scale::between(
            round_down(minimum),
            round_up(maximum * 1.000_001),
            start,
            end,
        )
    }

    /// A logarithmic scale between exactly these limits, both above zero.
    pub fn between(low: f64, high: f64, start: f64, end: f64) -> Scale {
        let decades = (high / low).log10().ceil() as i32 + 1;
        let first = low.log10().floor() as i32;
        let powers = (first..=first + decades).map(|power| 10_f64.powi(power));
        let mut ticks: Vec<f64> = powers
            .flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * power))
            .collect();
        ticks.retain(|tick| *tick >= low * 0.999 && *tick <= high * 1.001);
        if ticks.len() > 9 {
            let is_power_of_ten = |tick: &f64| (tick.log10() - tick.log10().round()).abs() < 1e-6;
            ticks.retain(is_power_of_ten);
        }
        ticks.truncate(MAX_TICKS);
        Scale {
            low: low.log10(),
            high: high.log10(),
            start,
            end,
            is_logarithmic: true,
            ticks,
        }
    }

    /// A time scale from zero to exactly `end_s`, with ticks at round seconds, minutes or hours.
    pub fn time(end_s: f64, start: f64, end: f64) -> Scale {
        const STEPS_S: [f64; 18] = [
            1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0,
            7200.0, 10_800.0, 21_600.0, 43_200.0, 86_400.0,
        ];
        let end_s = positive_or_one(end_s);
        let fits = |step: &&f64| end_s / **step <= MAX_TICKS as f64 - 1.0;
        let step = STEPS_S.iter().find(fits).copied();
        let step = step.unwrap_or_else(|| round_up(end_s / 8.0));
        let ticks = (0..=MAX_TICKS as u32).map(|n| f64::from(n) * step);
        Scale {
            ticks: ticks.filter(|tick| *tick <= end_s).collect(),
            ..Scale::linear(0.0, end_s, start, end)
        }
    }

    /// The position of a value; values outside the scale are clamped to its ends.
    pub fn position(&self, value: f64) -> f64 {
        let logarithm = value.max(f64::MIN_POSITIVE).log10();
        let value = if self.is_logarithmic { logarithm } else { value };
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        let share = if share.is_finite() { share } else { 0.0 };
        self.start + share * (self.end - self.start)
    }
}

/// The value, or 1 if it is not a positive number.
fn positive_or_one(value: f64) -> f64 {
    if value.is_finite() && value > 0.0 { value } else { 1.0 }
}

/// The smallest 1, 2 or 5 times a power of ten that is at least `value`, which is above zero.
fn round_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    // Tolerate a power of ten that rounding made slightly too small.
    let above = steps.into_iter().find(|step| *step * 1.000_000_1 >= value);
    above.unwrap_or(power * 10.0)
}

/// The largest 1, 2 or 5 times a power of ten that is at most `value`.
fn round_down(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let steps = [5.0, 2.0, 1.0].map(|factor| factor * power);
    let below = steps.into_iter().find(|step| *step <= value);
    below.unwrap_or(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_axis_starts_at_zero_and_ends_above_the_maximum() {
        let scale = Scale::from_zero(2_700.0, 100.0, 0.0);
        assert_eq!(scale.ticks, [0.0, 1000.0, 2000.0, 3000.0]);
        assert_eq!(scale.position(0.0), 100.0);
        assert_eq!(scale.position(1_500.0), 50.0);
        assert_eq!(scale.position(9_000.0), 0.0, "clamped to the end");
        assert_eq!(Scale::from_zero(0.0, 10.0, 0.0).position(0.0), 10.0);
        assert_eq!(Scale::from_zero(f64::NAN, 10.0, 0.0).position(1.0), 0.0);
    }

    #[test]
    fn a_logarithmic_axis_has_round_ends() {
        let scale = Scale::logarithmic(230.0, 4_100.0, 0.0, 100.0);
        assert_eq!(scale.ticks, [200.0, 500.0, 1000.0, 2000.0, 5000.0]);
        assert_eq!(scale.position(200.0), 0.0);
        assert!((scale.position(1000.0) - 50.0).abs() < 1e-9);
        let wide = Scale::logarithmic(1.0, 1e9, 0.0, 100.0);
        assert_eq!(wide.ticks.len(), 10);
        assert_eq!(scale.position(0.0), 0.0);
        assert!(scale.position(f64::INFINITY).is_finite());
    }

    #[test]
    fn axes_with_exact_ends_have_round_ticks_inside() {
        let scale = Scale::linear(7.7, 13.3, 0.0, 100.0);
        assert_eq!(scale.ticks, [8.0, 10.0, 12.0]);
        assert_eq!(scale.position(7.7), 0.0);
        let scale = Scale::between(230.0, 4_100.0, 0.0, 100.0);
        assert_eq!(scale.ticks, [500.0, 1000.0, 2000.0]);
        assert_eq!(
            (scale.position(230.0), scale.position(4_100.0)),
            (0.0, 100.0)
        );
    }

    #[test]
    fn time_axes_have_round_ticks() {
        assert_eq!(Scale::time(20.0, 0.0, 1.0).ticks.last(), Some(&20.0));
        assert_eq!(
            Scale::time(28.3, 0.0, 1.0).ticks,
            [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]
        );
        assert_eq!(Scale::time(3_600.0, 0.0, 1.0).ticks[1], 600.0);
        assert_eq!(Scale::time(86_400.0, 0.0, 1.0).ticks[1], 10_800.0);
    }

    #[test]
    fn any_values_give_few_ticks_and_finite_positions() {
        for value in [0.0, -1.0, 1e-300, 1e300, f64::MAX, f64::INFINITY, f64::NAN] {
            let all = [
                Scale::from_zero(value, 0.0, 10.0),
                Scale::logarithmic(value, value, 0.0, 10.0),
                Scale::logarithmic(1.0, value, 0.0, 10.0),
                Scale::time(value, 0.0, 10.0),
                Scale::linear(-value, value, 0.0, 10.0),
            ];
            for scale in all {
                assert!(scale.ticks.len() <= 13, "{value}: {scale:?}");
                assert!(
                    scale.position(value).is_finite() && scale.position(5.0).is_finite(),
                    "{value}"
                );
            }
        }
    }
}
