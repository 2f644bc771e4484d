//! Tests the rows of the tables.

use crate::copy::RowSource;
use crate::oltp::distribution::{Distribution, RangeSampler};
use crate::oltp::rows::RowContent;
use crate::row_format::{CopyBinary, InsertValues, RowFormat, TabSeparated};
use std::ops::Range;

fn content(seed: u64) -> RowContent {
    RowContent {
        seed,
        k: RangeSampler::new(Distribution::Uniform, 1, 1_000),
    }
}

fn encode<F: RowFormat>(seed: u64, table: u32, rows: Range<u64>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rows = content(seed).rows::<F>(table, rows);
    rows.append_rows(&mut out, usize::MAX);
    out
}

fn encode_binary(seed: u64, table: u32, rows: Range<u64>) -> Vec<u8> {
    encode::<CopyBinary>(seed, table, rows)
}

/// Decodes the fields of each row, as the server does.
fn decode(mut bytes: &[u8]) -> Vec<(u32, u32, String, String)> {
    let mut rows = Vec::new();
    let int = |bytes: &[u8]| u32::from_be_bytes(bytes[..4].try_into().expect("four"));
    while !bytes.is_empty() {
        assert_eq!(bytes[..2], [0, 4]);
        bytes = &bytes[2..];
        let mut next = || {
            let length = int(bytes) as usize;
            let field = &bytes[4..4 + length];
            bytes = &bytes[4 + length..];
            field
        };
        let (id, k) = (int(next()), int(next()));
        let mut text = || String::from_utf8(next().to_vec()).expect("digits");
        rows.push((id, k, text(), text()));
    }
    rows
}

#[test]
fn texts_are_groups_of_eleven_digits() {
    let is_group = |group: &str| group.len() == 11 && group.bytes().all(|b| b.is_ascii_digit());
    let rows = decode(&encode_binary(1, 1, 0..2_000));
    let (mut digit_counts, mut first_digit_counts) = ([0_u32; 10], [0_u32; 10]);
    for (index, (id, k, c, pad)) in (0..).zip(&rows) {
        assert_eq!(*id, index + 1);
        assert!((1..=1_000).contains(k));
        let first = u32::from(c.as_bytes()[0] - b'0');
        first_digit_counts[first as usize] += 1;
        for (text, groups, length) in [(c, 10, 119), (pad, 5, 59)] {
            assert_eq!(text.len(), length);
            assert_eq!(text.split('-').count(), groups);
            assert!(text.split('-').all(is_group), "{text}");
            for digit in text.bytes().filter(u8::is_ascii_digit) {
                digit_counts[usize::from(digit - b'0')] += 1;
            }
        }
    }
    // The standard deviation of each count is 13.
    assert!(
        first_digit_counts
            .iter()
            .all(|count| count.abs_diff(200) < 70),
        "{first_digit_counts:?}"
    );
    // There are 330,000 digits: the standard deviation of each count is 172.
    assert!(
        digit_counts
            .iter()
            .all(|count| count.abs_diff(33_000) < 900),
        "{digit_counts:?}"
    );
}

#[test]
fn a_row_depends_on_seed_table_and_number_alone() {
    let all_rows = encode_binary(7, 3, 0..1_000);
    let parts = [
        encode_binary(7, 3, 0..1),
        encode_binary(7, 3, 1..700),
        encode_binary(7, 3, 700..1_000),
    ];
    assert!(parts.concat() == all_rows);
    let row = |seed, table| decode(&encode_binary(seed, table, 5..6)).swap_remove(0);
    assert_eq!(row(7, 3), decode(&all_rows)[5]);
    assert_ne!(row(7, 3).2, row(8, 3).2);
    assert_ne!(row(7, 3).2, row(7, 4).2);
    assert_ne!(row(7, 3).2, row(3, 7).2);
    assert_ne!(decode(&all_rows)[5].2, decode(&all_rows)[6].2);
}

#[test]
fn all_formats_have_the_same_rows() {
    let (id, k, c, pad) = decode(&encode_binary(7, 3, 5..6)).swap_remove(0);
    let text = |bytes| String::from_utf8(bytes).expect("text");
    let literal = text(encode::<InsertValues>(7, 3, 5..6));
    assert_eq!(literal, format!("({id},{k},'{c}','{pad}'),"));
    let line = text(encode::<TabSeparated>(7, 3, 5..6));
    assert_eq!(line, format!("{id}\t{k}\t{c}\t{pad}\n"));
}

#[test]
fn buffers_are_filled_without_losing_rows() {
    let mut rows = content(7).rows::<CopyBinary>(1, 0..1_000);
    let (mut joined, mut buffer, mut count) = (Vec::new(), Vec::new(), 0);
    while !rows.is_done() {
        count += rows.append_rows(&mut buffer, 1_000);
        assert!(buffer.len() < 1_000 + 250);
        joined.append(&mut buffer);
    }
    assert_eq!(count, 1_000);
    assert!(joined == encode_binary(7, 1, 0..1_000));
}
