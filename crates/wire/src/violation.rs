//! Protocol violations of a server: errors after which a connection can no longer be used. Must never:
//! show what a server sent.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A message of this type is not allowed at this point.
    Unexpected(u8),
    /// A message has an invalid length.
    InvalidLength {
        message_type: u8,
        /// Its length as the server sent it, bytes.
        length: u32,
    },
    /// A statement turned out to be a COPY, which needs a stream of data.
    Copy,
    /// A packet arrived without a request.
    Unsolicited,
    /// A packet has an unexpected sequence number.
    OutOfOrder,
    /// A payload is too long.
    TooLong {
        /// The payload has at least this many bytes.
        min_bytes: usize,
    },
    /// The reply contains bytes that cannot be parsed; the text describes the problem.
    Malformed(&'static str),
    /// The server requested a file of this machine.
    LocalInfile,
    /// The server reports another number of placeholders in a statement than Prony found.
    Placeholders {
        /// The number in the parsed text.
        parsed: usize,
        /// The number that the server reported.
        reported: usize,
    },
}

impl Violation {
    /// Whether the statement is the cause, so that it fails each time it is sent.
    pub fn is_unsupported_statement(&self) -> bool {
        matches!(
            self,
            Violation::Copy | Violation::LocalInfile | Violation::Placeholders { .. }
        )
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Violation::Unexpected(message_type) => {
                write!(
                    f,
                    "the server sent an unexpected message of type {:?}",
                    *message_type as char
                )
            }
            Violation::Copy => f.write_str("COPY is not supported in the statements of a workload"),
            Violation::Unsolicited => f.write_str("the server sent an unsolicited packet"),
            Violation::OutOfOrder => f.write_str("the server's packets are out of order"),
            Violation::TooLong { min_bytes } => {
                write!(
                    f,
                    "the server sent a packet of at least {min_bytes} bytes, which is too long"
                )
            }
            Violation::Malformed(problem) => {
                write!(f, "the server sent a malformed reply: {problem}")
            }
            Violation::LocalInfile => f.write_str(
                "the server requested a file from this machine (LOAD DATA LOCAL), which is refused",
            ),
            Violation::Placeholders { parsed, reported } => write!(
                f,
                "the server counts {reported} placeholders in a statement, but Prony found {parsed}"
            ),
            Violation::InvalidLength {
                message_type,
                length,
            } => {
                write!(
                    f,
                    "the server sent a message of type {:?} with an invalid length of {length} bytes",
                    *message_type as char
                )
            }
        }
    }
}
