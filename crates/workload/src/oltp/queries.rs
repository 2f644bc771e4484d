//! How many queries users sent, by sysbench's rule.
//!
//! In: what each statement came to. Out: counts; the shares that an event means. Must never: lock
//! for a statement: a user adds what it counted once, when it ends.
//!
//! The rule: a result of rows is a read; else changed rows make a write; all else, `BEGIN` and
//! `COMMIT` among it, is other.

use prony_session::Share;
pub use prony_session::{Queries, Query};
use std::sync::{Mutex, PoisonError};

/// What a statement is that is to change rows, and changed so many.
pub fn changed(rows: u64) -> Query {
    if rows > 0 { Query::Write } else { Query::Other }
}

/// What users did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Of the events that came to their end.
    pub ended: Queries,
    /// Of tries that were broken off by an error and begun again, or failed for good.
    pub broken: Queries,
    /// Tries that an error broke off and that were begun again with new values: sysbench's
    /// "ignored errors".
    pub ignored: u64,
}

impl Counted {
    /// As sysbench counts: a try that is begun again counts its statements again.
    pub fn all(&self) -> Queries {
        let mut all = self.ended;
        all.add(&self.broken);
        all
    }

    /// The shares of events that came to their end. `meant` is what one of them is; `exact` where
    /// each one keeps it.
    pub fn shares(&self, meant: &Queries, exact: bool) -> Vec<Share> {
        let whole = self.ended.all();
        let of = meant.all().max(1) as f64;
        [
            ("reads", self.ended.reads, meant.reads),
            ("writes", self.ended.writes, meant.writes),
            ("others", self.ended.others, meant.others),
        ]
        .map(|(name, part, meant)| Share {
            name,
            of: "queries",
            part,
            whole,
            meant: exact.then_some(meant as f64 / of),
            exact,
            least: None,
        })
        .to_vec()
    }
}

/// What one user counted; it is added to that of all when the user ends.
pub(super) struct Kept<'a> {
    /// So far.
    pub sums: Counted,
    all: &'a Mutex<Counted>,
}

impl<'a> Kept<'a> {
    /// Nothing so far.
    pub fn new(all: &'a Mutex<Counted>) -> Self {
        Kept {
            sums: Counted::default(),
            all,
        }
    }
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.ended.add(&self.sums.ended);
        all.broken.add(&self.sums.broken);
        all.ignored += self.sums.ignored;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_users_are_added_and_their_shares_named() {
        let all = Mutex::default();
        let meant = Queries {
            reads: 14,
            writes: 4,
            others: 2,
            ..Queries::default()
        };
        for _ in 0..2 {
            let mut kept = Kept::new(&all);
            kept.sums.ended.add(&meant);
            kept.sums.broken.count(changed(1));
            kept.sums.broken.count(changed(0));
            kept.sums.ignored += 1;
        }
        let all = *all.lock().expect("one thread");
        assert_eq!(all.ended.all(), 40);
        assert_eq!(all.all().all(), 44);
        assert_eq!(all.ignored, 2);
        let shares = all.shares(&meant, true);
        let parts: Vec<_> = shares
            .iter()
            .map(|share| (share.name, share.part))
            .collect();
        assert_eq!(parts, [("reads", 28), ("writes", 8), ("others", 4)]);
        assert_eq!(shares[0].meant, Some(0.7));
        assert_eq!(all.shares(&meant, false)[0].meant, None);
    }
}
