//! The rows of the tables.

use crate::copy::RowSource;
use crate::oltp::distribution::{Distribution, Draw};
use crate::oltp::rows::{Content, Rows};
use std::ops::Range;

fn content(seed: u64) -> Content {
    Content {
        seed,
        k: Draw::new(Distribution::Uniform, 1, 1_000),
    }
}

fn all(seed: u64, table: u32, rows: Range<u64>) -> Vec<u8> {
    let mut out = Vec::new();
    Rows::new(content(seed), table, rows).fill(&mut out, usize::MAX);
    out
}

/// Fields of each row, as the server reads them.
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
    let rows = decode(&all(1, 1, 0..2_000));
    let (mut digits, mut first_digits) = ([0_u32; 10], [0_u32; 10]);
    for (place, (id, k, c, pad)) in (0..).zip(&rows) {
        assert_eq!(*id, place + 1);
        assert!((1..=1_000).contains(k));
        let first = u32::from(c.as_bytes()[0] - b'0');
        first_digits[first as usize] += 1;
        for (text, groups, length) in [(c, 10, 119), (pad, 5, 59)] {
            assert_eq!(text.len(), length);
            assert_eq!(text.split('-').count(), groups);
            assert!(text.split('-').all(is_group), "{text}");
            for digit in text.bytes().filter(u8::is_ascii_digit) {
                digits[usize::from(digit - b'0')] += 1;
            }
        }
    }
    // A standard deviation of 13.
    assert!(
        first_digits.iter().all(|count| count.abs_diff(200) < 70),
        "{first_digits:?}"
    );
    // 330,000 digits: a standard deviation of 172.
    assert!(
        digits.iter().all(|count| count.abs_diff(33_000) < 900),
        "{digits:?}"
    );
}

#[test]
fn a_row_depends_on_seed_table_and_number_alone() {
    let whole = all(7, 3, 0..1_000);
    let parts = [all(7, 3, 0..1), all(7, 3, 1..700), all(7, 3, 700..1_000)];
    assert!(parts.concat() == whole);
    let row = |seed, table| decode(&all(seed, table, 5..6)).swap_remove(0);
    assert_eq!(row(7, 3), decode(&whole)[5]);
    assert_ne!(row(7, 3).2, row(8, 3).2);
    assert_ne!(row(7, 3).2, row(7, 4).2);
    assert_ne!(row(7, 3).2, row(3, 7).2);
    assert_ne!(decode(&whole)[5].2, decode(&whole)[6].2);
}

#[test]
fn an_insert_has_the_same_rows() {
    let (mut numbered, mut bare) = (Vec::new(), Vec::new());
    content(7).literal(3, 5, true, &mut numbered);
    content(7).literal(3, 5, false, &mut bare);
    let (id, k, c, pad) = decode(&all(7, 3, 5..6)).swap_remove(0);
    let text = |bytes| String::from_utf8(bytes).expect("text");
    assert_eq!(text(numbered), format!("({id}, {k}, '{c}', '{pad}')"));
    assert_eq!(text(bare), format!("({k}, '{c}', '{pad}')"));
}

#[test]
fn buffers_are_filled_and_no_row_is_lost_between_them() {
    let mut rows = Rows::new(content(7), 1, 0..1_000);
    let (mut joined, mut buffer, mut count) = (Vec::new(), Vec::new(), 0);
    while !rows.is_done() {
        count += rows.fill(&mut buffer, 1_000);
        assert!(buffer.len() < 1_000 + 250);
        joined.append(&mut buffer);
    }
    assert_eq!(count, 1_000);
    assert!(joined == all(7, 1, 0..1_000));
}
