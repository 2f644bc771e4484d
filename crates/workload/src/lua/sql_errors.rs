//! Converts the error of a failed statement to an answer for the script and a message for the listener, in
//! threads and outside of threads.

use super::answer::{Answer, FailedAnswer};
use super::listener::{Report, SqlFailure, SqlOperation};
use super::settings::ScriptSettings;
use crate::sysbench::Driver;
use prony_plan::QueryMode;
use prony_session::DbError;
use prony_wire::{ServerError, Statement, Value};
use std::borrow::Cow;

/// Maximum bytes of a statement in messages, because a bulk insert has half a million. sysbench truncates its messages
/// to 4 KiB.
const STATEMENT_BYTES_MAX: usize = 3_900;

/// The error of a statement after the first in a text. A script that requests results one at a time gets the error when
/// it reaches that statement.
pub struct DeferredError {
    pub operation: SqlOperation,
    /// The statement, as messages show it.
    pub sql: String,
    pub error: DbError,
}

impl DeferredError {
    /// The error of a later statement; `first_operation` is the operation that sent the text.
    pub fn new(first_operation: SqlOperation, sql: &str, error: DbError) -> DeferredError {
        DeferredError {
            operation: match first_operation {
                SqlOperation::Execute | SqlOperation::NextExecutedResult => {
                    SqlOperation::NextExecutedResult
                }
                _ => SqlOperation::NextResult,
            },
            sql: sql.to_owned(),
            error,
        }
    }
}

/// Converts a script's bytes to text.
pub fn lossy_text(text: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(text)
}

/// Returns the text of a prepared statement as sysbench's driver sends it: with numbered placeholders on
/// PostgreSQL.
pub fn statement_text<'a>(
    settings: &ScriptSettings,
    text: &'a [u8],
    statement: &'a Statement,
) -> Cow<'a, str> {
    match settings.driver {
        Driver::Mysql => lossy_text(text),
        Driver::Pgsql => Cow::Borrowed(statement.sql()),
    }
}

/// Returns the operation and the text by which messages describe an execution of a prepared statement. In the
/// simple protocol (`--db-ps-mode=disable`), this is a query whose text includes the values.
pub fn describe_execution(
    settings: &ScriptSettings,
    text: &[u8],
    statement: &Statement,
    values: &[Value<'_>],
) -> (SqlOperation, String) {
    if settings.query_mode != QueryMode::Simple {
        return (
            SqlOperation::Execute,
            statement_text(settings, text, statement).into_owned(),
        );
    }
    let mut sql = Vec::with_capacity(text.len());
    for (part, value) in statement.parts() {
        sql.extend_from_slice(part);
        match value.and_then(|index| values.get(index)) {
            Some(Value::Int(number)) => sql.extend_from_slice(number.to_string().as_bytes()),
            Some(Value::Float(number)) => sql.extend_from_slice(number.to_string().as_bytes()),
            Some(Value::Bytes(bytes)) => {
                sql.push(b'\'');
                sql.extend_from_slice(bytes);
                sql.push(b'\'');
            }
            Some(Value::Null) => sql.extend_from_slice(b"NULL"),
            _ => {}
        }
    }
    (SqlOperation::Query, lossy_text(&sql).into_owned())
}

/// Reports an error that is not ignored to the listener, and returns the answer for the script. `server_error`
/// is the server's error, with its position in the statement.
#[cold]
pub fn report_failure(
    settings: &ScriptSettings,
    operation: SqlOperation,
    sql: &str,
    error: &DbError,
    server_error: Option<&ServerError>,
) -> Answer {
    let reported = settings.driver.describe_error(error);
    let message = match settings.driver {
        Driver::Pgsql => match (operation, server_error) {
            // The server's message, with the position in the statement as psql shows it.
            (SqlOperation::Prepare, Some(server_error)) => server_error.in_statement(sql),
            _ => reported.message,
        },
        Driver::Mysql => reported.message,
    };
    settings.listener.report(Report::SqlFailed(SqlFailure {
        operation,
        code: error.code,
        error_number: reported.number,
        message: message.into(),
        sql: truncate(sql).into(),
    }));
    error_answer(settings, error, false)
}

/// The answer for a statement with more parameters than PostgreSQL's protocol counts. MySQL's server refuses one itself.
pub fn too_many_parameters(settings: &ScriptSettings, statement: &Statement) -> Option<Answer> {
    let has_too_many = statement.parameter_count() > usize::from(u16::MAX);
    (has_too_many && matches!(settings.driver, Driver::Pgsql)).then(|| {
        let message = "number of parameters must be between 0 and 65535";
        Answer::Failed(FailedAnswer::internal(message))
    })
}

/// Returns the part of a statement that messages show.
fn truncate(sql: &str) -> &str {
    let mut end = sql.len().min(STATEMENT_BYTES_MAX);
    while !sql.is_char_boundary(end) {
        end -= 1;
    }
    &sql[..end]
}

/// Returns the answer for a script whose statement failed.
pub fn error_answer(settings: &ScriptSettings, error: &DbError, is_ignored: bool) -> Answer {
    let reported = settings.driver.describe_error(error);
    Answer::Failed(FailedAnswer {
        error_number: reported.number,
        sqlstate: reported.sqlstate,
        message: reported.message,
        is_ignored,
    })
}

/// Returns the answer for a script that makes a request without a server.
pub fn no_server_answer() -> Answer {
    Answer::Failed(FailedAnswer::internal("there is no server to query here"))
}
