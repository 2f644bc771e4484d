//! Whole scripts against what pgbench 15.18 sent and said.
//!
//! `scripts.txt` holds a script on each line that begins with `# `, and below it, behind a tab each,
//! what came of one transaction with `-D a=1 -D b='x y' --random-seed=42`: the statements of simple
//! mode (`Q`), those of extended mode (`P`) with their parameters (`B =text`, `B -` for NULL), and
//! the lines on standard error (`E`; `X` for those of extended mode where they differ). Statements
//! were answered with "OK" and no rows. Backslash, newline, return and tabs are escaped.
//!
//! Left out are statements that end in a variable without a semicolon: pgbench reads on behind the end
//! of their text, and sends what it finds there.

use super::expressions::SEEDED;
use crate::random::Random;
use crate::script::{CommandKind, EvalError, Evaluator, Names, Place, Script};
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

/// The statements and the lines on standard error.
#[derive(Default, PartialEq)]
struct Seen {
    sent: String,
    said: String,
}

fn both_modes(text: &str) -> String {
    let mut names = Names::new();
    let script = match Script::parse(&mut names, "x.sql", text, 15) {
        Ok(script) => script,
        Err(error) => {
            let said = error.as_pgbench("pgbench", 15);
            return lines('E', &said);
        }
    };
    let names = Arc::new(names);
    let simple = run(&script, &names, false);
    let too_many = script
        .statements()
        .find_map(|sql| sql.check_parameters().err());
    let extended = match too_many {
        Some(error) => Seen {
            sent: String::new(),
            said: error.as_pgbench("pgbench", 15),
        },
        None => run(&script, &names, true),
    };
    let mut out = simple.sent + &extended.sent + &lines('E', &simple.said);
    if extended.said != simple.said {
        out += &lines('X', &extended.said);
    }
    out
}

fn lines(mark: char, said: &str) -> String {
    said.split('\n')
        .filter(|line| !line.is_empty())
        .map(|line| format!("\t{mark} {}\n", escape(line)))
        .collect()
}

fn run(script: &Script, names: &Arc<Names>, extended: bool) -> Seen {
    let mut client = Evaluator::new(Arc::clone(names), Random::of_client(42, 0));
    for (name, text) in SEEDED.into_iter().chain([("a", "1"), ("b", "x y")]) {
        client
            .define("option", name, text, 15)
            .expect("a valid name");
    }
    let mut seen = Seen::default();
    let mut next = Some(0);
    while let Some(number) = next.filter(|number| *number < script.commands.len()) {
        let done = step(script, number, &mut client, extended, &mut seen);
        seen.said += &client.take_debug().unwrap_or_default();
        next = match done {
            Ok(next) => Some(next),
            Err(error) => {
                let text = error.to_string();
                if !text.is_empty() {
                    let _ = writeln!(seen.said, "pgbench: error: {text}");
                }
                None
            }
        };
    }
    seen
}

/// Does a command; the number of the next.
fn step(
    script: &Script,
    number: usize,
    client: &mut Evaluator,
    extended: bool,
    seen: &mut Seen,
) -> Result<usize, EvalError> {
    let command = &script.commands[number];
    let place = Place {
        script: 0,
        command: number as u32,
    };
    match &command.kind {
        CommandKind::Sql(sql) => {
            if extended {
                let _ = writeln!(seen.sent, "\tP {}", escape(&sql.numbered));
                for id in sql.parameters() {
                    let mut text = String::new();
                    let defined = client.variables.append_text(*id, &mut text);
                    let shown = if defined {
                        format!("={}", escape(&text))
                    } else {
                        "-".into()
                    };
                    let _ = writeln!(seen.sent, "\tB {shown}");
                }
            } else {
                let mut text = String::new();
                sql.substitute(&client.variables, &mut text);
                let _ = writeln!(seen.sent, "\tQ {}", escape(&text));
            }
            if sql.results.as_ref().is_some_and(|results| !results.all) {
                return Err(EvalError::Message(format!(
                    "client 0 script 0 command {number} query 0: expected one row, got 0"
                )));
            }
        }
        CommandKind::Set { target, value } => {
            let value = client.eval(value, place)?;
            client.assign(target, command.word(), value)?;
        }
        CommandKind::Sleep(sleep) => {
            client.sleep_us(sleep, command.word())?;
        }
        CommandKind::If { .. } => return script.branch(number, client, place.script),
        CommandKind::Elif { end, .. } | CommandKind::Else { end } => return Ok(end + 1),
        _ => {}
    }
    Ok(number + 1)
}

#[test]
fn scripts_do_what_they_do_in_pgbench() {
    let mut wrong = Vec::new();
    let mut count = 0;
    let mut recorded = RECORDED.split('\n').peekable();
    while let Some(line) = recorded.next() {
        let Some(script) = line.strip_prefix("# ") else {
            assert_eq!(line, "", "in the recording");
            continue;
        };
        let mut expected = String::new();
        while let Some(line) = recorded.next_if(|line| line.starts_with('\t')) {
            expected.push_str(line);
            expected.push('\n');
        }
        count += 1;
        let got = both_modes(&unescape(script));
        if got != expected {
            wrong.push(format!("{script}\nexpected:\n{expected}got:\n{got}"));
        }
    }
    assert!(count > 1000, "{count} scripts only");
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
