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

mod bounds;
mod estimate;

use bounds::{Bounds, Level, MAX_STEPS_AT_RATE};
use estimate::Ceiling;
use prony_store::AnswerVerdict;
use serde::Serialize;

/// Largest factor from one rate to the next while one of the two bounds is unknown.
const MAX_FACTOR: f64 = 2.0;
/// That factor for the first step from an estimate; it is squared with each further step.
const ESTIMATE_FACTOR: f64 = 1.25;
/// That factor from a rate whose figure is near its limit.
const NEAR_FACTOR: f64 = 1.12;
/// How far from the crossing steps are measured on either side of it, in precisions: nearer ones say less of the slope,
/// and are rarely decided.
const SIDE_PRECISIONS: f64 = 2.0;
/// How many times the usual length these steps take.
const SIDE_LENGTHS: u32 = 2;
/// Steps within this many times that distance count as measured beside the crossing.
const SIDE_REACH: f64 = 2.5;
/// How far from the server's ceiling steps are measured, in precisions: the bounds are then as narrow as the precision.
const CEILING_SIDE_PRECISIONS: f64 = 0.9;
/// How far the next rate is below what a full server delivers, in precisions.
const BELOW_FULL_PRECISIONS: f64 = 2.0;
/// Shares of its limit at which a time is near it.
const NEAR_LIMIT: std::ops::RangeInclusive<f64> = 0.5..=2.0;
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
    /// The number of steps after which it ends at the latest.
    pub max_steps: usize,
}

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
    /// Committed transactions per second.
    pub delivered: f64,
    /// Whether the load fell behind because the server is full.
    pub is_full: bool,
}

impl RateVerdict {
    /// What the server delivered, if it is full: more than that it cannot.
    fn full(&self) -> Option<f64> {
        (self.is_full && self.delivered > 0.0).then_some(self.delivered)
    }

    /// The required time as a share of its limit, if it is near it.
    fn near_share(&self) -> Option<f64> {
        self.share_of_limit
            .filter(|share| NEAR_LIMIT.contains(share))
    }
}

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

fn is_narrow(low: f64, high: f64, precision: f64) -> bool {
    high / low <= (1.0 + precision).powi(2)
}

impl Search {
    pub fn next_step(&self, steps: &[RateVerdict]) -> NextStep {
        if steps.is_empty() {
            return measure(self.start);
        }
        let bounds = Bounds::new(steps);
        let is_last = steps.len() >= self.max_steps;
        let next = self.next_rate(&bounds).filter(|_| !is_last);
        next.unwrap_or_else(|| NextStep::Done(bounds.capacity(self.precision)))
    }

    pub fn capacity(&self, steps: &[RateVerdict]) -> Capacity {
        Bounds::new(steps).capacity(self.precision)
    }

    /// The next step; `None` if another one would not help.
    fn next_rate(&self, bounds: &Bounds<'_>) -> Option<NextStep> {
        if let Some(contradicting) = bounds.contradiction {
            // Disturbances make more steps fail than pass.
            let least = contradicting.iter().min_by_key(|level| level.steps)?;
            return (least.steps < MAX_STEPS_AT_RATE).then(|| measure(least.rate));
        }
        if let Some(ceiling) = bounds.ceiling {
            return self.at_ceiling(bounds, ceiling);
        }
        let (lowest, highest) = (bounds.levels.first()?, bounds.levels.last()?);
        match (bounds.low, bounds.high) {
            // A lower rate has fewer transactions, and shows even less.
            (None, _) if lowest.is_unknown => lowest.longer(),
            (None, _) => {
                let is_below = |level: &&Level| level.rate < bounds.steps[0].rate;
                let mut rate = lowest.rate / self.factor(lowest, bounds, is_below);
                if let Some(delivered) = lowest.delivered {
                    let below_full = 1.0 + BELOW_FULL_PRECISIONS * self.precision;
                    rate = rate.min(delivered / below_full);
                }
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

    /// The next step beside a ceiling; `None` if it is known, by two steps at least.
    fn at_ceiling(&self, bounds: &Bounds<'_>, ceiling: Ceiling) -> Option<NextStep> {
        if let (Some(low), Some(high)) = (bounds.low, bounds.high)
            && is_narrow(low.rate, high.rate, self.precision)
            && ceiling.error <= self.precision
        {
            return (ceiling.seen == 1).then(|| measure(high.rate));
        }
        let distance = (CEILING_SIDE_PRECISIONS * self.precision)
            .max(ceiling.error.min(SIDE_PRECISIONS * self.precision));
        Some(self.beside(bounds, ceiling.rate, distance, [0.0, f64::INFINITY]))
    }

    /// A longer step at this distance on the side of the crossing that was measured for a shorter time.
    fn beside(
        &self,
        bounds: &Bounds<'_>,
        crossing: f64,
        distance: f64,
        [low, high]: [f64; 2],
    ) -> NextStep {
        let reach = 1.0 + SIDE_REACH * distance;
        let is_below = bounds.measured_s(crossing / reach, crossing)
            <= bounds.measured_s(crossing, crossing * reach);
        let factor = 1.0 + distance;
        let rate = if is_below { crossing / factor } else { crossing * factor };
        let is_between = low < rate && rate < high;
        let bound = if is_below { low } else { high };
        let halfway = (crossing * bound).sqrt();
        NextStep::Measure {
            rate: readable(if is_between { rate } else { halfway }),
            lengths: SIDE_LENGTHS,
        }
    }

    /// The next step between two bounds that are too far apart.
    fn between(&self, bounds: &Bounds<'_>, low: f64, high: f64) -> Option<NextStep> {
        if let Some(crossing) = bounds.crossing.filter(|rate| low < *rate && *rate < high) {
            let distance = SIDE_PRECISIONS * self.precision;
            return Some(self.beside(bounds, crossing, distance, [low, high]));
        }
        let mut upper = high;
        if let Some(delivered) = bounds.high.and_then(|high| high.delivered) {
            let above_delivered = delivered * (1.0 + SIDE_PRECISIONS * self.precision);
            // What is delivered may rise again with a shorter queue: then the rate that failed remains the bound.
            if low * (1.0 + self.precision) < above_delivered {
                upper = high.min(above_delivered);
            }
        }
        let is_inside = |level: &&Level| level.rate > low && level.rate < upper;
        let undecided: Vec<&Level> = bounds.levels.iter().filter(is_inside).collect();
        let (Some(first), Some(last)) = (undecided.first(), undecided.last()) else {
            return Some(measure((low * upper).sqrt()));
        };
        let gaps = [(low, first.rate), (last.rate, upper)];
        let ratio = |(low, high): &(f64, f64)| high / low;
        let widest = gaps
            .iter()
            .max_by(|a, b| ratio(a).total_cmp(&ratio(b)))
            .filter(|gap| ratio(gap) > (1.0 + self.precision))
            .map(|(low, high)| measure((low * high).sqrt()));
        widest.or_else(|| undecided.iter().min_by_key(|level| level.steps)?.longer())
    }
}

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
    if unit < 1.0 { digits / (1.0 / unit).round() } else { digits * unit.round() }
}

#[cfg(test)]
mod tests;
