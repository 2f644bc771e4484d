//! pgbench's builtin scripts.
//!
//! In: a name or the unique beginning of one. Out: the script. Must never: change a byte of it: `-r`
//! prints its lines and servers log them.

/// A builtin script.
#[derive(Debug, PartialEq, Eq)]
pub struct Builtin {
    /// The name for `-b`.
    pub name: &'static str,
    /// What reports call it.
    pub description: &'static str,
    /// The script.
    pub script: &'static str,
}

macro_rules! begin {
    () => {
        "\\set aid random(1, 100000 * :scale)\n\
         \\set bid random(1, 1 * :scale)\n\
         \\set tid random(1, 10 * :scale)\n\
         \\set delta random(-5000, 5000)\n\
         BEGIN;\n\
         UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n\
         SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"
    };
}

macro_rules! end {
    () => {
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n\
         END;\n"
    };
}

/// All of them, in pgbench's order.
pub static BUILTINS: [Builtin; 3] = [
    Builtin {
        name: "tpcb-like",
        description: "<builtin: TPC-B (sort of)>",
        script: concat!(
            begin!(),
            "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\n",
            "UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n",
            end!()
        ),
    },
    Builtin {
        name: "simple-update",
        description: "<builtin: simple update>",
        script: concat!(begin!(), end!()),
    },
    Builtin {
        name: "select-only",
        description: "<builtin: select only>",
        script: "\\set aid random(1, 100000 * :scale)\n\
                 SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n",
    },
];

impl Builtin {
    /// The one script whose name begins so, or the reason why there is none.
    pub(crate) fn find(prefix: &str) -> Result<&'static Self, String> {
        let found: Vec<_> = BUILTINS
            .iter()
            .filter(|b| b.name.starts_with(prefix))
            .collect();
        match found[..] {
            [one] => Ok(one),
            [] => Err(format!("no builtin script found for name \"{prefix}\"")),
            _ => Err(format!(
                "ambiguous builtin name: {} builtin scripts found for prefix \"{prefix}\"",
                found.len()
            )),
        }
    }
}

/// What `-b list` prints on standard error.
pub fn list_text() -> String {
    let mut text = String::from("Available builtin scripts:\n");
    for builtin in &BUILTINS {
        text += &format!("  {:>13}: {}\n", builtin.name, builtin.description);
    }
    text + "\n"
}

/// What `--show-script` prints on standard error.
pub fn show_text(builtin: &Builtin) -> String {
    format!(
        "-- {}: {}\n{}\n",
        builtin.name, builtin.description, builtin.script
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unique_beginning_is_enough() {
        assert_eq!(Builtin::find("t").unwrap().name, "tpcb-like");
        assert_eq!(Builtin::find("si").unwrap().name, "simple-update");
        assert!(
            Builtin::find("s")
                .unwrap_err()
                .contains("2 builtin scripts found")
        );
        assert!(
            Builtin::find("")
                .unwrap_err()
                .contains("3 builtin scripts found")
        );
        assert!(
            Builtin::find("select-onlyx")
                .unwrap_err()
                .starts_with("no builtin")
        );
    }

    #[test]
    fn seven_statements_make_tpcb() {
        assert_eq!(BUILTINS[0].script.matches(";\n").count(), 7);
        assert_eq!(BUILTINS[1].script.matches(";\n").count(), 5);
        assert_eq!(BUILTINS[2].script.lines().count(), 2);
    }
}
