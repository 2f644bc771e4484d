//! What a user asks of the server, and the replies.
//!
//! In: statements and values. Out: requests in the connection's record; rows. Must never: ask while an
//! earlier request has no reply.

use super::{Db, Wait};
use crate::conn::Ask;
use crate::error::DbError;
use prony_wire::{Exchange, QueryMode, Row, ServerError, Statement, Value};
use std::cell::Ref;

impl Db {
    /// Executes one statement.
    ///
    /// # Errors
    /// [`DbError`], as the server said, or because the connection was lost.
    pub async fn exec(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<Rows<'_>, DbError> {
        self.batch(&[(statement, values)]).await
    }

    /// Executes several statements in one round trip. The server runs them in turn and, unless they
    /// are in a block, as one transaction; after an error it skips the rest. MySQL takes prepared
    /// statements one by one, and each outside a block is a transaction of its own.
    ///
    /// # Errors
    /// [`DbError`]: the first one of the batch.
    pub async fn batch(
        &mut self,
        batch: &[(&Statement, &[Value<'_>])],
    ) -> Result<Rows<'_>, DbError> {
        self.check()?;
        self.conn.request(batch.iter().copied());
        self.reply().await
    }

    /// Adds an execution to the next request, which [`Db::sync`] sends: a batch whose values need
    /// not live until then. In the extended protocol only, simple mode has no such requests.
    ///
    /// # Errors
    /// [`DbError`] when the connection is not up; what was pushed before is gone with it.
    pub fn push(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<(), DbError> {
        self.check()?;
        if self.mode() == QueryMode::Simple {
            return Err(DbError::protocol(
                "simple mode has no requests of several parts".to_owned(),
            ));
        }
        self.conn.push(statement, values);
        Ok(())
    }

    /// Sends what was pushed in one round trip, as [`Db::batch`] does, and awaits its reply. What
    /// was pushed is forgotten when another request is made before it.
    ///
    /// # Errors
    /// [`DbError`]: the first one of the batch.
    pub async fn sync(&mut self) -> Result<Rows<'_>, DbError> {
        self.check()?;
        self.conn.sync();
        self.reply().await
    }

    /// Prepares a statement that [`Db::is_prepared`] says is not, in a round trip of its own.
    /// Without it, its first execution prepares it.
    ///
    /// # Errors
    /// [`DbError`], as the server said. The statement counts as prepared all the same.
    pub async fn prepare(&mut self, statement: &Statement) -> Result<(), DbError> {
        self.check()?;
        self.conn.prepare(statement);
        self.reply().await.map(drop)
    }

    /// Whether a statement needs no preparing on this connection.
    pub fn is_prepared(&self, statement: &Statement) -> bool {
        self.conn.exchange().is_prepared(statement)
    }

    /// A statement is not used any more: the server is told with a later request, so that this takes no
    /// time. Its number may go to another statement.
    pub fn close(&mut self, statement: &Statement) {
        self.conn.close(statement);
    }

    /// How this connection's statements are sent.
    pub fn mode(&self) -> QueryMode {
        self.conn.exchange().mode()
    }

    /// Executes text as it stands, as a simple query.
    ///
    /// # Errors
    /// [`DbError`], as [`Db::exec`].
    pub async fn query(&mut self, sql: &str) -> Result<Rows<'_>, DbError> {
        self.check()?;
        self.conn.query(sql.as_bytes());
        self.reply().await
    }

    pub(super) fn check(&self) -> Result<(), DbError> {
        match self.conn.ask() {
            Ask::Idle if self.conn.is_up() => Ok(()),
            Ask::Idle => Err(self.conn.failure()),
            _ => Err(DbError::protocol(
                "an earlier statement of this user was abandoned before its reply".to_owned(),
            )),
        }
    }

    pub(super) async fn reply(&mut self) -> Result<Rows<'_>, DbError> {
        Wait { conn: &self.conn }.await;
        if !self.conn.is_up() {
            return Err(self.conn.failure());
        }
        let exchange = self.conn.exchange();
        match exchange.error() {
            Some(error) => Err(error.into()),
            None => Ok(Rows { exchange }),
        }
    }

    /// What the last reply holds; nothing before the first.
    pub fn last_reply(&self) -> Rows<'_> {
        Rows {
            exchange: self.conn.exchange(),
        }
    }

    /// All that the server said in the error of the last reply; nothing after a good one.
    pub fn server_error(&self) -> Option<ServerError> {
        self.conn.exchange().error()
    }

    /// The text of the request last made, where it was sent as text.
    pub fn sent_text(&self) -> Option<String> {
        self.conn.exchange().text().map(str::to_owned)
    }

    /// Whether the connection was given up because of a COPY.
    pub fn met_copy(&self) -> bool {
        self.conn.exchange().met_copy()
    }

    /// Hands the notices and warnings of the last reply to `take`.
    pub fn notices(&self, take: impl FnMut(ServerError)) {
        self.conn.exchange().notices().for_each(take);
    }

    /// Results of the last reply, before the error if it ended with one.
    pub fn results(&self) -> usize {
        self.conn.exchange().results()
    }
}

/// The reply to a request. Borrows the handle, so it is gone before the next request.
#[derive(Debug)]
pub struct Rows<'a> {
    exchange: Ref<'a, Exchange>,
}

impl Rows<'_> {
    /// The rows of all results, each with the number of its result from 0.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Row<'_>)> {
        self.exchange.rows()
    }

    /// The first row.
    pub fn first(&self) -> Option<Row<'_>> {
        self.iter().next().map(|(_, row)| row)
    }

    /// A value of the first row as a whole number.
    pub fn int(&self, column: usize) -> Option<i64> {
        self.first()?.int(column)
    }

    /// Hands the notices and warnings that came with it to `take`.
    pub fn notices(&self, take: impl FnMut(ServerError)) {
        self.exchange.notices().for_each(take);
    }

    /// The names of the columns of result `result` (from 0). In the extended protocol they come
    /// where a statement asks for them ([`Statement::with_columns`]) or the connection always does.
    pub fn columns(&self, result: usize) -> impl Iterator<Item = &[u8]> {
        self.exchange.columns(result)
    }

    /// How many results the reply has, those without rows included.
    pub fn results(&self) -> usize {
        self.exchange.results()
    }

    /// Rows that the last command changed or returned.
    pub fn affected(&self) -> u64 {
        self.exchange.affected()
    }

    /// Rows that the command of result `result` (from 0) changed or returned. PostgreSQL's are known of
    /// the last one alone.
    pub fn affected_by(&self, result: usize) -> u64 {
        self.exchange.affected_by(result)
    }
}
