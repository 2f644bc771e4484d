//! Parses backslash commands, from after the backslash to the end of the command. The jumps of the returned
//! commands are not resolved yet.

use super::ast::{
    Amount, AssignmentTarget, Command, CommandKind, ShellCommand, ShellWord, SleepTime,
};
use super::error::{ScriptError, SyntaxError};
use super::expr::{self, CommandLocation};
use super::number::leading_int;
use super::tokens::Source;
use super::variables::{VariableId, VariableNames, is_valid_name};

/// The maximum number of words after a command's name.
const ARGUMENTS_MAX: usize = 255;

/// A parsed backslash command.
pub(super) enum MetaCommand {
    /// A separate command.
    Command(Command),
    /// `\gset` or `\aset`, which belongs to the statement before it.
    StoreColumns {
        /// `\aset`.
        all: bool,
        /// Prefix of the variables' names, before the column name.
        prefix: String,
    },
}

/// The kinds of backslash commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandName {
    Set,
    SetShell,
    Shell,
    Sleep,
    If,
    Elif,
    Else,
    EndIf,
    Gset,
    Aset,
    StartPipeline,
    SyncPipeline,
    EndPipeline,
}

/// Name, kind, and the first major version with the command (13 means 13 or earlier).
const COMMAND_NAMES: [(&str, CommandName, u32); 13] = [
    ("set", CommandName::Set, 13),
    ("setshell", CommandName::SetShell, 13),
    ("shell", CommandName::Shell, 13),
    ("sleep", CommandName::Sleep, 13),
    ("if", CommandName::If, 13),
    ("elif", CommandName::Elif, 13),
    ("else", CommandName::Else, 13),
    ("endif", CommandName::EndIf, 13),
    ("gset", CommandName::Gset, 13),
    ("aset", CommandName::Aset, 13),
    ("startpipeline", CommandName::StartPipeline, 14),
    ("syncpipeline", CommandName::SyncPipeline, 17),
    ("endpipeline", CommandName::EndPipeline, 14),
];

fn find(word: &str, level: u32) -> Option<CommandName> {
    COMMAND_NAMES
        .iter()
        .find(|(name, _, since)| name.eq_ignore_ascii_case(word) && level >= *since)
        .map(|(_, kind, _)| *kind)
}

/// The words of a command, with their positions.
struct CommandWords<'a> {
    words: Vec<(&'a str, usize)>,
    start: usize,
    line: usize,
}

/// Parses a command; `None` if nothing follows the backslash. `line` is the line of the backslash.
pub(super) fn parse(
    source: &mut Source<'_>,
    line: usize,
    names: &mut VariableNames,
) -> Result<Option<MetaCommand>, ScriptError> {
    let start = source.position - 1;
    let Some(first) = source.word() else {
        return Ok(None);
    };
    let word = find(first.0, source.level);
    let mut words = CommandWords {
        words: vec![first],
        start,
        line,
    };
    if let Some(word @ (CommandName::Set | CommandName::If | CommandName::Elif)) = word {
        return parse_with_expression(word, words, source, names).map(Some);
    }
    while let Some(next) = source.word() {
        if words.words.len() > ARGUMENTS_MAX {
            return Err(words.error(source, false, "too many arguments", None));
        }
        words.words.push(next);
    }
    let kind = match word {
        Some(CommandName::Sleep) => CommandKind::Sleep(words.sleep(source, names)?),
        Some(CommandName::SetShell) => {
            words.at_least(2, "missing argument", source)?;
            CommandKind::SetShell {
                target: target(words.words[1].0, names, source.level),
                command: shell(&words.words[2..], names, source.level),
            }
        }
        Some(CommandName::Shell) => {
            words.at_least(1, "missing command", source)?;
            CommandKind::Shell(shell(&words.words[1..], names, source.level))
        }
        Some(CommandName::Gset | CommandName::Aset) => {
            words.at_most(1, "too many arguments", source)?;
            return Ok(Some(MetaCommand::StoreColumns {
                all: word == Some(CommandName::Aset),
                prefix: words.words.get(1).map_or("", |(word, _)| word).to_owned(),
            }));
        }
        Some(name) => {
            words.at_most(0, "unexpected argument", source)?;
            match name {
                CommandName::Else => CommandKind::Else { end: 0 },
                CommandName::StartPipeline => CommandKind::StartPipeline,
                CommandName::SyncPipeline => CommandKind::SyncPipeline,
                CommandName::EndPipeline => CommandKind::EndPipeline,
                _ => CommandKind::EndIf,
            }
        }
        None => return Err(words.error(source, true, "invalid command", None)),
    };
    Ok(Some(MetaCommand::Command(words.command(source, kind))))
}

fn parse_with_expression<'a>(
    word: CommandName,
    mut words: CommandWords<'a>,
    source: &mut Source<'a>,
    names: &mut VariableNames,
) -> Result<MetaCommand, ScriptError> {
    if word == CommandName::Set {
        let Some(name) = source.word() else {
            return Err(words.error(source, false, "missing argument", None));
        };
        words.words.push(name);
    }
    let location = CommandLocation {
        command: words.words[0].0,
        start: words.start,
        line: words.line,
    };
    let value = expr::parse(source, &location, names)?;
    let kind = match word {
        CommandName::Set => CommandKind::Set {
            target: target(words.words[1].0, names, source.level),
            value,
        },
        CommandName::If => CommandKind::If {
            condition: value,
            otherwise: 0,
        },
        _ => CommandKind::Elif {
            condition: value,
            otherwise: 0,
            end: 0,
        },
    };
    Ok(MetaCommand::Command(words.command(source, kind)))
}

impl CommandWords<'_> {
    fn command(self, source: &Source<'_>, kind: CommandKind) -> Command {
        Command {
            line: self.line,
            first_line: source.text_from(self.start).to_owned(),
            words: self
                .words
                .iter()
                .map(|(word, _)| (*word).to_owned())
                .collect(),
            kind,
        }
    }

    /// An error of the command. `show_command` includes the command's text; `position` is the number of the
    /// word to point at, and whether to print it.
    #[cold]
    fn error(
        &self,
        source: &Source<'_>,
        show_command: bool,
        message: &str,
        position: Option<(usize, bool)>,
    ) -> ScriptError {
        let word = position.and_then(|(number, _)| self.words.get(number));
        let show_word = position.is_some_and(|(_, show_word)| show_word);
        ScriptError::Syntax(Box::new(SyntaxError {
            script: source.name.to_owned(),
            line: self.line,
            message: message.to_owned(),
            detail: word
                .filter(|_| show_word)
                .map(|(word, _)| (*word).to_owned()),
            command: Some(self.words[0].0.to_owned()),
            text: show_command.then(|| source.text_from(self.start).to_owned()),
            column: word.map(|(_, offset)| offset - self.start),
        }))
    }

    fn at_least(
        &self,
        count: usize,
        message: &str,
        source: &Source<'_>,
    ) -> Result<(), ScriptError> {
        if self.words.len() > count {
            return Ok(());
        }
        Err(self.error(source, true, message, None))
    }

    fn at_most(&self, count: usize, message: &str, source: &Source<'_>) -> Result<(), ScriptError> {
        if self.words.len() <= count + 1 {
            return Ok(());
        }
        Err(self.error(source, true, message, None))
    }

    /// Parses the arguments of `\sleep 10`, `\sleep 10 ms`, `\sleep 10ms`, `\sleep :wait us`.
    fn sleep(
        &mut self,
        source: &Source<'_>,
        names: &mut VariableNames,
    ) -> Result<SleepTime, ScriptError> {
        self.at_least(1, "missing argument", source)?;
        if self.words.len() > 3 {
            return Err(self.error(source, true, "too many arguments", Some((3, false))));
        }
        let (number, offset) = self.words[1];
        let amount = if let Some(name) = number.strip_prefix(':') {
            Amount::Variable(intern_if_valid(name, names, source.level), name.to_owned())
        } else {
            let unsigned = number.strip_prefix(['+', '-']).unwrap_or(number);
            let unit = unsigned.trim_start_matches(|c: char| c.is_ascii_digit());
            if !unit.is_empty() {
                if self.words.len() > 2 || unit.len() == unsigned.len() {
                    let message = "invalid sleep time, must be an integer";
                    return Err(self.error(source, true, message, Some((1, true))));
                }
                self.words.push((unit, offset + number.len() - unit.len()));
            }
            Amount::Fixed(leading_int(number))
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
                Err(self.error(source, true, message, Some((2, true))))
            }
        }
    }
}

fn intern_if_valid(name: &str, names: &mut VariableNames, level: u32) -> Option<VariableId> {
    is_valid_name(name, level).then(|| names.intern(name))
}

fn target(name: &str, names: &mut VariableNames, level: u32) -> AssignmentTarget {
    AssignmentTarget {
        name: name.to_owned(),
        id: intern_if_valid(name, names, level),
    }
}

fn shell(words: &[(&str, usize)], names: &mut VariableNames, level: u32) -> ShellCommand {
    let words = words
        .iter()
        .map(|(word, _)| match word.strip_prefix(':') {
            // A doubled colon is a literal colon.
            Some(literal) if literal.starts_with(':') => ShellWord::Plain(literal.to_owned()),
            Some(name) => {
                ShellWord::Variable(intern_if_valid(name, names, level), (*word).to_owned())
            }
            None => ShellWord::Plain((*word).to_owned()),
        })
        .collect();
    ShellCommand { words }
}
