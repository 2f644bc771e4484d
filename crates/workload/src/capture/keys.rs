//! A workload for a server that does not count its statements: a look at a row of each of the largest tables, by its key.

use super::{
    CaptureOptions, Catalog, Entry, name_of, plan_text, rename_samples, transaction_of, writable,
};
use prony_document::SqlDialect;
use prony_server::Control;
use prony_server::control::Error as ControlError;
use prony_server::statements::StatementTotals;
use std::time::Duration;

const TABLES: u32 = 3;

/// The `[workload]` of a plan as text; `None` if there is no table with a primary key of one column.
pub fn plan_of_keys(control: &mut Control) -> Result<Option<String>, ControlError> {
    let placeholder = match control.dialect() {
        SqlDialect::PostgreSql => "$1",
        SqlDialect::MySql => "?",
        SqlDialect::TransactSql => "@1",
    };
    let tables = control.query(&query(control.dialect()))?;
    let options = CaptureOptions {
        share: 1.0,
        keeps_literals: false,
        time: Duration::ZERO,
        view: "",
        sequences: Vec::new(),
    };
    let mut catalog = Catalog::new(control);
    let mut entries = Vec::<Entry>::new();
    for row in tables {
        let [Some(table), Some(key)] = &row[..] else {
            continue;
        };
        // One call of one row each: the tables have the same weight.
        let totals = StatementTotals {
            text: format!("SELECT * FROM {table} WHERE {key} = {placeholder}"),
            calls: 1,
            time_us: 1.0,
            rows: 1,
        };
        let transaction = transaction_of(&mut catalog, &totals, &options)?;
        if let Ok((statement, mut transaction)) = transaction.and_then(writable) {
            rename_samples(&mut transaction, &entries);
            entries.push(Entry {
                name: name_of(&statement, &entries),
                totals,
                transaction,
            });
        }
    }
    let text = plan_text::workload(&entries, false).join("\n") + "\n";
    Ok((!entries.is_empty()).then_some(text))
}

/// The largest tables with a primary key of one column, and that column, both quoted.
fn query(dialect: SqlDialect) -> String {
    match dialect {
        SqlDialect::PostgreSql => format!(
            "SELECT /* prony */ quote_ident(n.nspname) || '.' || quote_ident(c.relname), quote_ident(a.attname) \
             FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] \
             WHERE i.indisprimary AND i.indnatts = 1 AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
               AND n.nspname NOT LIKE 'pg\\_%' AND has_table_privilege(c.oid, 'SELECT') AND c.reltuples <> 0 \
             ORDER BY pg_table_size(c.oid) DESC, 1 LIMIT {TABLES}"
        ),
        SqlDialect::MySql => format!(
            "SELECT CONCAT('`', REPLACE(t.table_name, '`', '``'), '`'), \
               CONCAT('`', REPLACE(MIN(k.column_name), '`', '``'), '`') AS prony_sample \
             FROM information_schema.tables t JOIN information_schema.key_column_usage k \
               ON k.table_schema = t.table_schema AND k.table_name = t.table_name AND k.constraint_name = 'PRIMARY' \
             WHERE t.table_schema = DATABASE() AND t.table_type = 'BASE TABLE' AND t.table_rows > 0 \
             GROUP BY t.table_name, t.data_length HAVING COUNT(*) = 1 \
             ORDER BY t.data_length DESC, 1 LIMIT {TABLES}"
        ),
        SqlDialect::TransactSql => format!(
            "SELECT TOP {TABLES} QUOTENAME(SCHEMA_NAME(t.schema_id)) + '.' + QUOTENAME(t.name), QUOTENAME(MIN(c.name)) \
             FROM sys.tables t JOIN sys.indexes i ON i.object_id = t.object_id AND i.is_primary_key = 1 \
             JOIN sys.index_columns x ON x.object_id = i.object_id AND x.index_id = i.index_id \
             JOIN sys.columns c ON c.object_id = x.object_id AND c.column_id = x.column_id \
             JOIN sys.partitions p ON p.object_id = t.object_id AND p.index_id = i.index_id \
             GROUP BY t.schema_id, t.name, t.object_id \
             HAVING COUNT(DISTINCT c.column_id) = 1 AND SUM(p.rows) > 0 ORDER BY SUM(p.rows) DESC"
        ),
    }
}
