//! What a load that did not come to its end leaves behind, in words.
//!
//! In: how far it came, what stopped it. Out: the error that the user reads. Must never: promise
//! more than is known.

use crate::Error;
use std::sync::atomic::{AtomicBool, Ordering};

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
    if stop.load(Ordering::Relaxed) {
        // Whatever it was, it came of the stop: a cancelled statement, a connection given up.
        return Error::Stopped {
            remains: remains.text().to_owned(),
        };
    }
    let hint = match &error {
        Error::Server { source, .. } => hint(source.sqlstate(), scale),
        // Asked too much, or a table that is not ours: those say themselves what to do.
        _ if *remains == Remains::Untouched => return error,
        _ => AGAIN.to_owned(),
    };
    Error::LoadFailed {
        problem: error.to_string(),
        remains: remains.text().to_owned(),
        hint,
    }
}

const AGAIN: &str = "start the load again: it begins anew and leads to the same state";

/// What to do about an error with this SQLSTATE; `None`: the connection itself failed.
fn hint(code: Option<&str>, scale: u32) -> String {
    // Measured at scale 50: 671 MB of heap, 112 MB of keys, 644 MB of write-ahead log.
    let tables_mb = u64::from(scale) * 16;
    match code {
        Some("53100") => format!(
            "free space on the server's disk: scale {scale} takes about {tables_mb} MB, and up to \
             as much again of write-ahead log until the next checkpoint; older tables keep their \
             space until the new ones are there, unless `prony clean tpcb` drops them first"
        ),
        Some("42501") => "the role needs CREATE on the schema: connect as its owner, or \
             GRANT CREATE ON SCHEMA public"
            .to_owned(),
        Some("25006") => "the server is read-only, such as a standby: load the primary".to_owned(),
        Some("3F000") => "search_path names no schema that exists".to_owned(),
        Some("2BP01") => "drop what depends on the old tables first".to_owned(),
        Some("53300") => "fewer --jobs, or a larger max_connections".to_owned(),
        None | Some("57P01" | "57P02" | "57P03") => {
            format!("see the server's log for why it ended; when it is back, {AGAIN}")
        }
        Some(_) => AGAIN.to_owned(),
    }
}
