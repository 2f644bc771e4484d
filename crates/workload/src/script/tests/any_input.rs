//! Arbitrary scripts: parsing and running them always ends, in success or in an error.

use super::scripts::{escape, unescape};
use crate::random::Random;
use crate::script::{CommandIndex, CommandKind, DEPTH_MAX, Evaluator, Script, VariableNames};
use prony_assertions::TextAssertions;
use proptest::prelude::*;
use std::sync::Arc;

/// Parses a script and runs every command regardless of conditions, first with undefined variables, then with
/// defined ones.
fn parse_and_run(text: &str, pgbench_version: u32) {
    let mut names = VariableNames::new();
    let script = match Script::parse(&mut names, "any.sql", text, pgbench_version) {
        Ok(script) => script,
        Err(error) => {
            assert!(!error.pgbench_stderr("pgbench", pgbench_version).is_empty());
            return;
        }
    };
    let mut client = Evaluator::new(Arc::new(names), Random::new(1));
    let lines = text.matches('\n').count() + 1;
    for defined in [false, true] {
        if defined {
            for name in client.names().iter().map(str::to_owned).collect::<Vec<_>>() {
                // A name that is valid in an expression but not in a command stays undefined.
                let _ = client.set_by_name("option", &name, "-7", pgbench_version);
            }
        }
        for (number, command) in script.commands.iter().enumerate() {
            run(&script, number, &mut client);
            assert!(command.line >= 1 && command.line <= lines);
        }
    }
}

fn run(script: &Script, number: usize, client: &mut Evaluator) {
    let mut out = String::new();
    let command = &script.commands[number];
    // Accept values and errors: only a panic is a failure.
    match &command.kind {
        CommandKind::Sql(sql) => {
            sql.substitute(&client.variables, &mut out);
            let placeholders = sql.numbered_text().matches('$').count();
            assert!(placeholders >= sql.parameters().len());
        }
        CommandKind::Set { target, value } => {
            if let Ok(value) = client.eval(value, CommandIndex::default()) {
                let _ = client.assign(target, command.name(), value);
            }
        }
        CommandKind::If { else_target, .. } => {
            assert!(*else_target > number && *else_target < script.commands.len());
            let _ = script.next_after_condition(number, client, 0);
        }
        CommandKind::Elif {
            else_target,
            endif_target,
            ..
        } => {
            assert!(
                *else_target > number
                    && else_target <= endif_target
                    && *endif_target < script.commands.len()
            );
        }
        CommandKind::Else { endif_target } => {
            assert_eq!(script.commands[*endif_target].kind, CommandKind::EndIf);
        }
        CommandKind::Sleep(sleep) => {
            let _ = client.sleep_us(sleep, command.name());
        }
        CommandKind::Shell(shell) | CommandKind::SetShell { command: shell, .. } => {
            let _ = client.write_shell_line(shell, &mut out);
        }
        _ => {}
    }
    client.take_debug_output();
}

/// Fragments of scripts, with dots between them.
const FRAGMENTS: &str = "'·\"·$$·$a$·(·)·;·\\;·\\:·:a·:b·::·--·/*·*/·\n·\n· · ·E'·\\·select·1·begin·end·\
    create function f()·case·\\set a ·\\set b ·\\if ·\\elif ·\\else\n·\\endif\n·\\sleep ·\\shell ·\
    \\setshell a ·\\gset ·\\aset ·\\startpipeline\n·\\syncpipeline\n·\\endpipeline\n·U&'·\r\n·é·1e·\
    $1·-·+·*·/·%·<·>=·<>·=·|·#·&·<<·~·not ·and ·or ·is ·null ·true ·isnull ·when ·then ·else ·\
    random(·debug(·least(·permute(·hash(·pow(·, ·9223372036854775808·9223372036854775807·1.5·1e308·\
    \\\n·\0·0x1";

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_does_not_panic(text in any::<String>(), pgbench_version in 13_u32..=19) {
        parse_and_run(&text, pgbench_version);
    }

    #[test]
    fn arbitrary_expressions_do_not_panic(text in "\\\\(set a|if|elif) [ -~\n\\\\é:(]{0,60}", pgbench_version in 13_u32..=19) {
        parse_and_run(&text, pgbench_version);
    }

    #[test]
    fn arbitrary_fragments_do_not_panic(pieces in prop::collection::vec(prop::sample::select(FRAGMENTS.split('·').collect::<Vec<_>>()), 0..40), pgbench_version in 13_u32..=19) {
        parse_and_run(&pieces.concat(), pgbench_version);
    }

    /// Removes a part of a recorded script, or inserts a copy of it elsewhere.
    #[test]
    fn mutated_scripts_do_not_panic(pick in any::<prop::sample::Index>(), from in any::<prop::sample::Index>(),
                    to in any::<prop::sample::Index>(), insert in any::<prop::sample::Index>()) {
        let recorded: Vec<&str> = include_str!("scripts.txt").lines().filter_map(|l| l.strip_prefix("# ")).collect();
        let chars: Vec<char> = unescape(recorded[pick.index(recorded.len())]).chars().collect();
        prop_assume!(!chars.is_empty());
        let (a, b) = (from.index(chars.len()), to.index(chars.len()));
        let part = &chars[a.min(b)..=a.max(b)];
        let shortened: String = chars[..a.min(b)].iter().chain(&chars[a.max(b) + 1..]).collect();
        parse_and_run(&shortened, 15);
        let insert_at = insert.index(chars.len());
        let extended: String = chars[..insert_at].iter().chain(part).chain(&chars[insert_at..]).collect();
        parse_and_run(&extended, 15);
        prop_assert_eq!(unescape(&escape(&extended)), extended);
    }
}

/// A script with an expression of `depth` levels of nesting, each between `open` and `close`.
fn nested_expression(depth: usize, open: &str, close: &str) -> String {
    format!("\\set x {}1{}\n", open.repeat(depth), close.repeat(depth))
}

/// The texts before and after the inner expression, for each way to nest.
const NESTINGS: [(&str, &str); 7] = [
    ("(", ")"),
    ("-", ""),
    ("~", ""),
    ("not ", ""),
    ("abs(", ")"),
    ("case when ", " then 1 end"),
    ("case when 1 then ", " end"),
];

#[test]
fn nesting_is_limited() {
    let parse =
        |text: &str| Script::parse(&mut VariableNames::new(), "deep.sql", text, 15).map(|_| ());
    for (open, close) in NESTINGS {
        assert_eq!(
            parse(&nested_expression(DEPTH_MAX - 1, open, close)),
            Ok(()),
            "{open}"
        );
        for depth in [DEPTH_MAX, 100_000] {
            let error = parse(&nested_expression(depth, open, close)).expect_err(open);
            let message = error.to_string();
            message.assert_contains("nested too deeply (maximum is 500 levels)");
        }
        parse_and_run(&nested_expression(DEPTH_MAX - 1, open, close), 15);
    }
}

/// Only the depth of expressions is limited, not their length nor that of scripts.
#[test]
fn long_scripts_are_parsed() {
    let sum = format!("\\set x {}1\n", "1 + ".repeat(100_000));
    let greater = format!("\\set x {}1{}\n", "(".repeat(400), " > 2)".repeat(400));
    let or = format!("\\set x {}true\n", "false or ".repeat(100_000));
    let conditions = format!(
        "{}{}",
        "\\if 1\n".repeat(20_000),
        "\\endif\n".repeat(20_000)
    );
    let elifs = format!("\\if 0\n{}\\endif\n", "\\elif 0\n".repeat(20_000));
    let comments = format!("{}1{}", "/*".repeat(50_000), "*/".repeat(50_000));
    let invalid = format!("\\set x {}\n", ";".repeat(100_000));
    let lines = "select 1;\n".repeat(50_000);
    for text in [
        sum, greater, or, elifs, conditions, comments, invalid, lines,
    ] {
        parse_and_run(&text, 15);
    }
}
