//! Errors and notices of a server, for all protocols.
//!
//! In: fields that a protocol's folder has read. Out: [`ServerError`], and its text as the server's
//! own client prints it. Must never: panic on hostile bytes, or store more text than a person reads.

use crate::{Classification, Protocol, mysql, postgres, tds};
use std::borrow::Cow;
use std::fmt;

/// Maximum length of one field, in bytes; longer text is truncated.
pub(crate) const MAX_FIELD_BYTES: usize = 8 * 1024;

/// An error or notice as the server reported it.
///
/// Source: PostgreSQL documentation, "Error and Notice Message Fields"; MySQL documentation,
/// "ERR_Packet"; MS-TDS 2.2.7.10. MySQL sends only a number, an SQLSTATE and a message; SQL Server no
/// SQLSTATE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    /// The protocol of the server, which determines the meaning of `number`.
    pub protocol: Protocol,
    /// Class of the error, and whether a retry may succeed.
    pub classification: Classification,
    /// ERROR, FATAL, PANIC, or WARNING, NOTICE, DEBUG, INFO, LOG. PostgreSQL before 9.6 may translate it.
    pub severity: String,
    /// SQLSTATE, five characters; `00000` if the server sent none.
    pub code: [u8; 5],
    /// The server's own error number; 0 in protocols without error numbers.
    pub number: u32,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
    /// Position in the statement's text, in characters from 1.
    pub position: Option<u32>,
    /// SQL Server's severity, 0 to 25; from 20 on the server closes the connection. 0 in other protocols.
    pub level: u8,
    /// SQL Server's state, which distinguishes the causes of errors with the same number; 0 in other
    /// protocols.
    pub state: u8,
    /// The context of the error: a call stack of functions, or the line of a COPY; the procedure and
    /// line on SQL Server.
    pub where_: Option<String>,
    pub constraint: Option<String>,
    /// The role that lacks a privilege, or MySQL's account, quoted. No server sends it: the session that ran the
    /// statement adds it.
    pub role: Option<String>,
}

/// The fields that identify an error: read from a reply without a copy if its text is UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorSummary<'a> {
    /// As [`ServerError::protocol`].
    pub protocol: Protocol,
    /// As [`ServerError::classification`].
    pub classification: Classification,
    /// As [`ServerError::code`].
    pub code: [u8; 5],
    /// As [`ServerError::number`].
    pub number: u32,
    /// As [`ServerError::message`].
    pub message: Cow<'a, str>,
}

impl ErrorSummary<'_> {
    /// The code under which the error is counted: the SQLSTATE, or the server's number in place of the
    /// generic SQLSTATE that MySQL and SQL Server have for most errors.
    pub fn counted_as(&self) -> [u8; 5] {
        counted_as(self.number, self.code)
    }
}

/// Implements [`ErrorSummary::counted_as`]. The SQLSTATE is also used if the number is 0, for lack of one, or
/// has more than the five digits of a code.
fn counted_as(number: u32, code: [u8; 5]) -> [u8; 5] {
    if &code != b"HY000" || number == 0 || number > 99_999 {
        return code;
    }
    let mut digits = code;
    let mut remaining = number;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (remaining % 10) as u8;
        remaining /= 10;
    }
    digits
}

impl<'a> From<&'a ServerError> for ErrorSummary<'a> {
    fn from(error: &'a ServerError) -> Self {
        ErrorSummary {
            protocol: error.protocol,
            classification: error.classification,
            code: error.code,
            number: error.number,
            message: Cow::Borrowed(&error.message),
        }
    }
}

impl ServerError {
    /// An error with only a message, classified by its protocol. `number` is the server's own; 0 if
    /// the protocol has no error numbers.
    pub fn new(protocol: Protocol, number: u32, code: [u8; 5], message: String) -> ServerError {
        let classification = match protocol {
            Protocol::PostgreSql => postgres::error::classify(code, &message),
            Protocol::MySql => mysql::error::classify(number, code, &message),
            Protocol::Tds => tds::error::classify(number, 0, &message),
        };
        ServerError {
            protocol,
            classification,
            severity: "ERROR".to_owned(),
            code,
            number,
            message,
            detail: None,
            hint: None,
            position: None,
            level: 0,
            state: 0,
            where_: None,
            constraint: None,
            role: None,
        }
    }

    pub fn is_out_of_connections(&self) -> bool {
        match self.protocol {
            Protocol::PostgreSql => postgres::error::is_out_of_connections(self.code),
            Protocol::MySql => mysql::error::is_out_of_connections(self.number),
            Protocol::Tds => tds::error::is_out_of_connections(self.number),
        }
    }

    pub fn code(&self) -> &str {
        // Only ASCII letters and digits are ever stored here.
        std::str::from_utf8(&self.code).unwrap_or("00000")
    }

    /// Whether the server closes the connection after this error.
    pub fn is_fatal(&self) -> bool {
        matches!(self.severity.as_str(), "FATAL" | "PANIC")
    }
}

/// Number of characters of a statement that are shown around an error's position, as in libpq.
const EXCERPT_CHARS: usize = 60;
/// How many of these characters must at least follow the position.
const MIN_CHARS_AFTER: usize = 10;

impl ServerError {
    /// The error as libpq prints it together with the statement: after the message come the line with the
    /// error, and a marker under the error's position. Ends with a newline.
    pub fn in_statement(&self, sql: &str) -> String {
        let mut text = self.to_string();
        let excerpt = self.position.and_then(|position| excerpt(sql, position));
        if let Some(excerpt) = excerpt {
            // Insert the line after the message, before its detail.
            let at = self.severity.len() + ":  ".len() + self.message.len();
            text.insert_str(at, &format!("\n{excerpt}"));
        }
        text.push('\n');
        text
    }
}

/// The line `LINE 1: select nonsense` and its marker. `None` if the position is not in the text.
fn excerpt(sql: &str, position: u32) -> Option<String> {
    let chars: Vec<char> = sql.chars().collect();
    let index = (position as usize).checked_sub(1)?;
    if index > chars.len() {
        return None;
    }
    let before = &chars[..index];
    let line_number = before.iter().filter(|c| **c == '\n').count() + 1;
    let line_break = before.iter().rposition(|c| *c == '\n');
    let line_start = line_break.map_or(0, |at| at + 1);
    let rest_length = chars[index..].iter().position(|c| matches!(c, '\n' | '\r'));
    let line_end = rest_length.map_or(chars.len(), |length| index + length);
    let (mut from, mut to) = (line_start, line_end);
    if to - from > EXCERPT_CHARS {
        if from + EXCERPT_CHARS >= index + MIN_CHARS_AFTER {
            to = from + EXCERPT_CHARS;
        } else {
            to = to.min(index + MIN_CHARS_AFTER);
            from = from.max(to.saturating_sub(EXCERPT_CHARS));
        }
    }
    let omission = if from > line_start { "..." } else { "" };
    let head = format!("LINE {line_number}: {omission}");
    let text: String = chars[from..to]
        .iter()
        .map(|c| if *c == '\t' { ' ' } else { *c })
        .collect();
    let tail = if to < line_end { "..." } else { "" };
    let blanks = " ".repeat(head.chars().count() + index - from);
    Some(format!("{head}{text}{tail}\n{blanks}^"))
}

/// Text for display: lossy UTF-8, no longer than [`MAX_FIELD_BYTES`].
pub(crate) fn text(value: &[u8]) -> Cow<'_, str> {
    let truncated = &value[..value.len().min(MAX_FIELD_BYTES)];
    String::from_utf8_lossy(truncated)
}

/// The SQLSTATE in these bytes; `None` if they are not a valid one.
pub(crate) fn parse_sqlstate(value: &[u8]) -> Option<[u8; 5]> {
    let state = <[u8; 5]>::try_from(value).ok()?;
    state.iter().all(u8::is_ascii_alphanumeric).then_some(state)
}

/// Prints the error as the server's own client does. PostgreSQL: severity, message, then DETAIL, HINT and,
/// for errors, CONTEXT on separate lines. MySQL: number, SQLSTATE, message. SQL Server: number, severity,
/// state, procedure and line, then the message on a separate line.
impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.protocol {
            Protocol::PostgreSql => {}
            Protocol::MySql => {
                let (number, code) = (self.number, self.code());
                return write!(f, "ERROR {number} ({code}): {}", self.message);
            }
            Protocol::Tds => {
                let (number, level, state) = (self.number, self.level, self.state);
                write!(f, "Msg {number}, Level {level}, State {state}")?;
                if let Some(location) = &self.where_ {
                    write!(f, ", {location}")?;
                }
                return write!(f, "\n{}", self.message);
            }
        }
        write!(f, "{}:  {}", self.severity, self.message)?;
        let is_error = matches!(self.severity.as_str(), "ERROR" | "FATAL" | "PANIC");
        let context = self.where_.as_ref().filter(|_| is_error);
        let lines = [
            ("DETAIL", self.detail.as_ref()),
            ("HINT", self.hint.as_ref()),
            ("CONTEXT", context),
        ];
        for (name, value) in lines {
            if let Some(value) = value {
                write!(f, "\n{name}:  {value}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ServerError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_replaces_a_generic_sqlstate() {
        assert_eq!(&counted_as(1205, *b"HY000"), b"01205");
        assert_eq!(&counted_as(65_535, *b"HY000"), b"65535");
        assert_eq!(&counted_as(1213, *b"40001"), b"40001");
        assert_eq!(&counted_as(0, *b"HY000"), b"HY000");
        assert_eq!(&counted_as(33_557_097, *b"HY000"), b"HY000");
    }
}
