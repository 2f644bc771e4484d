//! Compares the statements and messages of scripts with those of pgbench 15.18.
//!
//! Each line of `scripts.txt` that begins with `# ` holds a script. The lines below it, each after a tab,
//! record one transaction with `-D a=1 -D b='x y' --random-seed=42`: the statements of simple mode (`Q`),
//! those of extended mode (`P`) with their parameters (`B =text`, `B -` for NULL), and the lines on
//! standard error (`E`; `X` for those of extended mode where they differ). The server answered every
//! statement with "OK" and no rows. Backslash, newline, return and tabs are escaped.
//!
//! The file omits statements that end in a variable without a semicolon: pgbench reads past the end of their
//! text and sends what it reads there.

use super::expressions::AUTOMATIC;
use crate::random::Random;
use crate::script::{CommandIndex, CommandKind, EvalError, Evaluator, Script, VariableNames};
use std::fmt::Write as _;
use std::sync::Arc;

const RECORDED: &str = include_str!("scripts.txt");

pub(super) fn unescape(line: &str) -> String {
    let mut out = String::new();
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('v') => '\x0b',
                Some('f') => '\x0c',
                _ => '\\',
            },
            c => c,
        });
    }
    out
}

pub(super) fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
        .replace('\t', "\\t")
        .replace('\x0b', "\\v")
        .replace('\x0c', "\\f")
}

/// What a script sends and prints: its statements, and its lines on standard error.
#[derive(Default, PartialEq)]
struct Output {
    sent: String,
    stderr: String,
}

/// Returns the recording of a script in simple and extended mode, in the format of `scripts.txt`.
fn run_both_modes(text: &str) -> String {
    let mut names = VariableNames::new();
    let script = match Script::parse(&mut names, "x.sql", text, 15) {
        Ok(script) => script,
        Err(error) => {
            let stderr = error.pgbench_stderr("pgbench", 15);
            return lines_with_mark('E', &stderr);
        }
    };
    let names = Arc::new(names);
    let simple = run(&script, &names, false);
    let parameter_error = script
        .statements()
        .find_map(|sql| sql.check_parameters().err());
    let extended = match parameter_error {
        Some(error) => Output {
            sent: String::new(),
            stderr: error.pgbench_stderr("pgbench", 15),
        },
        None => run(&script, &names, true),
    };
    let mut out = simple.sent + &extended.sent + &lines_with_mark('E', &simple.stderr);
    if extended.stderr != simple.stderr {
        out += &lines_with_mark('X', &extended.stderr);
    }
    out
}

fn lines_with_mark(mark: char, stderr: &str) -> String {
    stderr
        .split('\n')
        .filter(|line| !line.is_empty())
        .map(|line| format!("\t{mark} {}\n", escape(line)))
        .collect()
}

fn run(script: &Script, names: &Arc<VariableNames>, extended: bool) -> Output {
    let mut client = Evaluator::new(Arc::clone(names), Random::of_client(42, 0));
    for (name, text) in AUTOMATIC.into_iter().chain([("a", "1"), ("b", "x y")]) {
        client
            .set_by_name("option", name, text, 15)
            .expect("a valid name");
    }
    let mut output = Output::default();
    let mut next = Some(0);
    while let Some(number) = next.filter(|number| *number < script.commands.len()) {
        let result = run_command(script, number, &mut client, extended, &mut output);
        output.stderr += &client.take_debug_output().unwrap_or_default();
        next = match result {
            Ok(next) => Some(next),
            Err(error) => {
                let text = error.to_string();
                if !text.is_empty() {
                    let _ = writeln!(output.stderr, "pgbench: error: {text}");
                }
                None
            }
        };
    }
    output
}

fn run_command(
    script: &Script,
    number: usize,
    client: &mut Evaluator,
    extended: bool,
    output: &mut Output,
) -> Result<usize, EvalError> {
    let command = &script.commands[number];
    let index = CommandIndex {
        script: 0,
        command: number as u32,
    };
    match &command.kind {
        CommandKind::Sql(sql) => {
            if extended {
                let _ = writeln!(output.sent, "\tP {}", escape(sql.numbered_text()));
                for id in sql.parameters() {
                    let mut text = String::new();
                    let is_defined = client.variables.append_text(*id, &mut text);
                    let value = if is_defined { format!("={}", escape(&text)) } else { "-".into() };
                    let _ = writeln!(output.sent, "\tB {value}");
                }
            } else {
                let mut text = String::new();
                sql.substitute(&client.variables, &mut text);
                let _ = writeln!(output.sent, "\tQ {}", escape(&text));
            }
            if sql
                .store_command
                .as_ref()
                .is_some_and(|command| !command.stores_all_results)
            {
                return Err(EvalError::Message(format!(
                    "client 0 script 0 command {number} query 0: expected one row, got 0"
                )));
            }
        }
        CommandKind::Set { target, value } => {
            let value = client.eval(value, index)?;
            client.assign(target, command.name(), value)?;
        }
        CommandKind::Sleep(sleep) => {
            client.sleep_us(sleep, command.name())?;
        }
        CommandKind::If { .. } => return script.next_after_condition(number, client, index.script),
        CommandKind::Elif { endif_target, .. } | CommandKind::Else { endif_target } => {
            return Ok(endif_target + 1);
        }
        _ => {}
    }
    Ok(number + 1)
}

#[test]
fn scripts_behave_as_in_pgbench() {
    let mut differences = Vec::new();
    let mut count = 0;
    let mut recorded = RECORDED.split('\n').peekable();
    while let Some(line) = recorded.next() {
        let Some(script) = line.strip_prefix("# ") else {
            assert_eq!(line, "", "a line of the recording");
            continue;
        };
        let mut expected = String::new();
        while let Some(line) = recorded.next_if(|line| line.starts_with('\t')) {
            expected.push_str(line);
            expected.push('\n');
        }
        count += 1;
        let actual = run_both_modes(&unescape(script));
        if actual != expected {
            differences.push(format!("{script}\nexpected:\n{expected}actual:\n{actual}"));
        }
    }
    assert!(count > 1000, "only {count} scripts");
    assert!(
        differences.is_empty(),
        "{} of {count}:\n{}",
        differences.len(),
        differences.join("\n")
    );
}
