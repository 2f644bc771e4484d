//! Reads of a table whose rows are stored in the order of one whole number: a range of keys is consecutive pages.

use super::{PageReads, Reads, SCAN_BYTES, random_below, random_read, reason, sequential_read};
use prony_plan::SplitMix;
use prony_server::Control;

/// A table in the order of its key.
pub(super) struct KeyedTable {
    /// Name and key, in quotes.
    pub name: String,
    pub key: String,
    pub keys: (u64, u64),
    pub row_bytes: u64,
    pub page_bytes: u64,
}

impl KeyedTable {
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

pub(super) fn key_range(
    control: &mut Control,
    table: &str,
    key: &str,
) -> Result<(u64, u64), String> {
    let sql = format!("select min({key}), max({key}) from {table}");
    let rows = control.query(&sql).map_err(|error| reason(&error))?;
    let number = |column: usize| rows.first()?.get(column)?.as_deref()?.parse::<u64>().ok();
    let keys = number(0).zip(number(1));
    keys.filter(|(first, last)| first < last)
        .ok_or_else(|| format!("{table} has no range of positive keys"))
}
