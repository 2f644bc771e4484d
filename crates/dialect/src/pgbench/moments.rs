//! Sums of durations, from which pgbench computes mean and standard deviation.
//!
//! Must never: be used for a percentile.

/// pgbench's sums of durations, in µs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// The number of durations.
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
    /// Adds a duration.
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

    /// Adds the durations of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        self.min_us = self.min_us.min(other.min_us);
        self.max_us = self.max_us.max(other.max_us);
        self.count += other.count;
        self.sum_us += other.sum_us;
        self.sum_of_squares_us2 += other.sum_of_squares_us2;
    }

    /// The sums since an earlier state of the same sums; minimum and maximum are unknown and 0.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            count: self.count - earlier.count,
            sum_us: self.sum_us - earlier.sum_us,
            sum_of_squares_us2: self.sum_of_squares_us2 - earlier.sum_of_squares_us2,
            min_us: 0.0,
            max_us: 0.0,
        }
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

    #[test]
    fn merging_adds_durations() {
        let mut merged = moments_of(&[1.0, 5.0]);
        merged.merge(&moments_of(&[]));
        merged.merge(&moments_of(&[3.0]));
        assert_eq!(merged, moments_of(&[1.0, 5.0, 3.0]));
        let since = merged.since(&moments_of(&[1.0, 5.0]));
        assert_eq!((since.count, since.sum_us), (1, 3.0));
    }
}
