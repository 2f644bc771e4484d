//! Scripts: from text to commands.
//!
//! In: a name and a text. Out: a script with its conditions resolved, or the first error in it, which
//! is the one that pgbench reports. Must never: fail other than by a `ScriptError`.

use super::ast::{Command, CommandKind, Results, Script, SqlCommand};
use super::error::{ScriptError, SyntaxError};
use super::lex::{Cut, Ended, SqlLexer};
use super::meta::{self, Meta};
use super::tokens::Source;
use super::variables::Names;

/// Bytes of a statement's first line that are kept.
const FIRST_LINE_MAX: usize = 127;

/// Counts lines as reading goes on, so that a long script is not counted again for each command.
struct Lines {
    offset: usize,
    line: usize,
}

impl Lines {
    /// The line, from 1, of a byte not before the last one asked for.
    fn of(&mut self, source: &Source<'_>, offset: usize) -> usize {
        let passed = source.text.as_bytes().get(self.offset..offset);
        let ends = passed.unwrap_or_default().iter().filter(|c| **c == b'\n');
        self.line += ends.count();
        self.offset = self.offset.max(offset);
        self.line
    }
}

impl Script {
    /// Reads a script of weight 1 in the language of pgbench's major version `level`.
    ///
    /// `names` gets the names of its variables; all scripts of a run share it. The text ends at its
    /// first NUL, if it has one.
    pub fn parse(
        names: &mut Names,
        name: &str,
        text: &str,
        level: u32,
    ) -> Result<Script, ScriptError> {
        let text = text.split('\0').next().unwrap_or_default();
        let mut source = Source {
            name,
            text,
            position: 0,
            level,
        };
        let commands = read(&mut source, names)?;
        if commands.is_empty() {
            return Err(ScriptError::Empty {
                script: name.to_owned(),
            });
        }
        let mut script = Script {
            name: name.to_owned(),
            commands,
            weight: 1,
        };
        script.resolve()?;
        Ok(script)
    }

    /// The statements, in the order of the commands.
    pub fn statements(&self) -> impl Iterator<Item = &SqlCommand> {
        self.commands
            .iter()
            .filter_map(|command| match &command.kind {
                CommandKind::Sql(sql) => Some(sql),
                _ => None,
            })
    }

    /// Finds the ends of the conditions.
    fn resolve(&mut self) -> Result<(), ScriptError> {
        let wrong = |command: usize, problem| ScriptError::Condition {
            script: self.name.clone(),
            command: command + 1,
            problem,
        };
        // For each open \if the commands of its branches so far, and whether the last is an \else.
        let mut open: Vec<(Vec<usize>, bool)> = Vec::new();
        let mut closed: Vec<(Vec<usize>, usize)> = Vec::new();
        for (number, command) in self.commands.iter().enumerate() {
            match &command.kind {
                CommandKind::If { .. } => open.push((vec![number], false)),
                CommandKind::Elif { .. } => match open.last_mut() {
                    None => return Err(wrong(number, "\\elif without matching \\if")),
                    Some((_, true)) => return Err(wrong(number, "\\elif after \\else")),
                    Some((branches, _)) => branches.push(number),
                },
                CommandKind::Else { .. } => match open.last_mut() {
                    None => return Err(wrong(number, "\\else without matching \\if")),
                    Some((_, true)) => return Err(wrong(number, "\\else after \\else")),
                    Some((branches, ended)) => {
                        branches.push(number);
                        *ended = true;
                    }
                },
                CommandKind::EndIf => match open.pop() {
                    None => return Err(wrong(number, "\\endif without matching \\if")),
                    Some((branches, _)) => closed.push((branches, number)),
                },
                _ => {}
            }
        }
        if !open.is_empty() {
            let problem = "\\if without matching \\endif";
            return Err(wrong(self.commands.len(), problem));
        }
        for (branches, last) in closed {
            self.link(&branches, last);
        }
        Ok(())
    }

    /// Writes the jumps of one condition, from each branch to the next and to its `\endif`.
    fn link(&mut self, branches: &[usize], last: usize) {
        let nexts = branches.iter().skip(1).chain([&last]);
        for (branch, next) in branches.iter().zip(nexts) {
            match &mut self.commands[*branch].kind {
                CommandKind::If { otherwise, .. } => *otherwise = *next,
                CommandKind::Elif { otherwise, end, .. } => (*otherwise, *end) = (*next, last),
                CommandKind::Else { end } => *end = last,
                _ => {}
            }
        }
    }
}

fn read(source: &mut Source<'_>, names: &mut Names) -> Result<Vec<Command>, ScriptError> {
    let mut commands: Vec<Command> = Vec::new();
    let mut lexer = SqlLexer::default();
    let mut lines = Lines { offset: 0, line: 1 };
    let mut read_before = source.text.len();
    loop {
        let (cut, ended) = lexer.statement(source);
        let cut_line = lines.of(source, cut.start);
        commands.extend(statement(cut, cut_line, names, source.level));
        if ended == Ended::Backslash {
            let line = lines.of(source, source.position - 1);
            match meta::parse(source, line, names)? {
                Some(Meta::Command(command)) => commands.push(command),
                Some(Meta::Results { all, prefix }) => {
                    let results = Results { all, prefix };
                    let line = match source.level {
                        ..18 => line_before(source, read_before),
                        _ => line,
                    };
                    attach(commands.last_mut(), results, source, line)?;
                }
                None => {}
            }
        }
        if ended == Ended::End {
            return Ok(commands);
        }
        read_before = source.position;
    }
}

/// The line that pgbench names, until version 17, for a `\gset` without statement: the one up to
/// which it had read before that statement should have come. At the very start, nothing having been
/// read, it counts the whole script but its last byte.
fn line_before(source: &Source<'_>, read_before: usize) -> usize {
    let counted = read_before.min(source.text.len().saturating_sub(1));
    let passed = &source.text.as_bytes()[..counted];
    1 + passed.iter().filter(|c| **c == b'\n').count()
}

/// Gives a statement what is to become of its results.
fn attach(
    command: Option<&mut Command>,
    results: Results,
    source: &Source<'_>,
    line: usize,
) -> Result<(), ScriptError> {
    let detail = match command {
        Some(command) => match &mut command.kind {
            CommandKind::Sql(sql) if sql.results.is_none() => {
                sql.results = Some(results);
                return Ok(());
            }
            CommandKind::Sql(_) => None,
            _ => Some(command.first_line.clone()),
        },
        None => None,
    };
    Err(ScriptError::Syntax(Box::new(SyntaxError {
        script: source.name.to_owned(),
        line,
        message: "\\gset must follow an SQL command".to_owned(),
        detail,
        ..SyntaxError::default()
    })))
}

/// A statement, if there is more than blanks and comments.
fn statement(cut: Cut, line: usize, names: &mut Names, level: u32) -> Option<Command> {
    let text = without_head(&cut.text)?;
    let first = text.split(['\n', '\r']).next().unwrap_or_default();
    // Cut between characters where pgbench cuts between bytes.
    let first_line = &first[..first.floor_char_boundary(FIRST_LINE_MAX)];
    Some(Command {
        line,
        first_line: first_line.to_owned(),
        words: Vec::new(),
        kind: CommandKind::Sql(SqlCommand::new(text.to_owned(), names, level)),
    })
}

/// The text without blanks and comments at its head; none if nothing is left.
fn without_head(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
        if !rest.starts_with("--") {
            return (!rest.is_empty()).then_some(rest);
        }
        rest = rest.split_once('\n')?.1;
    }
}
