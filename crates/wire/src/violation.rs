//! What a server may not send.
//!
//! In: nothing. Out: the error after which a connection is of no further use, in words. Must never:
//! show what a server sent.

/// A server broke its own protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A message that cannot come here.
    Unexpected(u8),
    /// A message of an impossible length.
    Length(u8, u32),
    /// A statement turned out to be a COPY, which wants a stream of data.
    Copy,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Violation::Unexpected(kind) => {
                write!(
                    f,
                    "the server sent a message of type {:?} where none can come",
                    *kind as char
                )
            }
            Violation::Copy => f.write_str("COPY is not supported among the statements of a load"),
            Violation::Length(kind, length) => {
                write!(
                    f,
                    "the server sent a message of type {:?} and {length} bytes",
                    *kind as char
                )
            }
        }
    }
}
