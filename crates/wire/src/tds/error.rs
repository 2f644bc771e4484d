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
pub(crate) const UNKNOWN_HANDLE: u32 = 8179;
/// Severity from which on the server closes the connection.
const FATAL_LEVEL: u8 = 20;
/// Severity up to which a message is not an error.
const INFO_LEVEL: u8 = 10;

/// The SQLSTATE of an error that the client itself produced by an attention: "Operation canceled".
const CANCELED: [u8; 5] = *b"HY008";

/// The fields of a token. Texts are UTF-16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    pub number: u32,
    pub state: u8,
    /// Severity, 0 to 25.
    pub level: u8,
    pub text: &'a [u8],
    pub procedure: &'a [u8],
    pub line: u32,
}

/// Reads a token's content. What is missing at its end stays empty: a partly read error is better than
/// none.
pub(crate) fn message(body: &[u8]) -> Message<'_> {
    let mut message = Message::default();
    let mut reader = Reader(body);
    let _ = (|| {
        // 0 is reserved for errors without a number; if a server sends 0, use 1.
        message.number = reader.u32()?.max(1);
        message.state = reader.byte()?;
        message.level = reader.byte()?;
        message.text = reader.text()?;
        let _server = reader.short_text()?;
        message.procedure = reader.short_text()?;
        message.line = reader.u32()?;
        Some(())
    })();
    message.number = message.number.max(1);
    message
}

/// The fields that identify an error.
pub(crate) fn summary(body: &[u8]) -> ErrorSummary<'_> {
    let message = message(body);
    let text = utf16::text(message.text);
    ErrorSummary {
        protocol: Protocol::Tds,
        classification: classify(message.number, message.level, &text),
        code: sqlstate(message.number),
        number: message.number,
        message: Cow::Owned(text),
    }
}

/// Reads a token's content as an owned error.
pub(crate) fn parse(body: &[u8]) -> ServerError {
    let message = message(body);
    let text = utf16::text(message.text);
    let severity = match message.level {
        FATAL_LEVEL.. => "FATAL",
        ..=INFO_LEVEL => "INFO",
        _ => "ERROR",
    };
    let procedure = utf16::text(message.procedure);
    let place = match (procedure.as_str(), message.line) {
        ("", 0) => None,
        ("", line) => Some(format!("Line {line}")),
        (procedure, line) => Some(format!("Procedure {procedure}, Line {line}")),
    };
    ServerError {
        classification: classify(message.number, message.level, &text),
        severity: severity.to_owned(),
        level: message.level,
        state: message.state,
        where_: place,
        ..ServerError::new(
            Protocol::Tds,
            message.number,
            sqlstate(message.number),
            text,
        )
    }
}

/// The error of a request that the client cancelled.
pub(crate) fn canceled() -> ErrorSummary<'static> {
    ErrorSummary {
        protocol: Protocol::Tds,
        classification: ErrorClass::Timeout.into(),
        code: CANCELED,
        number: 0,
        message: Cow::Borrowed("the request was canceled"),
    }
}

/// What an error means. Source: Microsoft's "Database Engine errors", and its lists of transient errors
/// for Azure SQL Database and for memory-optimized tables. `level`: severity, 0 if unknown.
pub(crate) fn classify(number: u32, level: u8, message: &str) -> Classification {
    let class = match number {
        1205 => ErrorClass::Deadlock,
        // Snapshot conflicts; conflicts of memory-optimized tables: dependency, update, repeatable
        // read, serializable, too many dependencies.
        3960 | 3961 | 41301 | 41302 | 41305 | 41325 | 41839 => ErrorClass::Serialization,
        // A lock was not granted in time: the transaction is still open.
        1222 => ErrorClass::Timeout,
        // No pipe at the other end, network errors.
        64 | 233 | 10053 | 10054 | 10060
        // Azure SQL Database moves or is not available.
        | 4221 | 40143 | 40197 | 40540 | 40613
        // The database fails over in an availability group.
        | 976 | 978 | 983
        // Shutdown; the session was killed.
        | 6005 | 596 => ErrorClass::LostConnection,
        // Memory, locks, memory grants; the database, its log or a file group is full; limits of Azure
        // SQL Database and its throttling; memory-optimized tables; too many connections.
        701 | 802 | 1204 | 8645 | 8651 | 1101 | 1105 | 9002 | 10928 | 10929 | 40501 | 40544
        | 49918..=49920 | 41805 | 41823 | 17809 => ErrorClass::Resources,
        _ if level >= FATAL_LEVEL => ErrorClass::LostConnection,
        _ => ErrorClass::Other,
    };
    Classification::from(class).by_message(message)
}

/// The SQLSTATE of an error, as ODBC assigns it; the generic `HY000` for most. The server sends none.
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

/// The code under which an error is counted: its number in place of a generic SQLSTATE. Numbers of more
/// than five digits keep the SQLSTATE.
pub(crate) fn counted_as(number: u32, code: [u8; 5]) -> [u8; 5] {
    if &code != b"HY000" || number == 0 || number > 99_999 {
        return code;
    }
    let mut digits = code;
    let mut rest = number;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    digits
}

/// Whether the server (17809) or the database in Azure (10928, 10929) has no free connection.
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
        let whole = body(1205, 51, 13, "Transaction was deadlocked", "neword", 7);
        let error = parse(&whole);
        assert_eq!((error.number, error.code()), (1205, "40001"));
        assert_eq!((error.level, error.state), (13, 51));
        assert!(error.classification.retryable && !error.is_fatal());
        assert_eq!(
            error.to_string(),
            "Msg 1205, Level 13, State 51, Procedure neword, Line 7\nTransaction was deadlocked"
        );
        assert_eq!(summary(&whole).classification, error.classification);
        for end in 0..whole.len() {
            assert!(parse(&whole[..end]).number > 0);
        }
        assert!(parse(&body(596, 1, 21, "killed", "", 1)).is_fatal());
        assert_eq!(parse(&body(5701, 2, 0, "Changed", "", 1)).severity, "INFO");
    }

    #[test]
    fn numbers_are_classified() {
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
    fn the_number_replaces_a_generic_sqlstate() {
        let counted = |number| counted_as(number, sqlstate(number));
        assert_eq!(&counted(1205), b"40001");
        assert_eq!(&counted(3960), b"03960");
        assert_eq!(&counted(33_557_097), b"HY000");
    }
}
