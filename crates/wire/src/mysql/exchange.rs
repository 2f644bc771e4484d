//! Requests and replies of one connection to MySQL or MariaDB.
//!
//! In: statements, bytes from the server. Out: one command at a time, and its result. Must never: send
//! a command before the previous one is answered.

use super::codec::{AfterReply, Codec};
use super::error;
use super::reply::Reply;
use crate::exchange::FeedStatus;
use crate::login::SessionFlags;
use crate::statement::{QueryMode, Statement};
use crate::value::Value;
use crate::violation::Violation;
use crate::{ErrorSummary, ServerError};

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

    /// Drops the state of the previous connection.
    pub(crate) fn reset(&mut self) {
        self.codec.reset();
        self.reply.reset();
    }

    pub(crate) fn set_session_flags(&mut self, flags: SessionFlags) {
        self.reply
            .set_session_flags(flags.deprecate_eof, flags.status);
    }

    fn begin(&mut self) {
        self.reply.begin();
        self.codec.begin(&self.reply);
    }

    fn expect_first_reply(&mut self) {
        // The reply may have arrived already: an error that the server sent before it closed the
        // connection. It is found with the next bytes, or at the end of the connection.
        self.codec.expect(&mut self.reply);
    }

    /// Builds one request from these executions. As one text they share a round trip, except those that have a text of
    /// their own; otherwise each is sent after the reply to the previous one.
    pub(crate) fn request<'a>(
        &mut self,
        batch: impl Iterator<Item = (&'a Statement, &'a [Value<'a>])>,
    ) {
        self.begin();
        for (statement, values) in batch {
            match self.codec.mode() {
                QueryMode::Simple => self.codec.execute_as_text(statement, values),
                _ => self.codec.execute(statement, values),
            }
        }
        self.expect_first_reply();
    }

    /// Adds an execution to a request.
    pub(crate) fn push(&mut self, is_first: bool, statement: &Statement, values: &[Value<'_>]) {
        if is_first {
            self.begin();
        }
        self.codec.execute(statement, values);
    }

    /// Completes a request of the pushed executions; `is_empty`: there are none.
    pub(crate) fn sync(&mut self, is_empty: bool) {
        if is_empty {
            self.begin();
            // The caller expects a reply: send the shortest statement that changes nothing.
            self.codec.query(b"DO 0");
        }
        self.expect_first_reply();
    }

    pub(crate) fn prepare(&mut self, statement: &Statement) {
        self.begin();
        self.codec.prepare(statement);
        self.expect_first_reply();
    }

    pub(crate) fn query(&mut self, sql: &[u8]) {
        self.begin();
        self.codec.query(sql);
        self.expect_first_reply();
    }

    /// Builds a request from a `LOAD DATA LOCAL` and the content of the file that the server will request.
    pub(crate) fn load(&mut self, sql: &str, data: &[u8]) {
        self.begin();
        self.codec.query(sql.as_bytes());
        self.codec.data(data);
        self.expect_first_reply();
    }

    pub(crate) fn outgoing(&self) -> &[u8] {
        self.codec.outgoing()
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<FeedStatus, Violation> {
        if !self.reply.feed(bytes)? {
            return Ok(FeedStatus::More);
        }
        loop {
            match self.codec.record_reply(&mut self.reply)? {
                AfterReply::Done => return Ok(FeedStatus::Complete),
                AfterReply::Data => return Ok(FeedStatus::Send),
                // An error that had arrived before the command was sent answers it.
                AfterReply::Send if self.codec.expect(&mut self.reply) => {}
                AfterReply::Send => return Ok(FeedStatus::Send),
            }
        }
    }

    pub(crate) fn error(&self) -> Option<ServerError> {
        self.reply.error().map(error::parse)
    }

    pub(crate) fn error_summary(&self) -> Option<ErrorSummary<'_>> {
        self.reply.error().map(error::summary)
    }

    pub(crate) fn final_error(&self) -> Option<ServerError> {
        self.reply.final_error().map(error::parse)
    }
}
