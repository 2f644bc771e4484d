//! Random content by the specification's rules: numbers, strings, names, permutations.
//!
//! The random stream of a row depends only on the seed, the table and the row number, so every
//! loader generates the same row. This module must never read a clock or carry state from row to
//! row.
//!
//! Clause numbers refer to TPC-C, revision 5.11.

use super::schema::Table;
use prony_plan::splitmix64;

#[derive(Clone, Debug)]
pub struct RandomStream {
    counter: u64,
}

impl RandomStream {
    /// The stream of a row, identified by its number within its table.
    #[inline]
    pub fn new(seed: u64, table: Table, row: u64) -> Self {
        RandomStream::keyed(seed, table as u64 + 1, row)
    }

    /// Stream `number` of a family of streams. Families 1 to 9 are the tables.
    #[inline]
    fn keyed(seed: u64, family: u64, number: u64) -> Self {
        // Two rounds, because neighbouring rows must not start close together on splitmix64's single cycle.
        // With them, streams start at random positions among its 2^64, so overlaps are improbable.
        let mut state = seed ^ family.wrapping_mul(0xA24B_AED4_963E_E407);
        let mut state = splitmix64(&mut state) ^ number;
        RandomStream {
            counter: splitmix64(&mut state),
        }
    }

    #[inline]
    pub fn next_bits(&mut self) -> u64 {
        splitmix64(&mut self.counter)
    }

    /// A whole number from `low` to `high` inclusive. All values are equally probable to within
    /// 2^-32.
    #[inline]
    pub fn uniform(&mut self, low: u32, high: u32) -> u32 {
        let width = u128::from(high - low) + 1;
        low + ((u128::from(self.next_bits()) * width) >> 64) as u32
    }

    /// Appends `low` to `high` letters and digits [4.3.2.2].
    #[inline]
    pub fn push_letters(&mut self, out: &mut Vec<u8>, low: u32, high: u32) {
        let length = if low == high { low } else { self.uniform(low, high) };
        let mut remaining = length as usize;
        while remaining > 0 {
            let letters = self.draw_eight_letters();
            let count = remaining.min(8);
            out.extend_from_slice(&letters);
            out.truncate(out.len() - (8 - count));
            remaining -= count;
        }
    }

    /// Eight letters and digits from one draw, taken as a fraction in base 62 x 62: the pairs
    /// of the last two letters are equally probable to within 2^-16.
    #[inline]
    fn draw_eight_letters(&mut self) -> [u8; 8] {
        let mut fraction = self.next_bits();
        let mut letters = [0; 8];
        for pair in letters.chunks_exact_mut(2) {
            let product = u128::from(fraction) * PAIRS.len() as u128;
            pair.copy_from_slice(&PAIRS[(product >> 64) as usize]);
            fraction = product as u64;
        }
        letters
    }

    /// Appends this many digits [4.3.2.2]: those of draws taken as decimal fractions, seven of the first draw and eight
    /// of each later one. Eight digits of a draw are equally probable to within 2^-37. Where a new draw begins must not
    /// change, because a seed would then give other rows.
    #[inline]
    pub fn push_digits(&mut self, out: &mut Vec<u8>, count: u32) {
        let mut fraction = self.next_bits();
        for index in 0..count {
            // The digits 7, 15, 23 and so on, counted from 0, are the first of a new draw.
            if index % 8 == 7 {
                fraction = self.next_bits();
            }
            let product = u128::from(fraction) * 10;
            out.push(b'0' + (product >> 64) as u8);
            fraction = product as u64;
        }
    }

    /// Appends four random digits and 11111 [4.3.2.7].
    #[inline]
    pub fn push_zip(&mut self, out: &mut Vec<u8>) {
        self.push_digits(out, 4);
        out.extend_from_slice(b"11111");
    }

    /// Appends 26 to 50 letters and digits; with `original`, they contain `ORIGINAL` at a random
    /// position [4.3.3.1].
    #[inline]
    pub fn push_data(&mut self, out: &mut Vec<u8>, original: bool) {
        let start = out.len();
        self.push_letters(out, 26, 50);
        if original {
            let last_offset = (out.len() - start - ORIGINAL.len()) as u32;
            let position = start + self.uniform(0, last_offset) as usize;
            out[position..position + ORIGINAL.len()].copy_from_slice(ORIGINAL);
        }
    }
}

/// The marker in the data column of a tenth of items and stock [4.3.3.1].
pub const ORIGINAL: &[u8] = b"ORIGINAL";

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// All pairs of letters and digits.
static PAIRS: [[u8; 2]; 62 * 62] = {
    let mut pairs = [[0; 2]; 62 * 62];
    let mut index = 0;
    while index < pairs.len() {
        pairs[index] = [ALPHABET[index / 62], ALPHABET[index % 62]];
        index += 1;
    }
    pairs
};

/// Non-uniform random numbers [2.1.6]: some values of `low..=high` are far more frequent than
/// others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NuRand {
    /// A: the degree of skew.
    pub a: u32,
    pub low: u32,
    pub high: u32,
    /// C: the position of the frequent values.
    pub c: u32,
}

impl NuRand {
    /// Draws a number, computed from two draws of `uniform(low, high)`.
    #[inline]
    pub fn draw(&self, mut uniform: impl FnMut(u32, u32) -> u32) -> u32 {
        let (first, second) = (uniform(0, self.a), uniform(self.low, self.high));
        ((first | second) + self.c) % (self.high - self.low + 1) + self.low
    }

    /// The distribution of the load's last names, as numbers of [`LastNames`]. C is HammerDB's for
    /// every seed, because each run derives a different C from it.
    pub const LOAD_LAST_NAMES: NuRand = NuRand {
        a: 255,
        low: 0,
        high: 999,
        c: 123,
    };
}

/// The non-uniform distributions of a run; each has its constant C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunConstants {
    /// Last names, as numbers of [`LastNames`].
    pub last_name: NuRand,
    pub customer: NuRand,
    pub item: NuRand,
}

impl RunConstants {
    /// The distributions of a run with this seed. The constant for last names is 65 to 119 away
    /// from the load's, and neither 96 nor 112 [2.1.6.1].
    pub fn new(run_seed: u64) -> Self {
        let mut stream = RandomStream::keyed(run_seed, CONSTANTS_FAMILY, 0);
        let load = NuRand::LOAD_LAST_NAMES;
        let distance = loop {
            let distance = stream.uniform(65, 119);
            if distance != 96 && distance != 112 {
                break distance;
            }
        };
        // Both results stay within 0..=255.
        let c = if stream.uniform(0, 1) == 0 { load.c - distance } else { load.c + distance };
        RunConstants {
            last_name: NuRand { c, ..load },
            customer: NuRand {
                a: 1023,
                low: 1,
                high: 3000,
                c: stream.uniform(0, 1023),
            },
            item: NuRand {
                a: 8191,
                low: 1,
                high: 100_000,
                c: stream.uniform(0, 8191),
            },
        }
    }
}

/// The stream family of a run's constants.
const CONSTANTS_FAMILY: u64 = 100;
/// The stream family of the first table's permutations; each table has its own.
const PERMUTATIONS_FAMILY: u64 = 200;

/// The thousand last names [4.3.2.3].
#[derive(Clone, Debug)]
pub struct LastNames(Vec<String>);

impl LastNames {
    pub fn new() -> Self {
        const SYLLABLES: [&str; 10] = [
            "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
        ];
        let names = (0..1000).map(|number: usize| {
            [number / 100, number / 10 % 10, number % 10]
                .map(|digit| SYLLABLES[digit])
                .concat()
        });
        LastNames(names.collect())
    }

    /// The name of a number from 0 to 999.
    #[inline]
    pub fn get(&self, number: u32) -> &str {
        &self.0[number as usize]
    }
}

impl Default for LastNames {
    fn default() -> Self {
        LastNames::new()
    }
}

/// A random permutation of `0..n`, computed position by position: a Feistel network over a power of
/// four, applied until the result is below `n`.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    n: u32,
    half_bits: u32,
    keys: [u32; 6],
}

impl Permutation {
    /// Permutation `number` of a table; `n` is at least 1.
    pub fn new(seed: u64, table: Table, number: u64, n: u32) -> Self {
        let mut stream = RandomStream::keyed(seed, PERMUTATIONS_FAMILY + table as u64, number);
        let bits = u32::BITS - (n - 1).leading_zeros();
        Permutation {
            n,
            half_bits: bits.div_ceil(2).max(1),
            keys: std::array::from_fn(|_| stream.next_bits() as u32),
        }
    }

    /// The image of `index`, which must be below `n`.
    #[inline]
    pub fn at(&self, index: u32) -> u32 {
        let mut value = index;
        loop {
            value = self.permute_once(value);
            if value < self.n {
                return value;
            }
        }
    }

    #[inline]
    fn permute_once(&self, value: u32) -> u32 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in self.keys {
            let mixed = (right ^ key).wrapping_mul(0x9E37_79B1);
            let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x85EB_CA77);
            (left, right) = (right, left ^ ((mixed >> 13) & mask));
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests;
