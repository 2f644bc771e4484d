//! Shared by the tests of exchanges of several protocols.

use prony_wire::Exchange;
use proptest::prelude::*;

/// Each row as text, with the number of its result.
pub fn rows(exchange: &Exchange) -> Vec<(usize, Vec<String>)> {
    let text = |value: Option<&[u8]>| match value {
        None => "NULL".to_owned(),
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    };
    let rows = exchange.rows();
    rows.map(|(result, row)| (result, row.values().map(text).collect()))
        .collect()
}

/// Reads names and values of a reply, which hostile bytes must not make panic.
pub fn read_results(exchange: &Exchange) {
    for result in 0..exchange.result_count().min(50) {
        exchange.column_names(result).take(50).for_each(drop);
    }
    for (_, row) in exchange.rows().take(50) {
        row.values().take(50).for_each(drop);
        for column in [0, 1, 2, 3, 7, 30] {
            let _ = (row.int(column), row.text(column));
        }
    }
}

type Changes = Vec<(prop::sample::Index, u8)>;

/// Fewer than `count` bytes to change.
pub fn changes(count: usize) -> impl Strategy<Value = Changes> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..count)
}

pub fn changed(bytes: &[u8], changes: Changes) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (index, byte) in changes {
        let index = index.index(bytes.len());
        bytes[index] = byte;
    }
    bytes
}
