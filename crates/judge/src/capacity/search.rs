//! The search for the highest rate that meets what is required: which rate to measure next, and the answer.
//!
//! In: steps with a rate and a verdict, in any order. Out: the next rate, or a [`Capacity`]. Must never: read a clock,
//! or take one disturbed step for the limit: the lowest rate that fails is measured twice.
//!
//! Of the verdicts of a rate, the majority counts. The search goes up until a rate fails and down until one meets the
//! requirements. If times are required, a line through the steps near the limit then shows where the figure crosses it,
//! and its sides are measured for longer: together, the steps know more than the verdict of any. Without such a line, the
//! ratio of the two bounds is halved. A rate that is undecided is near the answer: its sides are narrowed first, and then
//! it is measured for longer. A rate that passes above one that fails is a contradiction, and both are measured again,
//! unless the line decides.

use prony_store::AnswerVerdict;
use serde::Serialize;

/// Largest factor from one rate to the next while one of the two bounds is unknown.
const MAX_FACTOR: f64 = 2.0;
/// First such factor after an estimate, which squares with each step.
const ESTIMATE_FACTOR: f64 = 1.25;
/// Such a factor from a rate whose figure is near its limit.
const NEAR_FACTOR: f64 = 1.12;
/// How far beside the crossing steps are measured, in precisions: nearer ones say less of the slope, and are rarely
/// decided.
const SIDE_PRECISIONS: f64 = 2.0;
/// How many times the usual length they take.
const SIDE_LENGTHS: u32 = 2;
/// Steps within so many times that distance are beside the crossing.
const SIDE_REACH: f64 = 2.5;
/// Steps at one rate after which it is not measured again.
const MAX_STEPS_AT_RATE: usize = 3;
/// Shares of the limit that are near it, and how many such steps make a line.
const NEAR_LIMIT: std::ops::RangeInclusive<f64> = 0.5..=2.0;
const MIN_NEAR_STEPS: usize = 3;
/// Share of the first rate below which no rate is measured.
const LOWEST_SHARE: f64 = 1e-3;

/// What a search starts from, and when it ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// The first rate, transactions per second.
    pub start: f64,
    /// Whether the first rate is near the answer.
    pub is_estimate: bool,
    /// The search ends if the answer is known to plus or minus this share.
    pub precision: f64,
    /// It ends after so many steps at the latest.
    pub max_steps: usize,
}

/// A measured rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateVerdict {
    /// Transactions per second.
    pub rate: f64,
    /// Whether the step met what is required.
    pub verdict: AnswerVerdict,
    /// The figure that is nearest to its limit, or furthest above it, as a share of that limit.
    pub share_of_limit: Option<f64>,
    /// Whether it is undecided because a required figure is not known, as after too few transactions.
    pub is_unknown: bool,
    /// The length of its window, seconds.
    pub length_s: f64,
}

impl RateVerdict {
    /// The required time as a share of its limit, if it is near it.
    fn near_share(&self) -> Option<f64> {
        self.share_of_limit
            .filter(|share| NEAR_LIMIT.contains(share))
    }
}

/// What follows from the steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NextStep {
    /// Measure this rate, for so many times the usual length.
    Measure { rate: f64, lengths: u32 },
    /// The answer is as well known as it will be.
    Done(Capacity),
}

/// The highest rate that meets the requirements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Capacity {
    /// The most probable value, transactions per second: where the figure crosses its limit, by the steps near it, or the
    /// geometric mean of the bounds; absent unless both bounds are known.
    pub rate: Option<f64>,
    /// The highest rate that met the requirements.
    pub low: Option<f64>,
    /// The lowest rate that did not.
    pub high: Option<f64>,
    pub state: CapacityState,
}

/// How well a capacity is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CapacityState {
    /// As precisely as it was asked for.
    Found,
    /// Less precisely: the steps did not suffice, or a longer one does not decide.
    Imprecise,
    /// A lower rate failed and a higher one did not: the server changed in between.
    Contradictory,
    /// No rate failed.
    AtLeast,
    /// No rate passed.
    Below,
    /// No rate was decided.
    Unknown,
}

/// The steps at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Level {
    rate: f64,
    steps: usize,
    verdict: AnswerVerdict,
    /// Whether no step showed a required figure.
    is_unknown: bool,
    /// Whether the figure of a step is near its limit.
    is_near: bool,
}

impl Level {
    /// A step at this rate that is longer than those before; `None` after the last one.
    fn longer(&self) -> Option<NextStep> {
        (self.steps < MAX_STEPS_AT_RATE).then(|| NextStep::Measure {
            rate: self.rate,
            lengths: 1 << self.steps,
        })
    }
}

/// The bounds that the levels give.
struct Bounds<'a> {
    steps: &'a [RateVerdict],
    levels: Vec<Level>,
    low: Option<Level>,
    high: Option<Level>,
    /// The lowest level that fails and the highest that passes, if the first is below the second.
    contradiction: Option<[Level; 2]>,
    /// The rate at which the figure meets its limit, by a line through the steps near it.
    crossing: Option<f64>,
}

impl Bounds<'_> {
    fn new(steps: &[RateVerdict]) -> Bounds<'_> {
        let mut rates: Vec<f64> = steps.iter().map(|step| step.rate).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        let level = |rate: f64| {
            let own = steps.iter().filter(|step| step.rate == rate);
            let is_unknown = own.clone().all(|step| step.is_unknown);
            let is_near = own.clone().any(|step| step.near_share().is_some());
            let verdicts: Vec<AnswerVerdict> = own.map(|step| step.verdict).collect();
            let count = |of| verdicts.iter().filter(|verdict| **verdict == of).count();
            let verdict = match count(AnswerVerdict::Pass).cmp(&count(AnswerVerdict::Fail)) {
                std::cmp::Ordering::Greater => AnswerVerdict::Pass,
                std::cmp::Ordering::Less => AnswerVerdict::Fail,
                std::cmp::Ordering::Equal => AnswerVerdict::Undecided,
            };
            Level {
                rate,
                steps: verdicts.len(),
                verdict,
                is_unknown,
                is_near,
            }
        };
        let levels: Vec<Level> = rates.into_iter().map(level).collect();
        let of = |verdict| {
            let levels = levels.iter().copied();
            levels.filter(move |level: &Level| level.verdict == verdict)
        };
        let lowest_fail = of(AnswerVerdict::Fail).next();
        let highest_pass = of(AnswerVerdict::Pass).next_back();
        let crossing = crossing(steps);
        let around = crossing.and_then(|rate| {
            let low = of(AnswerVerdict::Pass).rfind(|level| level.rate <= rate)?;
            let high = of(AnswerVerdict::Fail).find(|level| level.rate >= rate)?;
            let mut between = of(AnswerVerdict::Fail).filter(|level| level.rate < rate);
            // The line says nothing of a rate that fails for another reason than the time.
            between
                .all(|fail| fail.rate < low.rate || fail.is_near)
                .then_some((low, high))
        });
        let contradiction = lowest_fail.zip(highest_pass);
        let contradiction = contradiction.filter(|(fail, pass)| {
            let decided_by_line = around.is_some() && fail.is_near && pass.is_near;
            fail.rate < pass.rate && !decided_by_line
        });
        let below = |level: &Level| lowest_fail.is_none_or(|fail| level.rate < fail.rate);
        let above = |level: &Level| highest_pass.is_none_or(|pass| level.rate > pass.rate);
        let (low, high) = match around.filter(|_| contradiction.is_none()) {
            Some((low, high)) => (Some(low), Some(high)),
            None => (
                of(AnswerVerdict::Pass).rfind(below),
                of(AnswerVerdict::Fail).find(above),
            ),
        };
        Bounds {
            steps,
            low,
            high,
            contradiction: contradiction.map(|(fail, pass)| [fail, pass]),
            crossing,
            levels,
        }
    }

    /// Seconds that were measured between two rates.
    fn measured_s(&self, from: f64, to: f64) -> f64 {
        let steps = self.steps.iter();
        let steps = steps.filter(|step| (from..to).contains(&step.rate));
        steps.map(|step| step.length_s).sum()
    }

    fn capacity(&self, precision: f64) -> Capacity {
        let (low, high) = (
            self.low.map(|level| level.rate),
            self.high.map(|level| level.rate),
        );
        let rate = low.zip(high).map(|(low, high)| match self.crossing {
            Some(crossing) if (low..high).contains(&crossing) => crossing,
            _ => (low * high).sqrt(),
        });
        let state = match (low, high) {
            _ if self.contradiction.is_some() => CapacityState::Contradictory,
            (Some(low), Some(high)) if is_narrow(low, high, precision) => CapacityState::Found,
            (Some(_), Some(_)) => CapacityState::Imprecise,
            (Some(_), None) => CapacityState::AtLeast,
            (None, Some(_)) => CapacityState::Below,
            (None, None) => CapacityState::Unknown,
        };
        Capacity {
            rate,
            low,
            high,
            state,
        }
    }
}

/// The rate at which the share of the limit is 1, by least squares, in which longer steps weigh more. The reciprocal of a
/// time in a queue falls in a line to the rate at which its server is full. `None` if fewer than three steps are near the
/// limit, as with a server that has a hard ceiling, or if the share does not rise.
fn crossing(steps: &[RateVerdict]) -> Option<f64> {
    let near = steps
        .iter()
        .filter_map(|step| Some((step.length_s, [step.rate, 1.0 / step.near_share()?])));
    let near: Vec<(f64, [f64; 2])> = near.collect();
    let total: f64 = near.iter().map(|(weight, _)| weight).sum();
    let mean = |index: usize| {
        let weighted = near.iter().map(|(weight, point)| weight * point[index]);
        weighted.sum::<f64>() / total
    };
    let (x, y) = (mean(0), mean(1));
    let sum = |of: fn([f64; 2]) -> f64| -> f64 {
        let deviations = near
            .iter()
            .map(|(weight, point)| weight * of([point[0] - x, point[1] - y]));
        deviations.sum()
    };
    let slope = sum(|[x, y]| x * y) / sum(|[x, _]| x * x);
    (near.len() >= MIN_NEAR_STEPS && slope < 0.0 && slope.is_finite())
        .then(|| x + (1.0 - y) / slope)
}

fn is_narrow(low: f64, high: f64, precision: f64) -> bool {
    high / low <= (1.0 + precision).powi(2)
}

impl Search {
    /// What to do after these steps.
    pub fn next_step(&self, steps: &[RateVerdict]) -> NextStep {
        if steps.is_empty() {
            return measure(self.start);
        }
        let bounds = Bounds::new(steps);
        let next = if steps.len() < self.max_steps {
            self.next_rate(&bounds)
        } else {
            None
        };
        next.unwrap_or_else(|| NextStep::Done(bounds.capacity(self.precision)))
    }

    /// What is known after these steps.
    pub fn capacity(&self, steps: &[RateVerdict]) -> Capacity {
        Bounds::new(steps).capacity(self.precision)
    }

    /// `None` if another step would not help.
    fn next_rate(&self, bounds: &Bounds<'_>) -> Option<NextStep> {
        if let Some(contradicting) = bounds.contradiction {
            // Disturbances make more steps fail than pass.
            let least = contradicting.iter().min_by_key(|level| level.steps)?;
            return (least.steps < MAX_STEPS_AT_RATE).then(|| measure(least.rate));
        }
        let (lowest, highest) = (bounds.levels.first()?, bounds.levels.last()?);
        match (bounds.low, bounds.high) {
            // A lower rate has fewer transactions, and shows even less.
            (None, _) if lowest.is_unknown => lowest.longer(),
            (None, _) => {
                let is_below = |level: &&Level| level.rate < bounds.steps[0].rate;
                let rate = lowest.rate / self.factor(lowest, bounds, is_below);
                (rate > self.start * LOWEST_SHARE).then(|| measure(rate))
            }
            (Some(_), None) => {
                let is_above = |level: &&Level| level.rate > bounds.steps[0].rate;
                Some(measure(
                    highest.rate * self.factor(highest, bounds, is_above),
                ))
            }
            (Some(low), Some(high)) if is_narrow(low.rate, high.rate, self.precision) => {
                // One disturbed step is not the limit.
                (high.steps == 1).then(|| measure(high.rate))
            }
            (Some(low), Some(high)) => self.between(bounds, low.rate, high.rate),
        }
    }

    /// The factor from the outermost level to the next one; it grows with the levels on that side of the first rate.
    fn factor(
        &self,
        outermost: &Level,
        bounds: &Bounds<'_>,
        is_on_side: impl Fn(&&Level) -> bool,
    ) -> f64 {
        if outermost.is_near {
            return NEAR_FACTOR;
        }
        if !self.is_estimate {
            return MAX_FACTOR;
        }
        let count = bounds.levels.iter().filter(is_on_side).count();
        let exponent = 2_i32.saturating_pow(u32::try_from(count).unwrap_or(u32::MAX).min(8));
        ESTIMATE_FACTOR.powi(exponent).min(MAX_FACTOR)
    }

    /// A longer step on the side of the crossing that was measured for a shorter time.
    fn beside(&self, bounds: &Bounds<'_>, crossing: f64, low: f64, high: f64) -> NextStep {
        let distance = SIDE_PRECISIONS * self.precision;
        let reach = 1.0 + SIDE_REACH * distance;
        let is_below = bounds.measured_s(crossing / reach, crossing)
            <= bounds.measured_s(crossing, crossing * reach);
        let rate = if is_below {
            crossing / (1.0 + distance)
        } else {
            crossing * (1.0 + distance)
        };
        let rate = if low < rate && rate < high {
            rate
        } else {
            (crossing * if is_below { low } else { high }).sqrt()
        };
        NextStep::Measure {
            rate: readable(rate),
            lengths: SIDE_LENGTHS,
        }
    }

    /// The next step between two bounds that are too far apart.
    fn between(&self, bounds: &Bounds<'_>, low: f64, high: f64) -> Option<NextStep> {
        if let Some(crossing) = bounds.crossing.filter(|rate| low < *rate && *rate < high) {
            return Some(self.beside(bounds, crossing, low, high));
        }
        let is_inside = |level: &&Level| level.rate > low && level.rate < high;
        let undecided: Vec<&Level> = bounds.levels.iter().filter(is_inside).collect();
        let (Some(first), Some(last)) = (undecided.first(), undecided.last()) else {
            return Some(measure((low * high).sqrt()));
        };
        let gaps = [(low, first.rate), (last.rate, high)];
        let ratio = |(low, high): &(f64, f64)| high / low;
        let widest = gaps
            .iter()
            .max_by(|a, b| ratio(a).total_cmp(&ratio(b)))
            .filter(|gap| ratio(gap) > (1.0 + self.precision))
            .map(|(low, high)| measure((low * high).sqrt()));
        widest.or_else(|| undecided.iter().min_by_key(|level| level.steps)?.longer())
    }
}

/// A step of the usual length.
fn measure(rate: f64) -> NextStep {
    NextStep::Measure {
        rate: readable(rate),
        lengths: 1,
    }
}

/// A rate of three significant digits.
fn readable(rate: f64) -> f64 {
    let unit = 10_f64.powf(rate.log10().floor() - 2.0);
    let digits = (rate / unit).round();
    // Division by a whole power gives 0.123 where multiplication gives 0.12300000000000001.
    if unit < 1.0 {
        digits / (1.0 / unit).round()
    } else {
        digits * unit.round()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_store::AnswerVerdict::{Fail, Pass, Undecided};

    const SEARCH: Search = Search {
        start: 800.0,
        is_estimate: true,
        precision: 0.02,
        max_steps: 13,
    };

    fn steps(steps: &[(f64, AnswerVerdict)]) -> Vec<RateVerdict> {
        let steps = steps.iter();
        steps
            .map(|&(rate, verdict)| RateVerdict {
                rate,
                verdict,
                share_of_limit: None,
                is_unknown: false,
                length_s: 20.0,
            })
            .collect()
    }

    fn next(given: &[(f64, AnswerVerdict)]) -> NextStep {
        SEARCH.next_step(&steps(given))
    }

    fn rate(rate: f64) -> NextStep {
        NextStep::Measure { rate, lengths: 1 }
    }

    /// Searches a server that takes rates up to this one; returns the answer and the number of steps.
    fn search(search: Search, limit: f64) -> (Capacity, usize) {
        let mut measured = Vec::new();
        loop {
            match search.next_step(&measured) {
                NextStep::Done(capacity) => return (capacity, measured.len()),
                NextStep::Measure { rate, .. } => measured.push(RateVerdict {
                    rate,
                    verdict: if rate <= limit { Pass } else { Fail },
                    share_of_limit: None,
                    is_unknown: false,
                    length_s: 20.0,
                }),
            }
        }
    }

    #[test]
    fn any_limit_is_found_in_thirteen_steps() {
        for limit in [
            20.0, 99.0, 321.0, 640.0, 799.0, 800.0, 1_000.0, 1_234.0, 7_000.0,
        ] {
            for start in [
                SEARCH,
                Search {
                    is_estimate: false,
                    ..SEARCH
                },
            ] {
                let (found, count) = search(start, limit);
                assert_eq!(found.state, CapacityState::Found, "{limit}: {found:?}");
                let rate = found.rate.unwrap();
                assert!((rate / limit - 1.0).abs() < 0.025, "{limit}: {found:?}");
                assert!(count <= 13, "{limit}: {count}");
            }
        }
    }

    #[test]
    fn the_answer_is_where_the_figure_crosses_its_limit() {
        let step = |rate: f64, share: f64| RateVerdict {
            rate,
            verdict: if share < 1.0 { Pass } else { Fail },
            share_of_limit: Some(share),
            is_unknown: false,
            length_s: 20.0,
        };
        // A server that is full at 1,200.
        let steps = [900.0, 950.0, 1_080.0].map(|rate| step(rate, 200.0 / (1_200.0 - rate)));
        let found = SEARCH.capacity(&steps);
        assert!((found.rate.unwrap() - 1_000.0).abs() < 1e-6, "{found:?}");
        // Far from the limit there is no line, and outside of the bounds it does not count.
        let found = SEARCH.capacity(&[step(900.0, 0.1), step(950.0, 0.1), step(1_000.0, 90.0)]);
        assert_eq!(found.rate, Some((950.0_f64 * 1_000.0).sqrt()));
        let found = SEARCH.capacity(&[step(500.0, 0.7), step(950.0, 0.71), step(1_000.0, 1.1)]);
        assert_eq!(found.rate, Some((950.0_f64 * 1_000.0).sqrt()));
        // A longer step weighs more.
        let longer = RateVerdict {
            length_s: 100.0,
            ..step(1_000.0, 0.9)
        };
        let [low, high] = [step(900.0, 0.9), step(1_100.0, 1.1)];
        let by = |middle| SEARCH.capacity(&[low, middle, high]).rate.unwrap();
        assert!(by(longer) > by(step(1_000.0, 0.9)) + 20.0);
    }

    #[test]
    fn the_sides_of_the_crossing_are_measured_for_longer_and_the_line_decides_between_verdicts() {
        let step = |rate: f64, share: f64, verdict| RateVerdict {
            rate,
            verdict,
            share_of_limit: Some(share),
            is_unknown: false,
            length_s: 20.0,
        };
        let share = |rate: f64| 200.0 / (1_200.0 - rate);
        let exact = |rate, verdict| step(rate, share(rate), verdict);
        let mut steps = vec![
            exact(850.0, Pass),
            exact(970.0, Undecided),
            exact(1_080.0, Fail),
        ];
        let side = |steps: &[RateVerdict]| match SEARCH.next_step(steps) {
            NextStep::Measure { rate, lengths: 2 } => rate,
            other => panic!("{other:?}"),
        };
        assert_eq!(side(&steps), 962.0);
        steps.push(RateVerdict {
            length_s: 40.0,
            ..exact(962.0, Undecided)
        });
        assert_eq!(side(&steps), 1_040.0);
        // Each of two steps is wrong by chance, and the others know it.
        steps.extend([exact(990.0, Fail), exact(1_010.0, Pass)]);
        let found = SEARCH.capacity(&steps);
        assert_eq!((found.low, found.high), (Some(850.0), Some(1_080.0)));
        assert!((found.rate.unwrap() - 1_000.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn a_rate_that_fails_for_another_reason_than_its_time_is_not_the_answer() {
        // The time would cross its limit at 1,000, but from 850 on there are too many errors.
        let step = |rate: f64| RateVerdict {
            rate,
            verdict: if rate < 850.0 { Pass } else { Fail },
            share_of_limit: (rate < 850.0).then(|| 200.0 / (1_200.0 - rate)),
            is_unknown: false,
            length_s: 20.0,
        };
        for start in [700.0, 800.0, 1_100.0] {
            let search = Search { start, ..SEARCH };
            let mut measured = Vec::new();
            let found = loop {
                match search.next_step(&measured) {
                    NextStep::Done(capacity) => break capacity,
                    NextStep::Measure { rate, .. } => measured.push(step(rate)),
                }
            };
            assert_eq!(found.state, CapacityState::Found, "{start}: {found:?}");
            let [rate, high] = [found.rate, found.high].map(Option::unwrap);
            assert!(
                rate < high && (rate / 850.0 - 1.0).abs() < 0.03,
                "{found:?}"
            );
        }
    }

    #[test]
    fn a_search_without_a_bound_says_so() {
        let (found, count) = search(SEARCH, f64::INFINITY);
        assert_eq!((found.state, count), (CapacityState::AtLeast, 13));
        assert_eq!((found.rate, found.high), (None, None));
        let (found, count) = search(SEARCH, 0.0);
        assert_eq!((found.state, found.low), (CapacityState::Below, None));
        assert!(count < 13, "{count}");
        let undecided = SEARCH.capacity(&steps(&[(800.0, Undecided)]));
        assert_eq!(undecided.state, CapacityState::Unknown);
    }

    #[test]
    fn the_lowest_rate_that_fails_is_measured_twice() {
        let narrow = [(800.0, Pass), (820.0, Fail)];
        assert_eq!(next(&narrow), rate(820.0));
        let confirmed = [narrow[0], narrow[1], (820.0, Fail)];
        assert!(
            matches!(next(&confirmed), NextStep::Done(found) if found.state == CapacityState::Found)
        );
        // It was a disturbance, and the limit is above.
        let disturbed = [narrow[0], narrow[1], (820.0, Pass), (1_000.0, Fail)];
        assert_eq!(next(&disturbed), rate(906.0));
    }

    #[test]
    fn an_undecided_rate_is_narrowed_and_then_measured_for_longer() {
        let wide = [(800.0, Pass), (900.0, Undecided), (1_000.0, Fail)];
        assert_eq!(next(&wide), rate(849.0));
        let close = [
            (890.0, Pass),
            (900.0, Undecided),
            (910.0, Undecided),
            (928.0, Fail),
        ];
        assert_eq!(
            next(&close),
            NextStep::Measure {
                rate: 900.0,
                lengths: 2
            }
        );
        let often = [
            (890.0, Pass),
            (900.0, Undecided),
            (900.0, Undecided),
            (900.0, Undecided),
            (928.0, Fail),
        ];
        // The gap above is still wide enough for a step.
        assert_eq!(next(&often), rate(914.0));
        assert_eq!(next(&[(800.0, Undecided)]), rate(640.0));
    }

    #[test]
    fn a_rate_without_a_figure_is_measured_for_longer_and_not_lowered() {
        let mut unknown = steps(&[(100.0, Undecided); 3]);
        for step in &mut unknown {
            step.is_unknown = true;
        }
        for (count, lengths) in [(1, 2), (2, 4)] {
            let longer = NextStep::Measure {
                rate: 100.0,
                lengths,
            };
            assert_eq!(SEARCH.next_step(&unknown[..count]), longer);
        }
        assert!(matches!(
            SEARCH.next_step(&unknown),
            NextStep::Done(found) if found.state == CapacityState::Unknown
        ));
    }

    #[test]
    fn a_contradiction_is_measured_again_and_named_if_it_stays() {
        let first = [(800.0, Fail), (640.0, Pass), (900.0, Pass)];
        assert_eq!(next(&first), rate(800.0));
        let mut all = first.to_vec();
        all.push((800.0, Fail));
        assert_eq!(next(&all), rate(900.0));
        all.extend([(800.0, Fail), (900.0, Pass), (900.0, Pass)]);
        let NextStep::Done(found) = next(&all) else {
            panic!("it stays");
        };
        assert_eq!(found.state, CapacityState::Contradictory);
        assert_eq!((found.low, found.high), (Some(640.0), None));
    }

    #[test]
    fn rates_have_three_digits() {
        for (given, expected) in [
            (1_234.5, 1_230.0),
            (0.123_45, 0.123),
            (99.96, 100.0),
            (987_654.0, 988_000.0),
        ] {
            assert_eq!(measure(given), rate(expected));
        }
    }
}
