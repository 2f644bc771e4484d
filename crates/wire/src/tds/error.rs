//! Errors of SQL Server.
//!
//! In: the content of an ERROR or INFO token. Out: a [`ServerError`]. Must never: panic on hostile
//! bytes.

use super::packet::Reader;
use super::utf16;
use crate::server_error::{ErrorSummary, ServerError};
use crate::{Classification, ErrorClass, Protocol};
use std::borrow::Cow;

/// "Could not find prepared statement with handle".
pub(crate) const UNKNOWN_HANDLE_ERROR: u32 = 8179;
/// Lowest severity with which the server closes the connection.
const FATAL_LEVEL_MIN: u8 = 20;
/// Highest severity of a message that is not an error.
const INFO_LEVEL_MAX: u8 = 10;

/// The SQLSTATE of a request that the client canceled with an attention: "Operation canceled".
const CANCELED_SQLSTATE: [u8; 5] = *b"HY008";

/// The SQLSTATE of an error of which nothing is known: "General error".
const UNKNOWN_SQLSTATE: [u8; 5] = *b"HY000";

/// The fields of an ERROR or INFO token. Texts are UTF-16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorFields<'a> {
    pub number: u32,
    pub state: u8,
    /// Severity, 0 to 25.
    pub level: u8,
    pub text: &'a [u8],
    pub procedure: &'a [u8],
    pub line: u32,
}

/// Reads a token's content. Fields that are cut off at the end stay empty: an incomplete error is better
/// than none.
pub(crate) fn read_fields(body: &[u8]) -> ErrorFields<'_> {
    let mut fields = ErrorFields::default();
    let _ = fill_fields(&mut fields, body);
    // Prony uses 0 where there is no error number; if a server sends 0, use 1.
    fields.number = fields.number.max(1);
    fields
}

/// Sets the fields up to the first that is cut off; `None` if there is one.
fn fill_fields<'a>(fields: &mut ErrorFields<'a>, body: &'a [u8]) -> Option<()> {
    let mut reader = Reader(body);
    fields.number = reader.u32()?;
    fields.state = reader.byte()?;
    fields.level = reader.byte()?;
    fields.text = reader.text()?;
    let _server = reader.short_text()?;
    fields.procedure = reader.short_text()?;
    fields.line = reader.u32()?;
    Some(())
}

/// The fields that identify an error, from a token's content.
pub(crate) fn summary(body: &[u8]) -> ErrorSummary<'_> {
    let fields = read_fields(body);
    let text = utf16::display_text(fields.text);
    ErrorSummary {
        protocol: Protocol::Tds,
        classification: classify(fields.number, fields.level, &text),
        code: sqlstate(fields.number),
        number: fields.number,
        message: Cow::Owned(text),
    }
}

/// Parses a token's content into an owned error.
pub(crate) fn parse(body: &[u8]) -> ServerError {
    let fields = read_fields(body);
    let text = utf16::display_text(fields.text);
    let severity = match fields.level {
        FATAL_LEVEL_MIN.. => "FATAL",
        ..=INFO_LEVEL_MAX => "INFO",
        _ => "ERROR",
    };
    let procedure = utf16::display_text(fields.procedure);
    let location = match (procedure.as_str(), fields.line) {
        ("", 0) => None,
        ("", line) => Some(format!("Line {line}")),
        (procedure, line) => Some(format!("Procedure {procedure}, Line {line}")),
    };
    ServerError {
        classification: classify(fields.number, fields.level, &text),
        severity: severity.to_owned(),
        level: fields.level,
        state: fields.state,
        where_: location,
        ..ServerError::new(Protocol::Tds, fields.number, sqlstate(fields.number), text)
    }
}

/// The error of a request that the client canceled.
pub(crate) fn canceled() -> ErrorSummary<'static> {
    let message = "the request was canceled";
    own_error(ErrorClass::Timeout, CANCELED_SQLSTATE, message)
}

/// The error of a statement of which the server only says that it failed. Microsoft's client invents one too.
pub(crate) fn without_message() -> ErrorSummary<'static> {
    let message = "the server reports that the statement failed, without a message";
    own_error(ErrorClass::Other, UNKNOWN_SQLSTATE, message)
}

fn own_error(class: ErrorClass, code: [u8; 5], message: &'static str) -> ErrorSummary<'static> {
    ErrorSummary {
        protocol: Protocol::Tds,
        classification: class.into(),
        code,
        number: 0,
        message: Cow::Borrowed(message),
    }
}

/// The class of an error, and whether a retry may succeed. Source: Microsoft's "Database Engine errors",
/// and its lists of transient errors for Azure SQL Database and for memory-optimized tables. `level`:
/// severity, 0 if unknown.
pub(crate) fn classify(number: u32, level: u8, message: &str) -> Classification {
    let class = match number {
        1205 => ErrorClass::Deadlock,
        // Snapshot conflicts; conflicts of memory-optimized tables: dependency, update, repeatable
        // read, serializable, too many dependencies.
        3960 | 3961 | 41301 | 41302 | 41305 | 41325 | 41839 => ErrorClass::Serialization,
        // A lock was not granted in time. Without XACT_ABORT, which the session of a script may lack, the transaction stays
        // open, so it is not retried as a whole.
        1222 => ErrorClass::Timeout,
        // The other end closed the connection; network errors.
        64 | 233 | 10053 | 10054 | 10060
        // Azure SQL Database moves the database, or the database is not available.
        | 4221 | 40143 | 40197 | 40540 | 40613
        // The database fails over in an availability group.
        | 976 | 978 | 983
        // Shutdown; the session was killed.
        | 6005 | 596 => ErrorClass::LostConnection,
        // Out of memory, locks or memory grants; the database, its log or a file group is full; limits of
        // Azure SQL Database and its throttling; memory-optimized tables; too many connections.
        701 | 802 | 1204 | 8645 | 8651 | 1101 | 1105 | 9002 | 10928 | 10929 | 40501 | 40544
        | 49918..=49920 | 41805 | 41823 | 17809 => ErrorClass::Resources,
        _ if level >= FATAL_LEVEL_MIN => ErrorClass::LostConnection,
        _ => ErrorClass::Other,
    };
    Classification::from(class).corrected_by_message(message)
}

/// The SQLSTATE that ODBC assigns to an error, because the server sends none. Most errors have the generic
/// `HY000`.
pub(crate) fn sqlstate(number: u32) -> [u8; 5] {
    *match number {
        1205 => b"40001",
        18456 => b"28000",
        515 | 547 | 2601 | 2627 => b"23000",
        2628 | 8152 => b"22001",
        220 | 8115 => b"22003",
        8134 => b"22012",
        208 => b"42S02",
        207 => b"42S22",
        2714 => b"42S01",
        102 | 156 | 229 => b"42000",
        1222 => b"HYT00",
        _ => b"HY000",
    }
}

/// Whether the server (17809) or a database in Azure (10928, 10929) has reached its limit of connections.
pub(crate) fn is_out_of_connections(number: u32) -> bool {
    matches!(number, 17809 | 10928 | 10929)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(number: i32, state: u8, level: u8, text: &str, procedure: &str, line: u32) -> Vec<u8> {
        let mut body = number.to_le_bytes().to_vec();
        body.extend_from_slice(&[state, level]);
        let units = text.encode_utf16().count() as u16;
        body.extend_from_slice(&units.to_le_bytes());
        utf16::put_utf16(text, &mut body);
        body.extend_from_slice(&[1, b's', 0, procedure.len() as u8]);
        utf16::put_utf16(procedure, &mut body);
        body.extend_from_slice(&line.to_le_bytes());
        body
    }

    #[test]
    fn every_field_is_read_and_shown_as_sqlcmd_does() {
        let token = body(1205, 51, 13, "Transaction was deadlocked", "neword", 7);
        let error = parse(&token);
        assert_eq!((error.number, error.code()), (1205, "40001"));
        assert_eq!((error.level, error.state), (13, 51));
        assert!(error.classification.retryable && !error.is_fatal());
        assert_eq!(
            error.to_string(),
            "Msg 1205, Level 13, State 51, Procedure neword, Line 7\nTransaction was deadlocked"
        );
        assert_eq!(summary(&token).classification, error.classification);
        for end in 0..token.len() {
            assert!(parse(&token[..end]).number > 0);
        }
        assert!(parse(&body(596, 1, 21, "killed", "", 1)).is_fatal());
        assert_eq!(parse(&body(5701, 2, 0, "Changed", "", 1)).severity, "INFO");
    }

    #[test]
    fn error_numbers_are_classified() {
        let class = |number| classify(number, 16, "").class;
        assert_eq!(class(1205), ErrorClass::Deadlock);
        assert_eq!(class(3960), ErrorClass::Serialization);
        assert_eq!(class(1222), ErrorClass::Timeout);
        assert_eq!(class(9002), ErrorClass::Resources);
        assert_eq!(class(40613), ErrorClass::LostConnection);
        assert_eq!(class(2627), ErrorClass::Other);
        assert_eq!(classify(823, 24, "").class, ErrorClass::LostConnection);
        let retryable = |number| classify(number, 16, "").retryable;
        assert!(retryable(1205) && retryable(3960) && retryable(41302));
        assert!(!retryable(1222), "the transaction is still open");
    }

    #[test]
    fn only_some_errors_have_a_specific_sqlstate() {
        assert_eq!(&sqlstate(1205), b"40001");
        assert_eq!(&sqlstate(3960), b"HY000");
    }
}
