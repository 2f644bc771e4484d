//! The distributions from which sysbench draws row numbers.
//!
//! Draws must never allocate or leave the range.
//!
//! Definitions: the documentation of sysbench's options `--rand-*`; for `special`, supplemented by
//! measurements of the numbers that version 1.0.20 actually draws.

use crate::random::Random;
use crate::zipf::Zipf;
use serde::{Deserialize, Serialize};

/// A distribution of numbers over a range. A "bell" is the mean of several uniform numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Distribution {
    /// All numbers are equally probable.
    Uniform,
    /// A bell over the whole range.
    Gaussian {
        /// Number of uniform numbers that are averaged, at least 1.
        iterations: u32,
    },
    /// Mostly a few numbers in the middle of the range; the remaining draws are a bell.
    Special {
        /// Number of uniform numbers that are averaged, at least 1.
        iterations: u32,
        /// Size of the middle part as a percentage of the range, plus one number.
        spec_pct: u32,
        /// Percentage of draws from the middle part. These draws hit only the same percentage of the
        /// middle part, at its upper end: sysbench's hot set is smaller than its documentation says.
        spec_res: u32,
    },
    /// Low numbers are the most frequent: a share of 1 - `h` of the draws hits the first share `h`
    /// of the range.
    Pareto {
        /// Between 0 and 1, exclusive.
        h: f64,
    },
    /// The k-th number of the range has a weight of k^-`exponent`.
    Zipfian {
        /// Above 0.
        exponent: f64,
    },
}

impl Distribution {
    pub const NAMES: [&'static str; 5] = ["uniform", "gaussian", "special", "pareto", "zipfian"];

    pub fn name(self) -> &'static str {
        Self::NAMES[match self {
            Distribution::Uniform => 0,
            Distribution::Gaussian { .. } => 1,
            Distribution::Special { .. } => 2,
            Distribution::Pareto { .. } => 3,
            Distribution::Zipfian { .. } => 4,
        }]
    }
}

/// A distribution over one range, with precomputed constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeSampler {
    low: i64,
    /// Size of the range, at least 1.
    count: i64,
    shape: SamplerShape,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum SamplerShape {
    Uniform,
    Bell {
        iterations: u32,
    },
    Special {
        iterations: u32,
        /// Start of the middle part, as an offset.
        middle_start: f64,
        middle_size: f64,
        /// A uniform draw from 0 to 1 that is below this value selects the bell.
        bell_below: f64,
    },
    /// A uniform draw from 0 to 1, raised to this power, is the fraction of the range.
    Power(f64),
    Zipf(Zipf),
}

impl RangeSampler {
    /// Samples from `low` to `high` inclusive; always `low` if `high` is below it.
    pub fn new(distribution: Distribution, low: i64, high: i64) -> Self {
        let count = high.saturating_sub(low).saturating_add(1).max(1);
        let shape = match distribution {
            Distribution::Uniform => SamplerShape::Uniform,
            Distribution::Gaussian { iterations } => SamplerShape::Bell { iterations },
            Distribution::Special {
                iterations,
                spec_pct,
                spec_res,
            } => {
                let range_size = count as f64;
                let middle_size = range_size * f64::from(spec_pct) / 100.0 + 1.0;
                SamplerShape::Special {
                    iterations,
                    middle_start: (range_size - middle_size) / 2.0,
                    middle_size,
                    bell_below: 1.0 - f64::from(spec_res) / 100.0,
                }
            }
            Distribution::Pareto { h } => SamplerShape::Power(h.ln() / (1.0 - h).ln()),
            Distribution::Zipfian { exponent } => SamplerShape::Zipf(Zipf::new(count, exponent)),
        };
        RangeSampler { low, count, shape }
    }

    #[inline]
    pub fn sample(&self, random: &mut Random) -> i64 {
        let offset = match self.shape {
            SamplerShape::Uniform => random.uniform(0, self.count - 1),
            SamplerShape::Bell { iterations } => self.bell(random, iterations),
            SamplerShape::Special {
                iterations,
                middle_start,
                middle_size,
                bell_below,
            } => {
                let fraction = random.unit();
                if fraction < bell_below {
                    self.bell(random, iterations)
                } else {
                    ((middle_start + fraction * middle_size) as i64).clamp(0, self.count - 1)
                }
            }
            SamplerShape::Power(power) => self.offset_at(random.unit().powf(power)),
            SamplerShape::Zipf(zipf) => zipf.rank(random) - 1,
        };
        self.low + offset
    }

    fn bell(&self, random: &mut Random, iterations: u32) -> i64 {
        let sum: f64 = (0..iterations).map(|_| random.unit()).sum();
        self.offset_at(sum / f64::from(iterations))
    }

    /// The offset at a fraction of the range, 0 to 1; limited, because rounding may exceed the last offset.
    fn offset_at(&self, fraction: f64) -> i64 {
        ((self.count as f64 * fraction) as i64).min(self.count - 1)
    }
}
