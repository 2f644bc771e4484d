//! Random numbers for permutation tests, the same for the same seed.

/// SplitMix64 (Steele, Lea and Flood 2014).
pub(super) struct SplitMix(u64);

impl SplitMix {
    /// A generator with this seed.
    pub fn new(seed: u64) -> SplitMix {
        SplitMix(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which is above 0. The high part of a product is biased by less than
    /// `limit` / 2^64 (Lemire 2019).
    fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }

    /// Puts the values in a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_orders_are_equally_frequent() {
        let mut random = SplitMix::new(1);
        let mut counts = std::collections::HashMap::new();
        for _ in 0..6_000 {
            let mut values = [1, 2, 3];
            random.shuffle(&mut values);
            *counts.entry(values).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        // Four standard deviations of 6,000 draws of 1/6.
        assert!(
            counts.values().all(|count| (885..1_115).contains(count)),
            "{counts:?}"
        );
    }
}
