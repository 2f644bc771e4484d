//! Random numbers that are reproducible on every machine, for the order of runs, the starts of
//! transactions and permutation tests.
//!
//! The generator is SplitMix64 (Steele, Lea and Flood, 2014), which is small, fast and good enough for these
//! purposes. It must not be used for secrets.

/// Advances `counter`, and returns it with its bits mixed: successive results look unrelated.
#[inline]
pub fn splitmix64(counter: &mut u64) -> u64 {
    *counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *counter;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A generator; equal seeds give equal numbers.
#[derive(Clone, Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    pub fn new(seed: u64) -> Self {
        SplitMix(seed)
    }

    /// A number from the uniform distribution on (0, 1], so that its logarithm is finite.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        ((splitmix64(&mut self.0) >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// A number from all 64 bits, such as a seed.
    pub fn number(&mut self) -> u64 {
        splitmix64(&mut self.0)
    }

    /// A number below `limit`, which is above 0. The high part of a product is biased by less than
    /// `limit` / 2^64 (Lemire 2019).
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(splitmix64(&mut self.0)) * limit as u128) >> 64) as usize
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

    /// Expected values: the output of Vigna's splitmix64.c with the seed 0.
    #[test]
    fn numbers_match_the_reference_implementation() {
        let mut counter = 0;
        let numbers = [(); 3].map(|()| splitmix64(&mut counter));
        assert_eq!(
            numbers,
            [
                0xe220_a839_7b1d_cdaf,
                0x6e78_9e6a_a1b9_65f4,
                0x06c4_5d18_8009_454f
            ]
        );
    }

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
