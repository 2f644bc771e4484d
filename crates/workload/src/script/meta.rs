//! Parses backslash commands, from after the backslash to the end of the command. The jumps of the returned
//! commands are not resolved yet.

use super::ast::{
    AssignmentTarget, BackslashText, Command, CommandKind, SampleCommand, ShellCommand, ShellWord,
    SleepAmount, SleepTime, StoreCommand,
};
use super::error::{ScriptError, SyntaxError};
use super::expr::{self, CommandLocation};
use super::number::parse_leading_int;
use super::tokens::Source;
use super::variables::{VariableId, VariableNames, is_valid_name};
use std::ops::RangeBounds;

/// The maximum number of arguments: words after a command's name.
const ARGUMENTS_MAX: usize = 255;

pub(super) enum MetaCommand {
    Command(Command),
    /// `\gset` or `\aset`, which belongs to the statement before it.
    StoreCommand(StoreCommand),
}

const COMMANDS: [&str; 14] = [
    "set",
    "setshell",
    "shell",
    "sleep",
    "if",
    "elif",
    "else",
    "endif",
    "gset",
    "aset",
    "sample",
    "startpipeline",
    "syncpipeline",
    "endpipeline",
];

/// The command with this name, in any case, if the version of pgbench has it.
fn find_command_name(word: &str, source: &Source<'_>) -> Option<&'static str> {
    let mut names = COMMANDS.into_iter();
    let name = names.find(|name| name.eq_ignore_ascii_case(word))?;
    let exists = match name {
        // pgbench has no samples.
        "sample" => source.dialect.is_some(),
        "startpipeline" | "endpipeline" => source.pgbench_version >= 14,
        "syncpipeline" => source.pgbench_version >= 17,
        _ => true,
    };
    exists.then_some(name)
}

struct CommandWords<'a> {
    /// The words and their positions in the script, the command's name first.
    words: Vec<(&'a str, usize)>,
    /// The position of the backslash.
    start: usize,
    line: usize,
}

/// The part of a command that an error shows, beside the command's name.
enum ShownPart {
    NameOnly,
    Command,
    /// The command, with a mark at the word of this number.
    CommandAt(usize),
    /// Like `CommandAt`; the message also quotes the word.
    CommandAndWord(usize),
}

/// Parses a command; `None` if nothing follows the backslash. `line` is the line of the backslash.
pub(super) fn parse(
    source: &mut Source<'_>,
    line: usize,
    names: &mut VariableNames,
) -> Result<Option<MetaCommand>, ScriptError> {
    let start = source.position - 1;
    let Some(first_word) = source.next_word() else {
        return Ok(None);
    };
    let name = find_command_name(first_word.0, source);
    let mut words = CommandWords {
        words: vec![first_word],
        start,
        line,
    };
    if let Some(name @ ("set" | "if" | "elif")) = name {
        return parse_with_expression(name, words, source, names).map(Some);
    }
    while let Some(next) = source.next_word() {
        if words.words.len() > ARGUMENTS_MAX {
            return Err(words.error(source, "too many arguments", ShownPart::NameOnly));
        }
        words.words.push(next);
    }
    let kind = match name {
        Some("sleep") => CommandKind::Sleep(words.parse_sleep(source, names)?),
        Some("setshell") => {
            words.require_arguments(2.., "missing argument", source)?;
            CommandKind::SetShell {
                target: new_assignment_target(words.words[1].0, names, source.pgbench_version),
                command: new_shell_command(&words.words[2..], names, source.pgbench_version),
            }
        }
        Some("sample") => CommandKind::Sample(words.parse_sample(source, names)?),
        Some("shell") => {
            words.require_arguments(1.., "missing command", source)?;
            CommandKind::Shell(new_shell_command(
                &words.words[1..],
                names,
                source.pgbench_version,
            ))
        }
        Some("gset" | "aset") => {
            words.require_arguments(..=1, "too many arguments", source)?;
            return Ok(Some(MetaCommand::StoreCommand(StoreCommand {
                stores_all_results: name == Some("aset"),
                prefix: words.words.get(1).map_or("", |(word, _)| word).to_owned(),
            })));
        }
        Some(name) => {
            words.require_arguments(..=0, "unexpected argument", source)?;
            match name {
                "else" => CommandKind::Else { endif_target: 0 },
                "startpipeline" => CommandKind::StartPipeline,
                "syncpipeline" => CommandKind::SyncPipeline,
                "endpipeline" => CommandKind::EndPipeline,
                _ => CommandKind::EndIf,
            }
        }
        None => return Err(words.error(source, "invalid command", ShownPart::Command)),
    };
    Ok(Some(MetaCommand::Command(words.into_command(source, kind))))
}

/// Parses the rest of `\set`, `\if` or `\elif`, which end with an expression; `name` is the command's, in lower case.
fn parse_with_expression<'a>(
    name: &str,
    mut words: CommandWords<'a>,
    source: &mut Source<'a>,
    names: &mut VariableNames,
) -> Result<MetaCommand, ScriptError> {
    if name == "set" {
        let Some(variable) = source.next_word() else {
            return Err(words.error(source, "missing argument", ShownPart::NameOnly));
        };
        words.words.push(variable);
    }
    let location = CommandLocation {
        command: words.words[0].0,
        start: words.start,
        line: words.line,
    };
    let value = expr::parse(source, &location, names)?;
    let kind = match name {
        "set" => CommandKind::Set {
            target: new_assignment_target(words.words[1].0, names, source.pgbench_version),
            value,
        },
        "if" => CommandKind::If {
            condition: value,
            else_target: 0,
        },
        _ => CommandKind::Elif {
            condition: value,
            else_target: 0,
            endif_target: 0,
        },
    };
    Ok(MetaCommand::Command(words.into_command(source, kind)))
}

impl CommandWords<'_> {
    fn into_command(self, source: &Source<'_>, kind: CommandKind) -> Command {
        Command {
            line: self.line,
            backslash_text: Some(Box::new(BackslashText {
                text: source.text_from(self.start).into(),
                words: self
                    .words
                    .iter()
                    .map(|(word, _)| (*word).to_owned())
                    .collect(),
            })),
            kind,
        }
    }

    #[cold]
    fn error(&self, source: &Source<'_>, message: &str, shown: ShownPart) -> ScriptError {
        let mut error = SyntaxError {
            script: source.name.to_owned(),
            line: self.line,
            message: message.to_owned(),
            command: Some(self.words[0].0.to_owned()),
            ..SyntaxError::default()
        };
        if !matches!(shown, ShownPart::NameOnly) {
            error.text = Some(source.text_from(self.start).to_owned());
        }
        if let ShownPart::CommandAt(number) | ShownPart::CommandAndWord(number) = shown {
            error.column = Some(self.words[number].1 - self.start);
        }
        if let ShownPart::CommandAndWord(number) = shown {
            error.detail = Some(self.words[number].0.to_owned());
        }
        ScriptError::Syntax(Box::new(error))
    }

    /// Checks the number of arguments: words after the command's name.
    fn require_arguments(
        &self,
        allowed: impl RangeBounds<usize>,
        message: &str,
        source: &Source<'_>,
    ) -> Result<(), ScriptError> {
        if allowed.contains(&(self.words.len() - 1)) {
            return Ok(());
        }
        Err(self.error(source, message, ShownPart::Command))
    }

    /// Parses the arguments of `\sample users id email`.
    fn parse_sample(
        &self,
        source: &Source<'_>,
        names: &mut VariableNames,
    ) -> Result<SampleCommand, ScriptError> {
        self.require_arguments(1.., "missing name of a sample", source)?;
        self.require_arguments(2.., "missing variable", source)?;
        let mut targets = Vec::new();
        for (number, (word, _)) in self.words.iter().enumerate().skip(2) {
            let Some(id) = intern_if_valid(word, names, source.pgbench_version) else {
                let shown = ShownPart::CommandAndWord(number);
                return Err(self.error(source, "invalid variable name", shown));
            };
            targets.push(id);
        }
        Ok(SampleCommand {
            name: self.words[1].0.into(),
            sample: 0,
            targets: targets.into(),
        })
    }

    /// Parses the arguments of `\sleep 10`, `\sleep 10 ms`, `\sleep 10ms`, `\sleep :wait us`.
    fn parse_sleep(
        &mut self,
        source: &Source<'_>,
        names: &mut VariableNames,
    ) -> Result<SleepTime, ScriptError> {
        self.require_arguments(1.., "missing argument", source)?;
        if self.words.len() > 3 {
            return Err(self.error(source, "too many arguments", ShownPart::CommandAt(3)));
        }
        let (number, offset) = self.words[1];
        let amount = if let Some(name) = number.strip_prefix(':') {
            SleepAmount::Variable(
                intern_if_valid(name, names, source.pgbench_version),
                name.to_owned(),
            )
        } else {
            let unsigned = number.strip_prefix(['+', '-']).unwrap_or(number);
            let unit = unsigned.trim_start_matches(|c: char| c.is_ascii_digit());
            if !unit.is_empty() {
                if self.words.len() > 2 || unit.len() == unsigned.len() {
                    let message = "invalid sleep time, must be an integer";
                    return Err(self.error(source, message, ShownPart::CommandAndWord(1)));
                }
                self.words.push((unit, offset + number.len() - unit.len()));
            }
            SleepAmount::Constant(parse_leading_int(number))
        };
        let unit = self.words.get(2).map_or("s", |(unit, _)| unit);
        let units = [("us", 1), ("ms", 1_000), ("s", 1_000_000)];
        match units
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit))
        {
            Some((_, unit_us)) => Ok(SleepTime {
                amount,
                unit_us: *unit_us,
            }),
            None => {
                let message = "unrecognized time unit, must be us, ms or s";
                Err(self.error(source, message, ShownPart::CommandAndWord(2)))
            }
        }
    }
}

/// The id of the variable with this name; `None` if the name is invalid.
fn intern_if_valid(
    name: &str,
    names: &mut VariableNames,
    pgbench_version: u32,
) -> Option<VariableId> {
    is_valid_name(name, pgbench_version).then(|| names.intern(name))
}

fn new_assignment_target(
    name: &str,
    names: &mut VariableNames,
    pgbench_version: u32,
) -> AssignmentTarget {
    AssignmentTarget {
        name: name.into(),
        id: intern_if_valid(name, names, pgbench_version),
    }
}

fn new_shell_command(
    words: &[(&str, usize)],
    names: &mut VariableNames,
    pgbench_version: u32,
) -> ShellCommand {
    let words = words
        .iter()
        .map(|(word, _)| match word.strip_prefix(':') {
            // Two colons at the start of a word stand for one literal colon.
            Some(literal) if literal.starts_with(':') => ShellWord::Plain(literal.to_owned()),
            Some(name) => ShellWord::Variable(
                intern_if_valid(name, names, pgbench_version),
                (*word).to_owned(),
            ),
            None => ShellWord::Plain((*word).to_owned()),
        })
        .collect();
    ShellCommand { words }
}
