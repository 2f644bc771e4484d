//! What a load of these tables that did not come to its end leaves behind.
//!
//! In: how far it came, what stopped it. Out: the error that the user reads. Must never: promise more
//! than is known.

use super::super::Oltp;
use crate::Error;
use crate::commands::{self, Caller, Size};
use crate::remains::Broken;
use std::sync::atomic::AtomicBool;

/// How far a load came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remains {
    /// Nothing was changed; or all of it in a transaction that did not commit.
    Untouched,
    /// The commit of all tables was sent.
    Committing,
    /// Some tables are there, with notes.
    Begun,
    /// All is there.
    Loaded,
}

impl Remains {
    /// Adds to an error what remains and what to do.
    pub fn explain(
        self,
        error: Error,
        workload: &Oltp,
        tables: u32,
        size_mb: u64,
        stop: &AtomicBool,
    ) -> Error {
        let caller = commands::caller();
        let sizes = [("scale", tables.to_string())];
        let begun = begun(caller, workload, &sizes);
        let clean = caller.clean(workload.data, &sizes);
        let anew = format!("`{clean}`, then prepare them again");
        let remains = match self {
            Remains::Untouched => "nothing: the database is as it was before",
            Remains::Committing => {
                "either the new tables or the old ones: the server's answer to the commit was lost"
            }
            Remains::Begun => &begun,
            Remains::Loaded => "all tables with rows and indexes; only the last VACUUM is missing",
        };
        let again = match (self, caller) {
            (Remains::Untouched, _) => "start the load again",
            // It refuses tables that are there.
            (_, Caller::Sysbench) => &anew,
            _ => "start the load again with the same options and seed: it goes on",
        };
        let broken = Broken {
            remains,
            untouched: self == Remains::Untouched,
            scale: tables,
            size_mb,
            again,
        };
        broken.explain(error, stop)
    }
}

/// What a load has left that was broken off between its first table and its last note.
fn begun(caller: Caller, workload: &Oltp, sizes: &[Size<'_>]) -> String {
    let clean = caller.clean(workload.data, sizes);
    match caller {
        Caller::Prony => format!(
            "tables without all their rows or indexes, which no run accepts; `{}` with the same \
             options and seed keeps those that are filled, `{clean}` drops them",
            caller.load(workload.name, &[])
        ),
        _ => format!("tables without all their rows or indexes; `{clean}` drops them"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sysbench_is_told_of_its_own_commands() {
        let sizes = [("scale", "3".to_owned())];
        let text = begun(Caller::Sysbench, &crate::oltp::OLTP_READ_ONLY, &sizes);
        assert!(!text.contains("prony"), "{text}");
        let drops = "`sysbench oltp_read_write --tables=3 cleanup` drops them";
        assert!(text.ends_with(drops), "{text}");
    }

    #[test]
    fn what_is_left_is_said() {
        let stop = AtomicBool::new(false);
        let asked = Error::Asked {
            problem: "x".to_owned(),
            hint: "y".to_owned(),
        };
        let error = Remains::Begun.explain(asked, &crate::oltp::OLTP_READ_ONLY, 3, 10, &stop);
        let text = error.to_string();
        assert!(
            text.contains("`prony load oltp_read_only` with the same options"),
            "{text}"
        );
        assert!(
            text.contains("`prony clean oltp_read_write` drops them"),
            "{text}"
        );
    }
}
