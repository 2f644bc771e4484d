//! Compares the conversion of variables' texts with pgbench 15.18.
//!
//! Each line of `values.txt` that begins with `# ` holds an escaped text. The lines below it, each after a
//! tab, are pgbench's standard error for `\set x debug(:v)` after `\gset` has stored the text in v.

use super::scripts::{escape, unescape};
use crate::random::Random;
use crate::script::{CommandIndex, CommandKind, Evaluator, Script, VariableNames};
use std::sync::Arc;

const RECORDED: &str = include_str!("values.txt");

/// The standard error output of `\set x debug(:v)` when the text is stored in v.
fn stderr_of(text: &str) -> String {
    let mut names = VariableNames::new();
    let script = Script::parse(
        &mut names,
        "v.sql",
        "select 1 \\gset\n\\set x debug(:v)",
        15,
    )
    .expect("a script");
    let mut client = Evaluator::new(Arc::new(names), Random::new(1));
    let variable = client.names().find("v").expect("v is used");
    client.variables.set_text(variable, text);
    let CommandKind::Set { value, .. } = &script.commands[1].kind else {
        panic!("\\set is not \\set");
    };
    let index = CommandIndex {
        script: 0,
        command: 1,
    };
    match client.eval(value, index) {
        Ok(_) => client.take_debug_output().expect("debug() was called"),
        Err(error) if error.to_string().is_empty() => String::new(),
        Err(error) => format!("pgbench: error: {error}\n"),
    }
}

#[test]
fn texts_convert_as_in_pgbench() {
    let mut differences = Vec::new();
    let mut count = 0;
    let mut lines = RECORDED.split('\n').peekable();
    while let Some(line) = lines.next() {
        let Some(text) = line.strip_prefix("# ") else {
            assert_eq!(line, "", "a line of the recording");
            continue;
        };
        let mut expected = String::new();
        while let Some(line) = lines.next_if(|line| line.starts_with('\t')) {
            expected.push_str(&unescape(&line[1..]));
            expected.push('\n');
        }
        count += 1;
        let actual = stderr_of(&unescape(text));
        if actual != expected {
            differences.push(format!(
                "{text:?} expected: {expected} actual: {}",
                escape(&actual)
            ));
        }
    }
    assert!(count > 80, "only {count} texts");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
