//! Texts given for variables, against what pgbench 15.18 took them for.
//!
//! `values.txt` holds a text on each line that begins with `# `, escaped, and below it, behind a tab,
//! what pgbench wrote on its standard error for `\set x debug(:v)` after `\gset` had put it into v.

use super::scripts::{escape, unescape};
use crate::random::Random;
use crate::script::{CommandKind, Evaluator, Names, Place, Script};
use std::sync::Arc;

const RECORDED: &str = include_str!("values.txt");

fn outcome(text: &str) -> String {
    let mut names = Names::new();
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
    let place = Place {
        script: 0,
        command: 1,
    };
    match client.eval(value, place) {
        Ok(_) => client.take_debug().expect("debug() was called"),
        Err(error) if error.to_string().is_empty() => String::new(),
        Err(error) => format!("pgbench: error: {error}\n"),
    }
}

#[test]
fn texts_are_what_they_are_in_pgbench() {
    let mut wrong = Vec::new();
    let mut count = 0;
    let mut lines = RECORDED.split('\n').peekable();
    while let Some(line) = lines.next() {
        let Some(text) = line.strip_prefix("# ") else {
            assert_eq!(line, "", "in the recording");
            continue;
        };
        let mut expected = String::new();
        while let Some(line) = lines.next_if(|line| line.starts_with('\t')) {
            expected.push_str(&unescape(&line[1..]));
            expected.push('\n');
        }
        count += 1;
        let got = outcome(&unescape(text));
        if got != expected {
            wrong.push(format!(
                "{text:?} expected: {expected} got: {}",
                escape(&got)
            ));
        }
    }
    assert!(count > 80, "{count} texts only");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
