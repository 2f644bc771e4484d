//! What a server says of itself, and what its machine does.
//!
//! In: a control connection; the files of this machine, or the URL of a node_exporter. Out: version
//! and settings ([`Facts`]); how it stands at one moment ([`State`]); its counters again and again
//! ([`Counters`]); its machine ([`machine`]). Must never: change a setting, give a zero for what could
//! not be read, fail a run for a view that this server or this user does not have, or hand on a
//! setting that may hold a secret.

pub mod counters;
mod durability;
mod facts;
pub mod machine;
mod ping;
mod state;

pub use counters::{Counters, Reader};
pub use durability::Durability;
pub use facts::{Facts, observe};
pub use ping::{RoundTrip, round_trip};
pub use state::{Replica, State, TableState, state};

use crate::control::{Control, Error, Row};

/// Something that could not be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What.
    pub what: String,
    /// Why, as the server or the system put it, and what to do where that is known.
    pub why: String,
}

impl Missing {
    /// Of a thing and a reason.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Missing {
        Missing {
            what: what.into(),
            why: why.into(),
        }
    }
}

/// Asks; a refusal is added to what is missing and gives no rows.
///
/// # Errors
/// If the connection is lost.
fn ask(
    control: &mut Control,
    what: &str,
    sql: &str,
    missing: &mut Vec<Missing>,
) -> Result<Option<Vec<Row>>, Error> {
    match control.query(sql) {
        Ok(rows) => Ok(Some(rows)),
        Err(error) if error.is_lost() => Err(error),
        Err(error) => {
            missing.push(Missing::new(what, first_line(&error)));
            Ok(None)
        }
    }
}

/// What was refused, on one line.
fn first_line(error: &Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim().to_owned()
}

/// A cell of a row.
fn cell(row: &Row, column: usize) -> Option<&str> {
    row.get(column)?.as_deref()
}

/// A cell as a number of any kind.
fn number<T: std::str::FromStr>(row: &Row, column: usize) -> Option<T> {
    cell(row, column)?.parse().ok()
}

/// A cell as a count: statistics may be a little below zero, and sums come as decimals.
fn tally(row: &Row, column: usize) -> Option<u64> {
    let value: f64 = number(row, column)?;
    value.is_finite().then(|| value.max(0.0) as u64)
}
