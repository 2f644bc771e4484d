//! Where the answer of a search is, by the figures of its steps.
//!
//! In: steps. Out: the rate at which a time crosses its limit, or what a server delivers that is full. Must never: answer for a
//! rate that fails for another reason.

use super::RateVerdict;
use crate::statistics::{ALPHA, student};
use prony_store::AnswerVerdict;
use std::f64::consts::PI;

/// The fewest steps near the limit through which a line is drawn.
const MIN_NEAR_STEPS: usize = 3;
/// How far a rate may be above what is delivered for that to be the server's ceiling: a queue that is longer may make it
/// slower.
pub const MAX_EXCESS: f64 = 1.2;
/// Least scatter of a ceiling from step to step, as a share of it.
const MIN_SCATTER: f64 = 1e-3;
/// Scatter of a ceiling that is assumed before steps show it.
const FIRST_SCATTER: f64 = 0.03;
/// Rounds of the estimate; fewer already bring it to within a thousandth of the scatter.
const ROUNDS: usize = 200;

/// The rate at which the share of the limit is 1, by least squares, in which longer steps weigh more. The reciprocal of a
/// time in a queue falls in a line to the rate at which its server is full. `None` if fewer than three steps are near the
/// limit, as with a server that has a hard ceiling, or if the share does not rise.
pub fn crossing(steps: &[RateVerdict]) -> Option<f64> {
    struct Point {
        weight: f64,
        rate: f64,
        inverse_share: f64,
    }
    let near = steps.iter().filter_map(|step| {
        Some(Point {
            weight: step.length_s,
            rate: step.rate,
            inverse_share: 1.0 / step.near_share()?,
        })
    });
    let points: Vec<Point> = near.collect();
    let weighted_sum = |value: &dyn Fn(&Point) -> f64| -> f64 {
        points.iter().map(|point| point.weight * value(point)).sum()
    };
    let total_weight = weighted_sum(&|_| 1.0);
    let mean_rate = weighted_sum(&|point| point.rate) / total_weight;
    let mean_inverse = weighted_sum(&|point| point.inverse_share) / total_weight;
    let squares = weighted_sum(&|point| (point.rate - mean_rate).powi(2));
    let products =
        weighted_sum(&|point| (point.rate - mean_rate) * (point.inverse_share - mean_inverse));
    let slope = products / squares;
    (points.len() >= MIN_NEAR_STEPS && slope < 0.0 && slope.is_finite())
        .then(|| mean_rate + (1.0 - mean_inverse) / slope)
}

/// What a server can deliver, whose ceiling varies from step to step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceiling {
    /// Transactions per second.
    pub rate: f64,
    /// How precisely it is known at 95 %: plus or minus this share.
    pub error: f64,
    /// How many steps showed it.
    pub seen: usize,
}

impl Ceiling {
    /// The ceiling by all steps: one that fell behind shows it, and one that kept up that it was not lower. Taken alone, the
    /// first would be those in which it happened to be low. The most likely normal distribution is found by the expectations of
    /// what was not seen (Dempster, Laird and Rubin 1977). `None` without a step that fell behind, if another one failed, or if
    /// times are near their limit, of which [`crossing`] knows more.
    pub fn of(steps: &[RateVerdict]) -> Option<Ceiling> {
        let full = |step: &RateVerdict| {
            step.full()
                .filter(|delivered| step.rate <= delivered * MAX_EXCESS)
        };
        let is_other =
            |step: &RateVerdict| step.verdict == AnswerVerdict::Fail && step.full().is_none();
        let is_near = |step: &RateVerdict| step.near_share().is_some();
        if steps.iter().any(|step| is_other(step) || is_near(step)) {
            return None;
        }
        // One that was interrupted before its window began says nothing.
        let measured = || steps.iter().filter(|step| step.length_s > 0.0);
        let shortest_s = measured().map(|step| step.length_s).reduce(f64::min)?;
        // A longer step varies less.
        let weight = |step: &RateVerdict| (step.length_s / shortest_s).max(1.0);
        let shown = |step: &RateVerdict| match step.full() {
            Some(_) => full(step).map(|delivered| (weight(step), delivered, true)),
            None => Some((weight(step), step.rate.min(step.delivered), false)),
        };
        let shown: Vec<(f64, f64, bool)> = measured().filter_map(shown).collect();
        let seen = || shown.iter().filter(|(.., is_full)| *is_full);
        let weights: f64 = shown.iter().map(|(weight, ..)| weight).sum();
        let first = seen()
            .map(|(_, delivered, _)| *delivered)
            .reduce(f64::max)?;
        let (mut rate, mut scatter) = (first, first * FIRST_SCATTER);
        for _ in 0..ROUNDS {
            let expected: Vec<(f64, f64, f64)> = shown
                .iter()
                .map(|&(weight, delivered, is_full)| {
                    let scatter = scatter / weight.sqrt();
                    let [mean, variance] =
                        if is_full { [delivered, 0.0] } else { above(delivered, rate, scatter) };
                    (weight, mean, variance)
                })
                .collect();
            rate = expected
                .iter()
                .map(|(weight, mean, _)| weight * mean)
                .sum::<f64>()
                / weights;
            let squares = expected
                .iter()
                .map(|(weight, mean, variance)| weight * ((mean - rate).powi(2) + variance));
            let variance = squares.sum::<f64>() / shown.len() as f64;
            scatter = variance.sqrt().max(rate * MIN_SCATTER);
        }
        // A step that was full far below what others delivered: the ceiling is no longer there.
        let has_fallen =
            |step: &RateVerdict| step.full().is_some() && full(step).is_none() && step.rate <= rate;
        if measured().any(has_fallen) {
            return None;
        }
        // What is far below the ceiling says nothing of it.
        let telling = shown.iter().filter(|(weight, delivered, is_full)| {
            *is_full || *delivered > rate - 2.0 * scatter / weight.sqrt()
        });
        let telling: f64 = telling.map(|(weight, ..)| weight).sum();
        let seen = seen().count();
        // Few steps that happen to agree do not show how much it varies.
        let quantile = student::quantile(1.0 - ALPHA / 2.0, seen as f64);
        let least = if seen == 1 { FIRST_SCATTER } else { 0.0 };
        Some(Ceiling {
            rate,
            error: quantile * (scatter / rate).max(least) / telling.sqrt(),
            seen,
        })
    }
}

/// Mean and variance of what is above a bound, of a normal distribution with this mean and scatter.
fn above(bound: f64, mean: f64, scatter: f64) -> [f64; 2] {
    let z = (bound - mean) / scatter;
    // Far above the mean, it is hardly above the bound.
    if z > 6.0 {
        return [bound, 0.0];
    }
    let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
    let hazard = density / (1.0 - student::normal_cdf(z));
    let variance = scatter * scatter * (1.0 - hazard * (hazard - z));
    [mean + scatter * hazard, variance.max(0.0)]
}
