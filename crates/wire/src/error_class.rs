//! The classes under which failures are counted, for all protocols.
//!
//! Each protocol's own folder assigns its errors to classes: one number, such as 1205, means different
//! things in different protocols.

pub use prony_document::ErrorClass;

/// What an error of a server means for the transaction that received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classification {
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
