//! What a load that did not come to its end leaves behind, in words.
//!
//! In: how far it came, what stopped it. Out: the error that the user reads. Must never: promise
//! more than is known.

use crate::Error;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the words need to know of a load.
pub struct Broken<'a> {
    /// What it leaves behind, in words.
    pub remains: &'a str,
    /// Nothing was changed.
    pub untouched: bool,
    /// Scale.
    pub scale: u32,
    /// Size of all tables with their indexes, MB.
    pub size_mb: u64,
    /// What to do where nothing needs to be repaired first.
    pub again: &'a str,
}

impl Broken<'_> {
    /// Adds to an error what remains and what to do.
    pub fn explain(&self, error: Error, stop: &AtomicBool) -> Error {
        let remains = self.remains.to_owned();
        if stop.load(Ordering::Relaxed) {
            // Whatever it was, it came of the stop: a cancelled statement, a connection given up.
            return Error::Stopped { remains };
        }
        let hint = match &error {
            Error::Server { source, .. } => match source.hint() {
                Some(hint) => hint.to_owned(),
                None => self.hint(source.sqlstate()),
            },
            // Asked too much, or a table that is not ours: those say themselves what to do.
            _ if self.untouched => return error,
            _ => self.again.to_owned(),
        };
        Error::LoadFailed {
            problem: match &error {
                // Its hint is this one's.
                Error::Server { .. } => error.problem(),
                other => other.to_string(),
            },
            remains,
            hint,
        }
    }

    /// What to do about an error with this SQLSTATE; `None`: the connection itself failed.
    fn hint(&self, code: Option<&str>) -> String {
        let Broken {
            scale,
            size_mb,
            again,
            ..
        } = self;
        match code {
            Some("53100") => format!(
                "free space on the server's disk: scale {scale} takes about {size_mb} MB, and up to \
                 as much again of write-ahead log until the next checkpoint; older tables keep their \
                 space until the new ones are there, unless they are dropped first"
            ),
            Some("42501") => "the role needs CREATE on the schema: connect as its owner, or \
                 GRANT CREATE ON SCHEMA public"
                .to_owned(),
            Some("25006") => {
                "the server is read-only, such as a standby: load the primary".to_owned()
            }
            Some("3F000") => "search_path names no schema that exists".to_owned(),
            Some("2BP01") => "drop what depends on the old tables first".to_owned(),
            Some("53300") => "fewer --jobs, or a larger max_connections".to_owned(),
            None | Some("57P01" | "57P02" | "57P03") => {
                format!("see the server's log for why it ended; when it is back, {again}")
            }
            Some(_) => (*again).to_owned(),
        }
    }
}
