//! The state in which an unfinished load leaves the database.
//!
//! Builds the user's error message from that state and the cause of the failure. Must never claim more
//! than is known.

use crate::Error;
use crate::remedy::{LoadSpec, Remedy};
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadState {
    /// Nothing was changed.
    Untouched,
    /// All changes are in a transaction that has not committed.
    Uncommitted,
    /// The commit of the tables was sent, but not yet confirmed.
    Committing,
    /// The tables exist, with some of their rows.
    Incomplete,
    Loaded,
}

/// The description of a load in commands and messages.
pub struct LoadSubject {
    pub load: LoadSpec,
    pub scale: u32,
    /// Size of all tables with their indexes, in bytes.
    pub bytes: u64,
}

impl LoadState {
    /// Adds to an error what the load left behind, and what to do.
    pub fn explain(self, error: Error, subject: &LoadSubject, stop: &AtomicBool) -> Error {
        let is_unchanged = matches!(self, LoadState::Untouched | LoadState::Uncommitted);
        let lost = matches!(&error, Error::Server { source, .. } if source.is_lost());
        let left_behind = match self {
            // PostgreSQL removes the files of an uncommitted table at the end of its transaction, but not in crash recovery.
            LoadState::Uncommitted if lost => {
                "no tables, but if the server crashed, the files of these remain in its data directory until the \
                 database is dropped"
            }
            LoadState::Untouched | LoadState::Uncommitted => "nothing (the database is unchanged)",
            LoadState::Committing => {
                "either the new tables or the old ones: the server's answer to the commit was lost"
            }
            LoadState::Incomplete => "incomplete tables",
            LoadState::Loaded => "all tables; only the load's last steps are missing",
        };
        let left_behind = left_behind.to_owned();
        let load = subject.load.clone();
        let remedy = match self {
            LoadState::Untouched | LoadState::Uncommitted => "load again".into(),
            LoadState::Committing => Remedy::Check(load),
            LoadState::Incomplete | LoadState::Loaded => {
                Remedy::Continue(load, "with the same options")
            }
        };
        if stop.load(Ordering::Relaxed) {
            // Whatever the error is (a cancelled statement, an abandoned connection), the stop caused it.
            let remedy = Some(remedy).filter(|_| !is_unchanged);
            return Error::Stopped {
                left_behind,
                remedy,
            };
        }
        let first_step = match &error {
            Error::Server { source, .. } if source.is_silent() => {
                Some("check that the server is up and reachable over the network".to_owned())
            }
            Error::Server { source, .. } => match source.hint() {
                Some(hint) => Some(hint.into_owned()),
                None => first_step_after(source.sqlstate(), subject),
            },
            // Errors before the first change, such as invalid options or a foreign table, already say what to
            // do.
            _ if is_unchanged => return error,
            _ => None,
        };
        Error::LoadFailed {
            cause: Box::new(error),
            left_behind,
            remedy: Box::new(match first_step {
                Some(advice) => Remedy::AdviceThen(advice, Box::new(remedy)),
                None => remedy,
            }),
        }
    }
}

/// Returns the first step after an error with this SQLSTATE; `code` is `None` if the connection failed.
fn first_step_after(code: Option<&str>, subject: &LoadSubject) -> Option<String> {
    let scale = subject.scale;
    // Up to as much again is write-ahead log until the next checkpoint.
    let size_mb = 2 * subject.bytes / 1_000_000;
    let text = match code {
        Some("53100") => {
            return Some(format!(
                "free about {size_mb} MB on the server's disk (scale {scale} with its log), or drop older tables"
            ));
        }
        Some("25006") => "the server is read-only, such as a standby: name the primary",
        Some("3F000") => "search_path names no schema that exists: set it",
        Some("2BP01") => "drop what depends on the old tables",
        Some("53300") => "use fewer --jobs, or raise max_connections",
        None | Some("57P01" | "57P02" | "57P03") => {
            "see the server's log for the reason, and wait until it is back"
        }
        Some(_) => return None,
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    fn subject() -> LoadSubject {
        LoadSubject {
            load: LoadSpec {
                dataset: "oltp_read_write",
                ..LoadSpec::of("oltp_read_only", Vec::new())
            },
            scale: 3,
            bytes: 10_000_000,
        }
    }

    #[test]
    fn errors_describe_the_state_and_the_remedy() {
        let invalid_request = || Error::InvalidRequest {
            problem: "x".to_owned(),
            hint: "y".to_owned(),
        };
        let stop = AtomicBool::new(false);
        let text = LoadState::Incomplete
            .explain(invalid_request(), &subject(), &stop)
            .to_string();
        for expected in [
            "left behind: incomplete tables; `prony clean oltp_read_write` drops them\n",
            "hint: `prony load oltp_read_only` with the same options continues it",
        ] {
            text.assert_contains(expected);
        }
        let untouched = LoadState::Untouched.explain(invalid_request(), &subject(), &stop);
        assert_eq!(untouched.to_string(), "x\n  hint: y");
        let lost = |state: LoadState| {
            let error = Error::Server {
                activity: "loading".to_owned(),
                source: prony_server::control::Error::Closed,
            };
            state.explain(error, &subject(), &stop).to_string()
        };
        lost(LoadState::Untouched).assert_contains("nothing (the database is unchanged)");
        let uncommitted = lost(LoadState::Uncommitted);
        uncommitted.assert_contains("left behind: no tables, but if the server crashed, the files");
        uncommitted.assert_ends_with("wait until it is back; then load again");
        stop.store(true, Ordering::Relaxed);
        let stopped = LoadState::Committing.explain(invalid_request(), &subject(), &stop);
        let check = "hint: `prony check oltp_read_only` shows which";
        stopped.to_string().assert_ends_with(check);
    }
}
