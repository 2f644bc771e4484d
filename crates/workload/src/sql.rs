//! The few things that loaders and checks ask of a control connection.
//!
//! In: SQL. Out: values as text. Must never: know a workload.

use crate::Error;
use prony_server::control::{Control, Error as ControlError};

/// One row of a result; NULL is `None`.
pub struct Row(Vec<Option<String>>);

impl Row {
    /// A value as text, or `None` for NULL.
    pub fn text(&self, column: usize) -> Option<&str> {
        self.0.get(column)?.as_deref()
    }

    /// A value as a whole number, or `None` for NULL.
    pub fn int(&self, column: usize) -> Option<i64> {
        self.text(column)?.parse().ok()
    }

    /// A value as a number, or `None` for NULL.
    pub fn float(&self, column: usize) -> Option<f64> {
        self.text(column)?.parse().ok()
    }

    /// A boolean; NULL counts as false.
    pub fn is_true(&self, column: usize) -> bool {
        self.text(column) == Some("t")
    }
}

/// The rows of one statement. `doing` says what for, as `reading the sizes of the tables`.
pub fn rows(control: &mut Control, doing: &str, sql: &str) -> Result<Vec<Row>, Error> {
    let rows = control.query(sql).map_err(|source| server(doing, source))?;
    Ok(rows.into_iter().map(Row).collect())
}

/// The first row of one statement.
pub fn row(control: &mut Control, doing: &str, sql: &str) -> Result<Row, Error> {
    let mut all = rows(control, doing, sql)?;
    if all.is_empty() {
        // Only asked of statements that always give one: aggregates and lists of expressions.
        return Ok(Row(Vec::new()));
    }
    Ok(all.swap_remove(0))
}

/// Runs one statement, or several in one simple query, for their effect.
pub fn run(control: &mut Control, doing: &str, sql: &str) -> Result<(), Error> {
    control
        .execute(sql)
        .map(|_| ())
        .map_err(|source| server(doing, source))
}

/// An error of the server or of the connection, with what it came upon.
pub fn server(doing: &str, source: ControlError) -> Error {
    Error::Server {
        doing: doing.to_owned(),
        source,
    }
}
