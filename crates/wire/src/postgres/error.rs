//! What a server says when it refuses, and every way in which a log-in can fail.
//!
//! In: the body of an ErrorResponse or NoticeResponse. Out: [`ServerError`], [`ConnectError`].
//! Must never: show a password, panic on hostile bytes, or keep more text than a person reads.

use std::fmt;

/// The longest text of one field that is kept, in bytes; the rest is cut off.
const MAX_FIELD_BYTES: usize = 8 * 1024;

/// An ErrorResponse or NoticeResponse of the server, in its own words.
///
/// Source: PostgreSQL documentation, "Error and Notice Message Fields".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    /// ERROR, FATAL, PANIC, or WARNING, NOTICE, DEBUG, INFO, LOG; never translated where the
    /// server is 9.6 or later.
    pub severity: String,
    /// SQLSTATE, five characters; `00000` when the server gave none.
    pub code: [u8; 5],
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
    /// Reads the body of an ErrorResponse or NoticeResponse: everything after the length.
    ///
    /// Unknown fields and missing ends are passed over: a half-understood error is still worth
    /// more than none.
    pub fn parse(body: &[u8]) -> ServerError {
        let mut error = ServerError {
            code: *b"00000",
            ..ServerError::default()
        };
        let mut rest = body;
        while let [kind, tail @ ..] = rest {
            if *kind == 0 {
                break;
            }
            let end = tail
                .iter()
                .position(|&byte| byte == 0)
                .unwrap_or(tail.len());
            error.set(*kind, &tail[..end]);
            rest = tail.get(end + 1..).unwrap_or(&[]);
        }
        error
    }

    fn set(&mut self, kind: u8, value: &[u8]) {
        match kind {
            // `V` is never translated and wins over `S`, whichever comes first.
            b'V' => self.severity = text(value),
            b'S' if self.severity.is_empty() => self.severity = text(value),
            b'C' => {
                if let Ok(code) = <[u8; 5]>::try_from(value)
                    && code.iter().all(u8::is_ascii_alphanumeric)
                {
                    self.code = code;
                }
            }
            b'M' => self.message = text(value),
            b'D' => self.detail = Some(text(value)),
            b'H' => self.hint = Some(text(value)),
            b'P' => self.position = text(value).parse().ok(),
            b'W' => self.where_ = Some(text(value)),
            b'n' => self.constraint = Some(text(value)),
            _ => {}
        }
    }

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
fn text(value: &[u8]) -> String {
    let kept = &value[..value.len().min(MAX_FIELD_BYTES)];
    String::from_utf8_lossy(kept).into_owned()
}

/// As libpq prints it: severity, message, then DETAIL, HINT and, of errors, CONTEXT on lines of their
/// own.
impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

/// Why a connection could not be opened.
///
/// Nothing here is about the socket itself: that is its owner's to report. The texts are libpq's
/// where libpq has one, because those are the ones that users have met.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The server refused, and said why.
    #[error("{0}")]
    Server(Box<ServerError>),
    /// The server wants a password and none was given.
    #[error("fe_sendauth: no password supplied")]
    PasswordNeeded,
    /// TLS was demanded, the server has none.
    #[error("server does not support SSL, but SSL was required")]
    TlsUnsupported,
    /// The server answered the request for TLS with an error. Its text is not shown: nobody vouches
    /// for it (CVE-2024-10977).
    #[error("server sent an error response during SSL exchange")]
    TlsRequestFailed,
    /// Bytes came in the clear behind the consent to TLS (CVE-2021-23222).
    #[error("received unencrypted data after SSL response")]
    BytesBeforeTls,
    /// TLS was demanded but the caller gave no configuration for it.
    #[error("TLS is asked for, but no TLS configuration was given")]
    TlsNotConfigured,
    /// With `sslnegotiation=direct` the server must choose the protocol by ALPN.
    #[error("direct SSL connection was established without ALPN protocol negotiation extension")]
    AlpnMissing,
    /// The TLS layer failed: an untrusted certificate, no common version...
    #[error("SSL error: {0}")]
    Tls(rustls::Error),
    /// A way of authentication that Prony does not speak.
    #[error("authentication method \"{0}\" is not supported")]
    AuthUnsupported(&'static str),
    /// `require_auth` excludes what the server asks for.
    #[error("authentication method requirement failed: server requested {0}")]
    AuthExcluded(&'static str),
    /// `channel_binding=require`, and the server would not or could not.
    #[error("channel binding is required, but {0}")]
    ChannelBinding(&'static str),
    /// The SCRAM exchange broke one of its rules, or the server could not prove that it knows the
    /// password.
    #[error("SCRAM authentication failed: {0}")]
    Scram(&'static str),
    /// A name or parameter contains a zero byte, which the protocol cannot carry.
    #[error("the connection parameter \"{0}\" contains a zero byte")]
    ZeroByte(String),
    /// The peer does not speak PostgreSQL's protocol, or not correctly.
    #[error("the server at this address does not speak the PostgreSQL protocol: {0}")]
    Protocol(String),
}

impl From<ServerError> for ConnectError {
    fn from(error: ServerError) -> Self {
        ConnectError::Server(Box::new(error))
    }
}

impl ConnectError {
    /// The server's own error, where it sent one.
    pub fn server(&self) -> Option<&ServerError> {
        match self {
            ConnectError::Server(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] =
        b"SFEHLER\0VERROR\0C42P01\0Mrelation \"x\" does not exist\0P15\0Ffile.c\0\0";

    #[test]
    fn reads_the_fields_and_prefers_the_untranslated_severity() {
        let error = ServerError::parse(BODY);
        assert_eq!(error.severity, "ERROR");
        assert_eq!(error.code(), "42P01");
        assert_eq!(error.position, Some(15));
        assert_eq!(error.to_string(), "ERROR:  relation \"x\" does not exist");
    }

    #[test]
    fn prints_detail_hint_and_context_like_libpq() {
        let error = ServerError::parse(b"SERROR\0C23505\0Mdup\0DKey.\0HTry.\0WCOPY t, line 3\0\0");
        assert_eq!(
            error.to_string(),
            "ERROR:  dup\nDETAIL:  Key.\nHINT:  Try.\nCONTEXT:  COPY t, line 3"
        );
    }

    #[test]
    fn survives_every_truncation_and_cuts_long_text() {
        for end in 0..BODY.len() {
            let _ = ServerError::parse(&BODY[..end]);
        }
        let mut long = b"M".to_vec();
        long.resize(1 << 20, b'a');
        assert_eq!(ServerError::parse(&long).message.len(), MAX_FIELD_BYTES);
        assert_eq!(ServerError::parse(b"Cab\0").code(), "00000");
    }
}
