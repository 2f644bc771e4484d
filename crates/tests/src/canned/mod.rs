//! Servers that answer from memory: a query returns one row that is always the same, and a change affects one row; there
//! is no data. A [`Conversation`] changes what they answer.
//!
//! Must never: be taken for a model of a server's response time.

mod event_loop;
mod mysql;
mod postgres;
mod postgres_catalog;
mod statement;
mod tds;
mod tds_catalog;
mod tds_reader;

pub use event_loop::{EventLoop, Session, SessionEnd};
pub use mysql::MySqlSession;
pub use postgres::PgSession;
pub use tds::TdsSession;

use statement::StatementKind;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CannedProtocol {
    /// PostgreSQL's.
    PostgreSql,
    /// MySQL's.
    MySql,
    /// SQL Server's.
    Tds,
}

/// The cells of one row; `None` is NULL.
pub type Row = Vec<Option<String>>;

#[derive(Debug)]
pub enum Answer {
    /// What it answers without a conversation.
    Usual,
    Rows(Vec<Row>),
    /// One row with the seconds since 1970.
    UnixTime,
    /// One row of counters, which grow by these steps with each such statement.
    Counters(Vec<u64>),
    Error(CannedError),
    /// The error for every n-th of these statements, and the usual answer for the others.
    ErrorEvery(u64, CannedError),
}

#[derive(Clone, Debug)]
pub struct CannedError {
    /// Its number, in protocols that have numbers.
    pub number: u16,
    pub sqlstate: &'static str,
    pub message: String,
}

/// What a server answers in place of its usual replies.
#[derive(Debug, Default)]
pub struct Conversation {
    /// The version that it reports at the log-in; empty: that of a canned server.
    pub version: String,
    /// Parts of statements, and of PostgreSQL's startup packets, in lower case, and their answers: the first that one
    /// contains counts. An error is the only answer to a startup packet.
    pub answers: Vec<(String, Answer)>,
    /// Statements so far with [`Answer::ErrorEvery`] or [`Answer::Counters`].
    counted: AtomicU64,
}

enum Reply<'a> {
    Rows(std::borrow::Cow<'a, [Row]>),
    Error(&'a CannedError),
}

impl Conversation {
    pub fn new(version: &str, answers: Vec<(String, Answer)>) -> Conversation {
        Conversation {
            version: version.to_owned(),
            answers,
            counted: AtomicU64::new(0),
        }
    }

    /// The reply to a statement; `None`: the usual one.
    fn reply(&self, sql: &[u8]) -> Option<Reply<'_>> {
        if self.answers.is_empty() {
            return None;
        }
        let sql = String::from_utf8_lossy(sql).to_ascii_lowercase();
        let (_, answer) = self.answers.iter().find(|(part, _)| sql.contains(part))?;
        match answer {
            Answer::Usual => None,
            Answer::Rows(rows) => Some(Reply::Rows(rows.into())),
            Answer::UnixTime => {
                let now = SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap_or_default();
                let row = vec![Some(format!("{:.6}", now.as_secs_f64()))];
                Some(Reply::Rows(vec![row].into()))
            }
            Answer::Counters(steps) => {
                let count = self.count();
                let cells = steps.iter().map(|step| Some((step * count).to_string()));
                Some(Reply::Rows(vec![cells.collect()].into()))
            }
            Answer::Error(error) => Some(Reply::Error(error)),
            Answer::ErrorEvery(n, error) => {
                let count = self.count();
                count.is_multiple_of(*n).then_some(Reply::Error(error))
            }
        }
    }

    fn count(&self) -> u64 {
        self.counted.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn version_or<'a>(&'a self, default: &'a str) -> &'a str {
        match &*self.version {
            "" => default,
            version => version,
        }
    }
}

/// The end of a session whose client sent what this server does not know.
fn unsupported(subject: &str) -> SessionEnd {
    SessionEnd::Unsupported(format!("the client sent {subject}"))
}

/// What a session answers to a complete request.
#[cfg(test)]
fn reply(session: &mut impl Session, request: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    assert_eq!(session.receive(request, &mut out), Ok(request.len()));
    out
}

/// The number of columns of rows: that of the longest.
fn column_count(rows: &[Row]) -> usize {
    rows.iter().map(Vec::len).max().unwrap_or(1)
}

/// A loop whose sessions speak this protocol and answer as the conversation says. `on_problem` is called with what is
/// wrong with a client.
pub fn event_loop(
    protocol: CannedProtocol,
    conversation: Arc<Conversation>,
    on_problem: fn(&str),
) -> io::Result<EventLoop> {
    let new_session = move || -> Box<dyn Session> {
        let conversation = Arc::clone(&conversation);
        match protocol {
            CannedProtocol::PostgreSql => Box::new(PgSession::new(conversation)),
            CannedProtocol::MySql => Box::new(MySqlSession::new(conversation)),
            CannedProtocol::Tds => Box::new(TdsSession::new(conversation)),
        }
    };
    EventLoop::new(Box::new(new_session), on_problem)
}

/// Starts a server on a free port of 127.0.0.1, which it returns; it ends with the process, or when a client sends what it
/// does not know.
pub fn start(protocol: CannedProtocol, conversation: Conversation) -> io::Result<u16> {
    let on_problem = |problem: &str| panic!("{problem}");
    let mut server = event_loop(protocol, Arc::new(conversation), on_problem)?;
    let port = server.listen("127.0.0.1:0")?;
    std::thread::Builder::new().spawn(move || server.run())?;
    Ok(port)
}
