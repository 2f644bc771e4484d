//! The random numbers of virtual users: the same ones as pgbench 15 and later draws.
//!
//! In: a seed. Out: a stream of numbers that depends on the seed alone. Must never: read a clock or
//! the system's entropy. The generator is xoroshiro128** (Blackman and Vigna), its state filled by
//! splitmix64 (Steele, Lea, Flood); a run's seed gives each client a generator of its own, in the
//! order in which pgbench does it, so that one seed means one sequence of transactions in both.

use prony_plan::splitmix64;

/// A generator of 64-bit numbers with 128 bits of state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    s0: u64,
    s1: u64,
}

impl Random {
    /// A generator whose whole sequence follows from `seed`.
    pub fn new(seed: u64) -> Self {
        let mut counter = seed;
        let s0 = splitmix64(&mut counter);
        let s1 = splitmix64(&mut counter);
        if s0 == 0 && s1 == 0 {
            // The all-zero state would yield zeros for ever. No 64-bit seed leads here (splitmix64
            // is a bijection of distinct counters), but the guard costs nothing.
            return Random { s0: 1, s1: 0 };
        }
        Random { s0, s1 }
    }

    /// The generator of one client of a run: number `client` of those that the run's seed gives.
    ///
    /// Takes `client` steps of the run's generator; meant for the start of a run.
    pub fn of_client(run_seed: u64, client: u32) -> Self {
        let mut base = Random::new(run_seed);
        for _ in 0..client {
            base.next_u64();
        }
        Random::new(base.next_u64())
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let value = self.s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let mixed = self.s0 ^ self.s1;
        self.s0 = self.s0.rotate_left(24) ^ mixed ^ (mixed << 16);
        self.s1 = mixed.rotate_left(37);
        value
    }

    /// A whole number from `low` to `high`, both included, each with the same probability.
    ///
    /// `low` where the range is empty (`high < low`), without a step of the generator.
    pub fn uniform(&mut self, low: i64, high: i64) -> i64 {
        if high <= low {
            return low;
        }
        // The width fits 64 bits unsigned whatever the two are.
        let width = high.wrapping_sub(low) as u64;
        // Take as many of the top bits as the width has, and throw a draw beyond it away: exact,
        // and less than two draws on average.
        let shift = width.leading_zeros();
        loop {
            let offset = self.next_u64() >> shift;
            if offset <= width {
                return low.wrapping_add(offset as i64);
            }
        }
    }

    /// A number from 0 (included) to 1 (not included): the top 52 bits of one draw.
    pub fn unit(&mut self) -> f64 {
        // Exact: 52 bits fit the mantissa, and the divisor is a power of two.
        (self.next_u64() >> 12) as f64 / (1_u64 << 52) as f64
    }

    /// A whole number from `low` to `high`, the low ones more often: the share of the range below x
    /// holds (1 - e^(-shape x)) / (1 - e^(-shape)) of the draws. `shape` is above 0, and
    /// `high - low + 1` fits 63 bits.
    pub fn exponential(&mut self, low: i64, high: i64, shape: f64) -> i64 {
        let cut = (-shape).exp();
        let share = 1.0 - self.unit();
        let place = -(cut + (1.0 - cut) * share).ln() / shape;
        within(low, high, place)
    }

    /// A whole number from `low` to `high` after a bell curve cut off at `shape` standard deviations
    /// either side of the middle. `shape` is 2 or more (below, rejection takes ever longer).
    pub fn gaussian(&mut self, low: i64, high: i64, shape: f64) -> i64 {
        let deviation = loop {
            let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
            let angle = 2.0 * std::f64::consts::PI * (1.0 - self.unit());
            // The sine branch of Box and Muller's method; the cosine branch is not used.
            let drawn = radius * angle.sin();
            if drawn >= -shape && drawn < shape {
                break drawn;
            }
        };
        let place = (deviation + shape) / (shape * 2.0);
        within(low, high, place)
    }

    /// A whole number from `low` to `high`: the k-th of them has a weight of k^(-`shape`), by the
    /// rejection method of Devroye, "Non-Uniform Random Variate Generation", page 550. `shape` is
    /// from 1.001 to 1000.
    pub fn zipfian(&mut self, low: i64, high: i64, shape: f64) -> i64 {
        let n = width(low, high);
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
                // In this order: low may be the smallest 64-bit number.
                return low.wrapping_sub(1).wrapping_add(rank as i64);
            }
        }
    }
}

/// What a run's seed gives, in the order in which pgbench takes it: a generator for each client, the
/// default seed of hashes (unless it was given), then the generators of each thread.
#[derive(Clone, Debug)]
pub struct RunSeeds {
    base: Random,
}

/// The generators of one of pgbench's threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadRandom {
    /// Which script comes next; one draw a transaction where there are several scripts.
    pub choice: Random,
    /// When the next transaction begins, if the rate is limited.
    pub throttle: Random,
    /// Which transactions are logged, if not all are.
    pub sampling: Random,
}

/// What a run's seed gives, by client and by thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dealt {
    /// For the values of each client.
    pub clients: Vec<Random>,
    /// The default seed of hashes, unless it is defined otherwise.
    pub default_seed: Option<i64>,
    /// Of each thread.
    pub threads: Vec<ThreadRandom>,
}

impl RunSeeds {
    /// Starts from the run's seed.
    pub fn new(run_seed: u64) -> Self {
        RunSeeds {
            base: Random::new(run_seed),
        }
    }

    /// The generator of the next client.
    pub fn client(&mut self) -> Random {
        Random::new(self.base.next_u64())
    }

    /// The run's `default_seed`, after all clients and before all threads; not to be called where
    /// it is defined otherwise.
    pub fn default_seed(&mut self) -> i64 {
        self.base.next_u64() as i64
    }

    /// All that a run's seed gives to its clients and threads; `takes_default` is false where the
    /// default seed is defined otherwise.
    pub fn deal(run_seed: u64, clients: u32, takes_default: bool, threads: u32) -> Dealt {
        let mut seeds = RunSeeds::new(run_seed);
        Dealt {
            clients: (0..clients).map(|_| seeds.client()).collect(),
            default_seed: takes_default.then(|| seeds.default_seed()),
            threads: (0..threads).map(|_| seeds.thread()).collect(),
        }
    }

    /// The generators of the next thread.
    pub fn thread(&mut self) -> ThreadRandom {
        ThreadRandom {
            choice: Random::new(self.base.next_u64()),
            throttle: Random::new(self.base.next_u64()),
            sampling: Random::new(self.base.next_u64()),
        }
    }
}

/// The whole number at `place`, 0 to 1, of the range from `low` to `high`.
///
/// In a range of nearly 63 bits the last bits of a double may lead past its end, so the sum wraps.
fn within(low: i64, high: i64, place: f64) -> i64 {
    low.wrapping_add((width(low, high) * place) as i64)
}

/// How many whole numbers there are from `low` to `high`.
fn width(low: i64, high: i64) -> f64 {
    high.wrapping_sub(low).wrapping_add(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First values of `random(1, 1000000)` under `pgbench --random-seed=42` (15.20 and 18.6).
    #[test]
    fn draws_what_pgbench_draws() {
        assert_eq!(Random::of_client(42, 0).uniform(1, 1_000_000), 668_251);
        assert_eq!(Random::of_client(42, 1).uniform(1, 1_000_000), 844_242);
    }

    /// With the clients' generators seeded, the run's generator gives pgbench's `default_seed`.
    #[test]
    fn the_order_of_seeding_is_that_of_pgbench() {
        for (clients, default_seed) in [
            (1, 4_306_334_408_478_191_133),
            (2, 4_482_733_528_210_176_216),
        ] {
            let mut seeds = RunSeeds::new(42);
            for client in 0..clients {
                assert_eq!(seeds.client(), Random::of_client(42, client));
            }
            assert_eq!(seeds.default_seed(), default_seed);
        }
    }

    /// First transaction of `--random-seed=42 -c 1`, and the second (15.20 and 18.6).
    #[test]
    fn the_other_distributions_are_those_of_pgbench() {
        let mut random = Random::of_client(42, 0);
        for expected in [
            [668_251, 332_579, 448_894, 201_494],
            [293_429, 67_886, 501_196, 30],
        ] {
            let drawn = [
                random.uniform(1, 1_000_000),
                random.exponential(1, 1_000_000, 5.0),
                random.gaussian(1, 1_000_000, 5.0),
                random.zipfian(1, 1_000_000, 1.1),
            ];
            assert_eq!(drawn, expected);
        }
    }

    #[test]
    fn uniform_reaches_both_ends_and_nothing_else() {
        let mut random = Random::new(7);
        let mut seen = [0_u32; 3];
        for _ in 0..3000 {
            let drawn = random.uniform(-1, 1);
            seen[usize::try_from(drawn + 1).expect("inside the range")] += 1;
        }
        assert!(
            seen.iter().all(|count| (800..1200).contains(count)),
            "{seen:?}"
        );
    }

    #[test]
    fn uniform_takes_any_range() {
        let mut random = Random::new(7);
        assert_eq!(random.uniform(5, 5), 5);
        assert_eq!(random.uniform(5, 4), 5);
        let untouched = Random::new(7);
        assert_eq!(random, untouched);
        // The whole range of 64 bits: any value is right, none may loop for ever or overflow.
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
