//! What a MySQL server says when it refuses.
//!
//! In: the payload of an ERR packet. Out: a [`ServerError`]. Must never: panic on hostile bytes.

use super::packet::Reader;
use crate::server_error::{ServerError, text};

/// The first byte of an ERR packet.
pub(crate) const ERR: u8 = 0xff;

/// "This command is not supported in the prepared statement protocol yet".
pub(crate) const UNSUPPORTED_PS: u16 = 1295;
/// "Unknown prepared statement handler".
pub(crate) const UNKNOWN_STATEMENT: u16 = 1243;
/// "Deadlock found when trying to get lock": the server has rolled the transaction back.
pub(crate) const DEADLOCK: u16 = 1213;

/// Errors behind which the server closes the connection: shutdown, killed (MariaDB, MySQL),
/// client idle for too long.
const ENDS_SESSION: [u16; 4] = [1053, 1927, 3169, 4031];

/// The number in an ERR packet's payload; 0 where there is none.
pub(crate) fn number(payload: &[u8]) -> u16 {
    let mut reader = Reader(payload);
    reader.byte().and_then(|_| reader.u16()).unwrap_or(0)
}

/// Reads the payload of an ERR packet. Before the log-in it bears no SQLSTATE.
pub(crate) fn parse(payload: &[u8]) -> ServerError {
    let number = number(payload);
    let rest = payload.get(3..).unwrap_or_default();
    let (code, message) = match rest {
        [b'#', a, b, c, d, e, message @ ..]
            if [a, b, c, d, e]
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric()) =>
        {
            ([*a, *b, *c, *d, *e], message)
        }
        message => (*b"HY000", message),
    };
    let severity = match ENDS_SESSION.contains(&number) {
        true => "FATAL",
        false => "ERROR",
    };
    ServerError {
        severity: severity.to_owned(),
        code,
        // Nothing stands for "no number", and a server that sends it is no better understood.
        number: number.max(1),
        message: text(message),
        ..ServerError::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_number_state_and_message() {
        let error = parse(b"\xff\xbd\x04#40001Deadlock found");
        assert_eq!((error.number, error.code()), (1213, "40001"));
        assert_eq!(error.to_string(), "ERROR 1213 (40001): Deadlock found");
        let early = parse(b"\xff\x10\x04Too many connections");
        assert_eq!((early.number, early.code()), (1040, "HY000"));
        assert!(!early.is_fatal());
        assert!(parse(b"\xff\x87\x07#70100Connection was killed").is_fatal());
    }

    #[test]
    fn survives_every_truncation() {
        let whole = b"\xff\xbd\x04#40001Deadlock found";
        for end in 0..whole.len() {
            assert!(parse(&whole[..end]).number > 0);
        }
    }
}
