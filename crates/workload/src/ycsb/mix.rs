//! The core workloads: the shares of their operations, and the distribution of the requested records. This
//! module must not know statements.

use super::requests::Distribution;
use crate::names::named_enum;
use crate::random::Random;

named_enum! {
    pub enum Operation {
        /// Reads a record.
        Read = "read",
        /// Replaces a field of a record, or all of them.
        Update = "update",
        /// Adds a record.
        Insert = "insert",
        /// Reads records in the order of their keys.
        Scan = "scan",
        /// Reads a record, then updates it, in separate transactions.
        ReadModifyWrite = "read-modify-write",
    }
}

/// A core workload.
#[derive(Debug, PartialEq)]
pub struct Mix {
    /// The letter by which YCSB and the option `workload` name it.
    pub letter: &'static str,
    /// Operations with their shares, which add up to 1.
    pub shares: &'static [(Operation, f64)],
    /// Default distribution of the requested records.
    pub distribution: Distribution,
}

const fn mix(
    letter: &'static str,
    shares: &'static [(Operation, f64)],
    distribution: Distribution,
) -> Mix {
    Mix {
        letter,
        shares,
        distribution,
    }
}

use Distribution::{Latest, Zipfian};
use Operation::{Insert, Read, ReadModifyWrite, Scan, Update};

/// All core workloads: YCSB's files `workloada` to `workloadf`.
pub static MIXES: [Mix; 6] = [
    mix("a", &[(Read, 0.5), (Update, 0.5)], Zipfian),
    mix("b", &[(Read, 0.95), (Update, 0.05)], Zipfian),
    mix("c", &[(Read, 1.0)], Zipfian),
    mix("d", &[(Read, 0.95), (Insert, 0.05)], Latest),
    mix("e", &[(Scan, 0.95), (Insert, 0.05)], Zipfian),
    mix("f", &[(Read, 0.5), (ReadModifyWrite, 0.5)], Zipfian),
];

/// The letters of [`MIXES`], in its order.
pub const LETTERS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

impl Mix {
    /// Chooses the next operation; returns its index among the shares.
    #[inline]
    pub fn next(&self, random: &mut Random) -> usize {
        let mut remaining = random.unit();
        for (index, (_, share)) in self.shares.iter().enumerate() {
            if remaining < *share {
                return index;
            }
            remaining -= share;
        }
        // Rounding may leave a remainder.
        self.shares.len() - 1
    }

    pub fn has(&self, operation: Operation) -> bool {
        self.shares
            .iter()
            .any(|(included, _)| *included == operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_are_drawn_as_specified() {
        const DRAWS: u32 = 100_000;
        for (index, mix) in MIXES.iter().enumerate() {
            assert_eq!(mix.letter, LETTERS[index]);
            let sum: f64 = mix.shares.iter().map(|(_, share)| share).sum();
            assert!((sum - 1.0).abs() < 1e-12);
            let mut random = Random::new(3);
            let mut counts = vec![0_u32; mix.shares.len()];
            for _ in 0..DRAWS {
                counts[mix.next(&mut random)] += 1;
            }
            for (count, (operation, share)) in counts.iter().zip(mix.shares) {
                let expected = f64::from(DRAWS) * share;
                let tolerance = 5.0 * (expected * (1.0 - share)).sqrt();
                let deviation = (f64::from(*count) - expected).abs();
                assert!(
                    deviation <= tolerance,
                    "{}: {operation:?} {count}",
                    mix.letter
                );
            }
        }
    }
}
