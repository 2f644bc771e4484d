//! Tokens: the parts of a server's message.
//!
//! In: bytes from the type of a token on. Out: the token's content, and the meaning of an ENVCHANGE. Must
//! never: read past the end of the bytes, or trust a length before that many bytes have arrived.
//! Source: MS-TDS 2.2.7.

use super::packet::Reader;

/// Types of tokens. ALTMETADATA and ALTROW are not supported: they are the rows of COMPUTE BY, which SQL
/// Server 2012 and later do not have.
pub(crate) mod token_type {
    pub(crate) const RETURN_STATUS: u8 = 0x79;
    pub(crate) const COLUMNS: u8 = 0x81;
    pub(crate) const TABLE_NAME: u8 = 0xa4;
    pub(crate) const COLUMN_INFO: u8 = 0xa5;
    pub(crate) const ORDER: u8 = 0xa9;
    pub(crate) const ERROR: u8 = 0xaa;
    pub(crate) const INFO: u8 = 0xab;
    pub(crate) const RETURN_VALUE: u8 = 0xac;
    pub(crate) const LOGIN_ACK: u8 = 0xad;
    pub(crate) const FEATURE_ACK: u8 = 0xae;
    pub(crate) const ROW: u8 = 0xd1;
    pub(crate) const NBC_ROW: u8 = 0xd2;
    pub(crate) const ENV_CHANGE: u8 = 0xe3;
    pub(crate) const SESSION_STATE: u8 = 0xe4;
    pub(crate) const SSPI: u8 = 0xed;
    pub(crate) const FEDERATED_INFO: u8 = 0xee;
    pub(crate) const DONE: u8 = 0xfd;
    pub(crate) const DONE_PROC: u8 = 0xfe;
    pub(crate) const DONE_IN_PROC: u8 = 0xff;
}

pub(crate) mod done_status {
    /// More results follow.
    pub(crate) const MORE: u16 = 0x01;
    /// The statement failed.
    pub(crate) const ERROR: u16 = 0x02;
    /// The number of rows is valid.
    pub(crate) const COUNT: u16 = 0x10;
    pub(crate) const ATTENTION: u16 = 0x20;
    /// The statement failed, and the server closes the connection.
    pub(crate) const SEVERE_ERROR: u16 = 0x100;
}

/// Why the content of a token cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// The type is unknown, or the length depends on types of columns (COLMETADATA, ROW, NBCROW and
    /// RETURNVALUE).
    UnknownType,
    /// More bytes have to arrive.
    Incomplete,
}

/// Takes the content of a token, after its type.
pub(crate) fn take_body<'a>(
    token_type: u8,
    reader: &mut Reader<'a>,
) -> Result<&'a [u8], BodyError> {
    use token_type::*;
    let body = match token_type {
        RETURN_STATUS => reader.take(4),
        DONE | DONE_PROC | DONE_IN_PROC => reader.take(12),
        SESSION_STATE | FEDERATED_INFO => {
            reader.u32().and_then(|length| reader.take(length as usize))
        }
        TABLE_NAME | COLUMN_INFO | ORDER | ERROR | INFO | LOGIN_ACK | ENV_CHANGE | SSPI => reader
            .u16()
            .and_then(|length| reader.take(usize::from(length))),
        FEATURE_ACK => take_extensions(reader),
        _ => return Err(BodyError::UnknownType),
    };
    body.ok_or(BodyError::Incomplete)
}

/// The list of extensions that the server accepted: each has a type, a length and data; a type of 0xff
/// ends the list.
fn take_extensions<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let start = reader.0;
    while reader.byte()? != 0xff {
        let length = reader.u32()?;
        reader.take(length as usize)?;
    }
    Some(&start[..start.len() - reader.0.len()])
}

/// A change of the session that the server reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EnvChange<'a> {
    /// The database, in UTF-16.
    Database(&'a [u8]),
    /// The size of packets in both directions, as digits in UTF-16.
    PacketSize(&'a [u8]),
    /// The collation of the server.
    Collation([u8; 5]),
    /// A transaction with this descriptor began.
    TransactionBegun(u64),
    TransactionEnded,
    /// The client must log in to another server, whose host is in UTF-16.
    Routing {
        host: &'a [u8],
        port: u16,
    },
    /// A change that does not matter to the client.
    Other,
}

/// Parses the content of an ENVCHANGE; `None` if it is malformed.
pub(crate) fn parse_env_change(body: &[u8]) -> Option<EnvChange<'_>> {
    let mut reader = Reader(body);
    Some(match reader.byte()? {
        1 => EnvChange::Database(reader.short_text()?),
        4 => EnvChange::PacketSize(reader.short_text()?),
        7 => match reader.short_bytes()?.first_chunk() {
            Some(collation) => EnvChange::Collation(*collation),
            None => EnvChange::Other,
        },
        // A transaction began, or the session joined a distributed one.
        8 | 11 => {
            EnvChange::TransactionBegun(u64::from_le_bytes(*reader.short_bytes()?.first_chunk()?))
        }
        // The transaction was committed or rolled back, left a distributed transaction, or ended without a
        // request.
        9 | 10 | 12 | 17 => EnvChange::TransactionEnded,
        20 => {
            // The length of what follows.
            reader.u16()?;
            if reader.byte()? != 0 {
                // The other server's protocol is not TCP.
                return None;
            }
            let port = reader.u16()?;
            let host = reader.text()?;
            EnvChange::Routing { host, port }
        }
        _ => EnvChange::Other,
    })
}
