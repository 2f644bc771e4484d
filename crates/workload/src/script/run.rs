//! Runs the transactions of a virtual user. Never blocks its thread, except for a shell command that the
//! [`ScriptPolicy`] allows; once warm, never allocates for a statement with up to [`INLINE_PARAMETERS_MAX`] variables.

use super::ast::{
    AssignmentTarget, CommandKind, SampleCommand, Script, SleepTime, SqlCommand, StoreCommand,
};
use super::command_context::{CommandContext, Halt};
use super::error::EvalError;
use super::eval::{CommandIndex, Evaluator};
use super::expr::Expr;
use super::pipeline::{start_pipeline, sync_pipeline};
use super::policy::ScriptPolicy;
use super::prepare::{must_be_prepared, prepare};
use super::program::ScriptRun;
use super::shell;
use super::stats::ClientStats;
use super::variables::undefined_variable_error;
use prony_session::{
    Db, DbError, DbReply, Outcome, READ_ROW_BYTES_MAX, UNREAD_ROW_BYTES_MAX, UserExit,
};
use prony_wire::{QueryMode, Statement, Value as WireValue, WireRow};
use std::convert::Infallible;
use std::time::Duration;

/// The message for a value that cannot be stored in a variable because it is not text.
const VALUE_NOT_TEXT_MESSAGE: &str = "a value is not text in UTF-8: set client_encoding to UTF8";

/// A statement with up to this many variables is sent without an allocation.
const INLINE_PARAMETERS_MAX: usize = 16;

/// A user's state from one transaction to the next.
pub(super) struct ScriptClient {
    evaluator: Evaluator,
    /// The user's number among all clients, from 0.
    number: u32,
    /// The number of the user's worker, from 0.
    worker: u32,
    /// The text of a statement in simple mode, or of a shell command.
    text: String,
    stats: ClientStats,
}

/// Runs transactions until the run is over.
pub(super) async fn run(
    shared: &ScriptRun,
    mut client: ScriptClient,
    mut db: Db,
) -> Result<Infallible, UserExit> {
    let number = client.number;
    let exit = client.run_transactions(shared, &mut db).await;
    if let (Err(UserExit::Failed(_)), Some(listener)) = (&exit, &shared.policy.listener) {
        listener.client_aborted(number);
    }
    exit
}

impl ScriptClient {
    /// Creates a user, before its first transaction.
    pub fn new(evaluator: Evaluator, number: u32, worker: u32, stats: ClientStats) -> Self {
        ScriptClient {
            evaluator,
            number,
            worker,
            text: String::new(),
            stats,
        }
    }

    async fn run_transactions(
        &mut self,
        shared: &ScriptRun,
        db: &mut Db,
    ) -> Result<Infallible, UserExit> {
        let (policy, id) = (&shared.policy, self.number);
        if !policy.emulate_pgbench
            && let Some(problem) = shared.protocol_problem(db.protocol_mode())
        {
            return Err(UserExit::Failed(problem));
        }
        loop {
            if db.is_done() {
                // Do not draw a script: that would change the scripts of the worker's other users.
                return Err(UserExit::Finished);
            }
            let script_number = shared.next_script(self.worker);
            let script = &shared.scripts[script_number];
            policy.debug(|| format!("client {id} executing script \"{}\"", script.name));
            // There are at most 128 scripts.
            if let Err(exit) = db.start(script_number as u16).await {
                if let UserExit::Failed(reason) = &exit {
                    policy.error(reason);
                    policy.error(&format!(
                        "client {id} aborted while establishing connection"
                    ));
                }
                return Err(exit);
            }
            let result = self.run_with_retries(shared, script_number, db).await?;
            let is_block_open = result.is_ok() && db.is_in_block();
            let result = db.end(result).await;
            if is_block_open {
                let reason = "end of script reached without completing the last transaction";
                policy.error(&format!("client {id} aborted: {reason}"));
                return Err(UserExit::Failed(format!("{}: {reason}", script.name)));
            }
            result?;
        }
    }

    /// Runs a script until it succeeds or must not be retried. Returns its outcome, or the reason why the
    /// user ends.
    async fn run_with_retries(
        &mut self,
        shared: &ScriptRun,
        script_number: usize,
        db: &mut Db,
    ) -> Result<Result<Outcome, DbError>, UserExit> {
        let policy = &shared.policy;
        let random = self.evaluator.random.clone();
        let mut tries = 1;
        loop {
            let mut next = 0;
            let mut error = match self.run_script(shared, script_number, &mut next, db).await {
                Ok(()) => return Ok(Ok(Outcome::Committed)),
                Err(Halt::Abort(reason)) => return Err(UserExit::Failed(reason)),
                Err(Halt::Failed(error)) => error,
            };
            let command = next.saturating_sub(1);
            let context = self.context(shared, script_number, command);
            db.notices(|notice| policy.notice(&notice));
            if !policy.client_continues(&error, db.is_up()) {
                return Err(UserExit::Failed(
                    context.report_failed_statement(&self.text, &error, db),
                ));
            }
            if policy.verbose_errors {
                let message = context.server_message(&self.text, &error, db);
                policy.info(&format!(
                    "client {} got an error in command {command} (SQL) of script {script_number}; {message}",
                    self.number
                ));
            }
            let has_failed_at_sync = matches!(
                context.command.kind,
                CommandKind::SyncPipeline | CommandKind::EndPipeline
            );
            if has_failed_at_sync && policy.emulate_libpq {
                // If the connection is broken, the next request fails as well.
                let _ = db.sync().await;
            }
            if policy.emulate_pgbench && db.is_load_over() {
                return Err(UserExit::Stopped);
            }
            let will_retry = policy.should_retry(&error, tries, db.response_ns());
            if policy.verbose_errors {
                policy.info(&context.retry_message(will_retry, tries, db.response_ns()));
            }
            if !will_retry {
                self.stats.record_failure(script_number, command);
                if !policy.emulate_pgbench {
                    error.message = context.prony_message(&error.message, "statement failed");
                }
                return Ok(Err(error));
            }
            self.stats.record_retry(script_number, command);
            db.retry().await?;
            // Restart from the same random numbers; variables keep their new values, as in pgbench.
            self.evaluator.random = random.clone();
            tries += 1;
        }
    }

    /// Runs a script once. Sets `next` to one more than the number of the command at which it stopped.
    async fn run_script(
        &mut self,
        shared: &ScriptRun,
        script_number: usize,
        next: &mut usize,
        db: &mut Db,
    ) -> Result<(), Halt> {
        let (policy, script) = (&shared.policy, &shared.scripts[script_number]);
        let mut in_pipeline = false;
        while *next < script.commands.len() {
            let context = self.context(shared, script_number, *next);
            *next += 1;
            let start_ns = db.noticed_ns();
            match &context.command.kind {
                CommandKind::Sql(sql) => {
                    let statement = shared.statement(script_number, context.command_number());
                    if let Some(statement) = statement
                        && must_be_prepared(policy, statement, db)
                    {
                        prepare(context, statement, db).await?;
                    }
                    // Waits here and not in a function of its own, whose state would be moved for each statement.
                    if self.begin_sql(context, sql, statement, in_pipeline, db)? {
                        let reply = db.finish_request().await;
                        self.end_sql(context, sql, reply)?;
                    }
                }
                CommandKind::Set { target, value } => {
                    context.log_command();
                    self.run_set(context, target, value)?;
                }
                CommandKind::Sample(sample) => self.draw_sample(context, shared, sample),
                CommandKind::Sleep(sleep) => self.run_sleep(context, sleep, db).await?,
                CommandKind::If { .. } => {
                    context.log_command();
                    let next_command = script.next_after_condition(
                        context.command_number(),
                        &mut self.evaluator,
                        context.index.script,
                    );
                    self.forward_debug(policy);
                    *next = next_command.map_err(|error| context.abort_evaluation(&error))?;
                }
                CommandKind::Elif { endif_target, .. } | CommandKind::Else { endif_target } => {
                    context.log_command();
                    *next = endif_target + 1;
                }
                CommandKind::EndIf => context.log_command(),
                CommandKind::StartPipeline => {
                    context.log_command();
                    start_pipeline(context, shared, in_pipeline, db).await?;
                    in_pipeline = true;
                }
                CommandKind::SyncPipeline | CommandKind::EndPipeline => {
                    context.log_command();
                    in_pipeline = sync_pipeline(context, in_pipeline, db).await?;
                }
                CommandKind::Shell(_) | CommandKind::SetShell { .. } => {
                    context.log_command();
                    self.run_shell(context)?;
                }
            }
            self.stats
                .record_execution(script_number, context.command_number(), start_ns, db);
        }
        if in_pipeline {
            return Err(self.halt_in_pipeline(policy, script));
        }
        Ok(())
    }

    #[inline]
    fn context<'a>(
        &self,
        shared: &'a ScriptRun,
        script_number: usize,
        command: usize,
    ) -> CommandContext<'a> {
        let script = &shared.scripts[script_number];
        CommandContext {
            policy: &shared.policy,
            client: self.number,
            script,
            index: CommandIndex {
                script: script_number as u32,
                command: command as u32,
            },
            command: &script.commands[command],
        }
    }

    fn halt_in_pipeline(&self, policy: &ScriptPolicy, script: &Script) -> Halt {
        let reason = "end of script reached with pipeline open";
        policy.error(&format!("client {} aborted: {reason}", self.number));
        Halt::Abort(format!("{}: {reason}", script.name))
    }

    #[inline]
    fn draw_sample(
        &mut self,
        context: CommandContext<'_>,
        shared: &ScriptRun,
        command: &SampleCommand,
    ) {
        context.log_command();
        if let Some(rows) = shared.samples.get(command.sample) {
            rows.draw(&command.targets, &mut self.evaluator);
        }
    }

    async fn run_sleep(
        &mut self,
        context: CommandContext<'_>,
        sleep: &SleepTime,
        db: &mut Db,
    ) -> Result<(), Halt> {
        context.log_command();
        let time_us = self.evaluator.sleep_us(sleep, context.command.name());
        let time_us = time_us.map_err(|error| context.abort_execution(&error, "sleep"))?;
        sleep_us(time_us, db).await;
        Ok(())
    }

    #[inline]
    fn run_set(
        &mut self,
        context: CommandContext<'_>,
        target: &AssignmentTarget,
        value: &Expr,
    ) -> Result<(), Halt> {
        let value = self.evaluator.eval(value, context.index);
        self.forward_debug(context.policy);
        let value = value.map_err(|error| context.abort_evaluation(&error))?;
        let result = self.evaluator.assign(target, context.command.name(), value);
        result.map_err(|error| {
            let reason = "assignment of meta-command failed";
            context.abort(&error.to_string(), "set", reason)
        })
    }

    /// Passes the output of `debug()` on to the listener.
    #[inline]
    fn forward_debug(&mut self, policy: &ScriptPolicy) {
        if let (Some(lines), Some(listener)) =
            (self.evaluator.take_debug_output(), &policy.listener)
        {
            listener.print(&lines);
        }
    }

    fn run_shell(&mut self, context: CommandContext<'_>) -> Result<(), Halt> {
        let evaluator = &mut self.evaluator;
        let (command, target, command_name) = match &context.command.kind {
            CommandKind::SetShell { target, command } => (command, Some(target), "setshell"),
            CommandKind::Shell(command) => (command, None, "shell"),
            _ => return Ok(()),
        };
        if !context.policy.allows_shell {
            // Unreachable in native runs, because the check of the plan rejects scripts with shell commands.
            let problem = EvalError::new("shell commands are not available here");
            return Err(context.abort_execution(&problem, command_name));
        }
        let first_word = command.first_word();
        let result = evaluator
            .write_shell_line(command, &mut self.text)
            .and_then(|()| match target {
                None => shell::run(&self.text, first_word),
                Some(target) => {
                    let number = shell::run_for_number(&self.text, first_word)?;
                    evaluator.assign(target, command_name, super::Value::Int(number))
                }
            });
        result.map_err(|error| context.abort_execution(&error, command_name))
    }

    /// Encodes a request, and returns whether it must be sent now: in a pipeline it is a part of a later one.
    fn begin_sql(
        &mut self,
        context: CommandContext<'_>,
        sql: &SqlCommand,
        statement: Option<&Statement>,
        in_pipeline: bool,
        db: &mut Db,
    ) -> Result<bool, Halt> {
        let (policy, client) = (context.policy, self.number);
        db.limit_rows(match &sql.store_command {
            None => UNREAD_ROW_BYTES_MAX,
            Some(_) => READ_ROW_BYTES_MAX,
        });
        let is_simple = db.protocol_mode() == QueryMode::Simple;
        let Some(statement) = statement.filter(|_| !is_simple || policy.dialect.is_some()) else {
            self.text.clear();
            sql.substitute(&self.evaluator.variables, &mut self.text);
            policy.debug(|| format!("client {client} sending {}", self.text));
            let result = db.begin_query(self.text.as_bytes());
            return result.map(|()| true).map_err(Halt::Failed);
        };
        if !is_simple {
            if let (true, Some(store_command)) = (in_pipeline, &sql.store_command) {
                let command_name = store_command.name();
                let reason = format!("\\{command_name} is not allowed in pipeline mode");
                return Err(context.abort("", command_name, &reason));
            }
            policy.debug(|| match db.protocol_mode() {
                QueryMode::Prepared => format!("client {client} sending P_{}", statement.id()),
                _ => format!("client {client} sending {}", sql.numbered_text()),
            });
        }
        self.encode_statement(context, sql, statement, in_pipeline, db)?;
        Ok(!in_pipeline)
    }

    fn end_sql(
        &mut self,
        context: CommandContext<'_>,
        sql: &SqlCommand,
        reply: Result<DbReply<'_>, DbError>,
    ) -> Result<(), Halt> {
        let (policy, client) = (context.policy, self.number);
        policy.debug(|| format!("client {client} receiving"));
        let reply = reply.map_err(Halt::Failed)?;
        reply.notices(|notice| policy.notice(&notice));
        let (script, command) = (context.index.script as usize, context.command_number());
        self.stats.record_rows(script, command, &reply);
        match &sql.store_command {
            None => Ok(()),
            Some(store_command) => self.store_columns(context, store_command, &reply),
        }
    }

    /// Encodes a statement, with the values of its variables: as the next request, or in a pipeline as a part of it.
    fn encode_statement(
        &mut self,
        context: CommandContext<'_>,
        sql: &SqlCommand,
        statement: &Statement,
        in_pipeline: bool,
        db: &mut Db,
    ) -> Result<(), Halt> {
        let ids = sql.parameters();
        let undefined = self.evaluator.variables.prepare_parameters(ids);
        // pgbench binds NULL.
        if let (Some(id), false) = (undefined, context.policy.emulate_pgbench) {
            let error = undefined_variable_error(self.evaluator.names().name(id));
            return Err(context.abort_evaluation(&error));
        }
        let (variables, dialect) = (&self.evaluator.variables, context.policy.dialect);
        let parameters = ids.iter().map(|id| variables.parameter(*id, dialect));
        // Most statements have few values; an array of more would be filled for each.
        let (many, mut few);
        let values = if ids.len() > INLINE_PARAMETERS_MAX {
            many = parameters.collect::<Vec<_>>();
            &many[..]
        } else {
            few = [WireValue::Null; INLINE_PARAMETERS_MAX];
            for (value, parameter) in few.iter_mut().zip(parameters) {
                *value = parameter;
            }
            &few[..ids.len()]
        };
        let result =
            if in_pipeline { db.push(statement, values) } else { db.begin_exec(statement, values) };
        result.map_err(Halt::Failed)
    }

    /// Stores columns in variables, for `\gset` and `\aset`.
    fn store_columns(
        &mut self,
        context: CommandContext<'_>,
        store_command: &StoreCommand,
        reply: &DbReply<'_>,
    ) -> Result<(), Halt> {
        let last_result = reply.result_count().saturating_sub(1);
        if reply.has_dropped_rows() {
            let problem = format!(
                "the rows exceed {} MiB, the most that \\{} reads",
                READ_ROW_BYTES_MAX >> 20,
                store_command.name()
            );
            return Err(context.abort_for_unusable_result(last_result, &problem));
        }
        // A row that is not stored yet, because a later row of the same result would replace it.
        let mut candidate: Option<(usize, WireRow<'_>)> = None;
        let mut rows_of_last_result = 0;
        for (result, row) in reply.iter() {
            if store_command.stores_all_results {
                let completed = candidate.filter(|(previous_result, _)| *previous_result != result);
                if let Some((previous_result, last_row)) = completed {
                    self.store_row(context, store_command, reply, previous_result, last_row)?;
                }
                candidate = Some((result, row));
            } else if result == last_result {
                rows_of_last_result += 1;
                candidate = Some((result, row));
            }
        }
        if !store_command.stores_all_results && rows_of_last_result != 1 {
            let problem = format!("expected one row, got {rows_of_last_result}");
            return Err(context.abort_for_unusable_result(last_result, &problem));
        }
        match candidate {
            Some((result, row)) => self.store_row(context, store_command, reply, result, row),
            None => Ok(()),
        }
    }

    fn store_row(
        &mut self,
        context: CommandContext<'_>,
        store_command: &StoreCommand,
        reply: &DbReply<'_>,
        result: usize,
        row: WireRow<'_>,
    ) -> Result<(), Halt> {
        for (name, value) in reply.column_names(result).zip(row.values()) {
            let name = String::from_utf8_lossy(name);
            let id = self.evaluator.column_variable(
                store_command,
                &name,
                context.policy.pgbench_version,
            );
            let id = id.map_err(|error| {
                context.policy.error(&error.to_string());
                let prefix = &store_command.prefix;
                context.abort_for_unusable_result(
                    result,
                    &format!("error storing into variable {prefix}{name}"),
                )
            })?;
            if let Some(id) = id {
                // NULL becomes an empty text, as in libpq.
                let text = std::str::from_utf8(value.unwrap_or_default());
                let text = text.map_err(|_| {
                    context.abort_for_unusable_result(result, VALUE_NOT_TEXT_MESSAGE)
                })?;
                self.evaluator.variables.set_text(id, text);
            }
        }
        Ok(())
    }
}

async fn sleep_us(time_us: i64, db: &mut Db) {
    if let Ok(time_us @ 1..) = u64::try_from(time_us) {
        // Limit the time to what the clock can represent in nanoseconds.
        let time = Duration::from_micros(time_us.min(u64::MAX / 1000));
        db.sleep(time).await;
    }
}
