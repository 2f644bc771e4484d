//! Which transactions failed, and why.
//!
//! In: failed outcomes and, once a sort, the server's message. Out: counts by kind, class and
//! code. Must never: grow without bound, or allocate to count.

use crate::sample::{Code, ErrorClass, Kind};

/// How many sorts of error are told apart; further ones are counted together.
pub const SORTS_MAX: usize = 256;

/// Longest message kept, bytes.
pub const EXAMPLE_MAX_BYTES: usize = 400;

/// One sort of error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorEntry {
    /// Kind of transaction.
    pub kind: Kind,
    /// Class.
    pub class: ErrorClass,
    /// SQLSTATE or error number.
    pub code: Code,
    /// How many transactions ended by it.
    pub count: u64,
    /// The first message of this sort; empty if none was given.
    pub example: String,
}

/// Failed transactions by sort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorLedger {
    entries: Vec<ErrorEntry>,
    others: u64,
}

impl Default for ErrorLedger {
    fn default() -> Self {
        ErrorLedger {
            entries: Vec::with_capacity(SORTS_MAX),
            others: 0,
        }
    }
}

impl ErrorLedger {
    /// Counts `count` failures of one sort. Does not allocate.
    pub fn count(&mut self, kind: Kind, class: ErrorClass, code: Code, count: u64) {
        match self.entry(kind, class, code) {
            Some(entry) => entry.count = entry.count.saturating_add(count),
            None => self.others = self.others.saturating_add(count),
        }
    }

    /// Keeps the first message of a sort. Allocates, once a sort.
    pub fn example(&mut self, kind: Kind, class: ErrorClass, code: Code, message: &str) {
        if let Some(entry) = self.entry(kind, class, code)
            && entry.example.is_empty()
        {
            let end = message.floor_char_boundary(EXAMPLE_MAX_BYTES);
            entry.example.push_str(&message[..end]);
        }
    }

    /// The sorts, in the order they were first seen.
    pub fn entries(&self) -> &[ErrorEntry] {
        &self.entries
    }

    /// Failures of sorts beyond [`SORTS_MAX`].
    pub fn others(&self) -> u64 {
        self.others
    }

    /// All failures.
    pub fn total(&self) -> u64 {
        let told_apart: u64 = self.entries.iter().map(|entry| entry.count).sum();
        told_apart.saturating_add(self.others)
    }

    /// Counts failures whose sort is not known any more.
    pub fn count_others(&mut self, count: u64) {
        self.others = self.others.saturating_add(count);
    }

    /// Adds another's counts; the messages already here stay.
    pub fn add(&mut self, other: &ErrorLedger) {
        for entry in &other.entries {
            self.count(entry.kind, entry.class, entry.code, entry.count);
            self.example(entry.kind, entry.class, entry.code, &entry.example);
        }
        self.count_others(other.others);
    }

    /// Forgets all and keeps the memory.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.others = 0;
    }

    fn entry(&mut self, kind: Kind, class: ErrorClass, code: Code) -> Option<&mut ErrorEntry> {
        let place = self
            .entries
            .iter()
            .position(|entry| (entry.kind, entry.class, entry.code) == (kind, class, code));
        let place = match place {
            Some(place) => place,
            None if self.entries.len() >= SORTS_MAX => return None,
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
        self.entries.get_mut(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_first_message_and_its_count() {
        let mut ledger = ErrorLedger::default();
        ledger.example(1, ErrorClass::Deadlock, *b"40P01", "deadlock detected");
        ledger.count(1, ErrorClass::Deadlock, *b"40P01", 1);
        ledger.example(1, ErrorClass::Deadlock, *b"40P01", "another");
        ledger.count(1, ErrorClass::Deadlock, *b"40P01", 1);
        ledger.count(0, ErrorClass::Deadlock, *b"40P01", 1);
        assert_eq!(ledger.entries().len(), 2);
        assert_eq!(ledger.entries()[0].count, 2);
        assert_eq!(ledger.entries()[0].example, "deadlock detected");
        let long = "é".repeat(EXAMPLE_MAX_BYTES);
        ledger.example(0, ErrorClass::Deadlock, *b"40P01", &long);
        assert!(ledger.entries()[1].example.len() <= EXAMPLE_MAX_BYTES);
    }

    #[test]
    fn a_flood_of_codes_is_bounded_and_fully_counted() {
        let code = |number: u32| -> Code { format!("{number:05}").as_bytes().try_into().unwrap() };
        let mut ledger = ErrorLedger::default();
        for number in 0..1_000 {
            ledger.count(0, ErrorClass::Other, code(number), 2);
        }
        assert_eq!(ledger.entries().len(), SORTS_MAX);
        assert_eq!(ledger.others(), 2 * (1_000 - SORTS_MAX as u64));
        let mut sum = ErrorLedger::default();
        sum.add(&ledger);
        sum.add(&ledger);
        assert_eq!(sum.total(), 4_000);
    }
}
