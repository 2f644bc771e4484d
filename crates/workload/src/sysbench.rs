//! What errors mean to the drivers of sysbench: its bundled tests and its scripts alike.
//!
//! In: an error of a statement. Out: whether an event begins anew after it; its number, state and words as
//! that driver has them. Must never: know which program met it.

use prony_session::{DbError, ErrorClass};

/// Numbers by which the clients of MySQL say that the connection is lost.
const LOST: [u32; 4] = [2006, 2011, 2013, 2055];
/// The number for a connection that is lost under a statement, and its words, as MariaDB's client library
/// has them.
const LOST_NOW: (u32, &str) = (2013, "Lost connection to server during query");
/// The number for answers that break the protocol.
const MALFORMED: u32 = 2027;
/// The state of errors that MySQL's client finds itself.
const OWN_STATE: &str = "HY000";

/// The sort of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// MySQL, MariaDB.
    Mysql,
    /// PostgreSQL.
    Pgsql,
}

/// Errors of MySQL after which an event begins anew. PostgreSQL has a fixed list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// All.
    All,
    /// Those of these numbers.
    Codes(Vec<u32>),
}

/// An error as a driver tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// MySQL's number, also for what its client finds itself; 0 on PostgreSQL.
    pub number: u32,
    /// SQLSTATE.
    pub state: String,
    /// What the server said; of a loss without a word of the server's, what the client says.
    pub message: String,
}

impl Driver {
    /// As scripts and command lines call it.
    pub fn name(self) -> &'static str {
        match self {
            Driver::Mysql => "mysql",
            Driver::Pgsql => "pgsql",
        }
    }

    /// An error as this driver tells it.
    pub fn told(self, error: &DbError) -> Told {
        let (number, message) = match (self, error.number) {
            (Driver::Pgsql, _) => (0, error.message.as_str()),
            (Driver::Mysql, 0) if is_lost(error) => LOST_NOW,
            (Driver::Mysql, 0) if error.class == ErrorClass::Protocol => {
                (MALFORMED, error.message.as_str())
            }
            (Driver::Mysql, number) => (u32::from(number), error.message.as_str()),
        };
        let state = match (self, error.number) {
            (Driver::Mysql, 0) => OWN_STATE.into(),
            _ => String::from_utf8_lossy(&error.code),
        };
        Told {
            number,
            state: state.into_owned(),
            message: message.to_owned(),
        }
    }
}

impl Ignored {
    /// Whether an error of this number starts an event anew.
    pub fn has(&self, number: u32) -> bool {
        match self {
            Ignored::All => true,
            Ignored::Codes(codes) => codes.contains(&number),
        }
    }

    /// Whether a lost connection is opened again, as often as it takes.
    pub fn reconnects(&self) -> bool {
        LOST.iter().any(|number| self.has(*number))
    }

    /// Whether an event begins anew after this error.
    pub fn starts_anew(&self, driver: Driver, error: &DbError) -> bool {
        match driver {
            Driver::Pgsql => matches!(&error.code, b"40P01" | b"23505" | b"40001"),
            // Whatever number the loss has: who names one of them wants to go on.
            Driver::Mysql if is_lost(error) => self.reconnects(),
            Driver::Mysql => self.has(driver.told(error).number),
        }
    }
}

/// Whether the connection is gone.
pub fn is_lost(error: &DbError) -> bool {
    matches!(
        error.class,
        ErrorClass::LostConnection | ErrorClass::AmbiguousCommit
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(number: u16, error: DbError) -> DbError {
        DbError { number, ..error }
    }

    #[test]
    fn a_loss_is_told_as_the_client_does_and_ignored_by_any_of_its_numbers() {
        let lost = DbError::lost("Connection reset by peer (os error 104)".to_owned(), true);
        let told = Driver::Mysql.told(&lost);
        assert_eq!(
            (told.number, told.state.as_str(), told.message.as_str()),
            (2013, "HY000", "Lost connection to server during query")
        );
        let told = Driver::Pgsql.told(&lost);
        assert_eq!((told.number, told.state.as_str()), (0, "08006"));
        assert_eq!(told.message, lost.message);
        // With a last word of the server's it has that one's number, and is a loss all the same.
        let killed = numbered(1927, lost.clone());
        assert_eq!(Driver::Mysql.told(&killed).number, 1927);
        for error in [&lost, &killed] {
            for number in [2006, 2011, 2013, 2055] {
                assert!(Ignored::Codes(vec![number]).starts_anew(Driver::Mysql, error));
            }
            for number in [1927, 1213] {
                assert!(!Ignored::Codes(vec![number]).starts_anew(Driver::Mysql, error));
            }
            assert!(Ignored::All.starts_anew(Driver::Mysql, error));
            assert!(!Ignored::All.starts_anew(Driver::Pgsql, error));
        }
    }

    #[test]
    fn other_errors_are_ignored_by_number_or_state() {
        let codes = Ignored::Codes(vec![1062, 2027]);
        let twice = numbered(1062, DbError::server(*b"23000", "twice".to_owned()));
        assert_eq!(Driver::Mysql.told(&twice).state, "23000");
        assert!(codes.starts_anew(Driver::Mysql, &twice));
        let broken = DbError::protocol("what is this".to_owned());
        let told = Driver::Mysql.told(&broken);
        assert_eq!((told.number, told.state.as_str()), (2027, "HY000"));
        assert!(codes.starts_anew(Driver::Mysql, &broken));
        let other = numbered(1146, DbError::server(*b"42S02", "none".to_owned()));
        assert!(!codes.starts_anew(Driver::Mysql, &other));
        for (code, is_ignored) in [(*b"23505", true), (*b"40001", true), (*b"42P01", false)] {
            let error = DbError::server(code, String::new());
            assert_eq!(codes.starts_anew(Driver::Pgsql, &error), is_ignored);
        }
    }
}
