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
    /// A packet came where none was asked for.
    Unasked,
    /// A packet bears another number than the one that is due.
    OutOfOrder,
    /// A payload of so many bytes and more.
    Size(usize),
    /// This cannot be understood.
    Malformed(&'static str),
    /// The server asked for a file of this machine.
    LocalInfile,
    /// The server counts other placeholders in a statement than were found in it.
    Placeholders {
        /// Found in its text.
        found: usize,
        /// Counted by the server.
        counted: usize,
    },
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
            Violation::Unasked => f.write_str("the server sent a packet that nothing asked for"),
            Violation::OutOfOrder => f.write_str("the server's packets are out of order"),
            Violation::Size(bytes) => {
                write!(f, "the server sent a packet of {bytes} bytes and more")
            }
            Violation::Malformed(what) => write!(f, "the server sent {what} that makes no sense"),
            Violation::LocalInfile => f.write_str(
                "the server asked for a file of this machine (LOAD DATA LOCAL), which is refused",
            ),
            Violation::Placeholders { found, counted } => write!(
                f,
                "the server counts {counted} placeholders in a statement in which {found} were found"
            ),
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
