//! Requests and replies of one logged-in connection, for all protocols.
//!
//! In: statements from a virtual user, bytes from the server. Out: bytes for the server, replies for
//! the user. Must never: expose the protocol to a caller. Each protocol is a variant of an internal enum.

mod reply;

use crate::postgres::codec::{Codec, END_COPY, END_COPY_EXTENDED, TERMINATE, put_copy_fail};
use crate::postgres::reply::{CopyDirection, Reply};
use crate::reply_buffer::RowBudget;
use crate::statement::{Effect, QueryMode, Statement, effect, has_statement};
use crate::tds::BulkLoad;
use crate::value::Value;
use crate::violation::Violation;
use crate::{
    ConnectError, ErrorSummary, Parameters, ServerError, SessionFlags, WireRow, mysql, postgres,
    tds,
};

/// Reason sent when a COPY is aborted because there is no data for it.
const NO_DATA: &str = "the client has no rows to copy";

/// State of a session's transaction block, as the server reports it with each reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockState {
    /// No block is open.
    #[default]
    Idle,
    /// Inside a block.
    Open,
    /// Inside a block that failed and must be rolled back.
    Failed,
}

/// Result of feeding bytes to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedStatus {
    /// The reply is not complete yet.
    More,
    /// The request continues: send [`Exchange::outgoing`], then feed the bytes that arrive. MySQL's requests
    /// continue with their next command; one of PostgreSQL, only if a COPY waits for data.
    Send,
    /// The reply is complete.
    Complete,
}

/// Requests and replies of one connection.
#[derive(Debug)]
pub struct Exchange {
    state: ProtocolState,
    /// The request of PostgreSQL. The other protocols keep theirs in their state.
    out: Vec<u8>,
}

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "PostgreSQL's state is read for each reply without an indirection"
)]
enum ProtocolState {
    Postgres { codec: Codec, reply: Reply },
    Mysql(Box<mysql::exchange::Exchange>),
    Tds(Box<tds::exchange::Exchange>),
}

impl Exchange {
    /// Creates an exchange for PostgreSQL. `describe`: whether to request the row description with each
    /// execution, as libpq does.
    pub fn postgres(mode: QueryMode, describe: bool) -> Self {
        Exchange {
            state: ProtocolState::Postgres {
                codec: Codec::new(mode, describe),
                reply: Reply::default(),
            },
            out: Vec::new(),
        }
    }

    /// Allows PostgreSQL's COPY on this connection. The data of a COPY TO is skipped. If the server waits for
    /// the data of a COPY FROM, [`Exchange::feed`] returns [`FeedStatus::Send`]. The outgoing bytes then
    /// abort the COPY; a caller that has data sends the data instead.
    #[must_use]
    pub fn with_copy(mut self) -> Self {
        if let ProtocolState::Postgres { reply, .. } = &mut self.state {
            reply.allow_copy();
        }
        self
    }

    /// Creates an exchange for MySQL or MariaDB. In extended mode each execution is prepared anew, in a
    /// separate round trip. Statements that the server cannot prepare are sent as text, as sysbench does.
    pub fn mysql(mode: QueryMode) -> Self {
        Exchange {
            state: ProtocolState::Mysql(Box::new(mysql::exchange::Exchange::new(mode))),
            out: Vec::new(),
        }
    }

    /// Creates an exchange for SQL Server. In simple mode the statements of a request share a round trip;
    /// in the other modes, statements that read are added to the message of the statement before them.
    /// Statements that begin or end a transaction are sent as text in every mode.
    pub fn tds(mode: QueryMode) -> Self {
        Exchange {
            state: ProtocolState::Tds(Box::new(tds::exchange::Exchange::new(mode))),
            out: Vec::new(),
        }
    }

    /// Limits the memory of replies: rows beyond `max_bytes` of a reply are counted and dropped as they arrive, and a
    /// reply that is much longer without its rows is a protocol violation.
    pub fn limit_rows(&mut self, max_bytes: usize) {
        self.rows_kept_mut().limit(max_bytes);
    }

    fn rows_kept_mut(&mut self) -> &mut RowBudget {
        match &mut self.state {
            ProtocolState::Postgres { reply, .. } => &mut reply.rows_kept,
            ProtocolState::Mysql(mysql) => &mut mysql.reply.rows_kept,
            ProtocolState::Tds(tds) => &mut tds.reply.rows_kept,
        }
    }

    /// Drops the state of the previous connection.
    pub fn reset(&mut self) {
        match &mut self.state {
            ProtocolState::Postgres { codec, reply } => {
                codec.reset();
                reply.reset();
            }
            ProtocolState::Mysql(mysql) => mysql.reset(),
            ProtocolState::Tds(tds) => tds.reset(),
        }
        self.out.clear();
    }

    /// Forgets which statements are prepared, after the session has dropped them by a text such as PostgreSQL's DISCARD ALL.
    pub fn forget_prepared(&mut self) {
        if let ProtocolState::Postgres { codec, .. } = &mut self.state {
            codec.reset();
        }
    }

    /// Sets the session flags of the new connection; call it after [`Exchange::reset`].
    pub fn set_session_flags(&mut self, flags: SessionFlags) {
        match &mut self.state {
            ProtocolState::Postgres { .. } => {}
            ProtocolState::Mysql(mysql) => mysql.set_session_flags(flags),
            ProtocolState::Tds(tds) => tds.set_session_flags(flags),
        }
    }

    /// Builds one request from these executions. They share a round trip if the protocol allows that. MySQL's
    /// prepared statements are sent one after another, so that none runs after an error.
    pub fn request<'a>(&mut self, batch: impl Iterator<Item = (&'a Statement, &'a [Value<'a>])>) {
        match &mut self.state {
            ProtocolState::Postgres { codec, reply } => {
                self.out.clear();
                codec.request(batch, &mut self.out);
                reply.expect(codec.results());
            }
            ProtocolState::Mysql(mysql) => mysql.request(batch),
            ProtocolState::Tds(tds) => tds.request(batch),
        }
    }

    #[inline]
    pub fn mode(&self) -> QueryMode {
        match &self.state {
            ProtocolState::Postgres { codec, .. } => codec.mode(),
            ProtocolState::Mysql(mysql) => mysql.codec.mode(),
            ProtocolState::Tds(tds) => tds.codec.mode(),
        }
    }

    /// Adds an execution to a request in the extended protocol, which [`Exchange::sync`] completes.
    /// `is_first`: whether the execution begins the request. The values are encoded at once.
    pub fn push(&mut self, is_first: bool, statement: &Statement, values: &[Value<'_>]) {
        match &mut self.state {
            ProtocolState::Postgres { codec, .. } => {
                if is_first {
                    codec.begin();
                    self.out.clear();
                    codec.put_closes(&mut self.out);
                }
                codec.execute(statement, values, &mut self.out);
            }
            ProtocolState::Mysql(mysql) => mysql.push(is_first, statement, values),
            ProtocolState::Tds(tds) => tds.push(is_first, statement, values),
        }
    }

    /// Builds a request that only prepares a statement; see [`Codec::prepare`].
    pub fn prepare(&mut self, statement: &Statement) {
        match &mut self.state {
            ProtocolState::Postgres { codec, reply } => {
                self.out.clear();
                codec.prepare(statement, &mut self.out);
                reply.expect(codec.results());
            }
            ProtocolState::Mysql(mysql) => mysql.prepare(statement),
            ProtocolState::Tds(tds) => tds.prepare(statement),
        }
    }

    /// Whether a statement needs no preparation: it was prepared on this connection, or the mode does
    /// not prepare.
    pub fn is_prepared(&self, statement: &Statement) -> bool {
        match &self.state {
            ProtocolState::Postgres { codec, .. } => {
                codec.mode() != QueryMode::Prepared || codec.is_prepared(statement)
            }
            ProtocolState::Mysql(mysql) => mysql.codec.is_prepared(statement),
            ProtocolState::Tds(tds) => tds.codec.is_prepared(statement),
        }
    }

    /// Marks a statement as no longer used on this connection: the next request closes the statement on the
    /// server (on PostgreSQL, the next request of the extended protocol). Another statement may reuse its
    /// number.
    pub fn close(&mut self, statement: &Statement) {
        match &mut self.state {
            ProtocolState::Postgres { codec, .. } => codec.close(statement),
            ProtocolState::Mysql(mysql) => mysql.codec.close(statement),
            ProtocolState::Tds(tds) => tds.codec.close(statement),
        }
    }

    /// Completes a request of the pushed executions. `is_empty`: whether there are none.
    pub fn sync(&mut self, is_empty: bool) {
        match &mut self.state {
            ProtocolState::Postgres { codec, reply } => {
                if is_empty {
                    codec.begin();
                    self.out.clear();
                }
                codec.sync(&mut self.out);
                reply.expect(codec.results());
            }
            ProtocolState::Mysql(mysql) => mysql.sync(is_empty),
            ProtocolState::Tds(tds) => tds.sync(is_empty),
        }
    }

    /// The message to send before the connection is closed; empty if the protocol has none.
    pub fn closing_message(&self) -> &'static [u8] {
        match &self.state {
            ProtocolState::Postgres { codec, reply } => match (reply.copy(), codec.mode()) {
                (Some(CopyDirection::In), QueryMode::Simple) => END_COPY,
                (Some(CopyDirection::In), _) => END_COPY_EXTENDED,
                _ => TERMINATE,
            },
            ProtocolState::Mysql(_) => mysql::codec::QUIT,
            ProtocolState::Tds(_) => &[],
        }
    }

    /// Builds one request from plain text, in the connection's encoding.
    pub fn query(&mut self, sql: impl AsRef<[u8]>) {
        let sql = sql.as_ref();
        match &mut self.state {
            ProtocolState::Postgres { codec, reply } => {
                self.out.clear();
                codec.query(sql, &mut self.out);
                reply.expect(codec.results());
            }
            ProtocolState::Mysql(mysql) => mysql.query(sql),
            ProtocolState::Tds(tds) => tds.query(sql),
        }
    }

    /// Builds one request from a `LOAD DATA LOCAL INFILE` and the content of the file that the server will
    /// request. The server gets this content for any file name that it requests. Returns false if the
    /// protocol has no such statement.
    pub fn load(&mut self, sql: &str, data: &[u8]) -> bool {
        if let ProtocolState::Mysql(mysql) = &mut self.state {
            mysql.load(sql, data);
            return true;
        }
        false
    }

    /// Begins the message with the rows of a bulk load, after the server has accepted its statement
    /// ([`BulkLoad::statement`]). The message is sent in parts, which [`Exchange::bulk_packets`] makes; the reply
    /// follows the last. Returns false if the protocol has no bulk load.
    pub fn begin_bulk_rows(&mut self) -> bool {
        if let ProtocolState::Tds(tds) = &mut self.state {
            tds.begin_bulk_rows();
            return true;
        }
        false
    }

    /// Moves rows of a bulk load into `out`, as full packets; with `is_finished`, after [`BulkLoad::finish`], all
    /// that remain, with the end of the message. Does nothing on another protocol.
    pub fn bulk_packets(&self, load: &mut BulkLoad, is_finished: bool, out: &mut Vec<u8>) {
        if let ProtocolState::Tds(tds) = &self.state {
            tds.bulk_packets(load, is_finished, out);
        }
    }

    /// The message that cancels the request in flight; send it on the same connection, after the whole
    /// request. The reply is then complete when the server has acknowledged the message. It is an error,
    /// unless the server had completed the reply before. Returns `None` if no request is in flight, if the
    /// request is canceled already, or if the protocol cancels over another connection.
    pub fn attention(&mut self) -> Option<&'static [u8]> {
        match &mut self.state {
            ProtocolState::Tds(tds) => tds.attention(),
            ProtocolState::Postgres { .. } | ProtocolState::Mysql(_) => None,
        }
    }

    /// The collation of the session, which [`BulkLoad::new`] needs; zeros on another protocol.
    pub fn collation(&self) -> [u8; 5] {
        match &self.state {
            ProtocolState::Tds(tds) => tds.codec.collation(),
            ProtocolState::Postgres { .. } | ProtocolState::Mysql(_) => [0; 5],
        }
    }

    /// The text of the last request, if the request is one statement in plain text. `None` on SQL Server,
    /// where text is UTF-16.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(self.text_bytes()?).ok()
    }

    /// Whether the last request commits: its text contains a `COMMIT` or `END`, or it is a commit without
    /// text (SQL Server). This scans the text, so do not call it for each request.
    pub fn is_commit_request(&self) -> bool {
        if let ProtocolState::Tds(tds) = &self.state {
            return tds.codec.is_commit();
        }
        let text = self.text_bytes();
        text.is_some_and(|text| effect(text) == Effect::Commits)
    }

    /// The effect of the request, if it was sent as text.
    pub fn text_effect(&self) -> Option<Effect> {
        self.text_bytes().map(effect)
    }

    /// Whether the last request was text with a statement that begins with one of these words.
    pub fn text_has(&self, words: &[&str]) -> bool {
        self.text_bytes()
            .is_some_and(|text| has_statement(text, words))
    }

    fn text_bytes(&self) -> Option<&[u8]> {
        match &self.state {
            // The fields of a Query message are type, length, text and terminator.
            ProtocolState::Postgres { .. } => self
                .out
                .strip_prefix(b"Q")
                .and_then(|body| body.get(4..)?.strip_suffix(b"\0")),
            // The fields of a COM_QUERY packet are length, sequence number, command and text.
            ProtocolState::Mysql(mysql) => {
                let command = mysql.codec.command();
                command
                    .get(4..)
                    .and_then(|payload| payload.strip_prefix(&[mysql::codec::COM_QUERY]))
            }
            // SQL Server's text is UTF-16.
            ProtocolState::Tds(_) => None,
        }
    }

    /// The bytes to send now: the last request, or its next part.
    pub fn outgoing(&self) -> &[u8] {
        match &self.state {
            ProtocolState::Postgres { .. } => &self.out,
            ProtocolState::Mysql(mysql) => mysql.outgoing(),
            ProtocolState::Tds(tds) => tds.codec.outgoing(),
        }
    }

    /// Feeds bytes from the server.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<FeedStatus, Violation> {
        match &mut self.state {
            ProtocolState::Postgres { codec, reply } => {
                if !reply.feed(bytes)? {
                    if !reply.take_copy_request() {
                        return Ok(FeedStatus::More);
                    }
                    self.out.clear();
                    put_copy_fail(NO_DATA, &mut self.out);
                    return Ok(FeedStatus::Send);
                }
                codec.record_reply(reply.parses_accepted());
                Ok(FeedStatus::Complete)
            }
            ProtocolState::Mysql(mysql) => mysql.feed(bytes),
            ProtocolState::Tds(tds) => tds.feed(bytes),
        }
    }
}
