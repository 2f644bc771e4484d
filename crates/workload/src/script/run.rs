//! Runs scripts: one virtual user, transaction after transaction.
//!
//! In: the scripts, a client's variables, its connection. Out: requests, waiting times, samples,
//! and what a [`Manner`]'s listener is to hear. Must never: block its thread but for a shell command
//! that the manner allows, or allocate for a statement once it is warm (up to [`VALUES_MAX`]
//! variables).

use super::ast::{CommandKind, Results, SqlCommand, Target};
use super::error::EvalError;
use super::eval::{Evaluator, Place};
use super::expr::Expr;
use super::figures::Kept;
use super::manner::Manner;
use super::options::protocol_problem;
use super::program::Shared;
use super::shell;
use super::trouble::{At, Halt};
use prony_session::{Db, DbError, Ended, Outcome, Rows};
use prony_wire::{QueryMode, Row, Statement, Value as Wire};
use std::convert::Infallible;
use std::time::Duration;

/// Said of a value that cannot be kept as it is.
const NOT_TEXT: &str = "a value is not text in UTF-8: set client_encoding to UTF8";

/// Variables of a statement that are handed on without an allocation.
const VALUES_MAX: usize = 16;

/// What a user carries from one transaction to the next.
pub(super) struct Client {
    evaluator: Evaluator,
    /// Number among all clients, from 0.
    number: u32,
    /// Number of its worker, from 0.
    worker: u32,
    /// The text of a statement in simple mode, or of a shell command.
    text: String,
    figures: Kept,
}

/// Transaction after transaction, until the run is over.
pub(super) async fn run(
    shared: &Shared,
    mut client: Client,
    mut db: Db,
) -> Result<Infallible, Ended> {
    let number = client.number;
    let ended = client.transactions(shared, &mut db).await;
    if let (Err(Ended::Failed(_)), Some(listener)) = (&ended, &shared.manner.listener) {
        listener.aborted(number);
    }
    ended
}

impl Client {
    /// A user before its first transaction.
    pub fn new(evaluator: Evaluator, number: u32, worker: u32, figures: Kept) -> Self {
        Client {
            evaluator,
            number,
            worker,
            text: String::new(),
            figures,
        }
    }

    async fn transactions(&mut self, shared: &Shared, db: &mut Db) -> Result<Infallible, Ended> {
        let (manner, id) = (&shared.manner, self.number);
        let simple = db.mode() == QueryMode::Simple;
        if !manner.as_pgbench {
            let mut scripts = shared.scripts.iter();
            if let Some(problem) = scripts.find_map(|script| protocol_problem(script, simple)) {
                return Err(Ended::Failed(problem));
            }
        }
        loop {
            if db.is_done() {
                // Without a draw that the others of its worker would miss.
                return Err(Ended::Finished);
            }
            let number = shared.next_script(self.worker);
            let script = &shared.scripts[number];
            manner.debug(|| format!("client {id} executing script \"{}\"", script.name));
            // There are at most 128 scripts.
            if let Err(ended) = db.start(number as u16).await {
                if let Ended::Failed(reason) = &ended {
                    manner.error(reason);
                    manner.error(&format!(
                        "client {id} aborted while establishing connection"
                    ));
                }
                return Err(ended);
            }
            let result = self.tries(shared, number, db).await?;
            let is_open = result.is_ok() && db.is_in_block();
            let ended = db.end(result).await;
            if is_open {
                let what = "end of script reached without completing the last transaction";
                manner.error(&format!("client {id} aborted: {what}"));
                return Err(Ended::Failed(format!("{}: {what}", script.name)));
            }
            ended?;
        }
    }

    /// Runs a script until it succeeds, or fails for good.
    async fn tries(
        &mut self,
        shared: &Shared,
        number: usize,
        db: &mut Db,
    ) -> Result<Result<Outcome, DbError>, Ended> {
        let (manner, script) = (&shared.manner, &shared.scripts[number]);
        let random = self.evaluator.random.clone();
        let mut tries = 1;
        loop {
            let mut next = 0;
            let error = match self.script(shared, number, &mut next, db).await {
                Ok(()) => return Ok(Ok(Outcome::Committed)),
                Err(Halt::Cannot(reason)) => return Err(Ended::Failed(reason)),
                Err(Halt::Failed(error)) => error,
            };
            let command = next.saturating_sub(1);
            let at = At {
                manner,
                client: self.number,
                script,
                place: Place {
                    script: number as u32,
                    command: command as u32,
                },
                command: &script.commands[command],
            };
            db.notices(|notice| manner.notice(&notice));
            if !manner.goes_on(&error, db.is_up()) {
                return Err(Ended::Failed(at.abort(&self.text, &error, db)));
            }
            if manner.verbose {
                let said = at.said(&self.text, &error, db);
                manner.info(&format!(
                    "client {} got an error in command {command} (SQL) of script {number}; {said}",
                    self.number
                ));
            }
            let in_pipeline = matches!(
                at.command.kind,
                CommandKind::SyncPipeline | CommandKind::EndPipeline
            );
            if in_pipeline && manner.as_libpq {
                // Whatever is wrong with the connection shows again in what follows.
                let _ = db.sync().await;
            }
            if manner.as_pgbench && db.is_over() {
                return Err(Ended::Stopped);
            }
            let again = manner.tries_again(&error, tries, db.response_ns());
            if manner.verbose {
                manner.info(&at.verdict(again, tries, db.response_ns()));
            }
            if !again {
                self.figures.failed(number, command);
                return Ok(Err(error));
            }
            self.figures.retried(number, command);
            db.retry().await?;
            // The same random numbers again; variables keep what they became, as in pgbench.
            self.evaluator.random = random.clone();
            tries += 1;
        }
    }

    /// Runs one script from its first command to its last. `next` tells where it stopped: at the
    /// command before that.
    async fn script(
        &mut self,
        shared: &Shared,
        number: usize,
        next: &mut usize,
        db: &mut Db,
    ) -> Result<(), Halt> {
        let (manner, script) = (&shared.manner, &shared.scripts[number]);
        let mut pipeline = false;
        while let Some(command) = script.commands.get(*next) {
            let place = Place {
                script: number as u32,
                command: *next as u32,
            };
            let at = At {
                manner,
                client: self.number,
                script,
                place,
                command,
            };
            *next += 1;
            let begun_ns = db.noticed_ns();
            match &command.kind {
                CommandKind::Sql(sql) => {
                    let statement = shared.statements[number][at.number()].as_ref();
                    self.sql(at, sql, statement, pipeline, db).await?;
                }
                CommandKind::Set { target, value } => {
                    trace(at);
                    self.set(at, target, value)?;
                }
                CommandKind::Sleep(sleep) => {
                    trace(at);
                    let time = self.evaluator.sleep_us(sleep, command.word());
                    let time = time.map_err(|error| at.execution(&error, "sleep"))?;
                    pause(time, db).await;
                }
                CommandKind::If { .. } => {
                    trace(at);
                    let branch = script.branch(at.number(), &mut self.evaluator, place.script);
                    self.show(manner);
                    *next = branch.map_err(|error| at.evaluation(&error))?;
                }
                CommandKind::Elif { end, .. } | CommandKind::Else { end } => {
                    trace(at);
                    *next = end + 1;
                }
                CommandKind::EndIf => trace(at),
                CommandKind::StartPipeline => {
                    trace(at);
                    self.start_pipeline(at, &shared.statements[number], pipeline, db)
                        .await?;
                    pipeline = true;
                }
                CommandKind::SyncPipeline | CommandKind::EndPipeline => {
                    trace(at);
                    let ends = command.kind == CommandKind::EndPipeline;
                    if !pipeline {
                        let word = if ends { "endpipeline" } else { "syncpipeline" };
                        return Err(at.cannot("", word, "not in pipeline mode"));
                    }
                    let rows = db.sync().await.map_err(Halt::Failed)?;
                    rows.notices(|notice| manner.notice(&notice));
                    pipeline = !ends;
                }
                CommandKind::Shell(_) | CommandKind::SetShell { .. } => {
                    trace(at);
                    self.shell(at)?;
                }
            }
            self.figures.took(number, at.number(), begun_ns, db);
        }
        if pipeline {
            let what = "end of script reached with pipeline open";
            manner.error(&format!("client {} aborted: {what}", self.number));
            return Err(Halt::Cannot(format!("{}: {what}", script.name)));
        }
        Ok(())
    }

    /// Gives a variable the value of an expression.
    #[inline]
    fn set(&mut self, at: At<'_>, target: &Target, value: &Expr) -> Result<(), Halt> {
        let value = self.evaluator.eval(value, at.place);
        self.show(at.manner);
        let value = value.map_err(|error| at.evaluation(&error))?;
        let assigned = self.evaluator.assign(target, at.command.word(), value);
        assigned.map_err(|error| {
            let what = "assignment of meta-command failed";
            at.cannot(&error.to_string(), "set", what)
        })
    }

    /// Hands on what `debug()` wrote.
    #[inline]
    fn show(&mut self, manner: &Manner) {
        if let (Some(lines), Some(listener)) = (self.evaluator.take_debug(), &manner.listener) {
            listener.shown(&lines);
        }
    }

    async fn start_pipeline(
        &mut self,
        at: At<'_>,
        statements: &[Option<Statement>],
        pipeline: bool,
        db: &mut Db,
    ) -> Result<(), Halt> {
        let refuse = |what| Err(at.cannot("", "startpipeline", what));
        if db.mode() == QueryMode::Simple {
            return refuse("cannot use pipeline mode with the simple query protocol");
        }
        if at.manner.as_libpq {
            let commands = at.script.commands.iter().zip(statements);
            let inside = commands
                .skip(at.number() + 1)
                .take_while(|(command, _)| command.kind != CommandKind::EndPipeline);
            for statement in inside.filter_map(|(_, statement)| statement.as_ref()) {
                self.prepare(at, statement, db).await?;
            }
        }
        if pipeline {
            return refuse("already in pipeline mode");
        }
        Ok(())
    }

    /// Prepares a statement in a round trip of its own. What the server has against it is told, and
    /// the execution then fails.
    async fn prepare(
        &mut self,
        at: At<'_>,
        statement: &Statement,
        db: &mut Db,
    ) -> Result<(), Halt> {
        if db.is_prepared(statement) {
            return Ok(());
        }
        let client = self.number;
        at.manner
            .debug(|| format!("client {client} preparing P_{}", statement.id()));
        match db.prepare(statement).await {
            Err(error) if !db.is_up() => Err(Halt::Failed(error)),
            Err(error) => {
                let said = db.server_error();
                let said = said.map_or(error.message, |said| said.in_statement(statement.sql()));
                at.manner.error(&said);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Runs a shell command and waits for it.
    fn shell(&mut self, at: At<'_>) -> Result<(), Halt> {
        let evaluator = &mut self.evaluator;
        let (command, target, word) = match &at.command.kind {
            CommandKind::SetShell { target, command } => (command, Some(target), "setshell"),
            CommandKind::Shell(command) => (command, None, "shell"),
            _ => return Ok(()),
        };
        if !at.manner.shell {
            // The plan is refused before it runs.
            let problem = EvalError::new("shell commands are not available here");
            return Err(at.execution(&problem, word));
        }
        let first = command.first_word();
        let ran = evaluator
            .shell_line(command, &mut self.text)
            .and_then(|()| match target {
                None => shell::run(&self.text, first),
                Some(target) => {
                    let number = shell::number(&self.text, first)?;
                    evaluator.assign(target, word, super::Value::Int(number))
                }
            });
        ran.map_err(|error| at.execution(&error, word))
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
        let (manner, client) = (at.manner, self.number);
        let rows = match statement {
            Some(statement) if db.mode() != QueryMode::Simple => {
                if let (true, Some(results)) = (pipeline, &sql.results) {
                    let word = results.word();
                    let what = format!("\\{word} is not allowed in pipeline mode");
                    return Err(at.cannot("", word, &what));
                }
                if manner.as_libpq {
                    self.prepare(at, statement, db).await?;
                }
                manner.debug(|| match db.mode() {
                    QueryMode::Prepared => format!("client {client} sending P_{}", statement.id()),
                    _ => format!("client {client} sending {}", sql.numbered),
                });
                self.push(sql, statement, db).map_err(Halt::Failed)?;
                if pipeline {
                    return Ok(());
                }
                db.sync().await
            }
            _ => {
                self.text.clear();
                sql.substitute(&self.evaluator.variables, &mut self.text);
                manner.debug(|| format!("client {client} sending {}", self.text));
                db.query(&self.text).await
            }
        };
        manner.debug(|| format!("client {client} receiving"));
        let rows = rows.map_err(Halt::Failed)?;
        rows.notices(|notice| manner.notice(&notice));
        match &sql.results {
            None => Ok(()),
            Some(results) => self.keep(at, results, &rows),
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
    fn keep(&mut self, at: At<'_>, results: &Results, rows: &Rows<'_>) -> Result<(), Halt> {
        let last = rows.results().saturating_sub(1);
        let mut kept: Option<(usize, Row<'_>)> = None;
        let mut count = 0;
        for (result, row) in rows.iter() {
            if results.all {
                if let Some((before, row)) = kept.filter(|(before, _)| *before != result) {
                    self.columns(at, results, rows, before, row)?;
                }
                kept = Some((result, row));
            } else if result == last {
                count += 1;
                kept = Some((result, row));
            }
        }
        if !results.all && count != 1 {
            return Err(at.unfit(last, &format!("expected one row, got {count}")));
        }
        match kept {
            Some((result, row)) => self.columns(at, results, rows, result, row),
            None => Ok(()),
        }
    }

    fn columns(
        &mut self,
        at: At<'_>,
        results: &Results,
        rows: &Rows<'_>,
        result: usize,
        row: Row<'_>,
    ) -> Result<(), Halt> {
        for (name, value) in rows.columns(result).zip(row.values()) {
            let name = String::from_utf8_lossy(name);
            let id = self.evaluator.column(results, &name, at.manner.level);
            let id = id.map_err(|error| {
                at.manner.error(&error.to_string());
                let prefix = &results.prefix;
                at.unfit(
                    result,
                    &format!("error storing into variable {prefix}{name}"),
                )
            })?;
            if let Some(id) = id {
                // NULL becomes an empty text, as libpq gives it.
                let text = std::str::from_utf8(value.unwrap_or_default());
                let text = text.map_err(|_| at.unfit(result, NOT_TEXT))?;
                self.evaluator.variables.set_text(id, text);
            }
        }
        Ok(())
    }
}

/// Tells of a backslash command before it runs.
#[inline]
fn trace(at: At<'_>) {
    let client = at.client;
    at.manner
        .debug(|| format!("client {client} executing \\{}", at.command.words.join(" ")));
}

/// Waits, if there is anything to wait for.
async fn pause(time_us: i64, db: &mut Db) {
    if let Ok(time_us @ 1..) = u64::try_from(time_us) {
        // As long as the clock's nanoseconds can count.
        let time = Duration::from_micros(time_us.min(u64::MAX / 1000));
        db.sleep(time).await;
    }
}
