//! Reads of SQL Server's pages. `sys.dm_io_virtual_file_stats` counts what was read from the files of this database, so
//! others must not load it at the same time; the client times the statements, because the server's own times are in
//! milliseconds.

use super::keyed_table::{KeyedTable, TableSizes};
use super::{PageReads, elapsed_ns, reason_of, value_if_allowed};
use prony_server::Control;
use std::time::Instant;

const PAGE_BYTES: u64 = 8192;

/// The largest table that this user may read and whose clustered index has one whole number as its key: name, key, pages,
/// rows.
const LARGEST_TABLE: &str = "select top 1 quotename(schema_name(t.schema_id)) + '.' + quotename(t.name), \
    quotename(c.name), sum(a.data_pages), sum(p.rows) \
    from sys.tables t \
    join sys.indexes i on i.object_id = t.object_id and i.type = 1 and i.is_unique = 1 \
    join sys.index_columns k on k.object_id = i.object_id and k.index_id = i.index_id and k.key_ordinal = 1 \
    join sys.columns c on c.object_id = k.object_id and c.column_id = k.column_id \
    join sys.partitions p on p.object_id = i.object_id and p.index_id = i.index_id \
    join sys.allocation_units a on a.container_id = p.hobt_id and a.type = 1 \
    where c.system_type_id in (56, 127) \
    and not exists (select 1 from sys.index_columns m where m.object_id = i.object_id \
    and m.index_id = i.index_id and m.key_ordinal = 2) \
    and has_perms_by_name(quotename(schema_name(t.schema_id)) + '.' + quotename(t.name), 'OBJECT', 'SELECT') = 1 \
    group by t.schema_id, t.name, c.name order by sum(a.data_pages) desc";

/// Requests and bytes that were read from the data files of this database since the server started.
const FILE_READS: &str = "select sum(s.num_of_reads), sum(s.num_of_bytes_read) \
    from sys.dm_io_virtual_file_stats(db_id(), null) s \
    join sys.database_files f on f.file_id = s.file_id where f.type = 0";

/// Why commits are not durable; `None` if they are, or if this user may not read it.
pub(super) fn not_durable(control: &mut Control) -> Option<String> {
    let sql = "select delayed_durability_desc from sys.databases where database_id = db_id()";
    let setting = value_if_allowed(control, sql)?;
    (setting == "FORCED").then(|| "delayed durability is forced".to_owned())
}

pub(super) fn largest_table(control: &mut Control) -> Result<KeyedTable, String> {
    let sizes = |pages: u64, rows: u64| TableSizes {
        data_bytes: pages * PAGE_BYTES,
        row_bytes: pages * PAGE_BYTES / rows.max(1),
    };
    KeyedTable::find(control, LARGEST_TABLE, str::to_owned, sizes, PAGE_BYTES)
}

/// What [`FILE_READS`] returns.
struct FileReads {
    requests: u64,
    bytes: u64,
}

fn file_reads(control: &mut Control) -> Result<FileReads, String> {
    let rows = control
        .query(FILE_READS)
        .map_err(|error| reason_of(&error))?;
    let number = |column: usize| rows.first()?.get(column)?.as_deref()?.parse::<u64>().ok();
    let reads = number(0).zip(number(1));
    reads
        .map(|(requests, bytes)| FileReads { requests, bytes })
        .ok_or_else(|| "this user may not read sys.dm_io_virtual_file_stats".to_owned())
}

/// The statement that counts by the clustered index: a narrower index would have other pages.
fn scan_statement(table: &str, condition: &str) -> String {
    format!("select count_big(*) from {table} with (index(1)) where {condition} option (maxdop 1)")
}

/// What a statement read that needs about `needed` pages.
pub(super) fn page_reads(
    control: &mut Control,
    table: &str,
    condition: &str,
    needed: u64,
) -> Result<PageReads, String> {
    let before = file_reads(control)?;
    let sent = Instant::now();
    control
        .query(&scan_statement(table, condition))
        .map_err(|error| reason_of(&error))?;
    let time_ns = elapsed_ns(sent);
    let after = file_reads(control)?;
    let read = after.bytes.saturating_sub(before.bytes) / PAGE_BYTES;
    Ok(PageReads {
        // Until its cache is full, the server reads eight pages where one is needed.
        requests: after.requests.saturating_sub(before.requests),
        read,
        cached: needed.saturating_sub(read),
        time_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_tds_server::syntax_error;

    #[test]
    fn the_statements_are_valid() {
        for sql in [
            LARGEST_TABLE,
            FILE_READS,
            &scan_statement("[dbo].[t]", "[id] = 3"),
        ] {
            assert_eq!(syntax_error(sql), None);
        }
    }
}
