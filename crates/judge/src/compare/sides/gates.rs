//! Limits within which the sides of a comparison must stay.
//!
//! In: figures with their intervals. Out: whether a limit is exceeded, kept, or not decided. Must never: call
//! a limit kept because the runs cannot show that it is exceeded.

use super::{FigureComparison, SideComparison, SidesComparison};
use crate::compare::{P99_FIGURE, Unit};
use crate::statistics::{ALPHA, median_interval};
use serde::Serialize;

/// A limit for each side except the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// How much slower than the first side a side may be by the primary figure, a share.
    Slower(f64),
    /// How much longer than the first side's the 99th percentile of the response time may be, a share.
    P99Slower(f64),
    /// How long the 99th percentile of the response time may be, nanoseconds.
    P99Above(f64),
}

/// Whether a side stays within a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateResult {
    /// The whole interval is beyond the limit.
    Exceeded,
    /// The whole interval is within the limit.
    Kept,
    /// The runs do not decide it: the limit is inside the interval, or there is no interval.
    Undecided,
}

/// A limit with its result for one side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GateFinding {
    /// The limit.
    pub gate: Gate,
    /// Name of the figure that decides; empty if the sides have no such figure.
    pub figure: String,
    /// Runs of the first side and of this one.
    pub runs: [usize; 2],
    pub result: GateResult,
    /// Whether it is undecided because the throughput of a load at a rate is that of the load.
    #[serde(skip)]
    pub is_rate_given: bool,
}

impl SidesComparison {
    /// Whether a side stays within a limit; undecided if the sides are not comparable.
    pub fn evaluate_gate(&self, side: &SideComparison, gate: Gate) -> GateFinding {
        let p99 = || side.figures.iter().find(|figure| figure.is_p99());
        let figure = match gate {
            Gate::Slower(_) => self.primary_figure(side),
            Gate::P99Slower(_) | Gate::P99Above(_) => p99(),
        };
        let result = figure.map_or(GateResult::Undecided, |figure| figure.evaluate_gate(gate));
        let is_rate_given = result == GateResult::Kept
            && figure.is_some_and(|figure| figure.unit == Unit::Rate)
            && self.is_rate_given();
        GateFinding {
            gate,
            figure: figure.map_or_else(String::new, |figure| figure.name.clone()),
            runs: figure.map_or([0, 0], |figure| {
                [&figure.a, &figure.b].map(|sample| sample.values.len())
            }),
            result: if is_rate_given {
                GateResult::Undecided
            } else {
                result
            },
            is_rate_given,
        }
    }

    /// Whether the throughput is that of the load and says nothing of the server: at a rate, unless the user
    /// asked for it.
    fn is_rate_given(&self) -> bool {
        self.paced && !self.is_primary_requested
    }
}

impl FigureComparison {
    fn is_p99(&self) -> bool {
        self.unit == Unit::Nanoseconds && self.name == P99_FIGURE
    }

    fn evaluate_gate(&self, gate: Gate) -> GateResult {
        // Both ends of the interval, minus the limit.
        let excess = match gate {
            Gate::Slower(allowed) | Gate::P99Slower(allowed) => {
                // How much slower this side is, as shares of the first side's value.
                self.significance.map(|significance| {
                    let [least, most] = match self.unit {
                        Unit::Rate => [1.0 - significance.high, 1.0 - significance.low],
                        Unit::Nanoseconds => [significance.low - 1.0, significance.high - 1.0],
                    };
                    [least - allowed, most - allowed]
                })
            }
            Gate::P99Above(limit_ns) => median_interval(&self.b.values, ALPHA)
                .map(|ends| ends.map(|end_ns| end_ns - limit_ns)),
        };
        match excess {
            Some([least, _]) if least > 0.0 => GateResult::Exceeded,
            Some([_, most]) if most <= 0.0 => GateResult::Kept,
            _ => GateResult::Undecided,
        }
    }
}
