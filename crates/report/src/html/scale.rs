//! From values to places on a chart, and the ticks of an axis.
//!
//! In: the smallest and largest value. Out: places in the units of the drawing, round ticks. Must
//! never: give a place that is not a finite number, or more ticks than a person reads.

/// The most ticks of an axis.
const TICKS_MOST: usize = 12;

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
    /// Values of the ticks, ascending.
    pub ticks: Vec<f64>,
}

impl Scale {
    /// From zero to a round value above `most`, drawn from `from` to `to`.
    pub fn from_zero(most: f64, from: f64, to: f64) -> Scale {
        let most = if most.is_finite() && most > 0.0 {
            most
        } else {
            1.0
        };
        let step = round_step(most / 4.0);
        let count = (most / step).ceil().clamp(1.0, TICKS_MOST as f64);
        let ticks = (0..=count as u32).map(|n| f64::from(n) * step).collect();
        Scale {
            low: 0.0,
            high: (count * step).max(f64::MIN_POSITIVE),
            from,
            to,
            log: false,
            ticks,
        }
    }

    /// By powers, for values that differ by more than a linear axis shows; both above zero.
    pub fn by_powers(least: f64, most: f64, from: f64, to: f64) -> Scale {
        // Longer than any run and shorter than any clock: what is beyond is no time of ours.
        let least = if least.is_finite() { least } else { 1.0 }.clamp(1e-3, 1e18);
        let most = if most.is_finite() { most } else { least }.clamp(least, 1e18);
        let (low, high) = (step_below(least), step_above(most * 1.000_001));
        let decades = (high / low).log10().ceil() as i32 + 1;
        let first = low.log10().floor() as i32;
        let powers = (first..=first + decades).map(|power| 10_f64.powi(power));
        let mut ticks: Vec<f64> = powers
            .flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * power))
            .collect();
        ticks.retain(|tick| *tick >= low * 0.999 && *tick <= high * 1.001);
        if ticks.len() > 9 {
            let whole = |tick: &f64| (tick.log10() - tick.log10().round()).abs() < 1e-6;
            ticks.retain(whole);
        }
        ticks.truncate(TICKS_MOST);
        Scale {
            low: low.log10(),
            high: high.log10(),
            from,
            to,
            log: true,
            ticks,
        }
    }

    /// Time from zero to `end_s` and not beyond, with ticks at round seconds, minutes or hours.
    pub fn time(end_s: f64, from: f64, to: f64) -> Scale {
        const STEPS_S: [f64; 14] = [
            1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0,
            7200.0,
        ];
        let end_s = if end_s.is_finite() && end_s > 0.0 {
            end_s
        } else {
            1.0
        };
        let fits = |step: &&f64| end_s / **step <= TICKS_MOST as f64 - 1.0;
        let step = STEPS_S.iter().find(fits).copied();
        let step = step.unwrap_or_else(|| round_step(end_s / 8.0));
        let ticks = (0..=TICKS_MOST as u32).map(|n| f64::from(n) * step);
        Scale {
            low: 0.0,
            high: end_s,
            from,
            to,
            log: false,
            ticks: ticks.filter(|tick| *tick <= end_s).collect(),
        }
    }

    /// The place of a value; a value outside is put at the end.
    pub fn at(&self, value: f64) -> f64 {
        let value = match self.log {
            true => value.max(f64::MIN_POSITIVE).log10(),
            false => value,
        };
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        let share = if share.is_finite() { share } else { 0.0 };
        self.from + share * (self.to - self.from)
    }
}

/// 1, 2 or 5 times a power of ten, at least `value`.
fn round_step(value: f64) -> f64 {
    step_above(value.max(1e-300))
}

fn step_above(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    // What a power of ten lacks by rounding is no reason for the next step.
    let enough = steps.into_iter().find(|step| *step * 1.000_000_1 >= value);
    enough.unwrap_or(power * 10.0)
}

fn step_below(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let steps = [5.0, 2.0, 1.0].map(|factor| factor * power);
    steps
        .into_iter()
        .find(|step| *step <= value)
        .unwrap_or(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_axis_begins_at_zero_and_ends_above_the_largest() {
        let scale = Scale::from_zero(2_700.0, 100.0, 0.0);
        assert_eq!(scale.ticks, [0.0, 1000.0, 2000.0, 3000.0]);
        assert_eq!(scale.at(0.0), 100.0);
        assert_eq!(scale.at(1_500.0), 50.0);
        assert_eq!(scale.at(9_000.0), 0.0, "cut at the end");
        assert_eq!(Scale::from_zero(0.0, 10.0, 0.0).at(0.0), 10.0);
        assert_eq!(Scale::from_zero(f64::NAN, 10.0, 0.0).at(1.0), 0.0);
    }

    #[test]
    fn an_axis_by_powers_has_round_ends() {
        let scale = Scale::by_powers(230.0, 4_100.0, 0.0, 100.0);
        assert_eq!(scale.ticks, [200.0, 500.0, 1000.0, 2000.0, 5000.0]);
        assert_eq!(scale.at(200.0), 0.0);
        assert!((scale.at(1000.0) - 50.0).abs() < 1e-9);
        let wide = Scale::by_powers(1.0, 1e9, 0.0, 100.0);
        assert_eq!(wide.ticks.len(), 10);
        assert_eq!(scale.at(0.0), 0.0);
        assert!(scale.at(f64::INFINITY).is_finite());
    }

    #[test]
    fn times_have_round_ticks_and_none_beyond_the_end() {
        assert_eq!(Scale::time(20.0, 0.0, 1.0).ticks.last(), Some(&20.0));
        assert_eq!(
            Scale::time(28.3, 0.0, 1.0).ticks,
            [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]
        );
        assert_eq!(Scale::time(3_600.0, 0.0, 1.0).ticks[1], 600.0);
    }

    #[test]
    fn whatever_a_document_says_the_ticks_are_few_and_the_places_finite() {
        for value in [0.0, -1.0, 1e-300, 1e300, f64::MAX, f64::INFINITY, f64::NAN] {
            let all = [
                Scale::from_zero(value, 0.0, 10.0),
                Scale::by_powers(value, value, 0.0, 10.0),
                Scale::by_powers(1.0, value, 0.0, 10.0),
                Scale::time(value, 0.0, 10.0),
            ];
            for scale in all {
                assert!(scale.ticks.len() <= 13, "{value}: {scale:?}");
                assert!(
                    scale.at(value).is_finite() && scale.at(5.0).is_finite(),
                    "{value}"
                );
            }
        }
    }
}
