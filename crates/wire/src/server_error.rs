//! What a server says when a statement fails, whatever its protocol.
//!
//! In: fields that a protocol's folder has read. Out: [`ServerError`], and its text as the users of
//! that server know it. Must never: panic on hostile bytes, or keep more text than a person reads.

use std::fmt;

/// The longest text of one field that is kept, in bytes; the rest is cut off.
pub(crate) const MAX_FIELD_BYTES: usize = 8 * 1024;

/// An error or notice of the server, in its own words.
///
/// Source: PostgreSQL documentation, "Error and Notice Message Fields"; MySQL documentation,
/// "ERR_Packet". MySQL gives a number, an SQLSTATE and a message, and no more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    /// ERROR, FATAL, PANIC, or WARNING, NOTICE, DEBUG, INFO, LOG; never translated where the
    /// server is 9.6 or later.
    pub severity: String,
    /// SQLSTATE, five characters; `00000` when the server gave none.
    pub code: [u8; 5],
    /// The server's own number for it, as MySQL and MariaDB have; 0 where there is none.
    pub number: u16,
    /// The message.
    pub message: String,
    /// More about the problem.
    pub detail: Option<String>,
    /// What the server suggests.
    pub hint: Option<String>,
    /// Where in the statement's text, in characters from 1.
    pub position: Option<u32>,
    /// The context in which it arose: a call stack of functions, or the line of a COPY.
    pub where_: Option<String>,
    /// The constraint that was broken.
    pub constraint: Option<String>,
}

impl ServerError {
    /// The SQLSTATE as text.
    pub fn code(&self) -> &str {
        // Only ASCII letters and digits are ever stored there.
        std::str::from_utf8(&self.code).unwrap_or("00000")
    }

    /// Whether the server ends the connection after this.
    pub fn is_fatal(&self) -> bool {
        matches!(self.severity.as_str(), "FATAL" | "PANIC")
    }
}

/// Characters of a statement that are shown around an error's place, as libpq does.
const EXCERPT_CHARS: usize = 60;
/// How many of them stand at least behind the place.
const BEHIND_CHARS: usize = 10;

impl ServerError {
    /// As libpq prints it where it knows the statement: with the line of the error and a mark under
    /// its place. Ends in a line end.
    pub fn in_statement(&self, sql: &str) -> String {
        let mut whole = self.to_string();
        let excerpt = self.position.and_then(|position| excerpt(sql, position));
        if let Some(excerpt) = excerpt {
            // Behind the message, before its detail.
            let at = self.severity.len() + ":  ".len() + self.message.len();
            whole.insert_str(at, &format!("\n{excerpt}"));
        }
        whole.push('\n');
        whole
    }
}

/// `LINE 1: select nonsense` and the mark. `None`: the place is not in the text.
fn excerpt(sql: &str, position: u32) -> Option<String> {
    let chars: Vec<char> = sql.chars().collect();
    let place = (position as usize).checked_sub(1)?;
    if place > chars.len() {
        return None;
    }
    let before = &chars[..place];
    let line = before.iter().filter(|c| **c == '\n').count() + 1;
    let mut from = before
        .iter()
        .rposition(|c| *c == '\n')
        .map_or(0, |at| at + 1);
    let rest = chars[place..].iter().position(|c| matches!(c, '\n' | '\r'));
    let mut to = rest.map_or(chars.len(), |length| place + length);
    let (start, end) = (from, to);
    if to - from > EXCERPT_CHARS {
        if from + EXCERPT_CHARS >= place + BEHIND_CHARS {
            to = from + EXCERPT_CHARS;
        } else {
            to = to.min(place + BEHIND_CHARS);
            from = from.max(to.saturating_sub(EXCERPT_CHARS));
        }
    }
    let head = format!("LINE {line}: {}", if from > start { "..." } else { "" });
    let text: String = chars[from..to]
        .iter()
        .map(|c| if *c == '\t' { ' ' } else { *c })
        .collect();
    let tail = if to < end { "..." } else { "" };
    let blanks = " ".repeat(head.chars().count() + place - from);
    Some(format!("{head}{text}{tail}\n{blanks}^"))
}

/// Text for a person: UTF-8 as far as it goes, no longer than [`MAX_FIELD_BYTES`].
pub(crate) fn text(value: &[u8]) -> String {
    let kept = &value[..value.len().min(MAX_FIELD_BYTES)];
    String::from_utf8_lossy(kept).into_owned()
}

/// As the server's own client prints it. PostgreSQL's: severity, message, then DETAIL, HINT and, of
/// errors, CONTEXT on lines of their own. MySQL's: number, SQLSTATE, message.
impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.number > 0 {
            let (number, code) = (self.number, self.code());
            return write!(f, "ERROR {number} ({code}): {}", self.message);
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
