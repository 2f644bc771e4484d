//! What a log says of its sessions, and what a recording has of it.

use std::borrow::Cow;

/// A statement, as a log has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoggedStatement<'a> {
    /// When it began.
    pub at_us: i64,
    pub duration_us: Option<u64>,
    pub text: Cow<'a, str>,
    /// The values of its parameters, if the client sent them apart from the text.
    pub values: Option<Vec<Option<String>>>,
    /// Whether it was prepared under a name.
    pub is_named: bool,
}

/// Something that a log says of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum LogEvent<'a> {
    /// A statement. Without a duration, it is that of the next [`LogEvent::Duration`].
    Statement(LoggedStatement<'a>),
    /// A step before the statement took this long, such as parsing it.
    Step {
        at_us: i64,
        duration_us: u64,
    },
    /// The last statement took this long.
    Duration {
        at_us: i64,
        duration_us: u64,
    },
    /// A statement failed: that of this text, or the last one.
    Failed {
        at_us: i64,
        text: Option<&'a str>,
    },
    /// A new session with this name.
    Connected {
        at_us: i64,
    },
    Disconnected {
        at_us: i64,
    },
    /// The session is as a new one from here on: a pool has reset it, or its user has changed.
    Reset,
}

impl<'a> LogEvent<'a> {
    /// A statement whose text has its values.
    pub fn of_text(at_us: i64, duration_us: Option<u64>, text: &'a str) -> LogEvent<'a> {
        LogEvent::Statement(LoggedStatement {
            at_us,
            duration_us,
            text: text.into(),
            ..LoggedStatement::default()
        })
    }
}

/// What the recorder did not record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Statements that take data of the client, such as COPY FROM STDIN.
    pub client_data: u64,
    /// Statements whose parameters the log does not have, or not all of them.
    pub without_values: u64,
    /// Records of the logs without a time, or cut off.
    pub unreadable_records: u64,
    /// Records of more than 64 MiB.
    pub too_long: u64,
    /// Statements in another encoding than UTF-8.
    pub not_utf8: u64,
    /// Statements by which drivers drop the prepared statements that they have named.
    pub of_drivers: u64,
    /// Statements of triggers and functions.
    pub of_routines: u64,
}

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    pub sessions: usize,
    pub transactions: u64,
    pub statements: u64,
    /// Number of different statements.
    pub different: usize,
    pub writes: u64,
    pub errors: u64,
    /// From the first statement to the end of the last one, in microseconds.
    pub length_us: u64,
    pub left_out: LeftOut,
}
