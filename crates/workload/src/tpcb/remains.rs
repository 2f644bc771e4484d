//! What a load that did not come to its end leaves behind, in words.
//!
//! In: how far it came. Out: words. Must never: promise more than is known.

use crate::Error;
use crate::remains::Broken;
use std::sync::atomic::AtomicBool;

/// How far a load came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remains {
    /// Nothing was changed; or all of it in a transaction that did not commit.
    Untouched,
    /// The commit was sent.
    Committing,
    /// Tables are there with some of their rows.
    Parts,
    /// Rows and keys are there.
    Loaded,
}

impl Remains {
    fn text(self) -> &'static str {
        match self {
            Remains::Untouched => "nothing: the database is as it was before",
            Remains::Committing => {
                "either all tables or none: the server's answer to the commit was lost; \
                 `prony check tpcb` tells"
            }
            Remains::Parts => {
                "tables without all their rows or keys, which no workload accepts; \
                 `prony load` replaces them, `prony clean tpcb` drops them"
            }
            Remains::Loaded => "all tables with rows and keys; only the last VACUUM is missing",
        }
    }
}

/// Adds to an error what remains and what to do.
pub fn explain(error: Error, remains: &Remains, scale: u32, stop: &AtomicBool) -> Error {
    let broken = Broken {
        remains: remains.text(),
        untouched: *remains == Remains::Untouched,
        scale,
        // Measured at scale 50: 671 MB of heap, 112 MB of keys, 644 MB of write-ahead log.
        size_mb: u64::from(scale) * 16,
        again: "start the load again: it begins anew and leads to the same state",
    };
    broken.explain(error, stop)
}
