//! Draws ranks from 1 with an exact Zipf distribution. A draw must not allocate, or take time that grows
//! with the number of ranks.
//!
//! Method: W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", ACM TOMACS 6(3), 1996.

use crate::random::Random;

/// A sampler of ranks from 1 to a maximum, by rejection-inversion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zipf {
    count: f64,
    exponent: f64,
    /// H(3/2) - 1 and H(count + 1/2), where H is the integral of the weight: the inverse of a number between
    /// them, rounded, is a rank.
    min_area: f64,
    max_area: f64,
    /// A number is never rejected if it is at most this far below the rank to which it is rounded.
    accept_within: f64,
}

impl Zipf {
    /// Rank k of `count` has a weight of k^-`exponent`; `exponent` is above 0, `count` at least 1.
    pub fn new(count: i64, exponent: f64) -> Self {
        let count = count as f64;
        let mut zipf = Zipf {
            count,
            exponent,
            min_area: 0.0,
            max_area: 0.0,
            accept_within: 0.0,
        };
        zipf.min_area = zipf.integral(1.5) - 1.0;
        zipf.max_area = zipf.integral(count + 0.5);
        zipf.accept_within = 2.0 - zipf.inverse_integral(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    /// The next rank, from 1.
    pub fn rank(&self, random: &mut Random) -> i64 {
        loop {
            let area = self.max_area + random.unit() * (self.min_area - self.max_area);
            let x = self.inverse_integral(area);
            let rank = x.round().clamp(1.0, self.count);
            let is_near = rank - x <= self.accept_within;
            if is_near || area >= self.integral(rank + 0.5) - self.weight(rank) {
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

    fn inverse_integral(&self, area: f64) -> f64 {
        // Rounding may lead below -1, where the logarithm is undefined.
        let scaled = (area * (1.0 - self.exponent)).max(-1.0);
        let log = if scaled.abs() > 1e-8 {
            scaled.ln_1p() / (1.0 - self.exponent)
        } else {
            area * (1.0 - scaled / 2.0)
        };
        log.exp()
    }
}
