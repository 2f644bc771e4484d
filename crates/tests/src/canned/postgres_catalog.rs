//! Reply to Prony's query of PostgreSQL's catalog: a server without data has one table.

/// The first words of Prony's query for the tables of a workload.
pub const TABLES_QUERY: &[u8] = b"select t.name, c.relkind in";
/// Its row for `sbtest1`, the table of the `oltp` workloads: name, whether it is a table, columns, key, whether it
/// was rewritten, rows, bytes, bytes of indexes, dead rows, age of the statistics, visible pages, pages, comment,
/// indexed columns.
pub const TABLES_ROW: [Option<&[u8]>; 14] = [
    Some(b"sbtest1"),
    Some(b"t"),
    Some(b"id,k,c,pad"),
    Some(b"id"),
    Some(b"f"),
    Some(b"1000"),
    Some(b"8192"),
    Some(b"8192"),
    Some(b"0"),
    None,
    Some(b"1"),
    Some(b"1"),
    None,
    Some(b"id,k"),
];
