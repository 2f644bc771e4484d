//! The rows of the tables, in the same format as sysbench's.
//!
//! A row depends only on the seed, the table and the row number, so that any split over loaders yields the
//! same data. Generating a row must not allocate.

use super::distribution::RangeSampler;
use crate::copy::{NumberedRows, RowSource};
use crate::random::Random;
use crate::row_format::RowFormat;
use prony_plan::splitmix64;
use std::ops::Range;

const GROUP_DIGITS: usize = 11;
/// Groups of `c`, joined by hyphens: 119 characters.
pub const C_GROUPS: usize = 10;
/// Groups of `pad`: 59 characters.
pub const PAD_GROUPS: usize = 5;

/// Number of characters in this many groups.
pub const fn text_length(groups: usize) -> usize {
    groups * (GROUP_DIGITS + 1) - 1
}

/// Draws a number of 11 digits; all numbers are equally probable.
#[inline]
fn draw_group(random: &mut Random) -> [u8; GROUP_DIGITS] {
    // The upper 64 bits of the product: all numbers are equally frequent to within 1 in 10^8.
    let product = u128::from(random.next_u64()) * 100_000_000_000;
    let number = (product >> 64) as u64;
    // Split into 32-bit halves and pairs of digits for speed: a row has fifteen such numbers.
    let (mut high, mut low) = ((number / 1_000_000) as u32, (number % 1_000_000) as u32);
    let mut digits = [b'0'; GROUP_DIGITS];
    for position in [9, 7, 5] {
        set_pair(&mut digits, position, low % 100);
        low /= 100;
    }
    for position in [3, 1] {
        set_pair(&mut digits, position, high % 100);
        high /= 100;
    }
    digits[0] = b'0' + high as u8;
    digits
}

/// Writes a number below 100 as two digits.
#[inline]
fn set_pair(digits: &mut [u8; GROUP_DIGITS], position: usize, number: u32) {
    digits[position] = b'0' + (number / 10) as u8;
    digits[position + 1] = b'0' + (number % 10) as u8;
}

/// Passes this many groups of random digits, and the hyphens between them, to `push`.
#[inline]
pub fn push_groups(random: &mut Random, groups: usize, mut push: impl FnMut(&[u8])) {
    for group_index in 0..groups {
        if group_index > 0 {
            push(b"-");
        }
        push(&draw_group(random));
    }
}

/// Replaces the text by this many groups of random digits, joined by hyphens.
pub fn set_groups(random: &mut Random, groups: usize, text: &mut String) {
    text.clear();
    push_groups(random, groups, |digits| {
        text.push_str(std::str::from_utf8(digits).unwrap_or_default());
    });
}

/// The parameters that determine the rows of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowContent {
    pub seed: u64,
    /// Draws the values of the column `k`.
    pub k: RangeSampler,
}

impl RowContent {
    #[inline]
    fn random(&self, table: u32, row: u64) -> Random {
        let mut counter = self.seed;
        let mut table_seed = splitmix64(&mut counter) ^ (u64::from(table) << 32);
        Random::new(splitmix64(&mut table_seed).wrapping_add(row))
    }

    /// Rows of one table; row r, counted from 0, has the `id` r + 1.
    pub fn rows<F: RowFormat>(self, table: u32, rows: Range<u64>) -> impl RowSource {
        NumberedRows::<F, _>::new(rows, move |row, out| self.write_row::<F>(table, row, out))
    }

    #[inline]
    fn write_row<F: RowFormat>(&self, table: u32, row: u64, out: &mut Vec<u8>) {
        let mut random = self.random(table, row);
        F::begin_row(out, 4);
        F::write_int(out, row as u32 + 1);
        F::write_int(out, self.k.sample(&mut random) as u32);
        for groups in [C_GROUPS, PAD_GROUPS] {
            F::write_text(out, |out| {
                push_groups(&mut random, groups, |digits| out.extend_from_slice(digits));
            });
        }
        F::end_row(out);
    }
}
