//! Protocol violations of a server: errors after which a connection can no longer be used. Must never:
//! show what a server sent.

/// What a server did against the protocol, or beyond what Prony supports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A message of this type is not allowed at this point.
    #[error("the server sent an unexpected message of type {:?}", char::from(*.0))]
    Unexpected(u8),
    /// The length of a message, in bytes, is impossible.
    #[error(
        "the server sent a message of type {:?} with an invalid length of {length} bytes",
        char::from(*message_type)
    )]
    InvalidLength { message_type: u8, length: u32 },
    /// A statement turned out to be a COPY, which needs a stream of data.
    #[error("COPY is not supported in the statements of a workload")]
    Copy,
    /// A packet arrived without a request.
    #[error("the server sent an unsolicited packet")]
    Unsolicited,
    /// A packet has an unexpected sequence number.
    #[error("the server's packets are out of order")]
    OutOfOrder,
    #[error("the server sent a packet of at least {min_bytes} bytes, which is too long")]
    TooLong { min_bytes: usize },
    /// The reply contains bytes that cannot be parsed; the text describes the problem.
    #[error("the server sent a malformed reply: {0}")]
    Malformed(&'static str),
    #[error("the server requested a file from this machine (LOAD DATA LOCAL), which is refused")]
    LocalInfile,
    /// The server reports another number of placeholders in a statement than Prony found in its text.
    #[error("the server counts {reported} placeholders in a statement, but Prony found {parsed}")]
    Placeholders { parsed: usize, reported: usize },
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
