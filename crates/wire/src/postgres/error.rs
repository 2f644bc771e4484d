//! Errors of a PostgreSQL server.
//!
//! In: the body of an ErrorResponse or NoticeResponse. Out: a [`ServerError`]. Must never: panic on
//! hostile bytes.

use crate::server_error::{ErrorSummary, ServerError, parse_sqlstate, text};
use crate::{Classification, ErrorClass, Protocol};
use std::borrow::Cow;

/// Reads the body of an ErrorResponse or NoticeResponse: everything after the length.
///
/// Unknown fields are skipped, and a truncated body is accepted: a partial error is better than none.
pub fn parse_error(body: &[u8]) -> ServerError {
    let summary = summary(body);
    let mut error = ServerError {
        severity: String::new(),
        ..ServerError::new(
            Protocol::PostgreSql,
            summary.number,
            summary.code,
            summary.message.into_owned(),
        )
    };
    for (kind, value) in fields(body) {
        set_field(&mut error, kind, value);
    }
    error
}

fn set_field(error: &mut ServerError, kind: u8, value: &[u8]) {
    match kind {
        // `V` is never translated and takes precedence over `S`, in any order.
        b'V' => error.severity = text(value).into(),
        b'S' if error.severity.is_empty() => error.severity = text(value).into(),
        b'D' => error.detail = Some(text(value).into()),
        b'H' => error.hint = Some(text(value).into()),
        b'P' => error.position = text(value).parse().ok(),
        b'W' => error.where_ = Some(text(value).into()),
        b'n' => error.constraint = Some(text(value).into()),
        _ => {}
    }
}

/// Classifies an error. Source: PostgreSQL documentation, appendix A.
pub(crate) fn classify(code: [u8; 5], message: &str) -> Classification {
    let class = match &code {
        b"40001" => ErrorClass::Serialization,
        b"40P01" => ErrorClass::Deadlock,
        b"57014" | b"55P03" | b"25P03" | b"25P04" => ErrorClass::Timeout,
        // The server ends the session: shutdown, crash, or idle-session timeout.
        b"57P01" | b"57P02" | b"57P03" | b"57P05" => ErrorClass::LostConnection,
        b"08P01" => ErrorClass::Protocol,
        // Whether it was committed is not known: the standard's codes, of which CockroachDB sends the first.
        b"40003" | b"08007" => ErrorClass::AmbiguousCommit,
        [b'0', b'8', ..] => ErrorClass::LostConnection,
        [b'5', b'3', ..] => ErrorClass::Resources,
        _ => ErrorClass::Other,
    };
    Classification::from(class).corrected_by_message(message)
}

/// Whether the server, the database or the role has no free connection.
pub(crate) fn is_out_of_connections(code: [u8; 5]) -> bool {
    &code == b"53300"
}

/// SQLSTATE and message of the body of an ErrorResponse.
#[cold]
pub(crate) fn summary(body: &[u8]) -> ErrorSummary<'_> {
    let (mut code, mut message) = (*b"00000", Cow::Borrowed(""));
    for (kind, value) in fields(body) {
        match kind {
            b'C' => code = parse_sqlstate(value).unwrap_or(code),
            b'M' => message = text(value),
            _ => {}
        }
    }
    ErrorSummary {
        protocol: Protocol::PostgreSql,
        classification: classify(code, &message),
        code,
        number: 0,
        message,
    }
}

/// The type and the value of each field.
fn fields(body: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut unread = body;
    std::iter::from_fn(move || {
        let (&kind, tail) = unread.split_first().filter(|(kind, _)| **kind != 0)?;
        let end = tail.iter().position(|&byte| byte == 0);
        let (value, remaining) = tail.split_at(end.unwrap_or(tail.len()));
        unread = remaining.get(1..).unwrap_or_default();
        Some((kind, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_error::MAX_FIELD_BYTES;

    const BODY: &[u8] =
        b"SFEHLER\0VERROR\0C42P01\0Mrelation \"x\" does not exist\0P15\0Ffile.c\0\0";

    #[test]
    fn reads_the_fields_and_prefers_the_untranslated_severity() {
        let error = parse_error(BODY);
        assert_eq!(error.severity, "ERROR");
        assert_eq!(error.code(), "42P01");
        assert_eq!(error.position, Some(15));
        assert_eq!(error.to_string(), "ERROR:  relation \"x\" does not exist");
        let summary = summary(BODY);
        assert_eq!((summary.code, summary.number), (*b"42P01", 0));
        assert_eq!(summary.message, error.message);
    }

    #[test]
    fn sqlstates_are_classified() {
        let class = |code: &[u8; 5]| classify(*code, "").class;
        assert_eq!(class(b"40001"), ErrorClass::Serialization);
        assert_eq!(class(b"40P01"), ErrorClass::Deadlock);
        assert_eq!(class(b"53100"), ErrorClass::Resources);
        assert!(classify(*b"40001", "").retryable && !classify(*b"57014", "").retryable);
        let full = classify(*b"XX000", "could not write: No space left on device");
        assert_eq!(full.class, ErrorClass::Resources);
        assert_eq!(&summary(b"C40001\0\0").counted_as(), b"40001");
    }

    #[test]
    fn prints_detail_hint_and_context_like_libpq() {
        let error = parse_error(b"SERROR\0C23505\0Mdup\0DKey.\0HTry.\0WCOPY t, line 3\0\0");
        assert_eq!(
            error.to_string(),
            "ERROR:  dup\nDETAIL:  Key.\nHINT:  Try.\nCONTEXT:  COPY t, line 3"
        );
    }

    #[test]
    fn truncated_bodies_are_parsed_and_long_text_is_cut() {
        for end in 0..BODY.len() {
            let error = parse_error(&BODY[..end]);
            let summary = summary(&BODY[..end]);
            assert_eq!(
                (summary.code, &*summary.message),
                (error.code, &*error.message)
            );
        }
        let mut long = b"M".to_vec();
        long.resize(1 << 20, b'a');
        assert_eq!(parse_error(&long).message.len(), MAX_FIELD_BYTES);
        assert_eq!(parse_error(b"Cab\0").code(), "00000");
    }
}
