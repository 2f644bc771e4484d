//! The builtin scripts.
//!
//! In: a name or the start of one. Out: a script. Must never: differ from pgbench's in a statement
//! or in the order of the random numbers.

use super::ast::Script;
use super::error::ScriptError;
use super::variables::Names;

/// A builtin script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// The name it is asked for by.
    pub name: &'static str,
    /// The name in reports.
    pub description: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// All of them, in the customary order.
pub const BUILTINS: [Builtin; 3] = [
    Builtin {
        name: "tpcb-like",
        description: "<builtin: TPC-B (sort of)>",
        text: "\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
",
    },
    Builtin {
        name: "simple-update",
        description: "<builtin: simple update>",
        text: "\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
",
    },
    Builtin {
        name: "select-only",
        description: "<builtin: select only>",
        text: "\\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
",
    },
];

impl Builtin {
    /// Reads the script.
    pub fn parse(&self, names: &mut Names, level: u32) -> Result<Script, ScriptError> {
        Script::parse(names, self.description, self.text, level)
    }
}

/// The builtin script whose name starts so; exactly one must.
pub fn builtin(start: &str) -> Result<&'static Builtin, ScriptError> {
    let fitting = || {
        BUILTINS
            .iter()
            .filter(|builtin| builtin.name.starts_with(start))
    };
    let problem = match (fitting().count(), fitting().next()) {
        (1, Some(only)) => return Ok(only),
        (0, _) => format!("no builtin script found for name \"{start}\""),
        (count, _) => {
            format!("ambiguous builtin name: {count} builtin scripts found for prefix \"{start}\"")
        }
    };
    Err(ScriptError::Builtin { problem })
}
