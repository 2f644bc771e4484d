//! The builtin scripts, byte for byte as in pgbench: `-r` prints their lines, servers log their statements,
//! and their order decides which random numbers are drawn.

use super::ast::Script;
use super::error::ScriptError;
use super::variables::VariableNames;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    pub name: &'static str,
    pub description: &'static str,
    pub text: &'static str,
}

macro_rules! aid {
    () => {
        "\\set aid random(1, 100000 * :scale)\n"
    };
}

macro_rules! select {
    () => {
        "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"
    };
}

macro_rules! begin {
    () => {
        concat!(
            aid!(),
            "\\set bid random(1, 1 * :scale)\n",
            "\\set tid random(1, 10 * :scale)\n",
            "\\set delta random(-5000, 5000)\n",
            "BEGIN;\n",
            "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n",
            select!()
        )
    };
}

macro_rules! end {
    () => {
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n\
         END;\n"
    };
}

pub static BUILTINS: [Builtin; 3] = [
    Builtin {
        name: "tpcb-like",
        description: "<builtin: TPC-B (sort of)>",
        text: concat!(
            begin!(),
            "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\n",
            "UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n",
            end!()
        ),
    },
    Builtin {
        name: "simple-update",
        description: "<builtin: simple update>",
        text: concat!(begin!(), end!()),
    },
    Builtin {
        name: "select-only",
        description: "<builtin: select only>",
        text: concat!(aid!(), select!()),
    },
];

impl Builtin {
    pub fn parse(
        &self,
        names: &mut VariableNames,
        pgbench_version: u32,
    ) -> Result<Script, ScriptError> {
        Script::parse(names, self.description, self.text, pgbench_version)
    }
}

/// Finds the builtin script whose name starts with `prefix`.
pub fn find_builtin(prefix: &str) -> Result<&'static Builtin, ScriptError> {
    let matches = || {
        BUILTINS
            .iter()
            .filter(|builtin| builtin.name.starts_with(prefix))
    };
    let problem = match (matches().count(), matches().next()) {
        (1, Some(only)) => return Ok(only),
        (0, _) => format!("no builtin script found for name \"{prefix}\""),
        (count, _) => {
            format!("ambiguous builtin name: {count} builtin scripts found for prefix \"{prefix}\"")
        }
    };
    Err(ScriptError::Builtin { problem })
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn a_builtin_is_found_by_a_unique_prefix_of_its_name() {
        let problem = |prefix: &str| find_builtin(prefix).expect_err(prefix).to_string();
        assert_eq!(find_builtin("t").expect("a builtin").name, "tpcb-like");
        assert_eq!(find_builtin("si").expect("a builtin").name, "simple-update");
        problem("s").assert_contains("2 builtin scripts found");
        problem("").assert_contains("3 builtin scripts found");
        problem("select-onlyx").assert_starts_with("no builtin");
    }

    #[test]
    fn builtins_have_the_expected_number_of_statements() {
        assert_eq!(BUILTINS[0].text.matches(";\n").count(), 7);
        assert_eq!(BUILTINS[1].text.matches(";\n").count(), 5);
        assert_eq!(BUILTINS[2].text.lines().count(), 2);
    }
}
