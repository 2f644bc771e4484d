//! Parses scripts into commands, with the jumps of conditions resolved. Returns the first error in the
//! script, which is also the one that pgbench reports.

use super::ast::{Command, CommandKind, Script, SqlCommand, StoreCommand};
use super::error::{ScriptError, SyntaxError};
use super::lex::{RawStatement, SqlLexer, StatementEnd};
use super::meta::{self, MetaCommand};
use super::options::NATIVE_PGBENCH_VERSION;
use super::tokens::Source;
use super::variables::VariableNames;
use prony_document::SqlDialect;

/// Counts the lines up to an offset, starting from the previous offset instead of the start of the script.
struct LineCounter {
    offset: usize,
    line: usize,
}

impl LineCounter {
    /// The line, from 1, of the byte at `offset`, which must not decrease from call to call.
    fn line_at(&mut self, source: &Source<'_>, offset: usize) -> usize {
        let passed_text = source.text.as_bytes().get(self.offset..offset);
        let newlines = passed_text
            .unwrap_or_default()
            .iter()
            .filter(|c| **c == b'\n');
        self.line += newlines.count();
        self.offset = self.offset.max(offset);
        self.line
    }
}

/// An `\if` without its `\endif` so far.
struct OpenCondition {
    /// The numbers of its `\if`, `\elif` and `\else` commands.
    branches: Vec<usize>,
    has_else: bool,
}

impl Script {
    /// Parses a script of weight 1 in the language of pgbench's major version `pgbench_version`.
    ///
    /// Adds the names of its variables to `names`, which all scripts of a run share. Ignores the text after
    /// the first NUL.
    pub fn parse(
        names: &mut VariableNames,
        name: &str,
        text: &str,
        pgbench_version: u32,
    ) -> Result<Script, ScriptError> {
        let text = text.split('\0').next().unwrap_or_default();
        let source = Source {
            name,
            text,
            position: 0,
            pgbench_version,
            dialect: None,
        };
        Script::parse_source(names, source)
    }

    /// Parses a script of weight 1 whose statements are this dialect's SQL. Unlike in pgbench, a colon in a literal, a
    /// quoted name or a comment begins no variable.
    pub fn parse_sql(
        names: &mut VariableNames,
        name: &str,
        text: &str,
        dialect: SqlDialect,
    ) -> Result<Script, ScriptError> {
        let source = Source {
            name,
            text,
            position: 0,
            pgbench_version: NATIVE_PGBENCH_VERSION,
            dialect: Some(dialect),
        };
        Script::parse_source(names, source)
    }

    fn parse_source(
        names: &mut VariableNames,
        mut source: Source<'_>,
    ) -> Result<Script, ScriptError> {
        let name = source.name;
        let commands = parse_commands(&mut source, names)?;
        if commands.is_empty() {
            return Err(ScriptError::Empty {
                script: name.to_owned(),
            });
        }
        let mut script = Script {
            name: name.to_owned(),
            commands,
            weight: 1,
            only_reads: false,
        };
        script.resolve_jumps()?;
        Ok(script)
    }

    /// The statements, without the backslash commands.
    pub fn statements(&self) -> impl Iterator<Item = &SqlCommand> {
        self.commands
            .iter()
            .filter_map(|command| match &command.kind {
                CommandKind::Sql(sql) => Some(sql),
                _ => None,
            })
    }

    /// Whether all its statements, at least one, are queries that neither lock rows nor create a table, nor call a function
    /// that may write.
    pub(super) fn has_only_selects(&self) -> bool {
        let is_select = |sql: &SqlCommand| {
            let text = sql.text.trim_end_matches(';').to_lowercase();
            let mut words = text.split_whitespace();
            words.next() == Some("select")
                && !text.contains(';')
                && calls_only_known_functions(&text)
                && !words.any(|word| ["for", "into"].contains(&word))
        };
        let mut statements = self.statements().peekable();
        statements.peek().is_some() && statements.all(is_select)
    }

    /// Whether it is known that each execution commits exactly once: one statement, or several from BEGIN to END. A procedure
    /// or a statement of maintenance may commit more often, and a condition may leave out BEGIN.
    pub(super) fn commits_once(&self) -> bool {
        // A script may have a million statements, so their words are not collected.
        let mut words = self.statements().map(|sql| {
            // `\;` joins statements.
            let is_joined = sql.text.trim_end_matches(';').contains(';');
            if is_joined { "" } else { sql.first_word() }
        });
        let is_one_of =
            |word: &str, names: &[&str]| names.iter().any(|name| word.eq_ignore_ascii_case(name));
        let is_plain = |word: &str| {
            let plain = [
                "select", "insert", "update", "delete", "merge", "with", "values", "table",
            ];
            is_one_of(word, &plain)
        };
        let Some(first) = words.next() else {
            return false;
        };
        let (mut last, mut are_inner_plain) = (None, true);
        for word in words {
            // The word that was the last until now is an inner one.
            if let Some(inner) = last.replace(word) {
                are_inner_plain &= is_plain(inner);
            }
        }
        let is_transaction = match last {
            None => is_plain(first),
            Some(last) => {
                is_one_of(first, &["begin", "start"])
                    && are_inner_plain
                    && is_one_of(last, &["end", "commit"])
            }
        };
        let mut commands = self.commands.iter();
        let has_condition = commands.any(|command| matches!(command.kind, CommandKind::If { .. }));
        is_transaction && !has_condition
    }

    /// Links each condition to its branches and its `\endif`.
    fn resolve_jumps(&mut self) -> Result<(), ScriptError> {
        let mut open_conditions: Vec<OpenCondition> = Vec::new();
        for number in 0..self.commands.len() {
            match self.commands[number].kind {
                CommandKind::If { .. } => open_conditions.push(OpenCondition {
                    branches: vec![number],
                    has_else: false,
                }),
                CommandKind::Elif { .. } => match open_conditions.last_mut() {
                    None => {
                        return Err(self.condition_error(number, "\\elif without matching \\if"));
                    }
                    Some(open) if open.has_else => {
                        return Err(self.condition_error(number, "\\elif after \\else"));
                    }
                    Some(open) => open.branches.push(number),
                },
                CommandKind::Else { .. } => match open_conditions.last_mut() {
                    None => {
                        return Err(self.condition_error(number, "\\else without matching \\if"));
                    }
                    Some(open) if open.has_else => {
                        return Err(self.condition_error(number, "\\else after \\else"));
                    }
                    Some(open) => {
                        open.branches.push(number);
                        open.has_else = true;
                    }
                },
                CommandKind::EndIf => match open_conditions.pop() {
                    None => {
                        return Err(self.condition_error(number, "\\endif without matching \\if"));
                    }
                    Some(open) => self.link_branches(&open.branches, number),
                },
                _ => {}
            }
        }
        if !open_conditions.is_empty() {
            let problem = "\\if without matching \\endif";
            return Err(self.condition_error(self.commands.len(), problem));
        }
        Ok(())
    }

    fn condition_error(&self, command: usize, problem: &'static str) -> ScriptError {
        ScriptError::Condition {
            script: self.name.clone(),
            command: command + 1,
            problem,
        }
    }

    /// Sets the jumps of one condition, from each of its branches to the next and to the `\endif`.
    fn link_branches(&mut self, branches: &[usize], endif: usize) {
        let targets = branches.iter().skip(1).chain([&endif]);
        for (branch, target) in branches.iter().zip(targets) {
            match &mut self.commands[*branch].kind {
                CommandKind::If { else_target, .. } => *else_target = *target,
                CommandKind::Elif {
                    else_target,
                    endif_target,
                    ..
                } => (*else_target, *endif_target) = (*target, endif),
                CommandKind::Else { endif_target } => *endif_target = endif,
                _ => {}
            }
        }
    }
}

fn parse_commands(
    source: &mut Source<'_>,
    names: &mut VariableNames,
) -> Result<Vec<Command>, ScriptError> {
    let mut commands: Vec<Command> = Vec::new();
    let mut lexer = SqlLexer::default();
    let mut lines = LineCounter { offset: 0, line: 1 };
    let mut previous_position = source.text.len();
    loop {
        let (raw, end) = lexer.next_statement(source);
        let statement_line = lines.line_at(source, raw.start);
        commands.extend(statement_command(raw, statement_line, names, source));
        if end == StatementEnd::Backslash {
            let line = lines.line_at(source, source.position - 1);
            match meta::parse(source, line, names)? {
                Some(MetaCommand::Command(command)) => commands.push(command),
                Some(MetaCommand::StoreCommand(store_command)) => {
                    let line = match source.pgbench_version {
                        ..18 => line_of_statement_search(source, previous_position),
                        _ => line,
                    };
                    attach_store_command(commands.last_mut(), store_command, source, line)?;
                }
                None => {}
            }
        }
        if end == StatementEnd::End {
            commands.shrink_to_fit();
            return Ok(commands);
        }
        previous_position = source.position;
    }
}

/// The line that pgbench up to version 17 reports for a `\gset` without a statement: the line at which it
/// began to look for the statement. At the start of the script, it counts the lines of the whole script
/// except its last byte.
fn line_of_statement_search(source: &Source<'_>, previous_position: usize) -> usize {
    let counted_bytes = previous_position.min(source.text.len().saturating_sub(1));
    let counted_text = &source.text.as_bytes()[..counted_bytes];
    1 + counted_text.iter().filter(|c| **c == b'\n').count()
}

/// Attaches `\gset` or `\aset` to its statement.
fn attach_store_command(
    command: Option<&mut Command>,
    store_command: StoreCommand,
    source: &Source<'_>,
    line: usize,
) -> Result<(), ScriptError> {
    let detail = match command {
        Some(command) => match &mut command.kind {
            CommandKind::Sql(sql) if sql.store_command.is_none() => {
                sql.store_command = Some(Box::new(store_command));
                return Ok(());
            }
            CommandKind::Sql(_) => None,
            _ => Some(command.first_line().to_owned()),
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

/// Creates the command of a statement; `None` if the statement consists only of blanks and comments.
fn statement_command(
    raw: RawStatement,
    line: usize,
    names: &mut VariableNames,
    source: &Source<'_>,
) -> Option<Command> {
    let text = trim_leading_comments(&raw.text)?;
    Some(Command {
        line,
        backslash_text: None,
        kind: CommandKind::Sql(SqlCommand::new(text, names, source)),
    })
}

/// The text without leading blanks and comments; `None` if nothing is left.
fn trim_leading_comments(text: &str) -> Option<&str> {
    let mut remaining = text;
    loop {
        remaining = remaining.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
        if !remaining.starts_with("--") {
            return (!remaining.is_empty()).then_some(remaining);
        }
        remaining = remaining.split_once('\n')?.1;
    }
}

/// Whether each function that the lower-case text of a query calls is one of SQL that only computes. The word before a
/// parenthesis may also be a keyword, or missing.
fn calls_only_known_functions(text: &str) -> bool {
    const KNOWN: [&str; 22] = [
        "", "abs", "all", "and", "any", "avg", "by", "cast", "coalesce", "count", "exists", "from",
        "in", "join", "length", "lower", "max", "min", "or", "over", "sum", "upper",
    ];
    let is_name_end = |c: char| !(c.is_alphanumeric() || "_.\"".contains(c));
    let parts_before_parentheses = text.split('(').rev().skip(1);
    let mut words = parts_before_parentheses.map(|part| {
        let last_word = part.trim_end().rsplit(is_name_end).next();
        last_word.unwrap_or_default()
    });
    words.all(|word| KNOWN.contains(&word))
}
