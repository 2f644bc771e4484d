//! Reads of a table whose rows are stored in the order of one whole number: a range of keys is consecutive pages.

use super::{
    MIN_TABLE_BYTES, NO_KEYED_TABLE, PageReads, Reads, SCAN_BYTES, random_below, random_read,
    reason, sequential_read,
};
use prony_plan::SplitMix;
use prony_server::Control;

/// A table in the order of its key.
pub(super) struct KeyedTable {
    /// Name and key, in quotes.
    name: String,
    key: String,
    keys: (u64, u64),
    row_bytes: u64,
    page_bytes: u64,
}

impl KeyedTable {
    /// The table that a query finds: its name and key, of which `quote` makes identifiers, and two numbers, of which `sizes`
    /// makes the bytes of its data and of a row.
    pub(super) fn find(
        control: &mut Control,
        query: &str,
        quote: fn(&str) -> String,
        sizes: fn(u64, u64) -> (u64, u64),
        page_bytes: u64,
    ) -> Result<KeyedTable, String> {
        let rows = control.query(query).map_err(|error| reason(&error))?;
        let found = rows.first().and_then(|row| {
            let text = |column: usize| row.get(column)?.as_deref();
            let number = |column: usize| text(column)?.parse::<u64>().ok();
            let (bytes, row_bytes) = sizes(number(2)?, number(3)?);
            let is_large = bytes >= MIN_TABLE_BYTES;
            is_large.then_some((quote(text(0)?), quote(text(1)?), row_bytes.max(1)))
        });
        let (name, key, row_bytes) = found.ok_or(NO_KEYED_TABLE)?;
        Ok(KeyedTable {
            keys: key_range(control, &name, &key)?,
            name,
            key,
            row_bytes,
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
        let (first, last) = self.keys;
        let keys = last - first + 1;
        let length = (SCAN_BYTES / self.row_bytes).min(keys / 2).max(1);
        let mut read = |condition: &str, pages| page_reads(control, name, condition, pages);
        let sequential = sequential_read(name, self.page_bytes, false, || {
            let from = first + random_below(random, keys - length);
            let range = format!("{key} between {from} and {}", from + length - 1);
            read(&range, length * self.row_bytes / self.page_bytes)
        });
        let single = random_read(name, self.page_bytes, false, || {
            let value = first + random_below(random, keys);
            read(&format!("{key} = {value}"), 1)
        });
        (sequential, single)
    }
}

fn key_range(control: &mut Control, table: &str, key: &str) -> Result<(u64, u64), String> {
    let sql = format!("select min({key}), max({key}) from {table}");
    let rows = control.query(&sql).map_err(|error| reason(&error))?;
    let number = |column: usize| rows.first()?.get(column)?.as_deref()?.parse::<u64>().ok();
    let keys = number(0).zip(number(1));
    keys.filter(|(first, last)| first < last)
        .ok_or_else(|| format!("{table} has no range of positive keys"))
}
