//! Prepares every statement once before the load, so that a missing table or privilege or a syntax error is one sentence
//! instead of thousands of failed transactions.
//!
//! Executes nothing, except that a setting is made in a transaction which is rolled back. Never refuses a statement that
//! may become valid during the load: one that uses what the transactions create themselves, or whose names an earlier
//! statement resolves differently.

use super::ast::{Command, CommandKind, Script, SqlCommand};
use super::eval::{CommandIndex, Evaluator};
use super::options::ScriptSet;
use super::program::set_defines;
use super::sql::PARAMETERS_MAX;
use super::utility::{is_in_transaction_after, is_set, must_be_alone, table_queries};
use super::value::Value;
use super::variables::VariableNames;
use crate::capture::is_one_of;
use crate::random::Random;
use crate::remedy::Remedy;
use crate::{Error, Result, sql};
use prony_document::SqlDialect;
use prony_plan::QueryMode;
use prony_server::Control;
use prony_wire::{ErrorClass, ErrorSummary, ParameterType, ServerError, Statement, StatementIds};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// How long the server may take to prepare one statement: it waits for locks, and executes nothing.
const REPLY_LIMIT: Duration = Duration::from_secs(30);
/// MySQL's number for a statement that can only be sent as text, such as BEGIN.
const UNSUPPORTED_PS: u32 = 1295;
/// PostgreSQL's SQLSTATEs if it cannot infer the type of a parameter. In the simple protocol there is a literal instead.
const UNKNOWN_TYPE_CODES: [&str; 5] = ["42725", "42P18", "42P08", "42804", "42883"];
/// PostgreSQL's SQLSTATE for a missing privilege.
const INSUFFICIENT_PRIVILEGE: &str = "42501";
/// PostgreSQL's SQLSTATEs for a value that its parameter's type does not have.
const INVALID_VALUE_CODES: [&str; 4] = ["22P02", "22003", "22007", "22008"];
/// Statements that PostgreSQL can explain.
const EXPLAINED_WORDS: &str = "select insert update delete merge with values table";

/// Prepares the statements of these scripts. `scale`: the value of `:scale`.
///
/// # Errors
/// [`Error::Data`] for the first statement that the server refuses.
pub(super) fn prepare_once(
    control: &mut Control,
    set: &ScriptSet,
    scale: u32,
    protocol: QueryMode,
) -> Result<()> {
    control.set_reply_limit(Some(REPLY_LIMIT));
    let tried = try_statements(control, set, scale, protocol);
    control.set_reply_limit(None);
    tried
}

fn try_statements(
    control: &mut Control,
    set: &ScriptSet,
    scale: u32,
    protocol: QueryMode,
) -> Result<()> {
    let created_names = created_names(&set.scripts);
    let mut evaluator = Evaluator::new(Arc::new(set.names.clone()), Random::new(1));
    let scale = Value::Int(scale.into());
    evaluator.variables.set(VariableNames::SCALE, scale);
    for id in [VariableNames::CLIENT_ID, VariableNames::RANDOM_SEED] {
        evaluator.variables.set(id, Value::Int(0));
    }
    set_defines(&mut evaluator, &set.defines);
    let mut trial = Trial {
        dialect: control.dialect(),
        evaluator,
        control,
        is_simple: protocol == QueryMode::Simple,
        is_in_transaction: false,
    };
    for script in set.scripts.iter().filter(|script| script.weight > 0) {
        trial.is_in_transaction = false;
        for command in &script.commands {
            match &command.kind {
                CommandKind::Set { target, value } => {
                    let value = trial.evaluator.eval(value, CommandIndex::default());
                    // A variable that only a query sets has no value here.
                    if let Ok(value) = value {
                        let _ = trial.evaluator.assign(target, command.name(), value);
                    }
                }
                CommandKind::Sql(sql) => {
                    if changes_name_resolution(&sql.text) {
                        break;
                    }
                    if let Some(is_in_transaction) = is_in_transaction_after(&sql.text) {
                        trial.is_in_transaction = is_in_transaction;
                    }
                    if lower_case_words(&sql.text).any(|word| created_names.contains(&word)) {
                        continue;
                    }
                    trial
                        .prepare(script, command, sql)
                        .map_err(|error| at_line(error, script, command))?;
                }
                _ => {}
            }
        }
    }
    Ok(())
}

struct Trial<'a> {
    control: &'a mut Control,
    dialect: SqlDialect,
    /// Sets variables as a user does: SQL Server needs the types of the values.
    evaluator: Evaluator,
    is_simple: bool,
    /// Whether the script has begun a transaction and not ended it.
    is_in_transaction: bool,
}

impl Trial<'_> {
    /// Prepares a statement, and explains it if PostgreSQL can.
    fn prepare(&mut self, script: &Script, command: &Command, sql: &SqlCommand) -> Result<()> {
        // In the simple protocol, a text may be several statements.
        if self.is_simple && sql.text.trim_end_matches(';').contains(';') {
            return Ok(());
        }
        // Only the simple protocol sends so many, as text; some servers cannot prepare them.
        if sql.parameters().len() > PARAMETERS_MAX {
            return Ok(());
        }
        let text = Arc::clone(sql.numbered_text());
        let statement = StatementIds::new().add_with_placeholders(text, sql.numbered_positions());
        let statement = self.with_types(statement, sql);
        if let Some(error) = statement_error(self.control.try_prepare(&statement))?
            && self.is_refusal(&error, sql)
        {
            return Err(refusal(script, command, sql, &error));
        }
        // A name with a variable in it is known only when it is sent.
        if self.dialect == SqlDialect::PostgreSql && sql.parameters().is_empty() {
            self.try_utility(script, command, sql)?;
        }
        // PostgreSQL checks privileges and reads values when it plans.
        let first_word = lower_case_words(&sql.text).next().unwrap_or_default();
        if self.dialect == SqlDialect::PostgreSql && is_one_of(&first_word, EXPLAINED_WORDS) {
            let explain = format!("EXPLAIN {}", sql.numbered_text());
            let count = sql.parameters().len() as u32;
            let explain = StatementIds::new().add_unparsed(explain, count);
            let ids = sql.parameters();
            self.evaluator.variables.prepare_parameters(ids);
            let variables = &self.evaluator.variables;
            let values = ids
                .iter()
                .map(|id| variables.parameter(*id, Some(self.dialect)));
            let values: Vec<_> = values.collect();
            if let Some(error) = statement_error(self.control.execute_statement(&explain, &values))?
                && (error.code() == INSUFFICIENT_PRIVILEGE
                    // Which branch sets a variable is not known.
                    || (!has_conditions(script) && INVALID_VALUE_CODES.contains(&error.code())))
            {
                return Err(refusal(script, command, sql, &error));
            }
        }
        Ok(())
    }

    /// Refuses a utility statement that PostgreSQL can prepare and not execute.
    fn try_utility(&mut self, script: &Script, command: &Command, sql: &SqlCommand) -> Result<()> {
        if self.is_in_transaction && must_be_alone(&sql.text) && !has_conditions(script) {
            let problem = format!(
                "transaction \"{}\", line {}, has a statement that PostgreSQL does not execute in a transaction",
                script.name, command.line
            );
            let advice = "end the transaction before it, or move it to a transaction of its own";
            return Err(Error::Data {
                problem,
                remedy: Remedy::Advice(advice.to_owned()),
            });
        }
        for query in table_queries(&sql.text) {
            let statement = StatementIds::new().add_unparsed(query, 0);
            if let Some(error) = statement_error(self.control.try_prepare(&statement))?
                && error.classification.class == ErrorClass::Other
            {
                return Err(refusal(script, command, sql, &without_position(error)));
            }
        }
        if is_set(&sql.text) && sql.parameters().is_empty() {
            self.control
                .execute("BEGIN")
                .map_err(|error| sql::server_error("preparing the transactions", error))?;
            let result = statement_error(self.control.execute(&sql.text).map(|_| ()));
            self.control
                .execute("ROLLBACK")
                .map_err(|error| sql::server_error("preparing the transactions", error))?;
            if let Some(error) = result? {
                return Err(refusal(script, command, sql, &error));
            }
        }
        Ok(())
    }

    /// The statement with the types that its values will have on SQL Server, where an untyped parameter is text.
    fn with_types(&self, statement: Statement, sql: &SqlCommand) -> Statement {
        if self.dialect != SqlDialect::TransactSql {
            return statement;
        }
        let ids = sql.parameters().iter();
        let types = ids.map(|id| match self.evaluator.variables.known_value(*id) {
            Some(Value::Int(_) | Value::Bool(_)) => Some(ParameterType::BigInt),
            _ => None,
        });
        statement.with_types(types.collect::<Vec<_>>())
    }

    /// Whether the load would fail with this error too.
    fn is_refusal(&self, error: &ServerError, sql: &SqlCommand) -> bool {
        let has_literals = self.is_simple && !sql.parameters().is_empty();
        error.classification.class == ErrorClass::Other
            && error.number != UNSUPPORTED_PS
            && !(has_literals && UNKNOWN_TYPE_CODES.contains(&error.code()))
    }
}

/// The error with which the server refused a statement; `None` if it accepted the statement. Other errors end the trial.
fn statement_error(
    result: Result<(), prony_server::control::Error>,
) -> Result<Option<ServerError>> {
    match result {
        Ok(()) => Ok(None),
        Err(prony_server::control::Error::Statement(error)) if !error.is_fatal() => {
            Ok(Some(*error))
        }
        Err(error) => Err(sql::server_error("preparing the transactions", error)),
    }
}

/// The error that ends a trial, with the line of its statement.
fn at_line(error: Error, script: &Script, command: &Command) -> Error {
    match error {
        Error::Server { source, .. } => Error::Server {
            activity: format!(
                "preparing transaction \"{}\", line {}",
                script.name, command.line
            ),
            source,
        },
        other => other,
    }
}

fn refusal(script: &Script, command: &Command, sql: &SqlCommand, error: &ServerError) -> Error {
    let before_position = error
        .position
        .map_or(0, |position| position.saturating_sub(1));
    let before = sql.numbered_text().chars().take(before_position as usize);
    let line = command.line + before.filter(|letter| *letter == '\n').count();
    let code = ErrorSummary::from(error).counted_as();
    let is_denied = error.code() == INSUFFICIENT_PRIVILEGE || error.message.contains(" denied ");
    let advice = if is_denied {
        "GRANT the missing right, or run as the owner of the tables"
    } else {
        "correct the statement, or create what it uses; trial = \"off\" leaves this check out"
    };
    Error::Data {
        problem: format!(
            "the server refuses transaction \"{}\", line {line}: {} ({})",
            script.name,
            // MySQL quotes the statement with its line ends.
            error
                .message
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" "),
            String::from_utf8_lossy(&code)
        ),
        remedy: Remedy::Advice(advice.to_owned()),
    }
}

/// The error without its position, which is not one in the statement: a query was sent in its place.
fn without_position(mut error: ServerError) -> ServerError {
    error.position = None;
    error
}

fn has_conditions(script: &Script) -> bool {
    let mut commands = script.commands.iter();
    commands.any(|command| matches!(command.kind, CommandKind::If { .. }))
}

/// The words of a statement in lower case: names with their qualification, keywords, numbers.
fn lower_case_words(sql: &str) -> impl Iterator<Item = String> {
    let is_separator =
        |letter: char| !(letter.is_alphanumeric() || matches!(letter, '_' | '$' | '#' | '@'));
    let words = sql.split(is_separator).filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}

/// Whether the names in later statements may mean something else.
fn changes_name_resolution(sql: &str) -> bool {
    let mut words = lower_case_words(sql);
    match words.next().as_deref() {
        Some("use") => true,
        Some("set" | "select") => {
            words.any(|word| is_one_of(&word, "search_path role authorization schema set_config"))
        }
        _ => false,
    }
}

/// The names of what the scripts create or alter. May contain other words of these statements, never keywords of others.
fn created_names(scripts: &[Script]) -> HashSet<String> {
    const KEYWORDS: &str = "\
        create alter or replace temp temporary local global unlogged table view materialized \
        index unique concurrently sequence function procedure schema type database if not exists \
        on as select from using add column set drop rename to insert update delete";
    let mut names = HashSet::new();
    for sql in scripts.iter().flat_map(Script::statements) {
        let mut words = lower_case_words(sql.text.split('(').next().unwrap_or_default());
        match words.next().as_deref() {
            Some("create" | "alter") => {
                let until_body = words.take_while(|word| word != "as");
                names.extend(until_body.filter(|word| !is_one_of(word, KEYWORDS)));
            }
            Some("select") => {
                let from_into = lower_case_words(&sql.text).skip_while(|word| word != "into");
                let mut after_into = from_into.skip(1);
                names.extend(after_into.find(|word| !is_one_of(word, KEYWORDS)));
            }
            _ => {}
        }
    }
    names
}
