//! Errors after which an event begins anew.
//!
//! In: an error. Out: whether it is ignored, whether the connection is opened anew. Must never: know
//! what a script does with it.

use super::settings::Driver;
use prony_session::{DbError, ErrorClass};

/// Numbers by which the clients of MySQL say that the connection is lost.
const LOST: [u32; 4] = [2006, 2011, 2013, 2055];

/// Errors of MySQL after which an event begins anew. PostgreSQL has a fixed list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// All.
    All,
    /// Those of these numbers.
    Codes(Vec<u32>),
}

impl Ignored {
    /// Whether an error is ignored.
    pub(super) fn has(&self, driver: Driver, error: &DbError) -> bool {
        if driver == Driver::Pgsql {
            return matches!(&error.code, b"40P01" | b"23505" | b"40001");
        }
        match self {
            Ignored::All => true,
            // A connection that is gone without a word has no number of its own.
            Ignored::Codes(_) if is_lost(error) && error.number == 0 => self.reconnects(),
            Ignored::Codes(codes) => codes.contains(&u32::from(error.number)),
        }
    }

    /// Whether a lost connection is opened again, as often as it takes.
    pub(super) fn reconnects(&self) -> bool {
        match self {
            Ignored::All => true,
            Ignored::Codes(codes) => LOST.iter().any(|lost| codes.contains(lost)),
        }
    }
}

/// Whether the connection is gone.
pub(super) fn is_lost(error: &DbError) -> bool {
    matches!(
        error.class,
        ErrorClass::LostConnection | ErrorClass::AmbiguousCommit
    )
}

/// What a driver says of an error: of a loss without a word of the server's in those of MariaDB's client
/// library.
pub(super) fn message(driver: Driver, error: &DbError) -> String {
    match (driver, error.number) {
        (Driver::Mysql, 0) if is_lost(error) => "Lost connection to server during query".to_owned(),
        _ => error.message.clone(),
    }
}

/// The number by which a driver knows an error: that of the client library for a lost connection, 0 on
/// PostgreSQL.
pub(super) fn number(driver: Driver, error: &DbError) -> u32 {
    match (driver, error.number) {
        (Driver::Pgsql, _) => 0,
        (Driver::Mysql, 0) if is_lost(error) => 2013,
        (Driver::Mysql, 0) if error.class == ErrorClass::Protocol => 2027,
        (Driver::Mysql, number) => u32::from(number),
    }
}
