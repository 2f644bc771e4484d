//! The connections of one script thread, one of which is current. A prepared statement is never used on a
//! different connection.

use super::sql_errors::DeferredError;
use super::statements::PreparedStatements;
use prony_session::{Db, DbError, DbReply, UserExit};

/// One connection.
pub struct Connection {
    pub db: Db,
    pub prepared: PreparedStatements,
    /// The error of a later statement of the last text, which the script has not reached yet.
    pub deferred: Option<DeferredError>,
}

impl Connection {
    fn new(db: Db) -> Connection {
        Connection {
            db,
            prepared: PreparedStatements::default(),
            deferred: None,
        }
    }

    /// The number of results of the last reply, including an error in place of one.
    pub fn results(&self) -> usize {
        self.db.last_reply().results() + usize::from(self.deferred.is_some())
    }
}

/// The connections of one thread, by number. The first is the user's handle, which is also used for sleeps and
/// transactions; it exists before it is connected.
pub struct Connections {
    all: Vec<Connection>,
    current: usize,
    /// Numbers of closed connections.
    free: Vec<usize>,
    /// Whether a script first sees the first of several results, and requests the others; otherwise it sees
    /// only the last.
    sees_first_result: bool,
}

impl Connections {
    /// Creates the connections of a user; none is open.
    pub fn new(user_db: Db, sees_first_result: bool) -> Connections {
        Connections {
            all: vec![Connection::new(user_db)],
            current: 0,
            free: vec![0],
            sees_first_result,
        }
    }

    /// The user's handle.
    pub fn user_db(&mut self) -> &mut Db {
        &mut self.all[0].db
    }

    /// The connection that the script currently uses.
    pub fn current(&mut self) -> &mut Connection {
        &mut self.all[self.current]
    }

    /// Makes this connection the current one.
    pub fn switch_to(&mut self, number: usize) {
        if number < self.all.len() {
            self.current = number;
        }
    }

    /// Opens a connection, which becomes the current one, and returns its number.
    ///
    /// # Errors
    /// The server refused, or could not be reached.
    pub async fn connect(&mut self) -> Result<usize, DbError> {
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                let db = self.user_db().add_connection().await?;
                self.all.push(Connection::new(db));
                self.all.len() - 1
            }
        };
        let connection = &mut self.all[number];
        connection.prepared = PreparedStatements::default();
        connection.deferred = None;
        let result = connection.db.renew().await;
        match result {
            Ok(()) => self.current = number,
            Err(_) => self.free.push(number),
        }
        result.map(|()| number)
    }

    /// Closes a connection.
    pub async fn disconnect(&mut self, number: usize) {
        if number < self.all.len() && !self.free.contains(&number) {
            self.all[number].db.close_connection().await;
            self.free.push(number);
        }
    }

    /// Closes a prepared statement of the current connection.
    pub fn close_statement(&mut self, id: usize) {
        let connection = self.current();
        if let Some(statement) = connection.prepared.close(id) {
            connection.db.close(&statement);
        }
    }

    /// Recovers from an error, so that the current event, if any, can be restarted.
    ///
    /// # Errors
    /// The run is over, or lost connections are not reopened.
    pub async fn recover(&mut self) -> Result<(), UserExit> {
        self.current().db.recover_connection().await?;
        if self.user_db().is_in_transaction() {
            self.user_db().count_retry();
        }
        Ok(())
    }

    /// Whether a script first sees the first of several results, instead of the last.
    pub fn sees_first_result(&self) -> bool {
        self.sees_first_result
    }
}

/// Returns the index of the result that a script sees first, given the number of results.
pub fn visible_result(sees_first_result: bool, results: usize) -> usize {
    match sees_first_result {
        true => 0,
        false => results.saturating_sub(1),
    }
}

/// Returns the number of rows that a result returned or changed, and its number of columns.
pub fn rows_and_columns(reply: &DbReply<'_>, result: usize) -> (u64, usize) {
    (reply.affected_by(result), reply.width(result))
}

/// Returns the number of rows and columns of the result that a script sees first.
pub fn visible_reply(sees_first_result: bool, reply: &DbReply<'_>) -> (u64, usize) {
    rows_and_columns(reply, visible_result(sees_first_result, reply.results()))
}
