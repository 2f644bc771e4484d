//! The rows of the tables, of the same shape as those that sysbench makes.
//!
//! In: seed, table, range of rows. Out: bytes for COPY, or text for an `INSERT`. Must never: depend
//! on anything but seed, table and row, so that any split over loaders gives the same data; or
//! allocate for a row.

use super::distribution::Draw;
use crate::copy::RowSource;
use crate::copy_binary;
use crate::random::Random;
use prony_plan::splitmix64;
use std::ops::Range;

/// Digits of a group.
const GROUP: usize = 11;
/// Groups of `c`, joined by hyphens: 119 characters.
pub const C_GROUPS: usize = 10;
/// Groups of `pad`: 59 characters.
pub const PAD_GROUPS: usize = 5;
/// Characters of so many groups.
pub const fn length(groups: usize) -> usize {
    groups * (GROUP + 1) - 1
}

/// A number of 11 digits, each of ten alike.
#[inline]
fn group(random: &mut Random) -> [u8; GROUP] {
    // The upper half of the product: each number comes up equally often but for 1 in 10^8.
    let wide = u128::from(random.next_u64()) * 100_000_000_000;
    let number = (wide >> 64) as u64;
    // Two halves of 32 bits, and two digits at a time: a row has fifteen of these.
    let (mut high, mut low) = ((number / 1_000_000) as u32, (number % 1_000_000) as u32);
    let mut digits = [b'0'; GROUP];
    for place in [9, 7, 5] {
        set_pair(&mut digits, place, low % 100);
        low /= 100;
    }
    for place in [3, 1] {
        set_pair(&mut digits, place, high % 100);
        high /= 100;
    }
    digits[0] = b'0' + high as u8;
    digits
}

/// Writes a number below 100.
#[inline]
fn set_pair(digits: &mut [u8; GROUP], place: usize, number: u32) {
    digits[place] = b'0' + (number / 10) as u8;
    digits[place + 1] = b'0' + (number % 10) as u8;
}

/// Appends groups of random digits.
#[inline]
pub fn push_groups(random: &mut Random, groups: usize, mut push: impl FnMut(&[u8])) {
    for place in 0..groups {
        if place > 0 {
            push(b"-");
        }
        push(&group(random));
    }
}

/// Replaces a text by groups of random digits.
pub fn set_groups(random: &mut Random, groups: usize, text: &mut String) {
    text.clear();
    push_groups(random, groups, |digits| {
        text.push_str(std::str::from_utf8(digits).unwrap_or_default());
    });
}

/// What rows are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Content {
    /// Seed of the data.
    pub seed: u64,
    /// How `k` is drawn.
    pub k: Draw,
}

impl Content {
    /// The random numbers of one row.
    #[inline]
    fn random(&self, table: u32, row: u64) -> Random {
        let mut counter = self.seed;
        let mut of_table = splitmix64(&mut counter) ^ (u64::from(table) << 32);
        Random::new(splitmix64(&mut of_table).wrapping_add(row))
    }

    /// Appends a row as `LOAD DATA` reads it by default: tabs between the values, a line a row.
    pub fn line(&self, table: u32, row: u64, out: &mut Vec<u8>) {
        let mut random = self.random(table, row);
        let mut number = itoa::Buffer::new();
        out.extend_from_slice(number.format(row + 1).as_bytes());
        out.push(b'\t');
        out.extend_from_slice(number.format(self.k.next(&mut random)).as_bytes());
        for groups in [C_GROUPS, PAD_GROUPS] {
            out.push(b'\t');
            push_groups(&mut random, groups, |digits| out.extend_from_slice(digits));
        }
        out.push(b'\n');
    }

    /// Appends a row as the values of an `INSERT`, with its `id` where `numbered`: `(1,505,'..','..')`.
    pub fn literal(&self, table: u32, row: u64, numbered: bool, out: &mut Vec<u8>) {
        let mut random = self.random(table, row);
        let mut number = itoa::Buffer::new();
        out.push(b'(');
        if numbered {
            out.extend_from_slice(number.format(row + 1).as_bytes());
            out.extend_from_slice(b", ");
        }
        out.extend_from_slice(number.format(self.k.next(&mut random)).as_bytes());
        out.extend_from_slice(b", '");
        push_groups(&mut random, C_GROUPS, |digits| {
            out.extend_from_slice(digits)
        });
        out.extend_from_slice(b"', '");
        push_groups(&mut random, PAD_GROUPS, |digits| {
            out.extend_from_slice(digits)
        });
        out.extend_from_slice(b"')");
    }
}

/// Rows of one table for a binary COPY; row r, from 0, has the `id` r + 1.
pub struct Rows {
    content: Content,
    table: u32,
    rows: Range<u64>,
}

impl Rows {
    /// These rows of a table.
    pub fn new(content: Content, table: u32, rows: Range<u64>) -> Self {
        Rows {
            content,
            table,
            rows,
        }
    }
}

impl RowSource for Rows {
    fn is_done(&self) -> bool {
        self.rows.is_empty()
    }

    fn fill(&mut self, out: &mut Vec<u8>, full: usize) -> u64 {
        let first = self.rows.start;
        while out.len() < full
            && let Some(row) = self.rows.next()
        {
            let mut random = self.content.random(self.table, row);
            copy_binary::row(out, 4);
            copy_binary::int(out, row as u32 + 1);
            copy_binary::int(out, self.content.k.next(&mut random) as u32);
            for groups in [C_GROUPS, PAD_GROUPS] {
                copy_binary::text(out, |out| {
                    push_groups(&mut random, groups, |digits| out.extend_from_slice(digits));
                });
            }
        }
        self.rows.start - first
    }

    fn begin(&self, out: &mut Vec<u8>) {
        copy_binary::header(out);
    }

    fn end(&self, out: &mut Vec<u8>) {
        copy_binary::trailer(out);
    }
}
