//! The connections of one script thread, one of which is current. A prepared statement is never used on a
//! different connection.

use super::sql_errors::DeferredError;
use super::statements::PreparedStatements;
use prony_session::{Db, DbError, DbReply, UserExit};

/// A connection, its prepared statements and its deferred error.
pub struct Connection {
    pub db: Db,
    pub prepared: PreparedStatements,
    /// The error of a later statement of the last query text, which the script has not reached yet.
    pub deferred_error: Option<DeferredError>,
}

impl Connection {
    fn new(mut db: Db, row_bytes_max: usize) -> Connection {
        db.limit_rows(row_bytes_max);
        Connection {
            db,
            prepared: PreparedStatements::default(),
            deferred_error: None,
        }
    }

    /// The number of results of the last reply; an error that the server sent instead of a result counts as one.
    pub fn result_count(&self) -> usize {
        self.db.last_reply().result_count() + usize::from(self.deferred_error.is_some())
    }
}

/// The connections of one thread, by number. Connection 0 is the user's own handle. It exists even while it
/// is not connected, because sleeps and transactions use it too.
pub struct Connections {
    connections: Vec<Connection>,
    current: usize,
    free_numbers: Vec<usize>,
    /// Whether a query returns the first of several results, and the script requests the others; otherwise a
    /// query returns the last.
    returns_first_result: bool,
    /// The most bytes of a result's rows that each connection keeps.
    row_bytes_max: usize,
}

impl Connections {
    /// Creates the connections of a user; none is open.
    pub fn new(user_db: Db, returns_first_result: bool, row_bytes_max: usize) -> Connections {
        Connections {
            connections: vec![Connection::new(user_db, row_bytes_max)],
            current: 0,
            free_numbers: vec![0],
            returns_first_result,
            row_bytes_max,
        }
    }

    /// The user's own handle, which starts and ends events, sleeps, and counts errors.
    pub fn user_db(&mut self) -> &mut Db {
        &mut self.connections[0].db
    }

    pub fn current(&mut self) -> &mut Connection {
        &mut self.connections[self.current]
    }

    pub fn switch_to(&mut self, number: usize) {
        if number < self.connections.len() {
            self.current = number;
        }
    }

    pub async fn connect(&mut self) -> Result<usize, DbError> {
        let number = match self.free_numbers.pop() {
            Some(number) => number,
            None => {
                let db = self.user_db().add_connection().await?;
                self.connections
                    .push(Connection::new(db, self.row_bytes_max));
                self.connections.len() - 1
            }
        };
        let connection = &mut self.connections[number];
        connection.prepared = PreparedStatements::default();
        connection.deferred_error = None;
        let result = connection.db.open_connection().await;
        match result {
            Ok(()) => self.current = number,
            Err(_) => self.free_numbers.push(number),
        }
        result.map(|()| number)
    }

    pub async fn disconnect(&mut self, number: usize) {
        if number < self.connections.len() && !self.free_numbers.contains(&number) {
            self.connections[number].db.close_connection().await;
            self.free_numbers.push(number);
        }
    }

    pub fn close_statement(&mut self, id: usize) {
        let connection = self.current();
        if let Some(statement) = connection.prepared.close(id) {
            connection.db.close_statement(&statement);
        }
    }

    /// Makes the current connection usable again after an error, and counts a retry of the current event, if any.
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

    /// Whether a query returns the first of several results, instead of the last.
    pub fn returns_first_result(&self) -> bool {
        self.returns_first_result
    }
}

/// Returns the index of the result that a query returns, of `result_count` results.
pub fn returned_result_index(returns_first_result: bool, result_count: usize) -> usize {
    if returns_first_result { 0 } else { result_count.saturating_sub(1) }
}

/// Returns the number of rows that a result contains, or that its statement changed, and its number of columns.
pub fn rows_and_columns(reply: &DbReply<'_>, result: usize) -> (u64, usize) {
    (reply.affected_rows_of(result), reply.column_count(result))
}

/// Returns the numbers of rows and columns of the result that a query returns.
pub fn returned_rows_and_columns(returns_first_result: bool, reply: &DbReply<'_>) -> (u64, usize) {
    rows_and_columns(
        reply,
        returned_result_index(returns_first_result, reply.result_count()),
    )
}
