//! Random content by the specification's rules: numbers, strings, names, permutations.
//!
//! In: a seed, a table, a row number. Out: a stream of draws that depends on these three alone, so
//! that any loader makes the same row. Must never: read a clock, or carry state from row to row.
//!
//! Clauses are those of TPC-C, revision 5.11.

use super::schema::Table;
use prony_plan::splitmix64;

/// The draws of one row.
#[derive(Clone, Debug)]
pub struct Stream {
    counter: u64,
}

impl Stream {
    /// The draws of a row, numbered within its table.
    #[inline]
    pub fn new(seed: u64, table: Table, row: u64) -> Self {
        Stream::keyed(seed, table as u64 + 1, row)
    }

    /// The draws of anything else that is numbered: `what` is beyond the tables' own numbers.
    #[inline]
    fn keyed(seed: u64, what: u64, number: u64) -> Self {
        // Two rounds, because neighbouring rows must not start near each other on splitmix64's
        // one cycle; rows are then random places on it, and 2^64 leaves room for all of them.
        let mut state = seed ^ what.wrapping_mul(0xA24B_AED4_963E_E407);
        let mut state = splitmix64(&mut state) ^ number;
        Stream {
            counter: splitmix64(&mut state),
        }
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        splitmix64(&mut self.counter)
    }

    /// A whole number from `low` to `high`, both included: each as probable as the others, to
    /// within 2^-32.
    #[inline]
    pub fn uniform(&mut self, low: u32, high: u32) -> u32 {
        let width = u128::from(high - low) + 1;
        low + ((u128::from(self.bits()) * width) >> 64) as u32
    }

    /// Appends letters and digits, between `low` and `high` of them [4.3.2.2].
    #[inline]
    pub fn letters(&mut self, out: &mut Vec<u8>, low: u32, high: u32) {
        let length = if low == high {
            low
        } else {
            self.uniform(low, high)
        };
        let mut left = length as usize;
        while left > 0 {
            let eight = self.eight();
            let taken = left.min(8);
            out.extend_from_slice(&eight);
            out.truncate(out.len() - (8 - taken));
            left -= taken;
        }
    }

    /// Eight letters and digits of one draw, taken as a fraction in base 62 x 62: the last pair is
    /// even to within 2^-16.
    #[inline]
    fn eight(&mut self) -> [u8; 8] {
        let mut fraction = self.bits();
        let mut letters = [0; 8];
        for pair in letters.chunks_exact_mut(2) {
            let product = u128::from(fraction) * PAIRS.len() as u128;
            pair.copy_from_slice(&PAIRS[(product >> 64) as usize]);
            fraction = product as u64;
        }
        letters
    }

    /// Appends so many digits [4.3.2.2].
    #[inline]
    pub fn digits(&mut self, out: &mut Vec<u8>, count: u32) {
        let mut fraction = self.bits();
        for place in 0..count {
            if place % 8 == 7 {
                fraction = self.bits();
            }
            let product = u128::from(fraction) * 10;
            out.push(b'0' + (product >> 64) as u8);
            fraction = product as u64;
        }
    }

    /// Appends four random digits and 11111 [4.3.2.7].
    #[inline]
    pub fn zip(&mut self, out: &mut Vec<u8>) {
        self.digits(out, 4);
        out.extend_from_slice(b"11111");
    }

    /// Appends 26 to 50 letters and digits; an original one holds `ORIGINAL` somewhere [4.3.3.1].
    #[inline]
    pub fn data(&mut self, out: &mut Vec<u8>, original: bool) {
        let start = out.len();
        self.letters(out, 26, 50);
        if original {
            let room = (out.len() - start - ORIGINAL.len()) as u32;
            let at = start + self.uniform(0, room) as usize;
            out[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
        }
    }
}

/// What a tenth of items and stock hold in their data [4.3.3.1].
pub const ORIGINAL: &[u8] = b"ORIGINAL";

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// All pairs of letters and digits.
static PAIRS: [[u8; 2]; 62 * 62] = {
    let mut pairs = [[0; 2]; 62 * 62];
    let mut at = 0;
    while at < pairs.len() {
        pairs[at] = [ALPHABET[at / 62], ALPHABET[at % 62]];
        at += 1;
    }
    pairs
};

/// Non-uniform numbers [2.1.6]: some of `low..=high` far more often than others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NuRand {
    /// A: how uneven.
    pub a: u32,
    /// Lowest number.
    pub low: u32,
    /// Highest number.
    pub high: u32,
    /// C: where the frequent ones lie.
    pub c: u32,
}

impl NuRand {
    /// One number, of two draws of `uniform(low, high)`.
    #[inline]
    pub fn draw(&self, mut uniform: impl FnMut(u32, u32) -> u32) -> u32 {
        let (one, other) = (uniform(0, self.a), uniform(self.low, self.high));
        ((one | other) + self.c) % (self.high - self.low + 1) + self.low
    }

    /// Last names of the load, as numbers of [`LastNames`]. The constant is HammerDB's, whatever
    /// the seed, so that a run knows which one its own has to keep away from.
    pub const LOAD_LAST: NuRand = NuRand {
        a: 255,
        low: 0,
        high: 999,
        c: 123,
    };
}

/// The non-uniform numbers of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunConstants {
    /// Last names, as numbers of [`LastNames`].
    pub last: NuRand,
    /// Customers of a district.
    pub customer: NuRand,
    /// Items.
    pub item: NuRand,
}

impl RunConstants {
    /// Those of a run with this seed. The last names' constant is 65 to 119 away from the load's,
    /// and neither 96 nor 112 [2.1.6.1].
    pub fn new(run_seed: u64) -> Self {
        let mut stream = Stream::keyed(run_seed, CONSTANTS, 0);
        let load = NuRand::LOAD_LAST;
        let away = loop {
            let away = stream.uniform(65, 119);
            if away != 96 && away != 112 {
                break away;
            }
        };
        // Both directions stay within 0..=255.
        let c = if stream.uniform(0, 1) == 0 {
            load.c - away
        } else {
            load.c + away
        };
        RunConstants {
            last: NuRand { c, ..load },
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

/// Beyond the tables' numbers.
const CONSTANTS: u64 = 100;
const PERMUTATIONS: u64 = 200;

/// The thousand last names [4.3.2.3].
#[derive(Clone, Debug)]
pub struct LastNames(Vec<String>);

impl LastNames {
    /// All of them.
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

/// A random permutation of `0..n`, computed place by place: a Feistel network over the next even
/// power of two, walked until it comes back below `n`.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    n: u32,
    /// Bits of half a number.
    half: u32,
    keys: [u32; 6],
}

impl Permutation {
    /// The permutation number `number` that belongs to a table; `n` is at least 1.
    pub fn new(seed: u64, table: Table, number: u64, n: u32) -> Self {
        let mut stream = Stream::keyed(seed, PERMUTATIONS + table as u64, number);
        let bits = u32::BITS - (n - 1).leading_zeros();
        Permutation {
            n,
            half: bits.div_ceil(2).max(1),
            keys: std::array::from_fn(|_| stream.bits() as u32),
        }
    }

    /// Where `place`, below `n`, goes to.
    #[inline]
    pub fn at(&self, place: u32) -> u32 {
        let mut value = place;
        loop {
            value = self.once(value);
            if value < self.n {
                return value;
            }
        }
    }

    #[inline]
    fn once(&self, value: u32) -> u32 {
        let mask = (1 << self.half) - 1;
        let (mut left, mut right) = (value >> self.half, value & mask);
        for key in self.keys {
            let mixed = (right ^ key).wrapping_mul(0x9E37_79B1);
            let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x85EB_CA77);
            (left, right) = (right, left ^ ((mixed >> 13) & mask));
        }
        left << self.half | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Chi-square of counts against expected counts, less its mean, in standard deviations.
    fn deviation(counts: &[u32], expected: impl Fn(usize) -> f64) -> f64 {
        let mut chi_square = 0.0;
        let mut cells = -1.0;
        for (place, count) in counts.iter().enumerate() {
            let expected = expected(place);
            if expected == 0.0 {
                assert_eq!(*count, 0, "at {place}");
                continue;
            }
            chi_square += (f64::from(*count) - expected).powi(2) / expected;
            cells += 1.0;
        }
        (chi_square - cells) / (2.0_f64 * cells).sqrt()
    }

    #[test]
    fn letters_and_digits_are_even_in_every_place_and_row() {
        let (mut letters, mut digits) = ([0_u32; 128 * 8], [0_u32; 10]);
        let mut out = Vec::new();
        for row in 0..100_000 {
            let mut stream = Stream::new(7, Table::Stock, row);
            out.clear();
            stream.letters(&mut out, 8, 8);
            for (place, letter) in out.iter().enumerate() {
                letters[place * 128 + usize::from(*letter)] += 1;
            }
            out.clear();
            stream.digits(&mut out, 16);
            assert_eq!(out.len(), 16);
            out.iter()
                .for_each(|digit| digits[usize::from(digit - b'0')] += 1);
        }
        let known = |place: usize| ALPHABET.contains(&((place % 128) as u8));
        let off = deviation(
            &letters,
            |place| if known(place) { 100_000.0 / 62.0 } else { 0.0 },
        );
        assert!(off.abs() < 5.0, "letters are {off} deviations off");
        let off = deviation(&digits, |_| 160_000.0);
        assert!(off.abs() < 5.0, "digits are {off} deviations off");
    }

    #[test]
    fn lengths_and_numbers_reach_both_ends_evenly() {
        let (mut lengths, mut numbers) = ([0_u32; 25], [0_u32; 11]);
        for row in 0..100_000 {
            let mut stream = Stream::new(1, Table::Item, row);
            let mut out = Vec::new();
            stream.data(&mut out, false);
            lengths[out.len() - 26] += 1;
            numbers[stream.uniform(5, 15) as usize - 5] += 1;
        }
        for (counts, even) in [(&lengths[..], 4_000.0), (&numbers[..], 100_000.0 / 11.0)] {
            let off = deviation(counts, |_| even);
            assert!(off.abs() < 5.0, "{off} deviations off: {counts:?}");
        }
    }

    #[test]
    fn a_row_depends_on_seed_table_and_number_and_on_each_of_them() {
        let first = |seed, table, row| Stream::new(seed, table, row).bits();
        let mut seen = HashSet::new();
        for seed in 0..10 {
            for table in Table::ALL {
                for row in 0..1000 {
                    assert!(seen.insert(first(seed, table, row)));
                    assert_eq!(first(seed, table, row), first(seed, table, row));
                }
            }
        }
    }

    #[test]
    fn original_stands_anywhere_in_the_data_but_not_beyond() {
        let mut places = HashSet::new();
        for row in 0..20_000 {
            let mut out = b"before".to_vec();
            Stream::new(1, Table::Item, row).data(&mut out, true);
            let text = std::str::from_utf8(&out).expect("letters");
            let place = text.find("ORIGINAL").expect("holds it") - 6;
            assert!((26..=50).contains(&(out.len() - 6)) && out.starts_with(b"before"));
            places.insert(place);
        }
        assert_eq!(places, (0..=42).collect());
    }

    #[test]
    fn zips_end_in_11111() {
        let mut out = Vec::new();
        Stream::new(3, Table::Warehouse, 1).zip(&mut out);
        assert!(out.len() == 9 && out.ends_with(b"11111"), "{out:?}");
        assert!(out.iter().all(u8::is_ascii_digit));
    }

    /// Against the exact frequencies: all pairs of draws counted.
    #[test]
    fn non_uniform_numbers_have_the_frequencies_of_the_formula() {
        let nurand = NuRand::LOAD_LAST;
        let mut exact = [0_u32; 1000];
        for one in 0..=255_u32 {
            for other in 0..=999_u32 {
                exact[(((one | other) + 123) % 1000) as usize] += 1;
            }
        }
        let mut stream = Stream::new(5, Table::Customer, 0);
        let mut counts = [0_u32; 1000];
        for _ in 0..1_000_000 {
            let number = nurand.draw(|low, high| stream.uniform(low, high));
            counts[number as usize] += 1;
        }
        let off = deviation(&counts, |place| f64::from(exact[place]) * 1e6 / 256e3);
        assert!(off.abs() < 5.0, "{off} deviations off");
        let customer = RunConstants::new(1).customer;
        let drawn = (0..100_000).map(|_| customer.draw(|low, high| stream.uniform(low, high)));
        let drawn: HashSet<u32> = drawn.collect();
        assert!(drawn.iter().all(|number| (1..=3000).contains(number)));
        assert!(drawn.len() > 1_500);
    }

    #[test]
    fn the_constants_of_a_run_keep_their_distance_from_the_load() {
        let mut seen = HashSet::new();
        for seed in 0..2_000 {
            let run = RunConstants::new(seed);
            assert_eq!(run, RunConstants::new(seed));
            let away = run.last.c.abs_diff(NuRand::LOAD_LAST.c);
            assert!((65..=119).contains(&away) && away != 96 && away != 112);
            assert!(run.last.c <= 255 && run.customer.c <= 1023 && run.item.c <= 8191);
            seen.insert(run.last.c);
        }
        assert_eq!(seen.len(), 2 * 53, "all that are allowed, on both sides");
    }

    #[test]
    fn last_names_are_those_of_the_specification() {
        let names = LastNames::new();
        for (number, name) in [
            (0, "BARBARBAR"),
            (371, "PRICALLYOUGHT"),
            (777, "CALLYCALLYCALLY"),
            (999, "EINGEINGEING"),
        ] {
            assert_eq!(names.get(number), name);
        }
        let distinct: HashSet<&str> = (0..1000).map(|number| names.get(number)).collect();
        assert_eq!(distinct.len(), 1000);
        assert!(distinct.iter().all(|name| name.len() <= 16));
    }

    #[test]
    fn permutations_reach_every_place_once_and_differ() {
        for n in [1, 2, 10, 900, 3_000, 100_000] {
            let permutation = Permutation::new(1, Table::Orders, 5, n);
            let reached: HashSet<u32> = (0..n).map(|place| permutation.at(place)).collect();
            assert_eq!(reached.len() as u32, n);
            assert!(reached.iter().all(|place| *place < n));
        }
        // The mean number of places that stay is 1, whatever the size.
        let stay = |number| {
            let one = Permutation::new(1, Table::Orders, number, 3_000);
            (0..3_000).filter(|place| one.at(*place) == *place).count()
        };
        let staying: usize = (0..500).map(stay).sum();
        assert!((380..=620).contains(&staying), "{staying} in 500");
        // A place goes anywhere, as the number of the permutation goes on.
        let mut tenths = [0_u32; 10];
        for number in 0..10_000 {
            let to = Permutation::new(1, Table::Orders, number, 3_000).at(17);
            tenths[to as usize / 300] += 1;
        }
        let off = deviation(&tenths, |_| 1_000.0);
        assert!(off.abs() < 5.0, "{off} deviations off: {tenths:?}");
    }
}
