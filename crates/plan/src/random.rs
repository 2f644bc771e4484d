//! Random numbers that are reproducible on every machine, for the order of runs and the starts of
//! transactions.
//!
//! The generator is SplitMix64 (Steele, Lea and Flood, 2014), which is small, fast and good enough for both
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
    /// A generator with this seed.
    pub fn new(seed: u64) -> Self {
        SplitMix(seed)
    }

    /// A number from the uniform distribution on (0, 1], so that its logarithm is finite.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        ((splitmix64(&mut self.0) >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Shuffles the list (Fisher–Yates). Every order is equally likely; the modulo bias is negligible for
    /// such short lists.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for end in (1..list.len()).rev() {
            let index = splitmix64(&mut self.0) % (end as u64 + 1);
            list.swap(end, index as usize);
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
}
