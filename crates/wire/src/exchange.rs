//! Requests and replies of one logged-in connection, whatever its protocol.
//!
//! In: statements from a virtual user, bytes from the server. Out: bytes for the server, replies
//! for the user. Must never: let a caller see which protocol it is. A second protocol is a second
//! variant here.

use crate::ServerError;
use crate::postgres::codec::{Codec, END_COPY, END_COPY_EXTENDED, TERMINATE};
use crate::postgres::reply::{Reply, Row};
use crate::statement::{QueryMode, Statement, Value};
use crate::violation::Violation;

/// State of a session's transaction block, as the server tells with each reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// No block is open.
    Idle,
    /// Inside a block.
    Open,
    /// Inside a block that failed and must be rolled back.
    Failed,
}

/// What a connection's bytes lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fed {
    /// The reply is not complete yet.
    More,
    /// The request goes on: send [`Exchange::outgoing`], then come back with what arrives.
    /// PostgreSQL's requests are sent whole; a protocol whose server numbers statements when it
    /// prepares them has to wait for the number.
    Send,
    /// The reply is complete.
    Complete,
}

/// Requests and replies of one connection.
#[derive(Debug)]
pub struct Exchange {
    protocol: Protocol,
    out: Vec<u8>,
}

#[derive(Debug)]
enum Protocol {
    Postgres { codec: Codec, reply: Reply },
}

impl Exchange {
    /// For PostgreSQL. `describe`: ask for the row description with each execution, as libpq does.
    pub fn postgres(mode: QueryMode, describe: bool) -> Self {
        Exchange {
            protocol: Protocol::Postgres {
                codec: Codec::new(mode, describe),
                reply: Reply::default(),
            },
            out: Vec::new(),
        }
    }

    /// Forgets what belonged to the connection before this one.
    pub fn reset(&mut self) {
        let Protocol::Postgres { codec, reply } = &mut self.protocol;
        codec.reset();
        reply.reset();
        self.out.clear();
    }

    /// Makes one request of these executions, which share a round trip.
    pub fn request<'a>(&mut self, batch: impl Iterator<Item = (&'a Statement, &'a [Value<'a>])>) {
        let Protocol::Postgres { codec, reply } = &mut self.protocol;
        self.out.clear();
        codec.request(batch, &mut self.out);
        reply.expect(1);
    }

    /// How statements are sent.
    pub fn mode(&self) -> QueryMode {
        let Protocol::Postgres { codec, .. } = &self.protocol;
        codec.mode()
    }

    /// Adds an execution to a request in the extended protocol, the first of it if `first`;
    /// [`Exchange::sync`] makes it whole. The values are written out at once.
    pub fn push(&mut self, first: bool, statement: &Statement, values: &[Value<'_>]) {
        let Protocol::Postgres { codec, .. } = &mut self.protocol;
        if first {
            codec.begin();
            self.out.clear();
        }
        codec.execute(statement, values, &mut self.out);
    }

    /// Makes a request that only prepares a statement; see [`Codec::prepare`].
    pub fn prepare(&mut self, statement: &Statement) {
        let Protocol::Postgres { codec, reply } = &mut self.protocol;
        self.out.clear();
        codec.prepare(statement, &mut self.out);
        reply.expect(1);
    }

    /// Whether a statement needs no preparing: it was prepared on this connection, or the mode has
    /// none.
    pub fn is_prepared(&self, statement: &Statement) -> bool {
        let Protocol::Postgres { codec, .. } = &self.protocol;
        codec.mode() != QueryMode::Prepared || codec.knows(statement)
    }

    /// Makes one request of what was pushed; of nothing if `empty`.
    pub fn sync(&mut self, empty: bool) {
        let Protocol::Postgres { codec, reply } = &mut self.protocol;
        if empty {
            codec.begin();
            self.out.clear();
        }
        codec.sync(&mut self.out);
        reply.expect(1);
    }

    /// What to say before the connection is closed, so that the server need not wonder.
    pub fn farewell(&self) -> &'static [u8] {
        let Protocol::Postgres { codec, reply } = &self.protocol;
        match (reply.copy(), codec.mode()) {
            (Some(true), QueryMode::Simple) => END_COPY,
            (Some(true), _) => END_COPY_EXTENDED,
            _ => TERMINATE,
        }
    }

    /// Makes one request of plain text.
    pub fn query(&mut self, sql: &str) {
        let Protocol::Postgres { codec, reply } = &mut self.protocol;
        self.out.clear();
        codec.query(sql, &mut self.out);
        reply.expect(1);
    }

    /// The bytes of the request last made.
    pub fn outgoing(&self) -> &[u8] {
        &self.out
    }

    /// Takes bytes from the server.
    ///
    /// # Errors
    /// When the server breaks its protocol.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Fed, Violation> {
        let Protocol::Postgres { codec, reply } = &mut self.protocol;
        if !reply.feed(bytes)? {
            return Ok(Fed::More);
        }
        codec.answered(reply.parsed());
        Ok(Fed::Complete)
    }

    /// The reply's error.
    pub fn error(&self) -> Option<ServerError> {
        let Protocol::Postgres { reply, .. } = &self.protocol;
        reply.error().map(ServerError::parse)
    }

    /// Whether the last request turned out to be a COPY, which is not supported.
    pub fn met_copy(&self) -> bool {
        let Protocol::Postgres { reply, .. } = &self.protocol;
        reply.copy().is_some()
    }

    /// Notices and warnings that came with the reply.
    pub fn notices(&self) -> impl Iterator<Item = ServerError> {
        let Protocol::Postgres { reply, .. } = &self.protocol;
        reply.notices().map(ServerError::parse)
    }

    /// What the server said before it closed the connection.
    pub fn last_words(&self) -> Option<ServerError> {
        let Protocol::Postgres { reply, .. } = &self.protocol;
        reply.last_words().map(ServerError::parse)
    }

    /// State of the session's transaction block after the last reply.
    pub fn block(&self) -> Block {
        let Protocol::Postgres { reply, .. } = &self.protocol;
        reply.block()
    }

    /// More had arrived than the reply.
    pub fn has_surplus(&self) -> bool {
        let Protocol::Postgres { reply, .. } = &self.protocol;
        reply.has_surplus()
    }

    /// Rows that the last command changed or returned.
    pub fn affected(&self) -> u64 {
        let Protocol::Postgres { reply, .. } = &self.protocol;
        reply.affected()
    }

    /// The names of the columns of result `result` (from 0); none where the server described none.
    pub fn columns(&self, result: usize) -> impl Iterator<Item = &[u8]> {
        let Protocol::Postgres { reply, .. } = &self.protocol;
        reply.columns(result)
    }

    /// How many results the reply has, those without rows included.
    pub fn results(&self) -> usize {
        let Protocol::Postgres { reply, .. } = &self.protocol;
        reply.results()
    }

    /// The rows of all results of the reply, each with the number of its result from 0.
    pub fn rows(&self) -> impl Iterator<Item = (usize, Row<'_>)> {
        let Protocol::Postgres { reply, .. } = &self.protocol;
        reply.rows()
    }
}
