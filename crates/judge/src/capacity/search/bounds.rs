//! What the steps of a search say together.
//!
//! In: steps with a rate and a verdict. Out: the highest rate that passes and the lowest that fails, where between them
//! the answer is, and whether they contradict each other. Must never: let one disturbed step decide against the others.

use super::estimate::{Ceiling, MAX_EXCESS, crossing};
use super::{Capacity, CapacityState, NextStep, RateVerdict, is_narrow};
use AnswerVerdict::{Fail, Pass, Undecided};
use prony_store::AnswerVerdict;
use std::cmp::Ordering;

/// Steps at one rate after which it is not measured again.
pub const MAX_STEPS_AT_RATE: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    pub rate: f64,
    /// How many steps were measured at this rate.
    pub steps: usize,
    /// That of most of its steps; undecided if as many pass as fail.
    verdict: AnswerVerdict,
    /// Whether no step showed a required figure.
    pub is_unknown: bool,
    /// Whether the figure of a step is near its limit.
    pub is_near: bool,
    /// The lowest throughput of a step that fell behind.
    pub delivered: Option<f64>,
}

impl Level {
    fn new(rate: f64, steps: &[RateVerdict]) -> Level {
        let own: Vec<&RateVerdict> = steps.iter().filter(|step| step.rate == rate).collect();
        let count = |verdict| own.iter().filter(|step| step.verdict == verdict).count();
        let verdict = match count(Pass).cmp(&count(Fail)) {
            Ordering::Greater => Pass,
            Ordering::Less => Fail,
            Ordering::Equal => Undecided,
        };
        let delivered = own.iter().filter_map(|step| step.full());
        Level {
            rate,
            steps: own.len(),
            verdict,
            is_unknown: own.iter().all(|step| step.is_unknown),
            is_near: own.iter().any(|step| step.near_share().is_some()),
            delivered: delivered.reduce(f64::min),
        }
    }

    /// A step at this rate that is longer than those before; `None` after the last one.
    pub fn longer(&self) -> Option<NextStep> {
        (self.steps < MAX_STEPS_AT_RATE).then(|| NextStep::Measure {
            rate: self.rate,
            lengths: 1 << self.steps,
        })
    }
}

pub struct Bounds<'a> {
    pub steps: &'a [RateVerdict],
    pub levels: Vec<Level>,
    pub low: Option<Level>,
    pub high: Option<Level>,
    /// The lowest level that fails and the highest that passes, if the first is below the second.
    pub contradiction: Option<[Level; 2]>,
    /// What the server can deliver, if nothing else makes steps fail.
    pub ceiling: Option<Ceiling>,
    /// The rate at which the figure meets its limit, by a line through the steps near it, or at which the server is full.
    pub crossing: Option<f64>,
}

impl Bounds<'_> {
    pub fn new(steps: &[RateVerdict]) -> Bounds<'_> {
        let mut rates: Vec<f64> = steps.iter().map(|step| step.rate).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        let levels: Vec<Level> = rates
            .into_iter()
            .map(|rate| Level::new(rate, steps))
            .collect();
        let levels_with = |verdict| {
            let levels = levels.iter().copied();
            levels.filter(move |level: &Level| level.verdict == verdict)
        };
        let lowest_fail = levels_with(Fail).next();
        let highest_pass = levels_with(Pass).next_back();
        let ceiling = Ceiling::of(steps);
        let crossing = crossing(steps).or_else(|| Some(ceiling?.rate));
        let around = crossing.and_then(|rate| {
            let low = levels_with(Pass).rfind(|level| level.rate <= rate)?;
            let high = levels_with(Fail).find(|level| level.rate >= rate)?;
            let mut failed_below = levels_with(Fail).filter(|level| level.rate < rate);
            // The line says nothing of a rate that fails for another reason than the time.
            failed_below
                .all(|fail| fail.rate < low.rate || fail.is_near)
                .then_some((low, high))
        });
        let contradiction = lowest_fail.zip(highest_pass).filter(|(fail, pass)| {
            let decided_by_line = around.is_some() && fail.is_near && pass.is_near;
            fail.rate < pass.rate && !decided_by_line && ceiling.is_none()
        });
        let is_below_fails = |level: &Level| lowest_fail.is_none_or(|fail| level.rate < fail.rate);
        let is_above_passes =
            |level: &Level| highest_pass.is_none_or(|pass| level.rate > pass.rate);
        let (low, high) = match (ceiling, around.filter(|_| contradiction.is_none())) {
            // Of a ceiling that varies, steps within its error say nothing by themselves.
            (Some(Ceiling { rate, error, .. }), _) => {
                let [least, most] = [rate / (1.0 + error), rate * (1.0 + error)];
                let surely_below = levels_with(Pass).rfind(|level| level.rate <= least);
                let surely_above = levels_with(Fail).find(|level| level.rate >= most);
                let below = || levels_with(Pass).find(|level| level.rate <= rate);
                let above = || levels_with(Fail).rfind(|level| level.rate >= rate);
                (surely_below.or_else(below), surely_above.or_else(above))
            }
            (None, Some((low, high))) => (Some(low), Some(high)),
            (None, None) => (
                levels_with(Pass).rfind(is_below_fails),
                levels_with(Fail).find(is_above_passes),
            ),
        };
        Bounds {
            steps,
            low,
            high,
            contradiction: contradiction.map(|(fail, pass)| [fail, pass]),
            ceiling,
            crossing,
            levels,
        }
    }

    /// Seconds that were measured between two rates.
    pub fn measured_s(&self, from: f64, to: f64) -> f64 {
        let steps = self.steps.iter();
        let between = steps.filter(|step| (from..to).contains(&step.rate));
        between.map(|step| step.length_s).sum()
    }

    /// The upper bound of the answer: the rate that failed, or what was delivered at it if that is near it.
    fn upper(&self, low: f64, high: f64) -> f64 {
        let delivered = self.high.and_then(|high| high.delivered);
        delivered
            .filter(|delivered| *delivered > low && high <= delivered * MAX_EXCESS)
            .map_or(high, |delivered| delivered.min(high))
    }

    pub fn capacity(&self, precision: f64) -> Capacity {
        let [low, high] = [self.low, self.high].map(|level| Some(level?.rate));
        let rate = low.zip(high).map(|(low, high)| match self.crossing {
            Some(crossing) if (low..high).contains(&crossing) => crossing,
            _ => (low * self.upper(low, high)).sqrt(),
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
