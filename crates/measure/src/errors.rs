//! Failed transactions, by kind, class and code.
//!
//! In: failed transactions and, once for each type of error, the server's message. Out: counts by kind, class
//! and code. Must never: grow without bound, or allocate to count.

use crate::sample::{ErrorCode, TxnKind};
use prony_document::ErrorClass;
use serde::{Deserialize, Serialize};

/// Maximum number of distinct error types; further ones are counted together.
pub const MAX_ERROR_TYPES: usize = 256;

/// Maximum length of a stored message, bytes.
pub const EXAMPLE_MAX_BYTES: usize = 400;

/// One type of error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorEntry {
    pub kind: TxnKind,
    pub class: ErrorClass,
    /// SQLSTATE or error number.
    pub code: ErrorCode,
    /// Number of transactions that failed with this type of error.
    pub count: u64,
    /// The first message of this type; empty if there was none.
    pub example: String,
}

/// Failed transactions by type of error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorLedger {
    entries: Vec<ErrorEntry>,
    /// Number of failures of types that have no entry.
    others: u64,
}

impl Default for ErrorLedger {
    fn default() -> Self {
        ErrorLedger {
            entries: Vec::with_capacity(MAX_ERROR_TYPES),
            others: 0,
        }
    }
}

impl ErrorLedger {
    /// Counts `count` failures of one type. Does not allocate.
    pub fn count(&mut self, kind: TxnKind, class: ErrorClass, code: ErrorCode, count: u64) {
        match self.entry_mut(kind, class, code) {
            Some(entry) => entry.count = entry.count.saturating_add(count),
            None => self.others = self.others.saturating_add(count),
        }
    }

    /// Stores the first message of a type. Allocates once for each type.
    pub fn store_example(
        &mut self,
        kind: TxnKind,
        class: ErrorClass,
        code: ErrorCode,
        message: &str,
    ) {
        if let Some(entry) = self.entry_mut(kind, class, code)
            && entry.example.is_empty()
        {
            let end = message.floor_char_boundary(EXAMPLE_MAX_BYTES);
            entry.example.push_str(&message[..end]);
        }
    }

    /// The types, in the order of their first occurrence.
    pub fn entries(&self) -> &[ErrorEntry] {
        &self.entries
    }

    /// Failures of types beyond [`MAX_ERROR_TYPES`].
    pub fn others(&self) -> u64 {
        self.others
    }

    pub fn total(&self) -> u64 {
        let listed: u64 = self.entries.iter().map(|entry| entry.count).sum();
        listed.saturating_add(self.others)
    }

    /// Counts failures of types that have no entry.
    pub fn count_others(&mut self, count: u64) {
        self.others = self.others.saturating_add(count);
    }

    /// Adds the counts of another ledger; existing messages stay.
    pub fn add(&mut self, other: &ErrorLedger) {
        for entry in &other.entries {
            self.count(entry.kind, entry.class, entry.code, entry.count);
            self.store_example(entry.kind, entry.class, entry.code, &entry.example);
        }
        self.count_others(other.others);
    }

    /// Removes all entries and keeps the memory.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.others = 0;
    }

    /// The entry of a type, which is created if necessary; `None` if there are too many types.
    fn entry_mut(
        &mut self,
        kind: TxnKind,
        class: ErrorClass,
        code: ErrorCode,
    ) -> Option<&mut ErrorEntry> {
        let index = self
            .entries
            .iter()
            .position(|entry| (entry.kind, entry.class, entry.code) == (kind, class, code));
        let index = match index {
            Some(index) => index,
            None if self.entries.len() >= MAX_ERROR_TYPES => return None,
            None => {
                self.entries.push(ErrorEntry {
                    kind,
                    class,
                    code,
                    count: 0,
                    example: String::new(),
                });
                self.entries.len() - 1
            }
        };
        self.entries.get_mut(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_message_of_a_type_is_stored_and_all_errors_are_counted() {
        let mut ledger = ErrorLedger::default();
        ledger.store_example(1, ErrorClass::Deadlock, *b"40P01", "deadlock detected");
        ledger.count(1, ErrorClass::Deadlock, *b"40P01", 1);
        ledger.store_example(1, ErrorClass::Deadlock, *b"40P01", "another");
        ledger.count(1, ErrorClass::Deadlock, *b"40P01", 1);
        ledger.count(0, ErrorClass::Deadlock, *b"40P01", 1);
        assert_eq!(ledger.entries().len(), 2);
        assert_eq!(ledger.entries()[0].count, 2);
        assert_eq!(ledger.entries()[0].example, "deadlock detected");
        let long = "é".repeat(EXAMPLE_MAX_BYTES);
        ledger.store_example(0, ErrorClass::Deadlock, *b"40P01", &long);
        assert!(ledger.entries()[1].example.len() <= EXAMPLE_MAX_BYTES);
    }

    #[test]
    fn the_number_of_error_types_is_bounded_and_all_errors_are_counted() {
        let code =
            |number: u32| -> ErrorCode { format!("{number:05}").as_bytes().try_into().unwrap() };
        let mut ledger = ErrorLedger::default();
        for number in 0..1_000 {
            ledger.count(0, ErrorClass::Other, code(number), 2);
        }
        assert_eq!(ledger.entries().len(), MAX_ERROR_TYPES);
        assert_eq!(ledger.others(), 2 * (1_000 - MAX_ERROR_TYPES as u64));
        let mut sum = ErrorLedger::default();
        sum.add(&ledger);
        sum.add(&ledger);
        assert_eq!(sum.total(), 4_000);
    }
}
