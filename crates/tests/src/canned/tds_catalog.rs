//! Replies to Prony's queries of SQL Server's catalog: a server without data has one table.

/// The beginnings of the catalog's queries for the tables of the `oltp` workloads, and the rows of the replies.
pub const CATALOG: [(&str, &[&[&str]]); 3] = [
    (
        "select o.name, case o.type",
        &[&["sbtest1", "BASE TABLE", "1000", "0", "0"]],
    ),
    (
        "select o.name, c.name, null",
        &[
            &["sbtest1", "id"],
            &["sbtest1", "k"],
            &["sbtest1", "c"],
            &["sbtest1", "pad"],
        ],
    ),
    (
        "select o.name, c.name, case when",
        &[
            &["sbtest1", "id", "PRIMARY", "1"],
            &["sbtest1", "k", "k_1", "1"],
        ],
    ),
];
pub const CATALOG_NAMES: &str = "'sbtest%'";
/// The beginning of the query for the types of a table's columns, and its rows: name, type, bytes, precision,
/// scale, and whether the column is nullable.
pub const COLUMN_TYPES: (&str, &[&[&str]]) = (
    "select c.name, t.name, c.max_length",
    &[
        &["id", "int", "4", "10", "0", "0"],
        &["k", "int", "4", "10", "0", "0"],
        &["c", "char", "120", "0", "0", "0"],
        &["pad", "char", "60", "0", "0", "0"],
    ],
);
/// Columns of all these replies, as many as the longest row has values; other rows end with NULLs.
pub const CATALOG_COLUMNS: usize = 6;

/// The procedure that locks a load; its row says that the lock is free.
pub const LOCK_CALL: &str = "sp_getapplock";
/// The row of that procedure's result.
pub const LOCKED: &[&[&str]] = &[&["0"]];
