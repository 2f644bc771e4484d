//! The random numbers of virtual users: the same as those of pgbench 15 and later.
//!
//! The stream depends on the seed alone, never on a clock or the system's entropy. The generator is
//! xoroshiro128** (Blackman and Vigna), its state filled by splitmix64 (Steele, Lea, Flood). A run's
//! seed gives each client its own generator, in the same order as in pgbench, so that a seed yields
//! the same sequence of transactions in both.

use prony_plan::splitmix64;
use std::sync::LazyLock;

/// A generator of 64-bit numbers with 128 bits of state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    s0: u64,
    s1: u64,
}

impl Random {
    /// A generator with a sequence that depends only on `seed`.
    pub fn new(seed: u64) -> Self {
        let mut counter = seed;
        let s0 = splitmix64(&mut counter);
        let s1 = splitmix64(&mut counter);
        if s0 == 0 && s1 == 0 {
            // The all-zero state would yield zeros forever. No 64-bit seed produces it (splitmix64 is
            // a bijection of distinct counters), but the guard costs nothing.
            return Random { s0: 1, s1: 0 };
        }
        Random { s0, s1 }
    }

    /// The generator of client number `client` in a run with this seed: the same as that of [`RunSeeds`].
    pub fn of_client(run_seed: u64, client: u32) -> Self {
        let mut base = Random::new(run_seed);
        base.skip(client);
        Random::new(base.next_u64())
    }

    /// Skips this many numbers. The time depends on the bits of `count`, not on its size: a run may have a million clients.
    fn skip(&mut self, count: u32) {
        let mut state = self.state();
        for bit in (0..u32::BITS).filter(|bit| (count >> bit) & 1 == 1) {
            state = product(&STEPS[bit as usize], state);
        }
        *self = Random::of_state(state);
    }

    fn state(&self) -> u128 {
        u128::from(self.s0) | (u128::from(self.s1) << 64)
    }

    fn of_state(state: u128) -> Self {
        Random {
            s0: state as u64,
            s1: (state >> 64) as u64,
        }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let value = self.s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let mixed = self.s0 ^ self.s1;
        self.s0 = self.s0.rotate_left(24) ^ mixed ^ (mixed << 16);
        self.s1 = mixed.rotate_left(37);
        value
    }

    /// A whole number from `low` to `high` inclusive, all equally probable.
    ///
    /// Returns `low` if the range is empty (`high < low`), without advancing the generator.
    pub fn uniform(&mut self, low: i64, high: i64) -> i64 {
        if high <= low {
            return low;
        }
        // The width always fits into an unsigned 64-bit number.
        let width = high.wrapping_sub(low) as u64;
        // Shift the number so that it has as few bits as the width, and reject it if it is above the width.
        // The distribution is exact, and the mean number of attempts is below two.
        let shift = width.leading_zeros();
        loop {
            let offset = self.next_u64() >> shift;
            if offset <= width {
                return low.wrapping_add(offset as i64);
            }
        }
    }

    /// A number from 0 (inclusive) to 1 (exclusive): the top 52 bits of one draw.
    pub fn unit(&mut self) -> f64 {
        // Exact: 52 bits fit the mantissa, and the divisor is a power of two.
        (self.next_u64() >> 12) as f64 / (1_u64 << 52) as f64
    }

    /// A whole number from `low` to `high`; low numbers are more frequent. The lowest share x of the
    /// range receives (1 - e^(-shape x)) / (1 - e^(-shape)) of the draws. `shape` is above 0, and
    /// `high - low + 1` fits 63 bits.
    pub fn exponential(&mut self, low: i64, high: i64, shape: f64) -> i64 {
        let cut = (-shape).exp();
        let u = 1.0 - self.unit();
        let fraction = -(cut + (1.0 - cut) * u).ln() / shape;
        number_at_fraction(low, high, fraction)
    }

    /// A whole number from `low` to `high`, normally distributed and truncated at `shape` standard
    /// deviations on both sides of the middle. `shape` is at least 2; smaller values would reject too
    /// many draws.
    pub fn gaussian(&mut self, low: i64, high: i64, shape: f64) -> i64 {
        let deviation = loop {
            let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
            let angle = 2.0 * std::f64::consts::PI * (1.0 - self.unit());
            // The Box-Muller transform yields two numbers; only that of the sine is used, as in pgbench.
            let candidate = radius * angle.sin();
            if candidate >= -shape && candidate < shape {
                break candidate;
            }
        };
        let fraction = (deviation + shape) / (shape * 2.0);
        number_at_fraction(low, high, fraction)
    }

    /// A whole number from `low` to `high`: the k-th of them has a weight of k^(-`shape`), by the
    /// rejection method of Devroye, "Non-Uniform Random Variate Generation", page 550. `shape` is
    /// from 1.001 to 1000.
    pub fn zipfian(&mut self, low: i64, high: i64, shape: f64) -> i64 {
        let n = count_in_range(low, high);
        if n <= 1.0 {
            return low;
        }
        let b = 2.0_f64.powf(shape - 1.0);
        loop {
            let u = self.unit();
            let v = self.unit();
            let rank = u.powf(-1.0 / (shape - 1.0)).floor();
            let t = (1.0 + 1.0 / rank).powf(shape - 1.0);
            if v * rank * (t - 1.0) / (b - 1.0) <= t / b && rank <= n {
                // Subtract first: `low` may be the smallest 64-bit number, and `rank` is at least 1.
                return low.wrapping_sub(1).wrapping_add(rank as i64);
            }
        }
    }
}

/// A matrix of 128 x 128 bits, as the states to which it maps those of a single bit.
type BitMatrix = [u128; 128];

/// The matrices of 1, 2, 4, ... steps of the generator.
///
/// A step consists of shifts, rotations and exclusive-or, so it maps the exclusive-or of two states to that of their next
/// states: it is a product with a matrix, and so are many steps. The matrix of twice as many steps is the square.
static STEPS: LazyLock<Vec<BitMatrix>> = LazyLock::new(|| {
    let one_step: BitMatrix = std::array::from_fn(|bit| {
        let mut random = Random::of_state(1 << bit);
        random.next_u64();
        random.state()
    });
    let square = |matrix: &BitMatrix| Some(matrix.map(|column| product(matrix, column)));
    let matrices = std::iter::successors(Some(one_step), square);
    matrices.take(u32::BITS as usize).collect()
});

/// The product of a matrix and a state.
fn product(matrix: &BitMatrix, state: u128) -> u128 {
    let of_bit = |(bit, column): (usize, &u128)| if (state >> bit) & 1 == 1 { *column } else { 0 };
    let columns = matrix.iter().enumerate().map(of_bit);
    columns.fold(0, |sum, column| sum ^ column)
}

/// Derives generators from a run's seed, in pgbench's order: one for each client, the default seed
/// of hashes (unless it was set explicitly), then the generators of each thread.
#[derive(Clone, Debug)]
pub struct RunSeeds {
    base: Random,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadRandom {
    /// Chooses the script of each transaction; not used if there is only one script.
    pub script_choice: Random,
    /// Times the next transaction, if the rate is limited.
    pub throttle: Random,
    /// Chooses the transactions to log, if not all are logged.
    pub sampling: Random,
}

/// The generators derived from a run's seed, by client and by thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunGenerators {
    pub clients: Vec<Random>,
    /// The default seed of hashes, unless it is set explicitly.
    pub default_seed: Option<i64>,
    pub threads: Vec<ThreadRandom>,
}

impl RunSeeds {
    pub fn new(run_seed: u64) -> Self {
        RunSeeds {
            base: Random::new(run_seed),
        }
    }

    pub fn next_client(&mut self) -> Random {
        Random::new(self.base.next_u64())
    }

    /// The run's `default_seed`; call it after all clients and before all threads, and only if the
    /// seed is not set explicitly.
    pub fn draw_default_seed(&mut self) -> i64 {
        self.base.next_u64() as i64
    }

    /// All generators for clients and threads; `with_default_seed` is false if the default seed is set
    /// explicitly.
    pub fn derive(
        run_seed: u64,
        clients: u32,
        with_default_seed: bool,
        threads: u32,
    ) -> RunGenerators {
        let mut seeds = RunSeeds::new(run_seed);
        RunGenerators {
            clients: (0..clients).map(|_| seeds.next_client()).collect(),
            default_seed: with_default_seed.then(|| seeds.draw_default_seed()),
            threads: (0..threads).map(|_| seeds.next_thread()).collect(),
        }
    }

    pub fn next_thread(&mut self) -> ThreadRandom {
        ThreadRandom {
            script_choice: Random::new(self.base.next_u64()),
            throttle: Random::new(self.base.next_u64()),
            sampling: Random::new(self.base.next_u64()),
        }
    }
}

/// The whole number at `fraction`, 0 to 1, of the range from `low` to `high`.
///
/// In a range of nearly 63 bits, rounding may yield a number past `high`, so the addition wraps instead of
/// panicking.
fn number_at_fraction(low: i64, high: i64, fraction: f64) -> i64 {
    low.wrapping_add((count_in_range(low, high) * fraction) as i64)
}

/// Number of whole numbers from `low` to `high`.
fn count_in_range(low: i64, high: i64) -> f64 {
    high.wrapping_sub(low).wrapping_add(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First values of `random(1, 1000000)` under `pgbench --random-seed=42` (15.20 and 18.6).
    #[test]
    fn draws_match_pgbench() {
        assert_eq!(Random::of_client(42, 0).uniform(1, 1_000_000), 668_251);
        assert_eq!(Random::of_client(42, 1).uniform(1, 1_000_000), 844_242);
    }

    /// After the clients' generators are seeded, the run's generator yields pgbench's
    /// `default_seed`.
    #[test]
    fn generators_are_seeded_in_the_order_of_pgbench() {
        for (clients, default_seed) in [
            (1, 4_306_334_408_478_191_133),
            (2, 4_482_733_528_210_176_216),
        ] {
            let mut seeds = RunSeeds::new(42);
            for client in 0..clients {
                assert_eq!(seeds.next_client(), Random::of_client(42, client));
            }
            assert_eq!(seeds.draw_default_seed(), default_seed);
        }
    }

    #[test]
    fn a_client_of_any_number_has_the_generator_of_its_place() {
        let mut seeds = RunSeeds::new(7);
        for client in 0..3_000 {
            assert_eq!(
                seeds.next_client(),
                Random::of_client(7, client),
                "{client}"
            );
        }
        // The same state is reached in two ways, with all bits of a number of clients.
        let (mut once, mut twice) = (Random::new(7), Random::new(7));
        once.skip(u32::MAX);
        twice.skip(u32::MAX - 1_234_567);
        twice.skip(1_234_567);
        assert_eq!(once, twice);
    }

    /// First and second transaction of `--random-seed=42 -c 1` (15.20 and 18.6).
    #[test]
    fn other_distributions_match_pgbench() {
        let mut random = Random::of_client(42, 0);
        for expected in [
            [668_251, 332_579, 448_894, 201_494],
            [293_429, 67_886, 501_196, 30],
        ] {
            let draws = [
                random.uniform(1, 1_000_000),
                random.exponential(1, 1_000_000, 5.0),
                random.gaussian(1, 1_000_000, 5.0),
                random.zipfian(1, 1_000_000, 1.1),
            ];
            assert_eq!(draws, expected);
        }
    }

    #[test]
    fn uniform_covers_the_range_and_nothing_else() {
        let mut random = Random::new(7);
        let mut counts = [0_u32; 3];
        for _ in 0..3000 {
            let number = random.uniform(-1, 1);
            counts[usize::try_from(number + 1).expect("inside the range")] += 1;
        }
        assert!(
            counts.iter().all(|count| (800..1200).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn uniform_accepts_any_range() {
        let mut random = Random::new(7);
        assert_eq!(random.uniform(5, 5), 5);
        assert_eq!(random.uniform(5, 4), 5);
        assert_eq!(random, Random::new(7));
        // In the full 64-bit range any value is right; the test is that no draw loops forever or overflows.
        random.uniform(i64::MIN, i64::MAX);
        assert!(random.uniform(i64::MIN, i64::MIN + 1) <= i64::MIN + 1);
    }

    #[test]
    fn clients_have_different_sequences() {
        let mut first = Random::of_client(1, 0);
        let mut second = Random::of_client(1, 1);
        assert_ne!(
            (0..4).map(|_| first.next_u64()).collect::<Vec<_>>(),
            (0..4).map(|_| second.next_u64()).collect::<Vec<_>>()
        );
    }
}
