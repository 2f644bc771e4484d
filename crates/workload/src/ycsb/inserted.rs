//! Counts the records that runs have inserted, and sums the numbers in their keys, by looking up keys. Must
//! never query keys one by one.
//!
//! The records of a series are numbered without gaps: the first missing record ends the series. The first
//! series of a client has the client's number, from 0. A client continues in the series
//! [`keys::SERIES_STEP`] further only if its first series has records.

use super::keys::{self, Key, SERIES_STEP};
use super::table::NAME;
use crate::{Result, sql};
use prony_server::Control;
use std::collections::HashSet;

const KEYS_PER_QUERY: u64 = 1_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InsertedRecords {
    pub records: u64,
    pub key_sum: u128,
}

/// Counts the inserted records in a table that was loaded with this many records.
pub fn count_inserted(control: &mut Control, records: u64) -> Result<InsertedRecords> {
    let mut total = InsertedRecords::default();
    for first_series in (0..).step_by(SERIES_STEP as usize) {
        // Look up the first records of many series at once: some clients of a run may have inserted nothing.
        let candidates = first_series..first_series + SERIES_STEP;
        let first_number = |series: u32| keys::inserted_number(records, series, 0);
        let existing = find_existing(control, candidates.clone().map(first_number))?;
        if existing.is_empty() {
            break;
        }
        for series in candidates {
            if existing.contains(&first_number(series)) {
                add_series(control, records, series, &mut total)?;
            }
        }
    }
    Ok(total)
}

fn add_series(
    control: &mut Control,
    records: u64,
    series: u32,
    total: &mut InsertedRecords,
) -> Result<()> {
    let mut first_ordinal = 0;
    loop {
        let numbers = (first_ordinal..first_ordinal + KEYS_PER_QUERY)
            .map(|ordinal| keys::inserted_number(records, series, ordinal));
        let existing = find_existing(control, numbers)?;
        for ordinal in first_ordinal..first_ordinal + KEYS_PER_QUERY {
            let number = keys::inserted_number(records, series, ordinal);
            if !existing.contains(&number) {
                return Ok(());
            }
            total.records += 1;
            total.key_sum += u128::from(keys::hash(number));
        }
        first_ordinal += KEYS_PER_QUERY;
    }
}

/// Returns those of the numbers whose records exist.
pub fn find_existing(
    control: &mut Control,
    numbers: impl Iterator<Item = u64> + Clone,
) -> Result<HashSet<u64>> {
    let keys: Vec<String> = numbers
        .clone()
        .map(|number| format!("'{}'", Key::of(number).text()))
        .collect();
    if keys.is_empty() {
        return Ok(HashSet::new());
    }
    let select = format!(
        "select ycsb_key from {NAME} where ycsb_key in ({})",
        keys.join(", ")
    );
    let rows = sql::query_rows(control, "looking for records", &select)?;
    let existing_keys: HashSet<&str> = rows.iter().filter_map(|row| row.text(0)).collect();
    let exists = |number: &u64| existing_keys.contains(Key::of(*number).text());
    Ok(numbers.filter(exists).collect())
}
