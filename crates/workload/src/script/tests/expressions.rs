//! Compares expressions with pgbench 15.18's results.
//!
//! Each line of `expressions.txt` holds an expression. The lines below it, each after a tab, are pgbench's
//! standard error for `\set x debug(EXPRESSION)` in the file x.sql, with `--random-seed=42` and the variables
//! in `DEFINED`. The file omits lines about the seed and the end of the client, and abs() of a boolean, for
//! which pgbench prints uninitialized memory.

use crate::random::Random;
use crate::script::{Command, CommandIndex, CommandKind, Evaluator, Script, VariableNames};
use std::sync::Arc;

const RECORDED: &str = include_str!("expressions.txt");

/// The variables defined by `-D` for the recording.
const DEFINED: [(&str, &str); 18] = [
    ("foo", "-10.1"),
    ("bla", "false"),
    ("i", "+3"),
    ("n", "null"),
    ("t", "t"),
    ("f", "of"),
    ("d", "1.0"),
    ("bad", "trueXXX"),
    ("sp", " 42 "),
    ("hex", "0x1.8p1"),
    ("inf", "-Infinity"),
    ("nan", "NaN"),
    ("big", "9223372036854775808"),
    ("huge", "1e999"),
    ("tiny", "1e-320"),
    ("yes", "Y"),
    ("o", "o"),
    ("on", "ON"),
];

/// The automatic variables of a run with seed 42 and one client.
pub(super) const AUTOMATIC: [(&str, &str); 4] = [
    ("scale", "1"),
    ("client_id", "0"),
    ("random_seed", "42"),
    ("default_seed", "4306334408478191133"),
];

/// The only client of a run with seed 42.
fn client(names: VariableNames) -> Evaluator {
    let mut client = Evaluator::new(Arc::new(names), Random::of_client(42, 0));
    for (name, text) in AUTOMATIC.into_iter().chain(DEFINED) {
        client
            .set_by_name("option", name, text, 15)
            .expect("a valid name");
    }
    client
}

/// The standard error output of `\set x debug(expression)`.
fn stderr_of(expression: &str) -> String {
    let mut names = VariableNames::new();
    let text = format!("\\set x debug({expression})\n");
    let script = match Script::parse(&mut names, "x.sql", &text, 15) {
        Ok(script) => script,
        Err(error) => return error.pgbench_stderr("pgbench", 15),
    };
    let mut client = client(names);
    let Command {
        kind: CommandKind::Set { value, .. },
        ..
    } = &script.commands[0]
    else {
        panic!("\\set is not \\set");
    };
    let result = client.eval(value, CommandIndex::default());
    let mut out = client.take_debug_output().unwrap_or_default();
    if let Err(error) = result
        && !error.to_string().is_empty()
    {
        out.push_str(&format!("pgbench: error: {error}\n"));
    }
    out
}

#[test]
fn expressions_evaluate_as_in_pgbench() {
    let mut differences = Vec::new();
    let mut count = 0;
    let mut lines = RECORDED.lines().peekable();
    while let Some(expression) = lines.next() {
        let mut expected = String::new();
        while let Some(line) = lines.next_if(|line| line.starts_with('\t')) {
            expected.push_str(&line[1..]);
            expected.push('\n');
        }
        count += 1;
        let actual = stderr_of(expression);
        if actual != expected {
            differences.push(format!(
                "{expression}\n expected: {expected} actual: {actual}"
            ));
        }
    }
    assert!(count > 800, "only {count} expressions");
    assert!(
        differences.is_empty(),
        "{} of {count}:\n{}",
        differences.len(),
        differences.join("\n")
    );
}
