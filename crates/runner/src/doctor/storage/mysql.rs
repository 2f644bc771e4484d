//! Reads of InnoDB's pages. Status variables of the whole server count the pages that were read into the buffer pool, so
//! others must not load the server at the same time; the client times the statements.

use super::keyed_table::{KeyedTable, TableSizes};
use super::{PageReads, elapsed_ns, reason_of, value_if_allowed};
use prony_server::Control;
use prony_store::SqlDialect;
use std::time::Instant;

/// The largest table of this database whose primary key is one whole number: name, key, bytes of data, mean bytes of a row.
const LARGEST_TABLE: &str = "select t.table_name, c.column_name, t.data_length, t.avg_row_length \
    from information_schema.tables t \
    join information_schema.columns c on c.table_schema = t.table_schema and c.table_name = t.table_name \
    where t.table_schema = database() and t.engine = 'InnoDB' and c.column_key = 'PRI' \
    and c.data_type in ('int', 'bigint', 'mediumint') \
    and (select count(*) from information_schema.columns k where k.table_schema = t.table_schema \
    and k.table_name = t.table_name and k.column_key = 'PRI') = 1 \
    order by t.data_length desc limit 1";

/// Why commits are not durable; `None` if they are, or if this user may not read it.
pub(super) fn not_durable(control: &mut Control) -> Option<String> {
    let setting = "select @@global.innodb_flush_log_at_trx_commit";
    let flush = value_if_allowed(control, setting)?;
    (flush != "1").then(|| format!("innodb_flush_log_at_trx_commit is {flush}"))
}

pub(super) fn largest_table(control: &mut Control) -> Result<KeyedTable, String> {
    let page_bytes = value_if_allowed(control, "select @@global.innodb_page_size");
    let page_bytes = page_bytes.and_then(|bytes| bytes.parse().ok());
    let quote = |name: &str| SqlDialect::MySql.quote_identifier(name);
    let sizes = |data_bytes, row_bytes| TableSizes {
        data_bytes,
        row_bytes,
    };
    KeyedTable::find(
        control,
        LARGEST_TABLE,
        quote,
        sizes,
        page_bytes.unwrap_or(16_384),
    )
}

/// Pages that InnoDB has read since its start.
fn pages_read(control: &mut Control) -> Result<u64, String> {
    let rows = control
        .query("show global status like 'Innodb_pages_read'")
        .map_err(|error| reason_of(&error))?;
    let value = rows
        .first()
        .and_then(|row| row.get(1)?.as_deref()?.parse().ok());
    value.ok_or_else(|| "this user may not read Innodb_pages_read".to_owned())
}

/// What a statement read that needs about `needed` pages.
pub(super) fn page_reads(
    control: &mut Control,
    table: &str,
    condition: &str,
    needed: u64,
) -> Result<PageReads, String> {
    let before = pages_read(control)?;
    let sql = format!("select count(*) from {table} force index (primary) where {condition}");
    let sent = Instant::now();
    control.query(&sql).map_err(|error| reason_of(&error))?;
    let time_ns = elapsed_ns(sent);
    let read = pages_read(control)?.saturating_sub(before);
    Ok(PageReads {
        requests: read,
        read,
        cached: needed.saturating_sub(read),
        time_ns,
    })
}
