//! Requests and replies of one logged-in connection, whatever its protocol.
//!
//! In: statements from a virtual user, bytes from the server. Out: bytes for the server, replies
//! for the user. Must never: let a caller see which protocol it is. Each protocol is a variant here.

use crate::postgres::codec::{Codec, END_COPY, END_COPY_EXTENDED, TERMINATE};
use crate::postgres::reply::Reply;
use crate::statement::{QueryMode, Statement, Value};
use crate::violation::Violation;
use crate::{Agreed, Row, ServerError, mysql};

/// State of a session's transaction block, as the server tells with each reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Block {
    /// No block is open.
    #[default]
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
    Mysql(Box<mysql::exchange::Exchange>),
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

    /// For MySQL and MariaDB. In extended mode each execution is prepared anew, in a round trip of
    /// its own. What the server cannot prepare is sent as text, as sysbench does.
    pub fn mysql(mode: QueryMode) -> Self {
        Exchange {
            protocol: Protocol::Mysql(Box::new(mysql::exchange::Exchange::new(mode))),
            out: Vec::new(),
        }
    }

    /// Forgets what belonged to the connection before this one.
    pub fn reset(&mut self) {
        match &mut self.protocol {
            Protocol::Postgres { codec, reply } => {
                codec.reset();
                reply.reset();
            }
            Protocol::Mysql(mysql) => mysql.reset(),
        }
        self.out.clear();
    }

    /// What the log-in of the connection that begins now has settled; behind [`Exchange::reset`].
    pub fn agree(&mut self, agreed: Agreed) {
        match &mut self.protocol {
            Protocol::Postgres { .. } => {}
            Protocol::Mysql(mysql) => mysql.agree(agreed),
        }
    }

    /// Makes one request of these executions. They share a round trip where the protocol allows:
    /// MySQL's prepared statements follow each other, so that none runs after an error.
    pub fn request<'a>(&mut self, batch: impl Iterator<Item = (&'a Statement, &'a [Value<'a>])>) {
        match &mut self.protocol {
            Protocol::Postgres { codec, reply } => {
                self.out.clear();
                codec.request(batch, &mut self.out);
                reply.expect(1);
            }
            Protocol::Mysql(mysql) => mysql.request(batch),
        }
    }

    /// How statements are sent.
    pub fn mode(&self) -> QueryMode {
        match &self.protocol {
            Protocol::Postgres { codec, .. } => codec.mode(),
            Protocol::Mysql(mysql) => mysql.codec.mode(),
        }
    }

    /// Adds an execution to a request in the extended protocol, the first of it if `first`;
    /// [`Exchange::sync`] makes it whole. The values are written out at once.
    pub fn push(&mut self, first: bool, statement: &Statement, values: &[Value<'_>]) {
        match &mut self.protocol {
            Protocol::Postgres { codec, .. } => {
                if first {
                    codec.begin();
                    self.out.clear();
                    codec.closes(&mut self.out);
                }
                codec.execute(statement, values, &mut self.out);
            }
            Protocol::Mysql(mysql) => mysql.push(first, statement, values),
        }
    }

    /// Makes a request that only prepares a statement; see [`Codec::prepare`].
    pub fn prepare(&mut self, statement: &Statement) {
        match &mut self.protocol {
            Protocol::Postgres { codec, reply } => {
                self.out.clear();
                codec.prepare(statement, &mut self.out);
                reply.expect(1);
            }
            Protocol::Mysql(mysql) => mysql.prepare(statement),
        }
    }

    /// Whether a statement needs no preparing: it was prepared on this connection, or the mode has
    /// none.
    pub fn is_prepared(&self, statement: &Statement) -> bool {
        match &self.protocol {
            Protocol::Postgres { codec, .. } => {
                codec.mode() != QueryMode::Prepared || codec.knows(statement)
            }
            Protocol::Mysql(mysql) => mysql.codec.knows(statement),
        }
    }

    /// A statement is not used any more on this connection: the next request tells the server, on
    /// PostgreSQL the next one of the extended protocol. Its number may go to another statement.
    pub fn close(&mut self, statement: &Statement) {
        match &mut self.protocol {
            Protocol::Postgres { codec, .. } => codec.close(statement),
            Protocol::Mysql(mysql) => mysql.codec.close(statement),
        }
    }

    /// Makes one request of what was pushed; of nothing if `empty`.
    pub fn sync(&mut self, empty: bool) {
        match &mut self.protocol {
            Protocol::Postgres { codec, reply } => {
                if empty {
                    codec.begin();
                    self.out.clear();
                }
                codec.sync(&mut self.out);
                reply.expect(1);
            }
            Protocol::Mysql(mysql) => mysql.sync(empty),
        }
    }

    /// What to say before the connection is closed, so that the server need not wonder.
    pub fn farewell(&self) -> &'static [u8] {
        match &self.protocol {
            Protocol::Postgres { codec, reply } => match (reply.copy(), codec.mode()) {
                (Some(true), QueryMode::Simple) => END_COPY,
                (Some(true), _) => END_COPY_EXTENDED,
                _ => TERMINATE,
            },
            Protocol::Mysql(_) => mysql::codec::QUIT,
        }
    }

    /// Makes one request of plain text, in the encoding that the connection has.
    pub fn query(&mut self, sql: impl AsRef<[u8]>) {
        let sql = sql.as_ref();
        match &mut self.protocol {
            Protocol::Postgres { codec, reply } => {
                self.out.clear();
                codec.query(sql, &mut self.out);
                reply.expect(1);
            }
            Protocol::Mysql(mysql) => mysql.query(sql),
        }
    }

    /// Makes one request of a `LOAD DATA LOCAL INFILE` and the content of the file that the server
    /// will ask for: whatever it names, it gets this. False where the protocol has no such thing.
    pub fn load(&mut self, sql: &str, data: &[u8]) -> bool {
        match &mut self.protocol {
            Protocol::Postgres { .. } => false,
            Protocol::Mysql(mysql) => {
                mysql.load(sql, data);
                true
            }
        }
    }

    /// The statement of the request last made, if that is one statement in plain text.
    pub fn text(&self) -> Option<&str> {
        let text = match &self.protocol {
            // A type, a length, the text, its end.
            Protocol::Postgres { .. } => self
                .out
                .strip_prefix(b"Q")
                .and_then(|rest| rest.get(4..)?.strip_suffix(b"\0")),
            // A length, a number, the command, the text.
            Protocol::Mysql(mysql) => {
                let command = mysql.codec.command();
                command.get(4..).and_then(|rest| rest.strip_prefix(&[3]))
            }
        };
        std::str::from_utf8(text?).ok()
    }

    /// The bytes of the request last made, or of the part of it that is to be sent now.
    pub fn outgoing(&self) -> &[u8] {
        match &self.protocol {
            Protocol::Postgres { .. } => &self.out,
            Protocol::Mysql(mysql) => mysql.outgoing(),
        }
    }

    /// Takes bytes from the server.
    ///
    /// # Errors
    /// When the server breaks its protocol.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Fed, Violation> {
        match &mut self.protocol {
            Protocol::Postgres { codec, reply } => {
                if !reply.feed(bytes)? {
                    return Ok(Fed::More);
                }
                codec.answered(reply.parsed());
                Ok(Fed::Complete)
            }
            Protocol::Mysql(mysql) => mysql.feed(bytes),
        }
    }
}

/// What a reply holds.
impl Exchange {
    /// The reply's error.
    pub fn error(&self) -> Option<ServerError> {
        match &self.protocol {
            Protocol::Postgres { reply, .. } => reply.error().map(ServerError::parse),
            Protocol::Mysql(mysql) => mysql.error(),
        }
    }

    /// Whether the last request turned out to be a COPY, which is not supported.
    pub fn met_copy(&self) -> bool {
        match &self.protocol {
            Protocol::Postgres { reply, .. } => reply.copy().is_some(),
            Protocol::Mysql(_) => false,
        }
    }

    /// Notices and warnings that came with the reply. MySQL only counts its warnings.
    pub fn notices(&self) -> impl Iterator<Item = ServerError> {
        let reply = match &self.protocol {
            Protocol::Postgres { reply, .. } => Some(reply),
            Protocol::Mysql(_) => None,
        };
        let notices = reply.into_iter().flat_map(Reply::notices);
        notices.map(ServerError::parse)
    }

    /// What the server said before it closed the connection.
    pub fn last_words(&self) -> Option<ServerError> {
        match &self.protocol {
            Protocol::Postgres { reply, .. } => reply.last_words().map(ServerError::parse),
            Protocol::Mysql(mysql) => mysql.last_words(),
        }
    }

    /// State of the session's transaction block after the last reply.
    pub fn block(&self) -> Block {
        match &self.protocol {
            Protocol::Postgres { reply, .. } => reply.block(),
            Protocol::Mysql(mysql) => mysql.reply.block(),
        }
    }

    /// More had arrived than the reply.
    pub fn has_surplus(&self) -> bool {
        match &self.protocol {
            Protocol::Postgres { reply, .. } => reply.has_surplus(),
            Protocol::Mysql(mysql) => mysql.reply.has_surplus(),
        }
    }

    /// Rows that the last command changed or returned.
    pub fn affected(&self) -> u64 {
        match &self.protocol {
            Protocol::Postgres { reply, .. } => reply.affected(),
            Protocol::Mysql(mysql) => mysql.reply.affected(),
        }
    }

    /// Rows that the command of result `result` (from 0) changed or returned. PostgreSQL's are known of
    /// the last one alone.
    pub fn affected_by(&self, result: usize) -> u64 {
        match &self.protocol {
            Protocol::Postgres { reply, .. } => reply.affected(),
            Protocol::Mysql(mysql) => mysql.reply.affected_by(result),
        }
    }

    /// The names of the columns of result `result` (from 0); none where the server described none.
    pub fn columns(&self, result: usize) -> impl Iterator<Item = &[u8]> {
        let (postgres, mysql) = self.replies();
        let postgres = postgres
            .into_iter()
            .flat_map(move |reply| reply.columns(result));
        postgres.chain(
            mysql
                .into_iter()
                .flat_map(move |reply| reply.columns(result)),
        )
    }

    /// How many results the reply has, those without rows included.
    pub fn results(&self) -> usize {
        match &self.protocol {
            Protocol::Postgres { reply, .. } => reply.results(),
            Protocol::Mysql(mysql) => mysql.reply.results(),
        }
    }

    /// The rows of all results of the reply, each with the number of its result from 0.
    pub fn rows(&self) -> impl Iterator<Item = (usize, Row<'_>)> {
        let (postgres, mysql) = self.replies();
        let postgres = postgres.into_iter().flat_map(Reply::rows);
        let mysql = mysql.into_iter().flat_map(mysql::reply::Reply::rows);
        postgres
            .map(|(result, row)| (result, row.into()))
            .chain(mysql.map(|(result, row)| (result, row.into())))
    }

    fn replies(&self) -> (Option<&Reply>, Option<&mysql::reply::Reply>) {
        match &self.protocol {
            Protocol::Postgres { reply, .. } => (Some(reply), None),
            Protocol::Mysql(mysql) => (None, Some(&mysql.reply)),
        }
    }
}
