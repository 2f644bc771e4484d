//! Bulk load: the statement `INSERT BULK`, then rows in the encoding of a query's result.
//!
//! In: a table, typed columns, rows of values. Out: the statement, and the payload of the message that
//! follows it. Must never: write a row that the server would parse differently.
//! Source: MS-TDS 2.2.6.1 (BulkLoadBCP); the statement is what Microsoft's clients send.

use super::encode::{fits, put_value, text_bytes};
use super::packet::{END_OF_MESSAGE, HEADER_BYTES, header, packet_type};
use super::sql_type::SqlType;
use super::token::{done_status, token_type};
use super::utf16::put_utf16;
use crate::value::Value;
use std::fmt::Write;

/// Flag of a column: the client does not know whether its values may be changed.
const UPDATABILITY_UNKNOWN: u16 = 0x08;
/// Flag of a column: its values may be NULL.
const NULLABLE: u16 = 0x01;

/// A column into which a bulk load writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkColumn {
    /// Name of the column, not quoted.
    pub name: String,
    /// Type of the column, as the table declares it.
    pub sql_type: SqlType,
    pub nullable: bool,
}

/// Hints of `INSERT BULK`: how the server loads the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BulkOptions {
    /// Locks the table; an empty table is then loaded with minimal logging.
    pub table_lock: bool,
    /// Stores NULLs as NULL; otherwise the server stores the columns' defaults instead.
    pub keep_nulls: bool,
    /// Checks constraints; otherwise the server no longer trusts them after the load.
    pub check_constraints: bool,
    /// Expected number of rows; 0: unknown.
    pub expected_rows: u64,
    /// Names of the columns by which the rows are sorted; useful if they are those of the clustered index.
    pub sort_columns: Vec<String>,
}

/// A row that cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BulkError {
    /// The row has more or fewer values than the load has columns.
    #[error("a row of {value_count} values for {column_count} columns")]
    ValueCount {
        value_count: usize,
        column_count: usize,
    },
    /// A value does not fit its column.
    #[error("a value does not fit column {name}, which is {sql_type}")]
    Value { name: String, sql_type: SqlType },
    /// A value is NULL, and the column must not be NULL.
    #[error("column {0} must not be NULL")]
    Null(String),
}

/// A bulk load into one table, sent as one message. The server commits the rows of each message by
/// themselves, or adds them to the open transaction.
#[derive(Clone, Debug)]
pub struct BulkLoad {
    statement: String,
    columns: Vec<BulkColumn>,
    collation: [u8; 5],
    /// COLMETADATA, with which each message begins.
    column_tokens: Vec<u8>,
    /// The part of the message that is not yet in packets: COLMETADATA, a ROW for each row and, after
    /// [`BulkLoad::finish`], DONE.
    payload: Vec<u8>,
    /// Number of the message's last packet, which wraps.
    packet_number: u8,
    rows: u64,
}

impl BulkLoad {
    /// Begins a load without rows. `table` must already be quoted; `collation` is the session's
    /// ([`crate::Exchange::collation`]).
    pub fn new(
        table: &str,
        columns: Vec<BulkColumn>,
        options: &BulkOptions,
        collation: [u8; 5],
    ) -> BulkLoad {
        let statement = insert_bulk_statement(table, &columns, options);
        let mut payload = vec![token_type::COLUMNS];
        payload.extend_from_slice(&(columns.len() as u16).to_le_bytes());
        for column in &columns {
            let nullable = if column.nullable { NULLABLE } else { 0 };
            payload.extend_from_slice(&[0; 4]);
            payload.extend_from_slice(&(UPDATABILITY_UNKNOWN | nullable).to_le_bytes());
            column.sql_type.put_type_info(0, collation, &mut payload);
            let at = payload.len();
            payload.push(0);
            put_utf16(&column.name, &mut payload);
            // The length fits in one byte: names have 128 characters at most.
            payload[at] = ((payload.len() - at) / 2) as u8;
        }
        BulkLoad {
            statement,
            columns,
            collation,
            column_tokens: payload.clone(),
            payload,
            packet_number: 0,
            rows: 0,
        }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// The row does not fit the columns; the load is unchanged.
    pub fn push(&mut self, row: &[Value<'_>]) -> Result<(), BulkError> {
        if row.len() != self.columns.len() {
            return Err(BulkError::ValueCount {
                value_count: row.len(),
                column_count: self.columns.len(),
            });
        }
        let start = self.payload.len();
        self.payload.push(token_type::ROW);
        for (column, value) in self.columns.iter().zip(row) {
            if let Err(error) = self.check_value(column, *value) {
                self.payload.truncate(start);
                return Err(error);
            }
            let at = self.payload.len();
            put_value(column.sql_type, *value, self.collation, &mut self.payload);
            if *value != Value::Null {
                pad_with_blanks(column.sql_type, at, &mut self.payload);
            }
        }
        self.rows += 1;
        Ok(())
    }

    fn check_value(&self, column: &BulkColumn, value: Value<'_>) -> Result<(), BulkError> {
        if value == Value::Null && !column.nullable {
            return Err(BulkError::Null(column.name.clone()));
        }
        let sql_type = column.sql_type;
        let max_bytes = match sql_type {
            SqlType::Char(length) | SqlType::VarChar(Some(length)) => length.into(),
            SqlType::NVarChar(Some(length)) => 2 * usize::from(length),
            _ => usize::MAX,
        };
        if fits(sql_type, value) && text_bytes(sql_type, value, self.collation) <= max_bytes {
            return Ok(());
        }
        Err(BulkError::Value {
            name: column.name.clone(),
            sql_type,
        })
    }

    /// Ends the rows with a DONE token, which has their number.
    pub fn finish(&mut self) {
        self.payload.push(token_type::DONE);
        self.payload
            .extend_from_slice(&done_status::COUNT.to_le_bytes());
        // The current command: none.
        self.payload.extend_from_slice(&[0; 2]);
        self.payload.extend_from_slice(&self.rows.to_le_bytes());
    }

    /// Drops the rows, so that the next message can be built in the same memory.
    pub fn clear(&mut self) {
        self.payload.clone_from(&self.column_tokens);
        self.packet_number = 0;
        self.rows = 0;
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Length of the part of the message that is not yet in packets, in bytes.
    pub fn pending_bytes(&self) -> usize {
        self.payload.len()
    }

    /// The `INSERT BULK` statement, which is sent before the rows.
    pub fn statement(&self) -> &str {
        &self.statement
    }

    /// Moves the start of the message into `out`, as full packets of `packet_size` bytes; with `is_finished`,
    /// which requires [`BulkLoad::finish`], the whole rest, and the last packet ends the message.
    pub(super) fn take_packets(
        &mut self,
        packet_size: usize,
        is_finished: bool,
        out: &mut Vec<u8>,
    ) {
        let payload_max = packet_size - HEADER_BYTES;
        let mut taken = 0;
        loop {
            let rest = &self.payload[taken..];
            // The last packet must not be empty, so a full one stays until more follows.
            let status = if rest.len() > payload_max {
                0
            } else if is_finished {
                END_OF_MESSAGE
            } else {
                break;
            };
            let payload = &rest[..payload_max.min(rest.len())];
            self.packet_number = self.packet_number.wrapping_add(1);
            let number = self.packet_number;
            out.extend_from_slice(&header(packet_type::BULK, status, payload.len(), number));
            out.extend_from_slice(payload);
            taken += payload.len();
            if status == END_OF_MESSAGE {
                break;
            }
        }
        self.payload.drain(..taken);
    }
}

/// Pads the value at `at` of a type with a fixed length. SQL Server pads such values itself, but Babelfish stores
/// them as they are, and cannot send them afterwards.
fn pad_with_blanks(sql_type: SqlType, at: usize, payload: &mut Vec<u8>) {
    let SqlType::Char(length) = sql_type else {
        return;
    };
    let value_start = at + size_of::<u16>();
    payload[at..value_start].copy_from_slice(&length.to_le_bytes());
    let end = value_start + usize::from(length);
    payload.resize(end.max(payload.len()), b' ');
}

fn insert_bulk_statement(table: &str, columns: &[BulkColumn], options: &BulkOptions) -> String {
    let quoted = |name: &str| format!("[{}]", name.replace(']', "]]"));
    let mut text = format!("INSERT BULK {table} (");
    for (index, column) in columns.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        // Writing into memory cannot fail.
        let _ = write!(text, "{comma}{} {}", quoted(&column.name), column.sql_type);
    }
    text.push(')');
    let mut hints: Vec<String> = Vec::new();
    for (is_set, hint) in [
        (options.table_lock, "TABLOCK"),
        (options.keep_nulls, "KEEP_NULLS"),
        (options.check_constraints, "CHECK_CONSTRAINTS"),
    ] {
        if is_set {
            hints.push(hint.to_owned());
        }
    }
    if options.expected_rows > 0 {
        hints.push(format!("ROWS_PER_BATCH = {}", options.expected_rows));
    }
    if !options.sort_columns.is_empty() {
        let order: Vec<_> = options
            .sort_columns
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
