//! Sums of durations, from which pgbench computes mean and standard deviation.
//!
//! Must never: be used for a percentile.

/// pgbench's sums of durations, in µs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    pub count: u64,
    /// The sum of the durations, µs.
    pub sum_us: f64,
    /// The sum of the squares of the durations, µs².
    pub sum_of_squares_us2: f64,
    /// The shortest, µs; 0 if there are none.
    pub min_us: f64,
    /// The longest, µs; 0 if there are none.
    pub max_us: f64,
}

impl Moments {
    pub fn add(&mut self, duration_us: f64) {
        if self.count == 0 || duration_us < self.min_us {
            self.min_us = duration_us;
        }
        if self.count == 0 || duration_us > self.max_us {
            self.max_us = duration_us;
        }
        self.count += 1;
        self.sum_us += duration_us;
        self.sum_of_squares_us2 += duration_us * duration_us;
    }

    /// Mean, ms; 0 if there are no durations.
    pub fn mean_ms(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        0.001 * self.sum_us / self.count as f64
    }

    /// Population standard deviation, ms; 0 if there are no durations.
    ///
    /// pgbench takes the root of a difference that rounding can make negative, and then prints NaN; Prony
    /// prints 0.
    pub fn stddev_ms(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let count = self.count as f64;
        let mean_us = self.sum_us / count;
        let variance_us2 = self.sum_of_squares_us2 / count - mean_us * mean_us;
        0.001 * variance_us2.max(0.0).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments_of(durations_us: &[f64]) -> Moments {
        let mut moments = Moments::default();
        for duration_us in durations_us {
            moments.add(*duration_us);
        }
        moments
    }

    #[test]
    fn mean_and_population_deviation_are_exact() {
        let moments = moments_of(&[
            2000.0, 4000.0, 4000.0, 4000.0, 5000.0, 5000.0, 7000.0, 9000.0,
        ]);
        assert_eq!(moments.mean_ms(), 5.0);
        assert_eq!(moments.stddev_ms(), 2.0);
        assert_eq!((moments.min_us, moments.max_us), (2000.0, 9000.0));
        assert_eq!(moments_of(&[1234.5; 3]).stddev_ms(), 0.0);
        assert_eq!(moments_of(&[]).stddev_ms(), 0.0);
    }
}
