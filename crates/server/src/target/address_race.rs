//! Which of a server's addresses answers, if only one of them does at a time.
//!
//! A listener of an availability group has an address in each subnet, and moves between them in a failover. A
//! client that tries one after the other waits for the end of a time limit at each address that does not answer.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The address that answered last, shared by all connections to a server.
#[derive(Debug)]
pub struct AddressRace {
    /// Index of the address that answered last; [`NONE`] if it has failed since.
    last_index: AtomicUsize,
    /// Number of connections that began while none was known.
    begun: AtomicUsize,
}

const NONE: usize = usize::MAX;

impl AddressRace {
    /// How long one connection waits for an answer of one address before it tries the next. A lost packet that
    /// requests a connection is sent again after one second.
    pub const OPENING_LIMIT: Duration = Duration::from_secs(2);

    /// The index of the address that a connection tries first. While none is known to answer, connections are
    /// spread over all `count` addresses, so that these are tried at once.
    pub fn first_index(&self, count: usize) -> usize {
        match self.last_index.load(Ordering::Relaxed) {
            NONE => self.begun.fetch_add(1, Ordering::Relaxed) % count.max(1),
            index => index,
        }
    }

    pub fn record_answer(&self, index: usize) {
        self.last_index.store(index, Ordering::Relaxed);
    }

    /// Records that an address has not answered. Another that has answered in the meantime stays known.
    pub fn record_failure(&self, index: usize) {
        let _ = self
            .last_index
            .compare_exchange(index, NONE, Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl Default for AddressRace {
    fn default() -> Self {
        AddressRace {
            last_index: AtomicUsize::new(NONE),
            begun: AtomicUsize::new(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_spread_until_an_address_answers_and_after_it_fails() {
        let race = AddressRace::default();
        let spread = |race: &AddressRace| [(); 3].map(|()| race.first_index(3));
        assert_eq!(spread(&race), [0, 1, 2]);
        race.record_answer(1);
        assert_eq!(spread(&race), [1; 3]);
        // A late failure of another address changes nothing.
        race.record_failure(0);
        assert_eq!(spread(&race), [1; 3]);
        race.record_failure(1);
        assert_eq!(spread(&race), [0, 1, 2]);
    }
}
