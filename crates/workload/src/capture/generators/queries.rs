//! The queries of samples: random rows of a table, of which a part is read if it is large.

use super::{Builder, Sample, word};
use crate::capture::catalog::{Column, Table};
use crate::capture::statement::TableName;
use prony_document::SqlDialect;
use prony_server::control::Error as ControlError;
use prony_server::statements::{OWN_COLUMN, OWN_STATEMENT};

const SAMPLE_ROWS: u64 = 10_000;
/// A table of up to this many rows is read whole to choose the rows of a sample.
const WHOLE_ROWS_MAX: u64 = 10 * SAMPLE_ROWS;

impl Builder<'_, '_> {
    pub(super) fn row_query(
        &self,
        table: &TableName,
        facts: &Table,
        columns: &[Column],
        may_be_null: bool,
    ) -> String {
        let mut names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        let list = names.join(", ");
        names.sort_unstable();
        names.dedup();
        let conditions = names.iter().map(|name| format!("{name} IS NOT NULL"));
        let conditions = if may_be_null { Vec::new() } else { conditions.collect() };
        let conditions = self.conditions(facts, conditions);
        self.limited(
            &list,
            &format!("{}{}", table.text, self.sampled(facts)),
            &conditions,
        )
    }

    pub(super) fn array_query(&self, table: &TableName, facts: &Table, column: &Column) -> String {
        let (name, following) = (&column.name, self.rows_a_call - 1);
        let arrays = format!(
            "SELECT array_agg({name}) OVER (ROWS BETWEEN CURRENT ROW AND {following} FOLLOWING)::text AS list \
             FROM (SELECT {name} FROM {}{} WHERE {name} IS NOT NULL ORDER BY random() LIMIT {SAMPLE_ROWS}) drawn",
            table.text,
            self.sampled(facts)
        );
        self.limited("list", &format!("({arrays}) arrays"), "")
    }

    /// The query for random rows.
    pub(super) fn limited(&self, columns: &str, from: &str, conditions: &str) -> String {
        match self.catalog.dialect {
            SqlDialect::PostgreSql => format!(
                "SELECT {OWN_STATEMENT} {columns} FROM {from} {conditions} ORDER BY random() LIMIT {SAMPLE_ROWS}"
            ),
            SqlDialect::MySql => format!(
                "SELECT {OWN_STATEMENT} {columns}, 1 AS {OWN_COLUMN} FROM {from} {conditions} ORDER BY rand() LIMIT {SAMPLE_ROWS}"
            ),
            SqlDialect::TransactSql => format!(
                "SELECT {OWN_STATEMENT} TOP {SAMPLE_ROWS} {columns} FROM {from} {conditions} ORDER BY NEWID()"
            ),
        }
    }

    /// A WHERE clause, which on MySQL takes a part of a large table, so that only this part is sorted.
    pub(super) fn conditions(&self, facts: &Table, mut conditions: Vec<String>) -> String {
        let share = self.share(facts);
        if self.catalog.dialect == SqlDialect::MySql && share < 1.0 {
            conditions.push(format!("rand() < {share:.8}"));
        }
        if conditions.is_empty() {
            String::new()
        } else {
            format!("WHERE {}", conditions.join(" AND "))
        }
    }

    /// The clause with which the server reads a random part of a large table.
    pub(super) fn sampled(&self, facts: &Table) -> String {
        let percent = 100.0 * self.share(facts);
        match self.catalog.dialect {
            _ if percent >= 100.0 => String::new(),
            SqlDialect::PostgreSql => format!(" TABLESAMPLE SYSTEM ({percent:.6})"),
            SqlDialect::TransactSql => format!(" TABLESAMPLE ({percent:.6} PERCENT)"),
            SqlDialect::MySql => String::new(),
        }
    }

    /// The share of a table's rows that a sample reads.
    pub(super) fn share(&self, facts: &Table) -> f64 {
        if facts.can_sample && facts.rows > WHOLE_ROWS_MAX {
            WHOLE_ROWS_MAX as f64 / facts.rows as f64
        } else {
            1.0
        }
    }

    pub(super) fn add_sample(&mut self, sample: Sample) {
        if !self.transaction.samples.contains(&sample) {
            self.transaction.samples.push(sample);
        }
    }

    pub(super) fn has_rows(&mut self, sql: &str) -> Result<bool, ControlError> {
        if self
            .transaction
            .samples
            .iter()
            .any(|sample| sample.sql == sql)
        {
            return Ok(true);
        }
        match self.catalog.control.query(sql) {
            Ok(rows) => Ok(!rows.is_empty()),
            // A privilege is missing, or the name is not that of a table.
            Err(ControlError::Statement(error)) if !error.is_fatal() => Ok(false),
            Err(error) => Err(error),
        }
    }
}

pub(super) fn sample_name<'a>(
    table: &TableName,
    columns: impl Iterator<Item = &'a str>,
    is_written: bool,
) -> String {
    let mut name = word(&table.text).trim_matches('_').to_owned();
    for column in columns {
        name = format!("{name}_{}", word(column));
    }
    if is_written { format!("{name}_written") } else { name }
}
