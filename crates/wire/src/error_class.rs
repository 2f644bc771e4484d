//! The classes under which failures are counted, for all protocols.
//!
//! Each protocol's own folder assigns its errors to classes: one number, such as 1205, means different
//! things in different protocols.

/// Why a transaction did not commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorClass {
    /// Serialization failure.
    Serialization,
    /// The transaction is the victim of a deadlock.
    Deadlock,
    /// The server canceled the transaction or a statement by a statement, lock or idle timeout.
    Timeout,
    /// The connection was lost before anything could commit.
    LostConnection,
    /// The connection was lost after the commit was sent and before its reply, or after a statement outside a
    /// block had committed by itself: the transaction may have committed, in whole or in part.
    AmbiguousCommit,
    /// The server violated its protocol.
    Protocol,
    /// The server lacks disk space, memory or connections.
    Resources,
    /// Any other error of the server.
    #[default]
    Other,
}

impl ErrorClass {
    /// Every class.
    pub const ALL: [ErrorClass; 8] = [
        ErrorClass::Serialization,
        ErrorClass::Deadlock,
        ErrorClass::Timeout,
        ErrorClass::LostConnection,
        ErrorClass::AmbiguousCommit,
        ErrorClass::Protocol,
        ErrorClass::Resources,
        ErrorClass::Other,
    ];

    /// The name of the class in documents and reports, such as `lost connection`.
    pub fn name(self) -> &'static str {
        match self {
            ErrorClass::Serialization => "serialization",
            ErrorClass::Deadlock => "deadlock",
            ErrorClass::Timeout => "timeout",
            ErrorClass::LostConnection => "lost connection",
            ErrorClass::AmbiguousCommit => "ambiguous commit",
            ErrorClass::Protocol => "protocol",
            ErrorClass::Resources => "insufficient resources",
            ErrorClass::Other => "other",
        }
    }

    /// The class with this name.
    pub fn from_name(name: &str) -> Option<ErrorClass> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }
}

/// What an error of a server means for the transaction that received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classification {
    /// The class under which it is counted.
    pub class: ErrorClass,
    /// Whether the server has rolled the transaction back and the same transaction may succeed when
    /// retried as a whole.
    pub retryable: bool,
}

impl Classification {
    /// Corrects the classification of an error that only its message identifies: if a disk is full, MySQL,
    /// MariaDB and extensions of PostgreSQL report the system's message under a general code.
    pub(crate) fn corrected_by_message(self, message: &str) -> Classification {
        match self.class {
            ErrorClass::Other if message.contains("No space left on device") => {
                ErrorClass::Resources.into()
            }
            _ => self,
        }
    }
}

impl From<ErrorClass> for Classification {
    /// A transaction that was rolled back because of concurrent transactions is worth a retry.
    fn from(class: ErrorClass) -> Self {
        let retryable = match class {
            ErrorClass::Serialization | ErrorClass::Deadlock => true,
            ErrorClass::Timeout
            | ErrorClass::LostConnection
            | ErrorClass::AmbiguousCommit
            | ErrorClass::Protocol
            | ErrorClass::Resources
            | ErrorClass::Other => false,
        };
        Classification { class, retryable }
    }
}
