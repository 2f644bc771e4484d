//! The connections of one thread of a script.
//!
//! In: the user's own handle. Out: the one that the script speaks on. Must never: let the statements of
//! one connection be those of another.

use super::failed::Later;
use super::statements::Prepared;
use prony_session::{Db, DbError, Ended, Rows};

/// One connection.
pub struct Line {
    /// Its handle.
    pub db: Db,
    /// Its prepared statements.
    pub prepared: Prepared,
    /// A later statement of the last text failed, and the script has not come to it.
    pub later: Option<Later>,
}

impl Line {
    fn of(db: Db) -> Line {
        Line {
            db,
            prepared: Prepared::default(),
            later: None,
        }
    }

    /// How many results the last reply has, with the error that stands in place of another.
    pub fn results(&self) -> usize {
        self.db.last_reply().results() + usize::from(self.later.is_some())
    }
}

/// The connections of one thread, by number. The first is the user's own, which has the time and the
/// transactions, too; it is there before it is connected.
pub struct Lines {
    all: Vec<Line>,
    current: usize,
    /// Those that are not connected.
    free: Vec<usize>,
    /// A script sees the first of several results, and asks for the others; else it sees the last.
    sees_first: bool,
}

impl Lines {
    /// The lines of a user, none of which is connected.
    pub fn new(own: Db, sees_first: bool) -> Lines {
        Lines {
            all: vec![Line::of(own)],
            current: 0,
            free: vec![0],
            sees_first,
        }
    }

    /// The user's own handle.
    pub fn own(&mut self) -> &mut Db {
        &mut self.all[0].db
    }

    /// The line that the script speaks on.
    pub fn line(&mut self) -> &mut Line {
        &mut self.all[self.current]
    }

    /// The script speaks on this one from now on.
    pub fn turn_to(&mut self, number: usize) {
        if number < self.all.len() {
            self.current = number;
        }
    }

    /// Opens a connection, which the script speaks on then. Gives its number.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn connect(&mut self) -> Result<usize, DbError> {
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                let db = self.own().another().await?;
                self.all.push(Line::of(db));
                self.all.len() - 1
            }
        };
        let line = &mut self.all[number];
        line.prepared = Prepared::default();
        line.later = None;
        let opened = line.db.renew().await;
        match opened {
            Ok(()) => self.current = number,
            Err(_) => self.free.push(number),
        }
        opened.map(|()| number)
    }

    /// Closes a connection.
    pub async fn disconnect(&mut self, number: usize) {
        if number < self.all.len() && !self.free.contains(&number) {
            self.all[number].db.hang_up().await;
            self.free.push(number);
        }
    }

    /// Puts right what an error has left, so that the event, if there is one, can begin anew.
    ///
    /// # Errors
    /// The run is over, or no connection is to come back.
    pub async fn again(&mut self) -> Result<(), Ended> {
        self.line().db.put_right().await?;
        if self.own().is_under_way() {
            self.own().tries_again();
        }
        Ok(())
    }

    /// Whether a script sees the first of several results, not the last.
    pub fn sees_first(&self) -> bool {
        self.sees_first
    }
}

/// The result, of so many of a reply, that a script sees without asking for another.
pub fn shown(sees_first: bool, results: usize) -> usize {
    match sees_first {
        true => 0,
        false => results.saturating_sub(1),
    }
}

/// How many rows a result gave or changed, and how many columns it has.
pub fn rows_and_columns(reply: &Rows<'_>, result: usize) -> (u64, usize) {
    (reply.affected_by(result), reply.columns(result).count())
}
