//! Numbers that are unique among the users of a run: 32-bit numbers, or numbers of a range. No
//! number repeats before all have been drawn.

use prony_session::UserId;
use std::collections::HashMap;

/// One user's share of all 32-bit numbers, in pseudo-random order.
#[derive(Clone, Debug)]
pub struct UniqueNumbers {
    next_index: u32,
    /// Difference of two consecutive indexes of the user.
    step: u32,
    key: u32,
}

impl UniqueNumbers {
    pub fn new(id: UserId) -> Self {
        UniqueNumbers {
            next_index: id.client,
            step: id.clients.max(1),
            key: id.seed as u32,
        }
    }

    /// The next number. The mixing function is a bijection: C. Wellons, "Prospecting for hash functions"
    /// (lowbias32, in the public domain).
    pub fn draw(&mut self) -> u32 {
        let number = mix(self.next_index ^ self.key);
        self.next_index = self.next_index.wrapping_add(self.step);
        number
    }
}

fn mix(mut number: u32) -> u32 {
    number ^= number >> 16;
    number = number.wrapping_mul(0x7feb_352d);
    number ^= number >> 15;
    number = number.wrapping_mul(0x846c_a68b);
    number ^ (number >> 16)
}

/// Maximum number of ranges whose positions are stored: a script may draw from a new range each time.
const STORED_RANGES_MAX: usize = 1024;

/// One user's share of the whole numbers of any range: if all users draw equally often, a number is not drawn twice before
/// all numbers of the range have been drawn. A range may restart after draws from 512 other ranges, because the positions of
/// older ranges are forgotten.
#[derive(Clone, Debug)]
pub struct UniqueInRange {
    first_index: u64,
    /// Difference of two consecutive indexes of the user.
    step: u64,
    key: u32,
    /// Ranges in use, at most [`STORED_RANGES_MAX`].
    ranges: HashMap<(i64, i64), RangePosition>,
    draws: u64,
}

#[derive(Clone, Copy, Debug)]
struct RangePosition {
    next_index: u64,
    last_draw: u64,
}

impl UniqueInRange {
    pub fn new(id: UserId) -> Self {
        UniqueInRange {
            first_index: u64::from(id.client),
            step: u64::from(id.clients.max(1)),
            key: id.seed as u32,
            ranges: HashMap::new(),
            draws: 0,
        }
    }

    /// The next number from `low` to `high`; `low` if the range is empty. Draws cover at most 2^32 numbers
    /// from `low`.
    pub fn draw(&mut self, low: i64, high: i64) -> i64 {
        let size = i128::from(high) - i128::from(low) + 1;
        let Ok(size) = u64::try_from(size.min(1 << 32)) else {
            return low;
        };
        if size <= 1 {
            return low;
        }
        self.draws += 1;
        let start = RangePosition {
            next_index: self.first_index,
            last_draw: 0,
        };
        let position = self.ranges.entry((low, high)).or_insert(start);
        let index = position.next_index % size;
        position.next_index += self.step;
        position.last_draw = self.draws;
        if self.ranges.len() > STORED_RANGES_MAX {
            self.evict_older_half();
        }
        low + permute(index, size, self.key) as i64
    }

    /// Removes the less recently used half of the ranges.
    fn evict_older_half(&mut self) {
        let mut last_draws: Vec<u64> = self.ranges.values().map(|range| range.last_draw).collect();
        let (_, median, _) = last_draws.select_nth_unstable(STORED_RANGES_MAX / 2);
        let median = *median;
        self.ranges.retain(|_, range| range.last_draw >= median);
    }
}

/// The image of `index` in a permutation of the numbers below `size`: a Feistel network over the next even
/// number of bits, applied until the result is below `size` (J. Black and P. Rogaway, "Ciphers with
/// Arbitrary Finite Domains", 2002).
fn permute(mut index: u64, size: u64, key: u32) -> u64 {
    let half_bits = (64 - (size - 1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1u64 << half_bits) - 1;
    loop {
        let (mut left, mut right) = (index >> half_bits, index & mask);
        for round in 0..4u32 {
            let word = (right as u32) ^ key.wrapping_add(round.wrapping_mul(0x9e37_79b9));
            (left, right) = (right, left ^ (u64::from(mix(word)) & mask));
        }
        index = (left << half_bits) | right;
        if index < size {
            return index;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(client: u32, clients: u32) -> UserId {
        UserId {
            client,
            clients,
            worker: 0,
            workers: 1,
            seed: 7,
        }
    }

    #[test]
    fn numbers_of_a_range_repeat_only_after_all_are_drawn() {
        for (low, high) in [(1, 1_000), (-5, 2), (0, 1), (1, 3), (100_000, 165_535)] {
            let count = (high - low + 1) as usize;
            let mut users = [0, 1, 2].map(|client| UniqueInRange::new(id(client, 3)));
            let mut numbers: Vec<i64> = (0..count)
                .map(|index| users[index % 3].draw(low, high))
                .collect();
            let rising = numbers.windows(2).filter(|pair| pair[1] > pair[0]).count();
            assert!(
                count < 100 || rising < count * 3 / 4,
                "the numbers look ordered"
            );
            numbers.sort_unstable();
            assert_eq!(numbers, (low..=high).collect::<Vec<_>>());
        }
    }

    #[test]
    fn stored_ranges_are_limited_to_those_in_use() {
        let mut user = UniqueInRange::new(id(0, 1));
        let mut numbers: Vec<i64> = Vec::new();
        for high in 10_000..30_000 {
            numbers.push(user.draw(1, 20_000));
            user.draw(-5, high);
        }
        assert!(
            user.ranges.len() <= STORED_RANGES_MAX,
            "{}",
            user.ranges.len()
        );
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=20_000).collect::<Vec<_>>());
    }

    #[test]
    fn ranges_are_independent() {
        let mut user = UniqueInRange::new(id(0, 1));
        let pairs: Vec<(i64, i64)> = (0..50)
            .map(|_| (user.draw(1, 50), user.draw(1, 60)))
            .collect();
        let mut numbers: Vec<i64> = pairs.iter().map(|pair| pair.0).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=50).collect::<Vec<_>>());
        assert_eq!((user.draw(9, 3), user.draw(4, 4)), (9, 4));
        let wide = user.draw(i64::MIN, i64::MAX);
        assert!(wide < i64::MIN + (1 << 32));
    }
}
