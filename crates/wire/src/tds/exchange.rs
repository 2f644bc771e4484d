//! Requests and replies of one connection to SQL Server.
//!
//! In: statements, bytes from the server. Out: one message at a time, and the reply to it. Must never: send a
//! message before the reply to the previous one is complete, except an attention.

use super::bulk::BulkLoad;
use super::codec::Codec;
use super::packet::ATTENTION;
use super::reply::Reply;
use crate::exchange::FeedStatus;
use crate::login::SessionFlags;
use crate::statement::{QueryMode, Statement};
use crate::value::Value;
use crate::violation::Violation;

/// Requests and replies of one connection.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) codec: Codec,
    pub(crate) reply: Reply,
}

impl Exchange {
    pub(crate) fn new(mode: QueryMode) -> Exchange {
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

    /// Sets the packet size and the collation that the server chose at login.
    pub(crate) fn set_session_flags(&mut self, flags: SessionFlags) {
        self.codec.set_session(flags.packet_size, flags.collation);
    }

    fn begin(&mut self) {
        self.reply.begin();
        self.codec.begin();
    }

    fn ready_next_message(&mut self) {
        self.codec.ready_next_message(&mut self.reply);
    }

    /// Builds one request from these executions. Texts share a message, and so do statements that only
    /// read; any other statement is sent after the reply to the previous message.
    pub(crate) fn request<'a>(
        &mut self,
        batch: impl Iterator<Item = (&'a Statement, &'a [Value<'a>])>,
    ) {
        self.begin();
        batch.for_each(|(statement, values)| self.codec.execute(statement, values));
        self.ready_next_message();
    }

    /// Adds an execution to a request; `is_first`: the execution begins the request.
    pub(crate) fn push(&mut self, is_first: bool, statement: &Statement, values: &[Value<'_>]) {
        if is_first {
            self.begin();
        }
        self.codec.execute(statement, values);
    }

    /// Completes a request of the pushed executions. `is_empty`: whether there are none.
    pub(crate) fn sync(&mut self, is_empty: bool) {
        if is_empty {
            self.begin();
            // The caller expects a reply: send a statement that changes nothing.
            self.codec.query(b"SET NOEXEC OFF");
        }
        self.ready_next_message();
    }

    pub(crate) fn prepare(&mut self, statement: &Statement) {
        self.begin();
        self.codec.prepare(statement);
        self.ready_next_message();
    }

    pub(crate) fn query(&mut self, sql: &[u8]) {
        self.begin();
        self.codec.query(sql);
        self.ready_next_message();
    }

    /// Begins the message with the rows of a bulk load, whose packets [`Exchange::bulk_packets`] makes.
    pub(crate) fn begin_bulk_rows(&mut self) {
        self.begin();
        self.reply.expect(0);
    }

    /// Appends packets of the rows; see [`BulkLoad::take_packets`].
    pub(crate) fn bulk_packets(&self, load: &mut BulkLoad, is_finished: bool, out: &mut Vec<u8>) {
        load.take_packets(self.codec.packet_size(), is_finished, out);
    }

    /// The message that cancels the request in flight; `None` if no request is in flight, or the request is
    /// already canceled.
    pub(crate) fn attention(&mut self) -> Option<&'static [u8]> {
        self.reply.expect_attention().then_some(ATTENTION)
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<FeedStatus, Violation> {
        if !self.reply.feed(bytes)? {
            return Ok(FeedStatus::More);
        }
        if self.codec.record_reply(&self.reply) {
            self.ready_next_message();
            Ok(FeedStatus::Send)
        } else {
            Ok(FeedStatus::Complete)
        }
    }
}
