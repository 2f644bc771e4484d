//! Bulk load: `INSERT BULK`, and rows in the form in which the server returns rows.
//!
//! In: a table, typed columns, rows of values. Out: the statement, and the payload of the message that
//! follows it. Must never: write a row that the server would take apart differently.
//! Source: MS-TDS 2.2.6.1 (BulkLoadBCP); the statement is what Microsoft's clients send.

use super::encode::{fits, put_value, text_bytes};
use super::sql_type::SqlType;
use super::token::{done, kind};
use super::utf16::put_utf16;
use crate::value::Value;
use std::fmt::Write;

/// A column's value may be changed; whether it may depends on the table.
const MAY_BE_WRITABLE: u16 = 0x08;
/// A column may be NULL.
const NULLABLE: u16 = 0x01;

/// A column of a bulk load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkColumn {
    /// Its name, not quoted.
    pub name: String,
    /// Its type; must be the table's.
    pub kind: SqlType,
    /// Whether it may be NULL.
    pub nullable: bool,
}

/// How the server loads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BulkOptions {
    /// Lock the table. With it, an empty table is loaded with minimal logging.
    pub table_lock: bool,
    /// NULLs stay, instead of the columns' defaults.
    pub keep_nulls: bool,
    /// Constraints are checked; otherwise they are not trusted afterwards.
    pub check_constraints: bool,
    /// Expected number of rows; 0: unknown.
    pub rows: u64,
    /// Columns by which the rows are sorted, which must be those of the clustered index.
    pub order: Vec<String>,
}

/// A row that cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BulkError {
    /// Its number of values is not that of the columns.
    #[error("a row of {found} values for {wanted} columns")]
    Width {
        /// Values of the row.
        found: usize,
        /// Columns of the load.
        wanted: usize,
    },
    /// A value does not fit its column.
    #[error("a value does not fit column {name}, which is {kind}")]
    Value {
        /// Name of the column.
        name: String,
        /// Type of the column.
        kind: SqlType,
    },
    /// A column is NULL that must not be.
    #[error("column {0} must not be NULL")]
    Null(String),
}

/// A bulk load into one table. Its rows are one message; the server commits each message by itself, or
/// they join the open transaction.
#[derive(Clone, Debug)]
pub struct BulkLoad {
    statement: String,
    columns: Vec<BulkColumn>,
    collation: [u8; 5],
    /// Columns, rows, and, once it is finished, the end.
    payload: Vec<u8>,
    /// Length of the columns in the payload.
    head: usize,
    rows: u64,
}

impl BulkLoad {
    /// A load without rows. `table` is quoted by the caller; `collation` is the session's
    /// ([`crate::Exchange::collation`]).
    pub fn new(
        table: &str,
        columns: Vec<BulkColumn>,
        options: &BulkOptions,
        collation: [u8; 5],
    ) -> BulkLoad {
        let statement = statement(table, &columns, options);
        let mut payload = vec![kind::COLUMNS];
        payload.extend_from_slice(&(columns.len() as u16).to_le_bytes());
        for column in &columns {
            let nullable = if column.nullable { NULLABLE } else { 0 };
            payload.extend_from_slice(&[0; 4]);
            payload.extend_from_slice(&(MAY_BE_WRITABLE | nullable).to_le_bytes());
            column.kind.put(0, collation, &mut payload);
            let at = payload.len();
            payload.push(0);
            put_utf16(&column.name, &mut payload);
            // Names have 128 characters at most.
            payload[at] = ((payload.len() - at) / 2) as u8;
        }
        BulkLoad {
            statement,
            columns,
            collation,
            head: payload.len(),
            payload,
            rows: 0,
        }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// It does not fit the columns; the load is unchanged.
    pub fn push(&mut self, row: &[Value<'_>]) -> Result<(), BulkError> {
        if row.len() != self.columns.len() {
            return Err(BulkError::Width {
                found: row.len(),
                wanted: self.columns.len(),
            });
        }
        let start = self.payload.len();
        self.payload.push(kind::ROW);
        for (column, value) in self.columns.iter().zip(row) {
            let error = if *value == Value::Null && !column.nullable {
                Some(BulkError::Null(column.name.clone()))
            } else if !self.holds(column.kind, *value) {
                Some(BulkError::Value {
                    name: column.name.clone(),
                    kind: column.kind,
                })
            } else {
                None
            };
            if let Some(error) = error {
                self.payload.truncate(start);
                return Err(error);
            }
            put_value(column.kind, *value, self.collation, &mut self.payload);
        }
        self.rows += 1;
        Ok(())
    }

    fn holds(&self, kind: SqlType, value: Value<'_>) -> bool {
        let longest = match kind {
            SqlType::Char(n) | SqlType::VarChar(Some(n)) | SqlType::VarBinary(Some(n)) => n.into(),
            SqlType::NChar(n) | SqlType::NVarChar(Some(n)) => 2 * usize::from(n),
            _ => usize::MAX,
        };
        fits(kind, value) && text_bytes(kind, value, self.collation) <= longest
    }

    /// Ends the message; call it before the load is sent.
    pub fn finish(&mut self) {
        self.payload.push(kind::DONE);
        self.payload.extend_from_slice(&done::COUNT.to_le_bytes());
        self.payload.extend_from_slice(&[0; 2]);
        self.payload.extend_from_slice(&self.rows.to_le_bytes());
    }

    /// Drops the rows, so that the next message can be built in the same memory.
    pub fn clear(&mut self) {
        self.payload.truncate(self.head);
        self.rows = 0;
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Length of the message so far, in bytes.
    pub fn bytes(&self) -> usize {
        self.payload.len()
    }

    /// The statement that announces the rows.
    pub fn statement(&self) -> &str {
        &self.statement
    }

    pub(super) fn message(&self) -> &[u8] {
        &self.payload
    }
}

fn statement(table: &str, columns: &[BulkColumn], options: &BulkOptions) -> String {
    let quoted = |name: &str| format!("[{}]", name.replace(']', "]]"));
    let mut text = format!("INSERT BULK {table} (");
    for (index, column) in columns.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        // Writing into memory cannot fail.
        let _ = write!(text, "{comma}{} {}", quoted(&column.name), column.kind);
    }
    text.push(')');
    let mut hints: Vec<String> = Vec::new();
    for (is_set, hint) in [
        (options.table_lock, "TABLOCK"),
        (options.keep_nulls, "KEEP_NULLS"),
        (options.check_constraints, "CHECK_CONSTRAINTS"),
    ] {
        hints.extend(is_set.then(|| hint.to_owned()));
    }
    if options.rows > 0 {
        hints.push(format!("ROWS_PER_BATCH = {}", options.rows));
    }
    if !options.order.is_empty() {
        let order: Vec<_> = options
            .order
            .iter()
            .map(|name| quoted(name) + " ASC")
            .collect();
        hints.push(format!("ORDER ({})", order.join(", ")));
    }
    if !hints.is_empty() {
        let _ = write!(text, " WITH ({})", hints.join(", "));
    }
    text
}
