//! Helpers of loaders and checks for queries on a control connection; values are returned as text.
//! This module must not know any workload.

use crate::{Error, Result};
use prony_server::control::{Control, Error as ControlError};

/// One row of a result; NULL is `None`.
pub struct ResultRow(Vec<Option<String>>);

impl ResultRow {
    /// A value as text, or `None` for NULL.
    pub fn text(&self, column: usize) -> Option<&str> {
        self.0.get(column)?.as_deref()
    }

    /// A value as a whole number, or `None` for NULL.
    pub fn int(&self, column: usize) -> Option<i64> {
        self.text(column)?.parse().ok()
    }

    /// A count; 0 for NULL and for anything that is not a count.
    pub fn count(&self, column: usize) -> u64 {
        let count = self.text(column).and_then(|text| text.parse().ok());
        count.unwrap_or(0)
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

/// Parses a decimal number as an integer in units of its `places`-th decimal: `parse_decimal("1.5", 2)` is
/// 150. Further decimals are truncated.
pub fn parse_decimal(text: &str, places: u32) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (integer, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut number: i64 = integer.parse().ok()?;
    let mut decimals = fraction.bytes();
    for _ in 0..places {
        let digit = decimals.next().unwrap_or(b'0');
        let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
        number = number.checked_mul(10)?.checked_add(digit)?;
    }
    Some(sign * number)
}

/// Returns the rows of one statement. `activity` describes its purpose in errors, such as `reading the sizes
/// of the tables`.
pub fn query_rows(control: &mut Control, activity: &str, sql: &str) -> Result<Vec<ResultRow>> {
    let rows = control
        .query(sql)
        .map_err(|source| server_error(activity, source))?;
    Ok(rows.into_iter().map(ResultRow).collect())
}

/// Returns the first row of one statement; an empty row if there is none.
pub fn query_row(control: &mut Control, activity: &str, sql: &str) -> Result<ResultRow> {
    let mut rows = query_rows(control, activity, sql)?;
    if rows.is_empty() {
        // Callers use only statements that always return a row: aggregates and lists of expressions.
        return Ok(ResultRow(Vec::new()));
    }
    Ok(rows.swap_remove(0))
}

/// Checks that a connection to MySQL or MariaDB has a database: unlike PostgreSQL, they accept a login without one.
pub fn require_mysql_database(control: &mut Control, activity: &str) -> Result<()> {
    let row = query_row(control, activity, "select database()")?;
    if row.text(0).is_some() {
        return Ok(());
    }
    Err(Error::InvalidRequest {
        problem: "the connection has no database".to_owned(),
        hint: "name one in the URL: mysql://user@host/database".to_owned(),
    })
}

/// Runs one statement, or several in one simple query, and discards the results.
pub fn execute(control: &mut Control, activity: &str, sql: &str) -> Result<()> {
    control
        .execute(sql)
        .map(|_| ())
        .map_err(|source| server_error(activity, source))
}

/// Examines the tables in one snapshot, in which sums are exact even while a load or a run changes them.
pub fn in_snapshot<T>(
    control: &mut Control,
    examine: impl FnOnce(&mut Control) -> Result<T>,
) -> Result<T> {
    let begin = control.dialect().begin_snapshot();
    execute(control, "beginning the check", begin)?;
    let result = examine(control);
    // The transaction wrote nothing, so an error here changes no finding.
    drop(execute(control, "ending the check", "rollback"));
    result
}

/// An error of the server or the connection, with the activity during which it occurred.
pub fn server_error(activity: &str, source: ControlError) -> Error {
    Error::Server {
        activity: activity.to_owned(),
        source,
    }
}
