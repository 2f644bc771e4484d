//! The records of a load.
//!
//! A record depends only on the seed and its number, so that any split over loaders yields the same data.
//! Generating a record must not allocate.

use super::keys::Key;
use crate::random::Random;
use crate::row_format::RowFormat;
use prony_plan::splitmix64;

/// Number of characters per 64-bit random number; each takes six bits.
const CHARACTERS_PER_DRAW: usize = 10;
/// Characters that need no escaping in any row format.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Appends this many random characters.
#[inline]
pub fn push_characters(random: &mut Random, length: usize, out: &mut Vec<u8>) {
    let mut remaining = length;
    while remaining > 0 {
        let mut bits = random.next_u64();
        let mut chunk = [0; CHARACTERS_PER_DRAW];
        for character in &mut chunk {
            *character = ALPHABET[(bits % 64) as usize];
            bits /= 64;
        }
        let count = remaining.min(CHARACTERS_PER_DRAW);
        out.extend_from_slice(&chunk[..count]);
        remaining -= count;
    }
}

/// The parameters that determine the records.
#[derive(Clone, Copy, Debug)]
pub struct Content {
    pub seed: u64,
    pub field_count: u32,
    pub field_length: usize,
}

impl Content {
    #[inline]
    fn random(&self, number: u64) -> Random {
        let mut seed = self.seed;
        Random::new(splitmix64(&mut seed).wrapping_add(number))
    }

    /// Writes a record in this format.
    #[inline]
    pub fn write_record<F: RowFormat>(&self, number: u64, out: &mut Vec<u8>) {
        let mut random = self.random(number);
        // There are at most a hundred fields.
        F::begin_row(out, 1 + self.field_count as i16);
        F::write_text(out, |out| out.extend_from_slice(Key::of(number).bytes()));
        for _ in 0..self.field_count {
            F::write_text(out, |out| {
                push_characters(&mut random, self.field_length, out)
            });
        }
        F::end_row(out);
    }
}
