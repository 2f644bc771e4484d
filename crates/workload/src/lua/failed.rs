//! What a script is told of a statement that failed.
//!
//! In: the error of a statement. Out: the answer, and a word to the listener. Must never: know whether
//! the loop or the front met it.

use super::answer::{Answer, Failure};
use super::listener::{SqlFailure, Step};
use super::settings::Settings;
use crate::sysbench::Driver;
use prony_session::DbError;
use prony_wire::{ServerError, Statement};
use std::borrow::Cow;

/// One of several statements of a text that failed behind another one: a script that asks for results one
/// by one is told when it gets there.
pub struct Later {
    /// What was asked.
    pub step: Step,
    /// The statement, as messages show it.
    pub sql: String,
    /// What the server said.
    pub error: DbError,
}

impl Later {
    /// Of what was asked first.
    pub fn of(first: Step, sql: &str, error: DbError) -> Later {
        Later {
            step: match first {
                Step::Execute | Step::NextExecuted => Step::NextExecuted,
                _ => Step::Next,
            },
            sql: sql.to_owned(),
            error,
        }
    }
}

/// Bytes of a script as text.
pub fn lossy(text: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(text)
}

/// A statement as its driver knows it: sysbench numbers the values of PostgreSQL's.
pub fn shown<'a>(settings: &Settings, text: &'a [u8], statement: &'a Statement) -> Cow<'a, str> {
    match settings.driver {
        Driver::Mysql => lossy(text),
        Driver::Pgsql => Cow::Borrowed(statement.sql()),
    }
}

/// Tells the listener of an error that is not ignored, and gives the answer. `said`: what the server said,
/// with the place in the statement.
#[cold]
pub fn failed(
    settings: &Settings,
    step: Step,
    sql: &str,
    error: &DbError,
    said: Option<&ServerError>,
) -> Answer {
    let told = settings.driver.told(error);
    let said = match (settings.driver, step, said) {
        // As psql shows it.
        (Driver::Pgsql, Step::Prepare, Some(said)) => said.in_statement(sql),
        _ => told.message,
    };
    settings.listener.sql_failed(&SqlFailure {
        step,
        error,
        number: told.number,
        said: &said,
        sql,
    });
    answer(settings, error, false)
}

/// What a script is answered.
pub fn answer(settings: &Settings, error: &DbError, ignorable: bool) -> Answer {
    let told = settings.driver.told(error);
    Answer::Failed(Failure {
        number: told.number,
        state: told.state,
        message: told.message,
        ignorable,
    })
}
