//! Parses scripts into commands, with conditions resolved. The error returned is the first in the script,
//! which is also the one that pgbench reports. Every failure is a `ScriptError`.

use super::ast::{Command, CommandKind, Script, SqlCommand, StoreColumns};
use super::error::{ScriptError, SyntaxError};
use super::lex::{RawStatement, SqlLexer, StatementEnd};
use super::meta::{self, MetaCommand};
use super::tokens::Source;
use super::variables::VariableNames;

/// Bytes of a statement's first line that are stored.
const FIRST_LINE_MAX: usize = 127;

/// Counts lines as parsing proceeds, so that a long script is not counted again for each command.
struct LineCounter {
    offset: usize,
    line: usize,
}

impl LineCounter {
    /// The line, from 1, of a byte. Offsets must not decrease from call to call.
    fn line_at(&mut self, source: &Source<'_>, offset: usize) -> usize {
        let passed = source.text.as_bytes().get(self.offset..offset);
        let ends = passed.unwrap_or_default().iter().filter(|c| **c == b'\n');
        self.line += ends.count();
        self.offset = self.offset.max(offset);
        self.line
    }
}

impl Script {
    /// Parses a script of weight 1 in the language of pgbench's major version `level`.
    ///
    /// The names of its variables are added to `names`, which all scripts of a run share. The text ends at
    /// its first NUL, if it has one.
    pub fn parse(
        names: &mut VariableNames,
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

    /// Links each condition to its branches and its `\endif`.
    fn resolve(&mut self) -> Result<(), ScriptError> {
        let wrong = |command: usize, problem| ScriptError::Condition {
            script: self.name.clone(),
            command: command + 1,
            problem,
        };
        // For each open \if, the commands of its branches so far, and whether the last is an \else.
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
            self.link_branches(&branches, last);
        }
        Ok(())
    }

    /// Sets the jumps of one condition, from each branch to the next and to its `\endif`.
    fn link_branches(&mut self, branches: &[usize], last: usize) {
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

fn read(source: &mut Source<'_>, names: &mut VariableNames) -> Result<Vec<Command>, ScriptError> {
    let mut commands: Vec<Command> = Vec::new();
    let mut lexer = SqlLexer::default();
    let mut lines = LineCounter { offset: 0, line: 1 };
    let mut read_before = source.text.len();
    loop {
        let (raw, ended) = lexer.statement(source);
        let statement_line = lines.line_at(source, raw.start);
        commands.extend(statement(raw, statement_line, names, source.level));
        if ended == StatementEnd::Backslash {
            let line = lines.line_at(source, source.position - 1);
            match meta::parse(source, line, names)? {
                Some(MetaCommand::Command(command)) => commands.push(command),
                Some(MetaCommand::StoreColumns { all, prefix }) => {
                    let results = StoreColumns { all, prefix };
                    let line = match source.level {
                        ..18 => line_before(source, read_before),
                        _ => line,
                    };
                    attach_results(commands.last_mut(), results, source, line)?;
                }
                None => {}
            }
        }
        if ended == StatementEnd::End {
            return Ok(commands);
        }
        read_before = source.position;
    }
}

/// The line that pgbench reports, until version 17, for a `\gset` without a statement: the line up to which
/// it had read before that statement should have come. At the start of the script, when it has read
/// nothing, it counts the whole script except its last byte.
fn line_before(source: &Source<'_>, read_before: usize) -> usize {
    let counted = read_before.min(source.text.len().saturating_sub(1));
    let passed = &source.text.as_bytes()[..counted];
    1 + passed.iter().filter(|c| **c == b'\n').count()
}

/// Attaches `\gset` or `\aset` to its statement.
fn attach_results(
    command: Option<&mut Command>,
    results: StoreColumns,
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

/// A statement, unless it consists only of blanks and comments.
fn statement(
    raw: RawStatement,
    line: usize,
    names: &mut VariableNames,
    level: u32,
) -> Option<Command> {
    let text = trim_leading_comments(&raw.text)?;
    let first = text.split(['\n', '\r']).next().unwrap_or_default();
    // pgbench cuts between bytes; this cuts between characters.
    let first_line = &first[..first.floor_char_boundary(FIRST_LINE_MAX)];
    Some(Command {
        line,
        first_line: first_line.to_owned(),
        words: Vec::new(),
        kind: CommandKind::Sql(SqlCommand::new(text.to_owned(), names, level)),
    })
}

/// The text without leading blanks and comments; `None` if nothing is left.
fn trim_leading_comments(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
        if !rest.starts_with("--") {
            return (!rest.is_empty()).then_some(rest);
        }
        rest = rest.split_once('\n')?.1;
    }
}
