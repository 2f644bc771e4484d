//! Tests of details that the recorded output of a single pgbench version (`scripts.txt`) does not cover.

use super::scripts::escape;
use crate::random::Random;
use crate::script::{
    CommandIndex, CommandKind, EvalError, Evaluator, Script, Value, VariableNames, Variables,
};
use prony_assertions::TextAssertions;
use std::sync::Arc;

fn parse(text: &str, pgbench_version: u32) -> Result<(Script, VariableNames), String> {
    let mut names = VariableNames::new();
    match Script::parse(&mut names, "x.sql", text, pgbench_version) {
        Ok(script) => Ok((script, names)),
        Err(error) => Err(error.pgbench_stderr("pgbench", pgbench_version)),
    }
}

/// The statements sent in simple mode, with only `a` defined.
fn sent_statements(text: &str, pgbench_version: u32) -> Vec<String> {
    let (script, names) = parse(text, pgbench_version).expect("a script");
    let mut variables = Variables::new(&names);
    if let Some(a) = names.find("a") {
        variables.set(a, Value::Int(5));
    }
    let mut statements = Vec::new();
    for sql in script.statements() {
        let mut out = String::new();
        sql.substitute(&variables, &mut out);
        statements.push(escape(&out));
    }
    statements
}

#[test]
fn features_depend_on_the_version() {
    for (text, first_version) in [
        ("\\startpipeline\n\\endpipeline", 14),
        ("\\startpipeline\n\\syncpipeline\n\\endpipeline", 17),
        ("\\set x permute(1, 2)", 14),
        ("select 1 \\aset", 13),
    ] {
        for pgbench_version in 13..=19 {
            assert_eq!(
                parse(text, pgbench_version).is_ok(),
                pgbench_version >= first_version,
                "{text} at {pgbench_version}"
            );
        }
    }
    // Since 14, a name cannot begin with a digit; since 15, comments are sent; since 16, the vertical tab is
    // a blank.
    let variable_count = |pgbench_version| {
        parse("select :1a", pgbench_version)
            .expect("a script")
            .0
            .statements()
            .map(|sql| sql.parameters().len())
            .sum::<usize>()
    };
    assert_eq!((variable_count(13), variable_count(14)), (1, 0));
    assert_eq!(sent_statements("select -- c\n1", 14), ["select \\n1"]);
    assert_eq!(sent_statements("select -- c\n1", 15), ["select -- c\\n1"]);
    assert_eq!(sent_statements("\x0b\nselect 1", 16), ["select 1"]);
}

#[test]
fn syntax_errors_are_printed_as_fatal_before_version_15() {
    let text = "\n\\set x 1 +\n";
    let expected =
        "x.sql:2: syntax error in command \"set\"\n\\set x 1 +\n          ^ error found here\n";
    assert_eq!(
        parse(text, 15).unwrap_err(),
        format!("pgbench: error: {expected}")
    );
    assert_eq!(
        parse(text, 14).unwrap_err(),
        format!("pgbench: fatal: {expected}")
    );
}

#[test]
fn a_gset_without_statement_is_reported_at_its_line_since_18() {
    let gset_error = |pgbench_version| parse("\n\n\\gset\n\n\n", pgbench_version).unwrap_err();
    gset_error(17).assert_contains("x.sql:5: \\gset must follow");
    gset_error(18).assert_contains("x.sql:3: \\gset must follow");
}

/// No sum may overflow at the extremes of a range.
#[test]
fn random_numbers_stay_in_extreme_ranges() {
    for (low, high) in [
        ("1", "9223372036854775807"),
        ("-9223372036854775808", "-2"),
        ("-9223372036854775808", "-9223372036854775808"),
    ] {
        for call in [
            "random_exponential({}, 0.000001)",
            "random_gaussian({}, 2)",
            "random_zipfian({}, 1.1)",
            "random_zipfian({}, 900)",
        ] {
            let call = call.replace("{}", &format!("{low}, {high}"));
            let (script, names) = parse(&format!("\\set x {call}"), 15).expect("a script");
            let mut client = Evaluator::new(Arc::new(names), Random::new(1));
            let CommandKind::Set { value, .. } = &script.commands[0].kind else {
                panic!("not a set");
            };
            for _ in 0..1000 {
                let Ok(Value::Int(number)) = client.eval(value, CommandIndex::default()) else {
                    panic!("{call} is not a number");
                };
                assert!(number >= low.parse().expect("a number"), "{call}: {number}");
                assert!(
                    number <= high.parse().expect("a number"),
                    "{call}: {number}"
                );
            }
        }
    }
}

#[test]
fn gset_and_aset_belong_to_the_statement_before_them() {
    let (script, _) = parse(
        "select 1 \\gset\nselect 2 \\; select 3 \\ASET p_\nselect 4;",
        15,
    )
    .expect("a script");
    let store_commands: Vec<_> = script
        .statements()
        .map(|sql| {
            sql.store_command
                .as_ref()
                .map(|command| (command.name(), command.prefix.as_str()))
        })
        .collect();
    assert_eq!(
        store_commands,
        [Some(("gset", "")), Some(("aset", "p_")), None]
    );
}

#[test]
fn columns_are_stored_in_variables_named_after_prefix_and_column() {
    let (script, names) = parse("select 1 as a \\gset p_\nselect :p_a;", 15).expect("a script");
    let gset = script
        .statements()
        .next()
        .and_then(|sql| sql.store_command.clone())
        .expect("a \\gset");
    let client = Evaluator::new(Arc::new(names), Random::new(1));
    assert_eq!(
        client.column_variable(&gset, "a", 15),
        Ok(client.names().find("p_a"))
    );
    assert_eq!(client.column_variable(&gset, "unused", 15), Ok(None));
    let error = client.column_variable(&gset, "?column?", 15).unwrap_err();
    error
        .to_string()
        .assert_equals("gset: invalid variable name: \"p_?column?\"");
}

#[test]
fn commands_have_their_line_number_and_first_line() {
    let text =
        "-- c\n\nselect 1,\n 2;\n  \\set x 1 \\\n + 2\n\nselect 3 \\sleep 0 ms\n\\if 1\n\\endif\n";
    let (script, _) = parse(text, 15).expect("a script");
    let actual: Vec<_> = script
        .commands
        .iter()
        .map(|command| (command.line, command.first_line(), command.name()))
        .collect();
    let expected = [
        (3, "select 1,", "SQL"),
        (5, "\\set x 1 \\\n + 2", "set"),
        (8, "select 3 ", "SQL"),
        (8, "\\sleep 0 ms", "sleep"),
        (9, "\\if 1", "if"),
        (10, "\\endif", "endif"),
    ];
    assert_eq!(actual, expected);
    let long = format!("select {}é;", "x".repeat(119));
    let (script, _) = parse(&long, 15).expect("a script");
    assert_eq!(
        script.commands[0].first_line().len(),
        126,
        "cut between characters"
    );
}

#[test]
fn shell_commands_are_assembled_from_their_words() {
    let line = |text: &str| {
        let (script, names) = parse(text, 15).expect("a script");
        let mut client = Evaluator::new(Arc::new(names), Random::new(1));
        client
            .set_by_name("option", "a", "5", 15)
            .expect("a valid name");
        let mut out = String::new();
        let (CommandKind::Shell(shell) | CommandKind::SetShell { command: shell, .. }) =
            &script.commands[0].kind
        else {
            panic!("not a shell command");
        };
        client
            .write_shell_line(shell, &mut out)
            .map(|()| out)
            .map_err(|error| error.to_string())
    };
    let expected = Ok("echo 5 :a a:a ':a'".to_owned());
    assert_eq!(line("\\shell echo  :a\t::a a:a ':a'"), expected);
    let expected = Ok("expr 5 + 1".to_owned());
    assert_eq!(line("\\setshell v expr \\\n :a + 1"), expected);
    for name in [":b", ":"] {
        let expected = format!("echo: undefined variable \"{name}\"");
        assert_eq!(line(&format!("\\shell echo {name}")), Err(expected));
    }
    let longest = format!("\\shell {}", "x".repeat(254));
    assert_eq!(line(&longest).map(|out| out.len()), Ok(254));
    let too_long = format!("\\shell {} x", "x".repeat(253));
    line(&too_long)
        .unwrap_err()
        .assert_ends_with(": shell command is too long");
}

#[test]
fn sleep_times_have_units() {
    let time = |text: &str| -> Result<i64, EvalError> {
        let (script, names) = parse(text, 15).expect("a script");
        let mut client = Evaluator::new(Arc::new(names), Random::new(1));
        client
            .set_by_name("option", "a", "5x", 15)
            .expect("a valid name");
        client
            .set_by_name("option", "b", "x", 15)
            .expect("a valid name");
        let CommandKind::Sleep(sleep) = &script.commands[0].kind else {
            panic!("not a sleep");
        };
        client.sleep_us(sleep, script.commands[0].name())
    };
    assert_eq!(time("\\sleep 2"), Ok(2_000_000));
    assert_eq!(time("\\sleep 3ms"), Ok(3_000));
    assert_eq!(time("\\sleep -4 US"), Ok(-4));
    assert_eq!(time("\\sleep :a ms"), Ok(5_000));
    let message = |text: &str| time(text).unwrap_err().to_string();
    message("\\sleep :b").assert_equals("sleep: invalid sleep time \"x\" for variable \"b\"");
    assert_eq!(message("\\Sleep :c"), "Sleep: undefined variable \"c\"");
    assert_eq!(time("\\sleep 99999999999999999999 s"), Ok(i64::MAX));
}

#[test]
fn an_invalid_variable_name_is_a_run_time_error() {
    let (script, names) = parse("\\set a! 1", 15).expect("a script");
    let mut client = Evaluator::new(Arc::new(names), Random::new(1));
    let CommandKind::Set { target, value } = &script.commands[0].kind else {
        panic!("not a set");
    };
    let value = client
        .eval(value, CommandIndex::default())
        .expect("a value");
    let error = client.assign(target, "set", value).unwrap_err();
    assert_eq!(error.to_string(), "set: invalid variable name: \"a!\"");
    let error = client.set_by_name("option", "", "1", 15).unwrap_err();
    assert_eq!(error.to_string(), "option: invalid variable name: \"\"");
}

/// The scripts of a run share their variables.
#[test]
fn scripts_share_variables() {
    let mut names = VariableNames::new();
    let writer = Script::parse(&mut names, "a.sql", "\\set v 7", 15).expect("a script");
    let reader = Script::parse(&mut names, "b.sql", "select :v", 15).expect("a script");
    let mut client = Evaluator::new(Arc::new(names), Random::new(1));
    let CommandKind::Set { target, value } = &writer.commands[0].kind else {
        panic!("not a set");
    };
    let value = client
        .eval(value, CommandIndex::default())
        .expect("a value");
    client.assign(target, "set", value).expect("a valid name");
    let mut out = String::new();
    reader
        .statements()
        .next()
        .expect("a statement")
        .substitute(&client.variables, &mut out);
    assert_eq!(out, "select 7");
}

#[test]
fn scripts_that_commit_once_are_recognized() {
    for (text, commits_once) in [
        ("SELECT 1;", true),
        (
            "\\set x 1\nBEGIN;\nUPDATE t SET a = :x;\nSELECT 2;\nEND;",
            true,
        ),
        ("with x as (select 1) select * from x;", true),
        ("SELECT 1;\nSELECT 2;", false),
        ("SELECT 1\\; SELECT 2;", false),
        ("BEGIN;\nSELECT 1;\nROLLBACK;", false),
        ("BEGIN;\nCALL p();\nEND;", false),
        ("VACUUM t;", false),
        ("\\if true\nSELECT 1;\n\\endif", false),
        ("\\sleep 1 ms", false),
    ] {
        let (script, _) = parse(text, 18).expect(text);
        assert_eq!(script.commits_once(), commits_once, "{text}");
    }
    for builtin in &crate::script::builtin::BUILTINS {
        let (script, _) = parse(builtin.text, 18).expect(builtin.name);
        assert!(script.commits_once(), "{}", builtin.name);
    }
}
