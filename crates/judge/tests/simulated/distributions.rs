//! Distributions of the simulated runs.

use crate::random::Random;

impl Random {
    /// Uniform between two bounds.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// A first-order autoregressive series with standard deviation `scatter`, whose values keep a share
    /// `memory` of the deviation before.
    pub fn series(&mut self, count: usize, scatter: f64, memory: f64) -> Vec<f64> {
        let innovation = (1.0 - memory * memory).sqrt();
        let mut deviation = self.normal();
        let mut value = || {
            deviation = memory * deviation + innovation * self.normal();
            scatter * deviation
        };
        (0..count).map(|_| value()).collect()
    }
}
