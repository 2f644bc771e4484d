//! Requests and replies of one connection to MySQL or MariaDB.
//!
//! In: statements, bytes from the server. Out: one command at a time, and what came of it. Must
//! never: send a command before the one before it is answered.

use super::codec::{Codec, Next};
use super::error;
use super::reply::Reply;
use crate::ServerError;
use crate::exchange::Fed;
use crate::log_in::Agreed;
use crate::statement::{QueryMode, Statement, Value};
use crate::violation::Violation;

/// Requests and replies of one connection.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) codec: Codec,
    pub(crate) reply: Reply,
}

impl Exchange {
    pub(crate) fn new(mode: QueryMode) -> Self {
        Exchange {
            codec: Codec::new(mode),
            reply: Reply::default(),
        }
    }

    /// Forgets what belonged to the connection before this one.
    pub(crate) fn reset(&mut self) {
        self.codec.reset();
        self.reply.reset();
    }

    /// What the log-in has settled.
    pub(crate) fn agree(&mut self, agreed: Agreed) {
        self.reply.agree(agreed.deprecate_eof, agreed.status);
    }

    fn begin(&mut self) {
        self.reply.begin();
        self.codec.begin(&self.reply);
    }

    /// Expects the reply to the first command.
    fn send(&mut self) {
        // It may be there already: what the server said before it closed. Then the next bytes, or
        // the end of the connection, find it.
        self.codec.expect(&mut self.reply);
    }

    /// Makes one request of these executions. As one text they share a round trip; the others
    /// follow each other as their replies come.
    pub(crate) fn request<'a>(
        &mut self,
        batch: impl Iterator<Item = (&'a Statement, &'a [Value<'a>])>,
    ) {
        self.begin();
        match self.codec.mode() {
            QueryMode::Simple => self.codec.text(batch),
            _ => batch.for_each(|(statement, values)| self.codec.execute(statement, values)),
        }
        self.send();
    }

    /// Adds an execution to a request.
    pub(crate) fn push(&mut self, first: bool, statement: &Statement, values: &[Value<'_>]) {
        if first {
            self.begin();
        }
        self.codec.execute(statement, values);
    }

    /// Makes one request of what was pushed; of nothing if `empty`.
    pub(crate) fn sync(&mut self, empty: bool) {
        if empty {
            self.begin();
            // The shortest question that has an answer and changes nothing.
            self.codec.query(b"DO 0");
        }
        self.send();
    }

    pub(crate) fn prepare(&mut self, statement: &Statement) {
        self.begin();
        self.codec.prepare(statement);
        self.send();
    }

    pub(crate) fn query(&mut self, sql: &[u8]) {
        self.begin();
        self.codec.query(sql);
        self.send();
    }

    /// A `LOAD DATA LOCAL` and the content of the file that it will ask for.
    pub(crate) fn load(&mut self, sql: &str, data: &[u8]) {
        self.begin();
        self.codec.query(sql.as_bytes());
        self.codec.data(data);
        self.send();
    }

    pub(crate) fn outgoing(&self) -> &[u8] {
        self.codec.outgoing()
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Fed, Violation> {
        if !self.reply.feed(bytes)? {
            return Ok(Fed::More);
        }
        loop {
            match self.codec.answered(&mut self.reply)? {
                Next::Done => return Ok(Fed::Complete),
                Next::Data => return Ok(Fed::Send),
                // An error that had arrived before the command was sent answers it.
                Next::Send if self.codec.expect(&mut self.reply) => {}
                Next::Send => return Ok(Fed::Send),
            }
        }
    }

    pub(crate) fn error(&self) -> Option<ServerError> {
        self.reply.error().map(error::parse)
    }

    pub(crate) fn last_words(&self) -> Option<ServerError> {
        self.reply.last_words().map(error::parse)
    }
}
