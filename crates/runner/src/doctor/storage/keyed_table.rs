//! Reads of a table whose rows are stored in the order of one whole number: a range of keys is consecutive pages.

use super::{
    MIN_TABLE_BYTES, NO_KEYED_TABLE, PageReads, ReadTable, Reads, SCAN_BYTES, random_below,
    random_read, reason_of, sequential_read,
};
use prony_plan::SplitMix;
use prony_server::Control;

/// A table in the order of its key.
pub(super) struct KeyedTable {
    /// In quotes, like the key.
    name: String,
    key: String,
    first_key: u64,
    last_key: u64,
    row_bytes: u64,
    page_bytes: u64,
}

/// The sizes of a table, in bytes.
pub(super) struct TableSizes {
    pub(super) data_bytes: u64,
    /// The mean of its rows.
    pub(super) row_bytes: u64,
}

impl KeyedTable {
    /// The table that a query finds: its name and key, which `quote` turns into identifiers, and two numbers, which
    /// `to_sizes` turns into sizes.
    pub(super) fn find(
        control: &mut Control,
        query: &str,
        quote: fn(&str) -> String,
        to_sizes: fn(u64, u64) -> TableSizes,
        page_bytes: u64,
    ) -> Result<KeyedTable, String> {
        let rows = control.query(query).map_err(|error| reason_of(&error))?;
        let text = |column: usize| rows.first()?.get(column)?.as_deref();
        let number = |column: usize| text(column)?.parse::<u64>().ok();
        let (Some(name), Some(key)) = (text(0).map(quote), text(1).map(quote)) else {
            return Err(NO_KEYED_TABLE.to_owned());
        };
        let numbers = number(2).zip(number(3));
        let sizes = numbers.map(|(first, second)| to_sizes(first, second));
        let sizes = sizes.filter(|sizes| sizes.data_bytes >= MIN_TABLE_BYTES);
        let sizes = sizes.ok_or(NO_KEYED_TABLE)?;
        let (first_key, last_key) = key_range(control, &name, &key)?;
        Ok(KeyedTable {
            name,
            key,
            first_key,
            last_key,
            row_bytes: sizes.row_bytes.max(1),
            page_bytes,
        })
    }

    /// A sequential and a random read. `page_reads` gets the name, the condition that selects the rows, and about how many
    /// pages they are on.
    pub(super) fn reads(
        &self,
        control: &mut Control,
        random: &mut SplitMix,
        page_reads: fn(&mut Control, &str, &str, u64) -> Result<PageReads, String>,
    ) -> Reads {
        let KeyedTable { name, key, .. } = self;
        let table = ReadTable {
            name,
            page_bytes: self.page_bytes,
            is_timed_by_server: false,
        };
        let keys = self.last_key - self.first_key + 1;
        let scan_keys = (SCAN_BYTES / self.row_bytes).min(keys / 2).max(1);
        let mut read = |condition: &str, pages| page_reads(control, name, condition, pages);
        Reads {
            sequential: sequential_read(&table, || {
                let from = self.first_key + random_below(random, keys - scan_keys);
                let range = format!("{key} between {from} and {}", from + scan_keys - 1);
                read(&range, scan_keys * self.row_bytes / self.page_bytes)
            }),
            random: random_read(&table, || {
                let value = self.first_key + random_below(random, keys);
                read(&format!("{key} = {value}"), 1)
            }),
        }
    }
}

fn key_range(control: &mut Control, table: &str, key: &str) -> Result<(u64, u64), String> {
    let sql = format!("select min({key}), max({key}) from {table}");
    let rows = control.query(&sql).map_err(|error| reason_of(&error))?;
    let number = |column: usize| rows.first()?.get(column)?.as_deref()?.parse::<u64>().ok();
    let keys = number(0).zip(number(1));
    keys.filter(|(first, last)| first < last)
        .ok_or_else(|| format!("{table} has no range of positive keys"))
}
