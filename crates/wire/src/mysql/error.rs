//! Errors of a MySQL or MariaDB server.
//!
//! In: the payload of an ERR packet. Out: a [`ServerError`]. Must never: panic on hostile bytes.

use super::packet::Reader;
use crate::server_error::{ErrorSummary, ServerError, parse_sqlstate, text};
use crate::{Classification, ErrorClass, Protocol};

/// The first byte of an ERR packet.
pub(crate) const ERR: u8 = 0xff;

/// "This command is not supported in the prepared statement protocol yet".
pub(crate) const UNSUPPORTED_PS: u32 = 1295;
/// "Unknown prepared statement handler".
pub(crate) const UNKNOWN_STATEMENT: u32 = 1243;
/// "Deadlock found when trying to get lock": the server has rolled the transaction back.
pub(crate) const DEADLOCK: u32 = 1213;

/// Errors after which the server closes the connection: shutdown, a statement of `init_connect` failed, killed (MariaDB,
/// MySQL), client idle for too long.
const ERRORS_THAT_END_SESSION: [u32; 5] = [1053, 1184, 1927, 3169, 4031];

/// The number in an ERR packet's payload; 0 if it has none.
pub(crate) fn number(payload: &[u8]) -> u32 {
    let mut reader = Reader(payload);
    let number = reader.byte().and_then(|_| reader.u16());
    number.map_or(0, u32::from)
}

/// Reads the payload of an ERR packet. Before the login it has no SQLSTATE.
#[cold]
pub(crate) fn summary(payload: &[u8]) -> ErrorSummary<'_> {
    let text_bytes = payload.get(3..).unwrap_or_default();
    let with_sqlstate = text_bytes.strip_prefix(b"#").and_then(|bytes| {
        let (code, message) = bytes.split_at_checked(5)?;
        Some((parse_sqlstate(code)?, message))
    });
    let (code, message) = with_sqlstate.unwrap_or((*b"HY000", text_bytes));
    // Prony uses 0 where there is no error number; if a server sends 0, use 1.
    let number = number(payload).max(1);
    let message = text(message);
    ErrorSummary {
        protocol: Protocol::MySql,
        classification: classify(number, code, &message),
        code,
        number,
        message,
    }
}

/// Like [`summary`], as an owned error.
pub(crate) fn parse(payload: &[u8]) -> ServerError {
    let summary = summary(payload);
    let severity =
        if ERRORS_THAT_END_SESSION.contains(&summary.number) { "FATAL" } else { "ERROR" };
    ServerError {
        severity: severity.to_owned(),
        ..ServerError::new(
            Protocol::MySql,
            summary.number,
            summary.code,
            summary.message.into_owned(),
        )
    }
}

/// Classifies an error, by its number if possible: a deadlock in MySQL has the SQLSTATE of a serialization
/// failure in PostgreSQL. Source: MySQL documentation, "Server Error Message Reference"; MariaDB's "Error
/// Codes".
pub(crate) fn classify(number: u32, code: [u8; 5], message: &str) -> Classification {
    let class = match number {
        // A record changed since it was read (MariaDB's snapshot isolation); certification failed
        // (group replication).
        1020 | 3101 => ErrorClass::Serialization,
        // A deadlock; the same within an XA transaction.
        DEADLOCK | 1614 => ErrorClass::Deadlock,
        // Lock wait timeout; query interrupted; statement timeout (MariaDB, MySQL); a lock that NOWAIT
        // did not get.
        1205 | 1317 | 1969 | 3024 | 3572 => ErrorClass::Timeout,
        // Shutdown; network errors; killed (MariaDB, MySQL); server gone; idle for too long.
        1053 | 1152..=1161 | 1927 | 2006 | 2013 | 3169 | 4031 => ErrorClass::LostConnection,
        // Error during COMMIT: a Galera node that is cut off at that time also reports it for transactions that the other
        // nodes have applied. Result of the commit unknown (TiDB).
        1180 | 8501 => ErrorClass::AmbiguousCommit,
        // Disk or table full; out of memory.
        1021 | 1114 | 1037 | 1038 | 1041 => ErrorClass::Resources,
        _ if code.starts_with(b"08") => ErrorClass::LostConnection,
        _ => ErrorClass::Other,
    };
    Classification::from(class).corrected_by_message(message)
}

/// Whether the server (1040) or the account (1203) has no free connection.
pub(crate) fn is_out_of_connections(number: u32) -> bool {
    matches!(number, 1040 | 1203)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_sqlstate_and_message_are_parsed() {
        let error = parse(b"\xff\xbd\x04#40001Deadlock found");
        assert_eq!((error.number, error.code()), (1213, "40001"));
        assert_eq!(error.to_string(), "ERROR 1213 (40001): Deadlock found");
        let early = parse(b"\xff\x10\x04Too many connections");
        assert_eq!((early.number, early.code()), (1040, "HY000"));
        assert!(!early.is_fatal());
        assert!(parse(b"\xff\x87\x07#70100Connection was killed").is_fatal());
    }

    #[test]
    fn error_numbers_are_classified() {
        let class = |number, code: &[u8; 5]| classify(number, *code, "").class;
        assert_eq!(class(1213, b"40001"), ErrorClass::Deadlock);
        assert_eq!(class(1180, b"HY000"), ErrorClass::AmbiguousCommit);
        // SQL Server uses this number for a deadlock victim.
        assert_eq!(class(1205, b"HY000"), ErrorClass::Timeout);
        assert_eq!(class(1927, b"70100"), ErrorClass::LostConnection);
        assert_eq!(class(1158, b"08S01"), ErrorClass::LostConnection);
        assert_eq!(class(1062, b"23000"), ErrorClass::Other);
        assert_eq!(class(1114, b"HY000"), ErrorClass::Resources);
        let full = b"\xff\x06\x04#HY000Got error 28 \"No space left on device\" from InnoDB";
        assert_eq!(parse(full).classification.class, ErrorClass::Resources);
        assert_eq!(summary(full).classification, parse(full).classification);
        let retryable = |number| classify(number, *b"HY000", "").retryable;
        assert!(retryable(1213) && retryable(1020));
        assert!(!retryable(1205), "the transaction is still open");
        assert!(!retryable(2013));
    }

    #[test]
    fn the_error_number_replaces_a_generic_sqlstate() {
        let error = summary(b"\xff\xb5\x04#HY000Lock wait timeout exceeded");
        assert_eq!(&error.counted_as(), b"01205");
    }

    #[test]
    fn a_truncated_packet_is_parsed_without_panic() {
        let packet = b"\xff\xbd\x04#40001Deadlock found";
        for end in 0..packet.len() {
            assert!(parse(&packet[..end]).number > 0);
        }
    }
}
