//! Statements, by SQL dialect.
//!
//! Builds the statements for a table number and options. Placeholders have the form `$1`, which each
//! protocol converts. A statement must never be sent to an engine of a different dialect.

use super::event::StatementKind;
use super::options::OltpOptions;
use crate::catalog;
use prony_document::SqlDialect;
use prony_session::DbError;
use prony_wire::ParameterType;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// The primary key on `id`.
    Primary,
    /// A non-unique index on `id`, in place of the primary key.
    Plain,
    /// An index on `k`.
    Secondary,
}

/// The name of a table, by its number from 1.
pub fn table_name(number: u32) -> String {
    format!("sbtest{number}")
}

/// The sequence that numbers a table's rows on SQL Server.
fn sequence_name(table: &str) -> String {
    format!("{table}_id")
}

/// ApsaraDB's hint for hot rows: the server queues updates of the row, and commits with the statement.
const HOT_HINT: &str = "/*+commit_on_success rollback_on_fail target_affect_row(1) */ ";

/// The declaration of the column `k`.
const K_COLUMN: &str = "k integer default '0' not null";

pub const COMMIT: &str = "COMMIT";

/// The statement that begins a transaction block; sysbench's own, if it supports the engine.
pub fn begin_block(dialect: SqlDialect) -> &'static str {
    match dialect {
        SqlDialect::PostgreSql | SqlDialect::MySql => "BEGIN",
        SqlDialect::TransactSql => "BEGIN TRANSACTION",
    }
}

/// The statement that puts a note in the table's comment; or in the comment of its column `k`, if the
/// user's options set a table comment.
pub fn note_statement(
    dialect: SqlDialect,
    number: u32,
    text: &str,
    options: &OltpOptions,
) -> String {
    let name = table_name(number);
    match dialect {
        SqlDialect::MySql if options.has_table_comment() => {
            let escaped_text = text.replace('\'', "''");
            format!("alter table {name} modify {K_COLUMN} comment '{escaped_text}'")
        }
        SqlDialect::PostgreSql | SqlDialect::MySql | SqlDialect::TransactSql => {
            dialect.comment_statement(&name, text)
        }
    }
}

/// The statement that creates a table. On MySQL it includes the primary key, in which InnoDB stores the
/// rows.
pub fn create_table(
    dialect: SqlDialect,
    number: u32,
    options: &OltpOptions,
    is_bulk: bool,
) -> String {
    let name = table_name(number);
    let table_options = &options.create_table_options;
    let server_assigns_ids = options.auto_inc && !is_bulk;
    let id = match dialect {
        _ if !server_assigns_ids => "integer not null".to_owned(),
        SqlDialect::PostgreSql => "serial".to_owned(),
        SqlDialect::MySql => "integer not null auto_increment".to_owned(),
        // An identity column would refuse the ids that transactions insert.
        SqlDialect::TransactSql => {
            format!(
                "integer not null default next value for {}",
                sequence_name(&name)
            )
        }
    };
    let columns = if is_bulk {
        format!("id {id}, {K_COLUMN}")
    } else {
        format!(
            "id {id}, {K_COLUMN}, c char(120) default '' not null, \
             pad char(60) default '' not null"
        )
    };
    let create = match dialect {
        SqlDialect::PostgreSql => format!("create table {name} ({columns}) {table_options}"),
        SqlDialect::TransactSql => {
            let create = format!("create table {name} ({columns}) {table_options}");
            if server_assigns_ids {
                format!(
                    "create sequence {} as integer start with 1; {create}",
                    sequence_name(&name)
                )
            } else {
                create
            }
        }
        SqlDialect::MySql => {
            let key =
                if options.secondary && !is_bulk { "key xid (id)" } else { "primary key (id)" };
            let engine = &options.mysql_storage_engine;
            format!("create table {name} ({columns}, {key}) engine = {engine} {table_options}")
        }
    };
    create.trim_end().to_owned()
}

/// Adds a note to MySQL's statement that creates a table.
pub fn with_comment(create: &str, text: &str) -> String {
    format!("{create} comment = '{}'", text.replace('\'', "''"))
}

/// The indexes that are built after the rows are loaded.
pub fn indexes(dialect: SqlDialect, options: &OltpOptions, is_bulk: bool) -> Vec<Index> {
    let mut indexes = Vec::new();
    match dialect {
        // The table was created with its primary key.
        SqlDialect::MySql => {}
        SqlDialect::PostgreSql | SqlDialect::TransactSql => {
            indexes.push(if options.secondary && !is_bulk { Index::Plain } else { Index::Primary })
        }
    }
    if options.create_secondary && !is_bulk {
        indexes.push(Index::Secondary);
    }
    indexes
}

/// The statement that drops tables. On SQL Server it also drops the sequences from which they take their ids
/// (PostgreSQL drops these with their tables), but no other sequence of the same name.
pub fn drop_tables(dialect: SqlDialect, names: &[&str]) -> String {
    match dialect {
        SqlDialect::PostgreSql | SqlDialect::MySql => catalog::drop_statement(dialect, names),
        SqlDialect::TransactSql => {
            let drop = |table: &&str| {
                let sequence = sequence_name(table);
                format!(
                    "if exists (select 1 from sys.default_constraints \
                     where parent_object_id = object_id('{table}') \
                     and charindex('{sequence}', definition) > 0) \
                     begin begin transaction; drop table {table}; drop sequence {sequence}; commit; end \
                     else {}",
                    catalog::drop_statement(dialect, &[table])
                )
            };
            let drops: Vec<String> = names.iter().map(drop).collect();
            drops.join("; ")
        }
    }
}

/// The statement that sets the sequence to continue after the last row; `None` if the server does so
/// itself, the client assigns the ids, or the table is empty.
pub fn sequence_statement(
    dialect: SqlDialect,
    number: u32,
    options: &OltpOptions,
    rows: u32,
) -> Option<String> {
    if !options.auto_inc || rows == 0 {
        return None;
    }
    let name = table_name(number);
    match dialect {
        SqlDialect::PostgreSql => Some(format!(
            "select setval(pg_get_serial_sequence('{name}', 'id'), {rows})"
        )),
        SqlDialect::MySql => None,
        SqlDialect::TransactSql => {
            let (sequence, next) = (sequence_name(&name), u64::from(rows) + 1);
            Some(format!("alter sequence {sequence} restart with {next}"))
        }
    }
}

/// Whether the `INSERT` of a row numbered by the server includes `id`: MySQL replaces 0 by the next
/// number.
pub fn insert_includes_id(dialect: SqlDialect) -> bool {
    match dialect {
        SqlDialect::PostgreSql | SqlDialect::TransactSql => false,
        SqlDialect::MySql => true,
    }
}

/// The types to declare for the parameters of a statement; `None` where sysbench leaves them to the
/// server. SQL Server's parameters always have a type: those of the columns, so that plans use the
/// indexes and texts of different lengths share a plan.
pub fn parameter_types(
    dialect: SqlDialect,
    kind: StatementKind,
    options: &OltpOptions,
) -> Option<Vec<ParameterType>> {
    const INT: ParameterType = ParameterType::Int;
    const C: ParameterType = ParameterType::VarChar(120);
    const PAD: ParameterType = ParameterType::VarChar(60);
    match dialect {
        SqlDialect::PostgreSql | SqlDialect::MySql => return None,
        SqlDialect::TransactSql => {}
    }
    Some(match kind {
        StatementKind::PointSelect
        | StatementKind::IndexUpdate
        | StatementKind::Delete
        | StatementKind::HotUpdate => vec![INT],
        StatementKind::SimpleRange
        | StatementKind::SumRange
        | StatementKind::OrderRange
        | StatementKind::DistinctRange => vec![INT, INT],
        StatementKind::NonIndexUpdate => vec![C, INT],
        StatementKind::Insert => vec![INT, INT, C, PAD],
        StatementKind::RandomPoints => vec![INT; options.random_points as usize],
        StatementKind::RandomRanges => vec![INT; 2 * options.number_of_ranges as usize],
    })
}

/// The text of a statement of this kind on the table with this number.
pub fn event_statement(
    dialect: SqlDialect,
    kind: StatementKind,
    number: u32,
    options: &OltpOptions,
) -> String {
    let name = table_name(number);
    let list = |count: u32, item: &dyn Fn(u32) -> String, separator: &str| {
        let items: Vec<String> = (0..count).map(item).collect();
        items.join(separator)
    };
    match kind {
        StatementKind::PointSelect => format!("SELECT c FROM {name} WHERE id=$1"),
        StatementKind::SimpleRange => {
            format!("SELECT c FROM {name} WHERE id BETWEEN $1 AND $2")
        }
        StatementKind::SumRange => {
            let sum = match dialect {
                SqlDialect::PostgreSql | SqlDialect::MySql => "SUM(k)",
                // On SQL Server a sum of integers is an integer, which the sums of large tables exceed.
                SqlDialect::TransactSql => "SUM(CAST(k AS bigint))",
            };
            format!("SELECT {sum} FROM {name} WHERE id BETWEEN $1 AND $2")
        }
        StatementKind::OrderRange => {
            format!("SELECT c FROM {name} WHERE id BETWEEN $1 AND $2 ORDER BY c")
        }
        StatementKind::DistinctRange => {
            format!("SELECT DISTINCT c FROM {name} WHERE id BETWEEN $1 AND $2 ORDER BY c")
        }
        StatementKind::IndexUpdate => format!("UPDATE {name} SET k=k+1 WHERE id=$1"),
        StatementKind::NonIndexUpdate => format!("UPDATE {name} SET c=$1 WHERE id=$2"),
        StatementKind::Delete => format!("DELETE FROM {name} WHERE id=$1"),
        StatementKind::Insert => {
            format!("INSERT INTO {name} (id, k, c, pad) VALUES ($1, $2, $3, $4)")
        }
        StatementKind::RandomPoints => {
            let points = list(options.random_points, &|n| format!("${}", n + 1), ", ");
            format!("SELECT id, k, c, pad FROM {name} WHERE k IN ({points})")
        }
        StatementKind::RandomRanges => {
            let range = |n| format!("k BETWEEN ${} AND ${}", 2 * n + 1, 2 * n + 2);
            let ranges = list(options.number_of_ranges, &range, " OR ");
            format!("SELECT count(k) FROM {name} WHERE {ranges}")
        }
        StatementKind::HotUpdate => {
            let hint = if options.hint { HOT_HINT } else { "" };
            format!("UPDATE {hint}{name} SET k=k+1 WHERE id=$1")
        }
    }
}

/// Whether an error is ignored, so that the event is retried with new values, as in sysbench: on
/// PostgreSQL a deadlock, a serialization failure and a duplicate key; on MySQL 1213 (deadlock), 1020
/// (the row has changed) and 1205 (lock wait timeout); on SQL Server, which sysbench does not support,
/// the same kinds of errors as on PostgreSQL: 1205 (deadlock), 3960 and 3961 (snapshot conflict), 2627
/// and 2601 (duplicate key). On any of them also the errors that the entry of a service names.
pub fn ignores_error(dialect: SqlDialect, error: &DbError) -> bool {
    if error.is_retry_of_service {
        return true;
    }
    match dialect {
        SqlDialect::PostgreSql => matches!(&error.code, b"40P01" | b"23505" | b"40001"),
        SqlDialect::MySql => matches!(error.number, 1213 | 1020 | 1205),
        SqlDialect::TransactSql => {
            matches!(error.number, 1205 | 3960 | 3961 | 2627 | 2601)
        }
    }
}

#[cfg(test)]
mod tests;
