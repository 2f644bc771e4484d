//! Runs scripts: one virtual user, transaction after transaction.
//!
//! In: the scripts, a client's variables, its connection. Out: requests, waiting times, samples.
//! Must never: block its thread, or allocate for a statement once it is warm (up to
//! [`VALUES_MAX`] variables).

use super::ast::{Command, CommandKind, Results, Script, SqlCommand};
use super::error::EvalError;
use super::eval::{Evaluator, Place};
use super::options::{LEVEL, protocol_problem};
use super::program::Shared;
use crate::random::Random;
use prony_session::{Db, DbError, Ended, Outcome, Rows};
use prony_wire::{QueryMode, Row, Statement, Value as Wire};
use std::convert::Infallible;
use std::time::Duration;

/// Variables of a statement that are handed on without an allocation.
const VALUES_MAX: usize = 16;

/// What a user carries from one transaction to the next.
pub(super) struct Client {
    evaluator: Evaluator,
    choice: Random,
    /// The text of a statement in simple mode.
    text: String,
}

/// Why a script did not come to its end.
enum Halt {
    /// A statement failed: so does the transaction, and the user goes on.
    Failed(DbError),
    /// The user cannot go on.
    Cannot(String),
}

impl From<DbError> for Halt {
    fn from(error: DbError) -> Self {
        Halt::Failed(error)
    }
}

/// The command that is being run.
#[derive(Clone, Copy)]
struct At<'a> {
    script: &'a Script,
    number: usize,
    command: &'a Command,
}

impl At<'_> {
    /// `a.sql:3: division by zero; command 2 (\set x 1 / 0): evaluation of meta-command failed`.
    #[cold]
    fn cannot(&self, problem: &str, what: &str) -> Halt {
        let At {
            script, command, ..
        } = self;
        let colon = if problem.is_empty() { "" } else { "; " };
        Halt::Cannot(format!(
            "{}:{}: {problem}{colon}command {} ({}): {what}",
            script.name,
            command.line,
            self.number + 1,
            command.first_line.trim_end(),
        ))
    }

    fn evaluation(&self, error: &EvalError) -> Halt {
        self.cannot(&error.to_string(), "evaluation of meta-command failed")
    }

    fn execution(&self, problem: &str) -> Halt {
        self.cannot(problem, "execution of meta-command failed")
    }
}

/// Transaction after transaction, until the run is over.
pub(super) async fn run(
    shared: &Shared,
    mut client: Client,
    mut db: Db,
) -> Result<Infallible, Ended> {
    let simple = db.mode() == QueryMode::Simple;
    for script in &shared.scripts {
        if let Some(problem) = protocol_problem(script, simple) {
            return Err(Ended::Failed(problem));
        }
    }
    loop {
        let choice = shared.choice.as_ref();
        let number = choice.map_or(0, |choice| choice.pick(&mut client.choice));
        let script = &shared.scripts[number];
        // There are at most 128 scripts.
        db.start(number as u16).await?;
        let result = client.script(shared, number, &mut db).await;
        // Nobody reads what debug() shows; it must not pile up.
        drop(client.evaluator.take_debug());
        match result {
            Ok(()) => db
                .end(Ok(Outcome::Committed))
                .await
                .map_err(|ended| unfinished(ended, script))?,
            Err(Halt::Failed(error)) => db.end(Err(error)).await?,
            Err(Halt::Cannot(reason)) => return Err(Ended::Failed(reason)),
        }
    }
}

/// After a script that came to its end, only a block left open fails.
fn unfinished(ended: Ended, script: &Script) -> Ended {
    match ended {
        Ended::Failed(_) => Ended::Failed(format!(
            "{}: end of script reached without completing the last transaction",
            script.name
        )),
        other => other,
    }
}

impl Client {
    /// A user before its first transaction.
    pub fn new(evaluator: Evaluator, choice: Random) -> Self {
        Client {
            evaluator,
            choice,
            text: String::new(),
        }
    }

    /// Runs one script from its first command to its last.
    async fn script(&mut self, shared: &Shared, number: usize, db: &mut Db) -> Result<(), Halt> {
        let script = &shared.scripts[number];
        let (mut next, mut pipeline) = (0, false);
        while let Some(command) = script.commands.get(next) {
            let place = Place {
                script: number as u32,
                command: next as u32,
            };
            let at = At {
                script,
                number: next,
                command,
            };
            next += 1;
            match &command.kind {
                CommandKind::Sql(sql) => {
                    let statement = shared.statements[number][at.number].as_ref();
                    self.sql(at, sql, statement, pipeline, db).await?;
                }
                CommandKind::Set { target, value } => {
                    let value = self.evaluator.eval(value, place);
                    value
                        .and_then(|value| self.evaluator.assign(target, command.word(), value))
                        .map_err(|error| at.evaluation(&error))?;
                }
                CommandKind::Sleep(sleep) => {
                    let time = self.evaluator.sleep_us(sleep, command.word());
                    let time = time.map_err(|error| at.execution(&error.to_string()))?;
                    pause(time, db).await;
                }
                CommandKind::If { .. } => {
                    next = script
                        .branch(at.number, &mut self.evaluator, place.script)
                        .map_err(|error| at.evaluation(&error))?;
                }
                CommandKind::Elif { end, .. } | CommandKind::Else { end } => next = end + 1,
                CommandKind::EndIf => {}
                CommandKind::StartPipeline if pipeline => {
                    return Err(at.cannot("", "already in pipeline mode"));
                }
                CommandKind::StartPipeline => pipeline = true,
                CommandKind::SyncPipeline | CommandKind::EndPipeline => {
                    if !pipeline {
                        return Err(at.cannot("", "not in pipeline mode"));
                    }
                    db.sync().await?;
                    pipeline = command.kind == CommandKind::SyncPipeline;
                }
                // The plan is refused before it runs.
                CommandKind::Shell(_) | CommandKind::SetShell { .. } => {
                    return Err(at.execution("shell commands are not available here"));
                }
            }
        }
        if pipeline {
            let name = &script.name;
            let reason = format!("{name}: end of script reached with pipeline open");
            return Err(Halt::Cannot(reason));
        }
        Ok(())
    }

    /// Sends a statement and, outside a pipeline, awaits its reply.
    async fn sql(
        &mut self,
        at: At<'_>,
        sql: &SqlCommand,
        statement: Option<&Statement>,
        pipeline: bool,
        db: &mut Db,
    ) -> Result<(), Halt> {
        let rows = match statement {
            Some(statement) if db.mode() != QueryMode::Simple => {
                if let (true, Some(results)) = (pipeline, &sql.results) {
                    let problem = format!("\\{} is not allowed in pipeline mode", results.word());
                    return Err(at.cannot("", &problem));
                }
                self.push(sql, statement, db)?;
                if pipeline {
                    return Ok(());
                }
                db.sync().await?
            }
            _ => {
                self.text.clear();
                sql.substitute(&self.evaluator.variables, &mut self.text);
                db.query(&self.text).await?
            }
        };
        match &sql.results {
            None => Ok(()),
            Some(results) => self
                .keep(results, &rows)
                .map_err(|problem| at.execution(&problem)),
        }
    }

    /// Writes a statement with the values of its variables into the next request.
    fn push(
        &mut self,
        sql: &SqlCommand,
        statement: &Statement,
        db: &mut Db,
    ) -> Result<(), DbError> {
        let ids = sql.parameters();
        self.evaluator.variables.prepare(ids);
        let variables = &self.evaluator.variables;
        if ids.len() > VALUES_MAX {
            let values: Vec<Wire<'_>> = ids.iter().map(|id| variables.parameter(*id)).collect();
            return db.push(statement, &values);
        }
        let mut values = [Wire::Null; VALUES_MAX];
        for (value, id) in values.iter_mut().zip(ids) {
            *value = variables.parameter(*id);
        }
        db.push(statement, &values[..ids.len()])
    }

    /// Gives columns to variables, as `\gset` or `\aset` says.
    fn keep(&mut self, results: &Results, rows: &Rows<'_>) -> Result<(), String> {
        let last = rows.results().saturating_sub(1);
        let mut kept: Option<(usize, Row<'_>)> = None;
        let mut count = 0;
        for (result, row) in rows.iter() {
            if results.all {
                if let Some((before, row)) = kept.filter(|(before, _)| *before != result) {
                    self.columns(results, rows, before, row)?;
                }
                kept = Some((result, row));
            } else if result == last {
                count += 1;
                kept = Some((result, row));
            }
        }
        if !results.all && count != 1 {
            return Err(format!("expected one row, got {count}"));
        }
        match kept {
            Some((result, row)) => self.columns(results, rows, result, row),
            None => Ok(()),
        }
    }

    fn columns(
        &mut self,
        results: &Results,
        rows: &Rows<'_>,
        result: usize,
        row: Row<'_>,
    ) -> Result<(), String> {
        for (name, value) in rows.columns(result).zip(row.values()) {
            let name = String::from_utf8_lossy(name);
            let id = self
                .evaluator
                .column(results, &name, LEVEL)
                .map_err(|error| error.to_string())?;
            if let Some(id) = id {
                // NULL becomes an empty text, as libpq gives it.
                let text = String::from_utf8_lossy(value.unwrap_or_default());
                self.evaluator.variables.set_text(id, &text);
            }
        }
        Ok(())
    }
}

/// Waits, if there is anything to wait for.
async fn pause(time_us: i64, db: &mut Db) {
    if let Ok(time_us @ 1..) = u64::try_from(time_us) {
        // As long as the clock's nanoseconds can count.
        let time = Duration::from_micros(time_us.min(u64::MAX / 1000));
        db.sleep(time).await;
    }
}
