//! The distributions from which sysbench draws row numbers.
//!
//! In: a distribution with its parameters, a range. Out: numbers of the range. Must never: allocate
//! for a draw, or leave the range.
//!
//! Definitions: the documentation of sysbench's options `--rand-*`, for `special` completed by what
//! its version 1.0.20 really draws, measured; for `zipfian` W. Hörmann and
//! G. Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions",
//! ACM TOMACS 6(3), 1996.

use crate::random::Random;

/// How numbers are spread over a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Each number alike.
    Uniform,
    /// The mean of so many uniform numbers: a bell over the whole range.
    Gaussian {
        /// How many, at least 1.
        iterations: u32,
    },
    /// Mostly a few numbers of the middle, else a bell.
    Special {
        /// Uniform numbers in the mean that makes the bell, at least 1.
        iterations: u32,
        /// Size of the middle part, per cent of the range, and one number more.
        part_pct: u32,
        /// Draws out of the middle part, per cent. They are spread over as large a share of it, its
        /// upper end: that much smaller is the hot set of sysbench than its documentation says.
        share_pct: u32,
    },
    /// The first numbers most often: a share of 1 - `h` of the draws hits the first share `h`.
    Pareto {
        /// Above 0, below 1.
        h: f64,
    },
    /// Number k of the range with a weight of k^-`exponent`.
    Zipfian {
        /// Above 0.
        exponent: f64,
    },
}

impl Distribution {
    /// Their names, as the option takes them.
    pub const NAMES: [&'static str; 5] = ["uniform", "gaussian", "special", "pareto", "zipfian"];

    /// Its name.
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

/// A distribution over one range, with what can be computed before the first draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    low: i64,
    /// How many numbers there are, at least 1.
    count: i64,
    shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Uniform,
    Bell {
        iterations: u32,
    },
    Special {
        iterations: u32,
        /// Where the middle part begins, from 0, and its size, in numbers.
        middle: (f64, f64),
        /// Below this share of it the bell is drawn from.
        from: f64,
    },
    Power(f64),
    Zipf(Zipf),
}

impl Draw {
    /// Draws from `low` to `high`, both included; from `low` alone where `high` is below it.
    pub fn new(distribution: Distribution, low: i64, high: i64) -> Self {
        let count = high.saturating_sub(low).saturating_add(1).max(1);
        let shape = match distribution {
            Distribution::Uniform => Shape::Uniform,
            Distribution::Gaussian { iterations } => Shape::Bell { iterations },
            Distribution::Special {
                iterations,
                part_pct,
                share_pct,
            } => {
                let all = count as f64;
                let part = all * f64::from(part_pct) / 100.0 + 1.0;
                Shape::Special {
                    iterations,
                    middle: ((all - part) / 2.0, part),
                    from: 1.0 - f64::from(share_pct) / 100.0,
                }
            }
            Distribution::Pareto { h } => Shape::Power(h.ln() / (1.0 - h).ln()),
            Distribution::Zipfian { exponent } => Shape::Zipf(Zipf::new(count, exponent)),
        };
        Draw { low, count, shape }
    }

    /// The next number.
    #[inline]
    pub fn next(&self, random: &mut Random) -> i64 {
        let place = match self.shape {
            Shape::Uniform => random.uniform(0, self.count - 1),
            Shape::Bell { iterations } => self.bell(random, iterations),
            Shape::Special {
                iterations,
                middle: (start, part),
                from,
            } => {
                let drawn = random.unit();
                if drawn < from {
                    self.bell(random, iterations)
                } else {
                    ((start + drawn * part) as i64).clamp(0, self.count - 1)
                }
            }
            Shape::Power(power) => self.at(random.unit().powf(power)),
            Shape::Zipf(zipf) => zipf.rank(random) - 1,
        };
        self.low + place
    }

    fn bell(&self, random: &mut Random, iterations: u32) -> i64 {
        let sum: f64 = (0..iterations).map(|_| random.unit()).sum();
        self.at(sum / f64::from(iterations))
    }

    /// The place of a share of the range, 0 to 1. Rounding may lead one past the last.
    fn at(&self, share: f64) -> i64 {
        ((self.count as f64 * share) as i64).min(self.count - 1)
    }
}

/// Ranks from 1 to a count by rejection-inversion, with the paper's names.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Zipf {
    count: f64,
    exponent: f64,
    /// H(3/2) - 1 and H(count + 1/2): inverting a number between them gives a rank.
    first: f64,
    last: f64,
    /// Within so much below a rank no number has to be rejected.
    sure: f64,
}

impl Zipf {
    fn new(count: i64, exponent: f64) -> Self {
        let count = count as f64;
        let mut zipf = Zipf {
            count,
            exponent,
            first: 0.0,
            last: 0.0,
            sure: 0.0,
        };
        zipf.first = zipf.integral(1.5) - 1.0;
        zipf.last = zipf.integral(count + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    fn rank(&self, random: &mut Random) -> i64 {
        loop {
            let area = self.last + random.unit() * (self.first - self.last);
            let x = self.inverse(area);
            let rank = x.round().clamp(1.0, self.count);
            let is_sure = rank - x <= self.sure;
            if is_sure || area >= self.integral(rank + 0.5) - self.weight(rank) {
                return rank as i64;
            }
        }
    }

    fn weight(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The integral of the weight: (x^(1-s) - 1) / (1-s), which is ln x for s = 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let scaled = (1.0 - self.exponent) * log;
        if scaled.abs() > 1e-8 {
            scaled.exp_m1() / (1.0 - self.exponent)
        } else {
            log * (1.0 + scaled / 2.0)
        }
    }

    fn inverse(&self, area: f64) -> f64 {
        // Rounding may lead below -1, where there is no logarithm.
        let scaled = (area * (1.0 - self.exponent)).max(-1.0);
        let log = if scaled.abs() > 1e-8 {
            scaled.ln_1p() / (1.0 - self.exponent)
        } else {
            area * (1.0 - scaled / 2.0)
        };
        log.exp()
    }
}
