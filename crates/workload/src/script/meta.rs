//! Backslash commands: from a line to a command.
//!
//! In: a source that stands behind a backslash. Out: a command, with jumps still open. Must never:
//! read behind the end of the command.

use super::ast::{Amount, Command, CommandKind, Shell, ShellWord, Sleep, Target};
use super::error::{ScriptError, SyntaxError};
use super::expr::{self, Place};
use super::number::leading_int;
use super::tokens::Source;
use super::variables::{Names, VariableId, is_valid_name};

/// The most words behind a command's name.
const ARGUMENTS_MAX: usize = 255;

/// What a backslash command turned out to be.
pub(super) enum Meta {
    /// A command of its own.
    Command(Command),
    /// `\gset` or `\aset`, which belongs to the statement before it.
    Results {
        /// `\aset`.
        all: bool,
        /// Goes before the columns' names.
        prefix: String,
    },
}

/// The kinds of backslash commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
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

/// Name, kind, and the first major version that has it (13: or earlier).
const WORDS: [(&str, Word, u32); 13] = [
    ("set", Word::Set, 13),
    ("setshell", Word::SetShell, 13),
    ("shell", Word::Shell, 13),
    ("sleep", Word::Sleep, 13),
    ("if", Word::If, 13),
    ("elif", Word::Elif, 13),
    ("else", Word::Else, 13),
    ("endif", Word::EndIf, 13),
    ("gset", Word::Gset, 13),
    ("aset", Word::Aset, 13),
    ("startpipeline", Word::StartPipeline, 14),
    ("syncpipeline", Word::SyncPipeline, 17),
    ("endpipeline", Word::EndPipeline, 14),
];

fn find(word: &str, level: u32) -> Option<Word> {
    WORDS
        .iter()
        .find(|(known, _, since)| known.eq_ignore_ascii_case(word) && level >= *since)
        .map(|(_, kind, _)| *kind)
}

/// Words of a command and where they stand.
struct Words<'a> {
    words: Vec<(&'a str, usize)>,
    start: usize,
    line: usize,
}

/// Reads a command; none if there is nothing behind the backslash. `line` is the backslash's.
pub(super) fn parse(
    source: &mut Source<'_>,
    line: usize,
    names: &mut Names,
) -> Result<Option<Meta>, ScriptError> {
    let start = source.position - 1;
    let Some(first) = source.word() else {
        return Ok(None);
    };
    let word = find(first.0, source.level);
    let mut words = Words {
        words: vec![first],
        start,
        line,
    };
    if let Some(word @ (Word::Set | Word::If | Word::Elif)) = word {
        return with_expression(word, words, source, names).map(Some);
    }
    while let Some(next) = source.word() {
        if words.words.len() > ARGUMENTS_MAX {
            return Err(words.wrong(source, false, "too many arguments", None));
        }
        words.words.push(next);
    }
    let kind = match word {
        Some(Word::Sleep) => CommandKind::Sleep(words.sleep(source, names)?),
        Some(Word::SetShell) => {
            words.at_least(2, "missing argument", source)?;
            CommandKind::SetShell {
                target: target(words.words[1].0, names, source.level),
                command: shell(&words.words[2..], names, source.level),
            }
        }
        Some(Word::Shell) => {
            words.at_least(1, "missing command", source)?;
            CommandKind::Shell(shell(&words.words[1..], names, source.level))
        }
        Some(Word::Gset | Word::Aset) => {
            words.at_most(1, "too many arguments", source)?;
            return Ok(Some(Meta::Results {
                all: word == Some(Word::Aset),
                prefix: words.words.get(1).map_or("", |(word, _)| word).to_owned(),
            }));
        }
        Some(plain) => {
            words.at_most(0, "unexpected argument", source)?;
            match plain {
                Word::Else => CommandKind::Else { end: 0 },
                Word::StartPipeline => CommandKind::StartPipeline,
                Word::SyncPipeline => CommandKind::SyncPipeline,
                Word::EndPipeline => CommandKind::EndPipeline,
                _ => CommandKind::EndIf,
            }
        }
        None => return Err(words.wrong(source, true, "invalid command", None)),
    };
    Ok(Some(Meta::Command(words.command(source, kind))))
}

fn with_expression<'a>(
    word: Word,
    mut words: Words<'a>,
    source: &mut Source<'a>,
    names: &mut Names,
) -> Result<Meta, ScriptError> {
    if word == Word::Set {
        let Some(name) = source.word() else {
            return Err(words.wrong(source, false, "missing argument", None));
        };
        words.words.push(name);
    }
    let place = Place {
        command: words.words[0].0,
        start: words.start,
        line: words.line,
    };
    let value = expr::parse(source, &place, names)?;
    let kind = match word {
        Word::Set => CommandKind::Set {
            target: target(words.words[1].0, names, source.level),
            value,
        },
        Word::If => CommandKind::If {
            condition: value,
            otherwise: 0,
        },
        _ => CommandKind::Elif {
            condition: value,
            otherwise: 0,
            end: 0,
        },
    };
    Ok(Meta::Command(words.command(source, kind)))
}

impl Words<'_> {
    fn command(self, source: &Source<'_>, kind: CommandKind) -> Command {
        Command {
            line: self.line,
            first_line: source.since(self.start).to_owned(),
            words: self
                .words
                .iter()
                .map(|(word, _)| (*word).to_owned())
                .collect(),
            kind,
        }
    }

    /// An error of the command; `whole` shows it, the number is that of the word to point at.
    #[cold]
    fn wrong(
        &self,
        source: &Source<'_>,
        whole: bool,
        message: &str,
        at: Option<(usize, bool)>,
    ) -> ScriptError {
        let word = at.and_then(|(number, _)| self.words.get(number));
        let named = at.is_some_and(|(_, named)| named);
        ScriptError::Syntax(Box::new(SyntaxError {
            script: source.name.to_owned(),
            line: self.line,
            message: message.to_owned(),
            detail: word.filter(|_| named).map(|(word, _)| (*word).to_owned()),
            command: Some(self.words[0].0.to_owned()),
            text: whole.then(|| source.since(self.start).to_owned()),
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
        Err(self.wrong(source, true, message, None))
    }

    fn at_most(&self, count: usize, message: &str, source: &Source<'_>) -> Result<(), ScriptError> {
        if self.words.len() <= count + 1 {
            return Ok(());
        }
        Err(self.wrong(source, true, message, None))
    }

    /// `\sleep 10`, `\sleep 10 ms`, `\sleep 10ms`, `\sleep :wait us`.
    fn sleep(&mut self, source: &Source<'_>, names: &mut Names) -> Result<Sleep, ScriptError> {
        self.at_least(1, "missing argument", source)?;
        if self.words.len() > 3 {
            return Err(self.wrong(source, true, "too many arguments", Some((3, false))));
        }
        let (number, offset) = self.words[1];
        let amount = if let Some(name) = number.strip_prefix(':') {
            Amount::Variable(lookup(name, names, source.level), name.to_owned())
        } else {
            let unsigned = number.strip_prefix(['+', '-']).unwrap_or(number);
            let unit = unsigned.trim_start_matches(|c: char| c.is_ascii_digit());
            if !unit.is_empty() {
                if self.words.len() > 2 || unit.len() == unsigned.len() {
                    let message = "invalid sleep time, must be an integer";
                    return Err(self.wrong(source, true, message, Some((1, true))));
                }
                self.words.push((unit, offset + number.len() - unit.len()));
            }
            Amount::Fixed(leading_int(number))
        };
        let unit = self.words.get(2).map_or("s", |(unit, _)| unit);
        let units = [("us", 1), ("ms", 1_000), ("s", 1_000_000)];
        match units
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(unit))
        {
            Some((_, unit_us)) => Ok(Sleep {
                amount,
                unit_us: *unit_us,
            }),
            None => {
                let message = "unrecognized time unit, must be us, ms or s";
                Err(self.wrong(source, true, message, Some((2, true))))
            }
        }
    }
}

fn lookup(name: &str, names: &mut Names, level: u32) -> Option<VariableId> {
    is_valid_name(name, level).then(|| names.intern(name))
}

fn target(name: &str, names: &mut Names, level: u32) -> Target {
    Target {
        name: name.to_owned(),
        id: lookup(name, names, level),
    }
}

fn shell(words: &[(&str, usize)], names: &mut Names, level: u32) -> Shell {
    let words = words
        .iter()
        .map(|(word, _)| match word.strip_prefix(':') {
            // Two colons stand for one.
            Some(rest) if rest.starts_with(':') => ShellWord::Plain(rest.to_owned()),
            Some(name) => ShellWord::Variable(lookup(name, names, level), (*word).to_owned()),
            None => ShellWord::Plain((*word).to_owned()),
        })
        .collect();
    Shell { words }
}
