//! One sysbench thread: a Lua state, its coroutine, and its connections. Forwards the coroutine's requests to the
//! event loop, and resumes it with the replies. Threads never share a Lua state. An error that the script can catch
//! never ends the run by itself.

use super::answer::{Answer, FailedAnswer};
use super::connections::{Connection, Connections, returned_rows_and_columns, rows_and_columns};
use super::coroutine::Coroutine;
use super::listener::{Report, SqlOperation};
use super::program::ThreadTask;
use super::query_counts::{count_reply, increment_counter};
use super::request::Request;
use super::script::LuaScriptError;
use super::settings::ScriptSettings;
use super::shell_command::ShellCommand;
use super::sql_errors::{
    DeferredError, describe_execution, error_answer, lossy_text, report_failure, statement_text,
    too_many_parameters,
};
use super::state::{
    ScriptContext, ScriptState, StateOwner, error_message, explain_memory_limit, load_error,
};
use super::watchdog::Heartbeat;
use crate::sysbench::{Driver, is_lost};
use prony_session::{Db, DbError, Outcome, UserExit};
use prony_wire::{Statement, Value};
use std::cell::RefCell;
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The hook that a thread calls last.
const THREAD_DONE: &str = "thread_done";

/// Maximum number of requests that a stopped thread may make in `thread_done`. After that many, its script is
/// abandoned.
const FINAL_REQUESTS_MAX: u32 = 10_000;

/// A statement with at most this many parameters is executed without an allocation.
const INLINE_PARAMETERS_MAX: usize = 8;

thread_local! {
    /// The Lua states of this worker's users. Closing a state takes longer than an event, so states are closed
    /// when the worker ends, not while other users are being measured.
    static LUA_STATES: RefCell<Vec<Rc<ScriptState>>> = const { RefCell::new(Vec::new()) };
}

pub struct ScriptUser {
    context: Arc<ScriptContext>,
    coroutine: Coroutine,
    state: Rc<ScriptState>,
    heartbeat: Arc<Heartbeat>,
    /// Whether the user's worker also runs other users.
    shares_worker: bool,
    /// Whether the user waits for its next event. If the run stops then, `drop` resumes the user with the
    /// answer that there is none.
    is_waiting_for_event: bool,
}

/// The request of the script's coroutine, or the reason why the user ends.
type ResumeResult = Result<Request, UserExit>;

/// The answer to a request, or the reason why the user ends.
type AnswerResult = Result<Answer, UserExit>;

impl ScriptUser {
    /// Creates a user. The script is not read until the user starts.
    pub fn new(
        context: &Arc<ScriptContext>,
        task: &ThreadTask,
        owner: &StateOwner,
        heartbeat: Arc<Heartbeat>,
    ) -> Result<ScriptUser, LuaScriptError> {
        let to_script_error = |error: mlua::Error| load_error(&error, &context.settings);
        let state = ScriptState::new(context, owner).map_err(to_script_error)?;
        let create_coroutine = || {
            let chunk = state.compile_script(context)?;
            let (main_function, command) = match task {
                ThreadTask::Run => ("run_thread", None),
                ThreadTask::Command { name } => ("run_command_in_thread", Some(name.as_str())),
            };
            let body = state.core_function("bind")?;
            let body = body.call((state.core_function(main_function)?, chunk, command))?;
            Coroutine::new(&state.lua, state.thread_context(), body)
        };
        let coroutine = create_coroutine().map_err(to_script_error)?;
        let state = Rc::new(state);
        LUA_STATES.with_borrow_mut(|states| states.push(Rc::clone(&state)));
        Ok(ScriptUser {
            context: Arc::clone(context),
            coroutine,
            state,
            heartbeat,
            shares_worker: owner.id.clients > owner.id.workers,
            is_waiting_for_event: false,
        })
    }

    fn settings(&self) -> &ScriptSettings {
        &self.context.settings
    }

    /// Answers the script's last request, and runs the script until its next one. Meanwhile its C functions use
    /// `connections`.
    fn resume(&mut self, answer: Answer, connections: Option<&mut Connections>) -> ResumeResult {
        let (state, coroutine) = (&self.state, &mut self.coroutine);
        let context = state.thread_context();
        self.heartbeat.mark_running(state.lua.state());
        let result = context.run(connections, answer, || coroutine.resume(&state.lua));
        self.heartbeat.mark_stopped();
        match result {
            Ok(()) => Ok(context.take_request()),
            Err(error) => Err(self.report_function_failure("thread_run", &error_message(&error))),
        }
    }

    /// Reports that a function of the script failed; returns the reason why the user ends.
    #[cold]
    fn report_function_failure(&self, function: &str, reason: &str) -> UserExit {
        if self.settings().must_scripts_end() {
            // The function failed because the run ended.
            return UserExit::Stopped;
        }
        let reason = explain_memory_limit(reason, self.settings());
        let failed = Report::FunctionFailed {
            function: function.into(),
            reason: (&*reason).into(),
        };
        self.settings().listener.report(failed);
        UserExit::Failed(match function {
            "" => "the command failed".to_owned(),
            _ => format!("`{function}' function failed: {reason}"),
        })
    }

    /// Reports that `thread_done` failed. The thread's events have already ended.
    #[cold]
    fn report_thread_done_failure(&self, reason: &str) {
        if self.settings().must_scripts_end() {
            return;
        }
        let reason = explain_memory_limit(reason, self.settings());
        let failed = Report::ThreadDoneFailed((&*reason).into());
        self.settings().listener.report(failed);
    }

    pub async fn run(mut self, db: Db) -> UserExit {
        let settings = self.settings();
        // From a query with several results, such as a CALL, sysbench's driver for MySQL returns the first, the one for
        // PostgreSQL the last.
        let returns_first_result = settings.driver == Driver::Mysql;
        let mut connections = Connections::new(db, returns_first_result, settings.row_bytes_max());
        let mut answer = Answer::Done;
        loop {
            if self.settings().must_scripts_end() {
                return UserExit::Stopped;
            }
            let request = match self.resume(answer, Some(&mut connections)) {
                Ok(request) => request,
                Err(exit) => return exit,
            };
            // Statements are the most frequent requests. Handle them here, because in `handle_request` each reply would
            // have to pass one more future.
            let result = match request {
                Request::Query => self.execute(None, &mut connections).await,
                Request::Execute(id) => self.execute(Some(id), &mut connections).await,
                other => self.handle_request(other, &mut connections).await,
            };
            answer = match result {
                Ok(answer) => answer,
                Err(exit) => return exit,
            };
        }
    }

    async fn handle_request(
        &mut self,
        request: Request,
        connections: &mut Connections,
    ) -> AnswerResult {
        Ok(match request {
            Request::NextEvent => {
                self.end_event(connections.user_db()).await;
                self.wait_for_event(connections.user_db()).await?
            }
            Request::Prepare => self.prepare(connections).await?,
            Request::CloseStatement(id) => {
                connections.close_statement(id);
                Answer::Done
            }
            Request::WaitForEvent => self.wait_for_event(connections.user_db()).await?,
            Request::BeginEvent => {
                if !connections.user_db().is_in_transaction() {
                    self.wait_for_event(connections.user_db()).await?;
                }
                Answer::Done
            }
            Request::EndEvent => {
                self.end_event(connections.user_db()).await;
                Answer::Done
            }
            Request::DiscardEvent => {
                connections.user_db().discard_transaction();
                Answer::Done
            }
            Request::Sleep(seconds) => {
                // NaN and negative values mean no sleep.
                let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
                if !time.is_zero() {
                    connections.user_db().sleep(time).await;
                }
                Answer::Done
            }
            Request::RunCommand => self.run_command(connections.user_db()).await,
            Request::IncrementCounter(counter) => {
                increment_counter(connections.user_db(), counter);
                Answer::Done
            }
            Request::WaitForCommonStart => {
                connections.user_db().wait_for_common_start().await;
                if self.shares_worker {
                    self.heartbeat.set_other_users_wait();
                }
                Answer::Done
            }
            Request::KeepRunning => {
                connections.user_db().keep_running_after_last_transaction();
                Answer::Done
            }
            Request::FunctionFailed(function, reason) if function == THREAD_DONE => {
                self.report_thread_done_failure(&reason);
                connections.user_db().discard_transaction();
                return Err(UserExit::Finished);
            }
            Request::FunctionFailed(function, reason) => {
                return Err(self.report_function_failure(&function, &reason));
            }
            Request::Finished => {
                connections.user_db().discard_transaction();
                return Err(UserExit::Finished);
            }
            other => self.handle_connection_request(other, connections).await?,
        })
    }

    /// Handles requests that manage connections; these are rare.
    async fn handle_connection_request(
        &mut self,
        request: Request,
        connections: &mut Connections,
    ) -> AnswerResult {
        Ok(match request {
            Request::Connect => match connections.connect().await {
                Ok(number) => Answer::Number(number),
                Err(error) => error_answer(self.settings(), &error, false),
            },
            Request::Disconnect(number) => {
                connections.disconnect(number).await;
                Answer::Done
            }
            Request::UseConnection(number) => {
                connections.switch_to(number);
                Answer::Done
            }
            Request::Reconnect => {
                let connection = connections.current();
                connection.deferred_error = None;
                match connection.db.open_connection().await {
                    Ok(()) => Answer::Flag(true),
                    Err(error) => error_answer(self.settings(), &error, false),
                }
            }
            Request::WriteEntry => self.write_entry(connections).await?,
            Request::ResultCount => Answer::Number(connections.current().result_count()),
            Request::SelectResult(result) => self.select_result(result, connections).await?,
            _ => Answer::Done,
        })
    }

    /// Answers with a result of the last reply, or with the error that the server sent instead.
    async fn select_result(&self, result: usize, connections: &mut Connections) -> AnswerResult {
        let connection = connections.current();
        if result >= connection.db.last_reply().result_count()
            && let Some(deferred) = connection.deferred_error.take()
        {
            return self.handle_deferred_error(deferred, connections).await;
        }
        let reply = rows_and_columns(&connection.db.last_reply(), result);
        Ok(count_reply(&connection.db, reply))
    }

    async fn end_event(&mut self, db: &mut Db) {
        if db.is_in_transaction() {
            if !db.has_waited_since_start() {
                // The event made no request, so nothing has read the clock since the event began. Waiting
                // reads the clock.
                db.sleep(Duration::from_nanos(1)).await;
            }
            db.end_with_open_block(Outcome::Committed);
        }
    }

    async fn wait_for_event(&mut self, db: &mut Db) -> AnswerResult {
        self.is_waiting_for_event = true;
        let result = db.start(0).await;
        self.is_waiting_for_event = false;
        match result {
            Ok(()) => Ok(Answer::Flag(true)),
            Err(UserExit::Failed(reason)) => {
                Err(self.report_function_failure("thread_run", &reason))
            }
            Err(UserExit::Stopped | UserExit::Finished) => Ok(Answer::Flag(false)),
        }
    }

    fn request_sql(&self) -> &[u8] {
        // SAFETY: the coroutine is suspended, and cannot be resumed while `self` is borrowed.
        unsafe { self.state.thread_context().sql() }
    }

    /// Runs the command of the current request while the worker serves its other users.
    async fn run_command(&self, db: &mut Db) -> Answer {
        if self.settings().is_confined() {
            return Answer::Failed(FailedAnswer::internal("agents execute no commands"));
        }
        let command = ShellCommand::start(self.request_sql());
        loop {
            match command.status() {
                Some(status) => return Answer::CommandStatus(status),
                None => db.sleep(command.pause()).await,
            }
        }
    }

    async fn prepare(&self, connections: &mut Connections) -> AnswerResult {
        let sql = self.request_sql();
        let connection = connections.current();
        let (id, statement) = connection.prepared.open(sql);
        if let Some(answer) = too_many_parameters(self.settings(), &statement) {
            connections.close_statement(id);
            return Ok(answer);
        }
        if !connection.db.is_prepared(&statement)
            && let Err(error) = connection.db.prepare(&statement).await
        {
            let prepared_text = statement_text(self.settings(), sql, &statement);
            let server_error = connection.db.server_error();
            let answer = report_failure(
                self.settings(),
                SqlOperation::Prepare,
                &prepared_text,
                &error,
                server_error.as_ref(),
            );
            // Drop the statement, so that a later attempt prepares it again.
            connections.close_statement(id);
            return Ok(answer);
        }
        Ok(Answer::Prepared(id, statement.parameter_count()))
    }

    /// Executes the current request: a text, or the prepared statement with this number.
    async fn execute(&self, id: Option<usize>, connections: &mut Connections) -> AnswerResult {
        let returns_first_result = connections.returns_first_result();
        let connection = connections.current();
        if let Some(deferred) = connection.deferred_error.take() {
            return self.handle_deferred_error(deferred, connections).await;
        }
        let db = &mut connection.db;
        let encoded = match id {
            None => db.begin_query(self.request_sql()),
            Some(id) => match connection.prepared.get(id) {
                Some(statement) => self.begin_execution(&statement, db),
                None => {
                    return Ok(Answer::Failed(FailedAnswer::internal("no such statement")));
                }
            },
        };
        let result = match encoded {
            Ok(()) => db.finish_request().await,
            Err(error) => Err(error),
        };
        let result = result.map(|reply| returned_rows_and_columns(returns_first_result, &reply));
        db.settle_by_reply(result.as_ref().err());
        match result {
            Ok(reply) => Ok(count_reply(db, reply)),
            Err(error) => {
                let (operation, sql) = self.statement_for_message(id, connection);
                self.handle_statement_error(operation, &sql, error, connections)
                    .await
            }
        }
    }

    /// Writes the entry of the open transaction into the ledger, if the run keeps one.
    #[cold]
    async fn write_entry(&self, connections: &mut Connections) -> AnswerResult {
        let keeps_ledger = connections.user_db().has_ledger();
        let db = &mut connections.current().db;
        if keeps_ledger && !db.has_ledger() {
            let text = "only the first connection of a thread has a ledger";
            return Ok(Answer::Failed(FailedAnswer::internal(text)));
        }
        let result = match db.begin_entry() {
            Ok(false) => return Ok(Answer::Flag(false)),
            Ok(true) => db.finish_request().await.map(drop),
            Err(error) => Err(error),
        };
        db.settle_entry(result.as_ref().err());
        match result {
            Ok(()) => Ok(Answer::Flag(true)),
            Err(error) => {
                self.handle_statement_error(SqlOperation::Query, "ledger", error, connections)
                    .await
            }
        }
    }

    /// The operation and the SQL text by which messages describe the current request.
    #[cold]
    fn statement_for_message(
        &self,
        id: Option<usize>,
        connection: &Connection,
    ) -> (SqlOperation, String) {
        let prepared = &connection.prepared;
        let Some((id, statement)) = id.and_then(|id| Some((id, prepared.get(id)?))) else {
            let sql = lossy_text(self.request_sql());
            return (SqlOperation::Query, sql.into_owned());
        };
        let values: Vec<Value<'_>> = self.parameter_values(statement.parameter_count()).collect();
        let text = prepared.text(id).unwrap_or_default();
        describe_execution(self.settings(), text, &statement, &values)
    }

    /// The parameter values of the current request, which executes a prepared statement.
    fn parameter_values(&self, count: usize) -> impl Iterator<Item = Value<'_>> {
        let context = self.state.thread_context();
        // SAFETY: as in `request_sql`.
        (0..count).map(|index| unsafe { context.parameter(index) })
    }

    fn begin_execution(&self, statement: &Statement, db: &mut Db) -> Result<(), DbError> {
        let count = statement.parameter_count();
        if count > INLINE_PARAMETERS_MAX {
            let values: Vec<Value<'_>> = self.parameter_values(count).collect();
            return db.begin_exec_without_ledger(statement, &values);
        }
        let mut inline_values = [Value::Null; INLINE_PARAMETERS_MAX];
        for (slot, value) in inline_values.iter_mut().zip(self.parameter_values(count)) {
            *slot = value;
        }
        db.begin_exec_without_ledger(statement, &inline_values[..count])
    }

    async fn handle_deferred_error(
        &self,
        deferred: DeferredError,
        connections: &mut Connections,
    ) -> AnswerResult {
        let sql = deferred.sql;
        self.handle_error(deferred.operation, &sql, deferred.error, connections)
            .await
    }

    /// Handles a failed statement. If an earlier statement of the same query text succeeded and scripts get the first
    /// result, returns that result now and defers the error.
    #[cold]
    async fn handle_statement_error(
        &self,
        operation: SqlOperation,
        sql: &str,
        error: DbError,
        connections: &mut Connections,
    ) -> AnswerResult {
        let returns_first_result = connections.returns_first_result();
        let connection = connections.current();
        let has_earlier_result =
            connection.db.server_error().is_some() && connection.db.last_reply().result_count() > 0;
        if !returns_first_result || !has_earlier_result || is_lost(&error) {
            return self.handle_error(operation, sql, error, connections).await;
        }
        let first_result = rows_and_columns(&connection.db.last_reply(), 0);
        connection.deferred_error = Some(DeferredError::new(operation, sql, error));
        Ok(count_reply(&connection.db, first_result))
    }

    /// Handles the error of a statement. After an ignored error, the connection recovers and the event is restarted.
    #[cold]
    async fn handle_error(
        &self,
        operation: SqlOperation,
        sql: &str,
        error: DbError,
        connections: &mut Connections,
    ) -> AnswerResult {
        let settings = self.settings();
        let is_ignored = settings
            .ignored_errors
            .restarts_event(settings.driver, &error);
        // Count every error, also one that is not ignored: if the script catches the error, the run continues
        // and reports the count. Otherwise the run ends without figures.
        connections.user_db().count_ignored_error();
        if !is_ignored {
            return Ok(report_failure(settings, operation, sql, &error, None));
        }
        let recovery = connections.recover().await;
        let db = connections.user_db();
        match recovery {
            Ok(()) => {}
            Err(UserExit::Failed(reason)) => {
                return Err(self.report_function_failure("thread_run", &reason));
            }
            Err(exit) => {
                // The run is over, so this was the event's last try: count it as failed.
                if db.is_in_transaction() {
                    let _ = db.end(Err(error)).await;
                }
                return Err(exit);
            }
        }
        if is_lost(&error) {
            db.count_reconnect();
        }
        Ok(error_answer(self.settings(), &error, true))
    }

    /// Runs the command of the current request. Returns its status, or `None` if the script must end first.
    fn wait_for_command(&self) -> Option<c_int> {
        let command = ShellCommand::start(self.request_sql());
        while !self.settings().must_scripts_end() {
            if let Some(status) = command.status() {
                return Some(status);
            }
            std::thread::sleep(command.pause());
        }
        None
    }
}

impl Drop for ScriptUser {
    /// Runs `thread_done` if the thread is stopped while it waits for its next event. SQL requests fail,
    /// because the event loop no longer serves them; the other users of the worker wait for a command that it runs.
    fn drop(&mut self) {
        if !std::mem::take(&mut self.is_waiting_for_event) || std::thread::panicking() {
            return;
        }
        let mut answer = Answer::Flag(false);
        let mut had_sql_request = false;
        for _ in 0..FINAL_REQUESTS_MAX {
            if self.settings().must_scripts_end() {
                return;
            }
            answer = match self.resume(answer, None) {
                // Report the failure only if no SQL request was rejected below, which may have caused it.
                Ok(Request::FunctionFailed(function, reason))
                    if function == THREAD_DONE && !had_sql_request =>
                {
                    return self.report_thread_done_failure(&reason);
                }
                Ok(Request::Finished | Request::FunctionFailed(..)) | Err(_) => return,
                Ok(
                    Request::Query
                    | Request::Prepare
                    | Request::Execute(_)
                    | Request::Reconnect
                    | Request::Connect,
                ) => {
                    had_sql_request = true;
                    Answer::Failed(FailedAnswer::internal("the run is over"))
                }
                Ok(Request::WaitForEvent | Request::NextEvent) => Answer::Flag(false),
                Ok(Request::RunCommand) => match self.wait_for_command() {
                    Some(status) => Answer::CommandStatus(status),
                    None => return,
                },
                Ok(_) => Answer::Done,
            };
        }
    }
}
