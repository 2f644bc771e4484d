//! One sysbench thread: a Lua state, its coroutine, and its connections. Forwards the coroutine's requests to the
//! event loop, and resumes it with the replies. Threads never share a Lua state, and an error that the script may
//! catch never ends the run.
//!
//! Longer than 400 lines: a thread's requests, replies and errors change one state.

mod stopped;

use super::answer::{Answer, FailedAnswer};
use super::command::LuaScriptError;
use super::connections::{Connection, Connections, rows_and_columns, visible_reply};
use super::coroutine::Coroutine;
use super::listener::SqlOperation;
use super::program::Task;
use super::query_counts::{count_reply, increment};
use super::request::{FIRST_VALUE, Request, text};
use super::settings::ScriptSettings;
use super::sql_errors::{
    DeferredError, error_answer, lossy, report_failure, sent_statement, statement_text,
};
use super::state::{
    ScriptContext, ScriptState, StateOwner, error_message, explain_memory_limit, load_error,
};
use super::watchdog::Heartbeat;
use crate::sysbench::{Driver, is_lost};
use prony_session::{Db, DbError, Outcome, UserExit};
use prony_wire::{Statement, Value};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The hook that a thread calls last.
const THREAD_DONE: &str = "thread_done";

/// Maximum number of values that an execution passes without allocating.
const INLINE_VALUES_MAX: usize = 8;

thread_local! {
    /// The Lua states of this worker's users. Closing a state takes longer than an event, so states are closed
    /// when the worker ends, not while other users are being measured.
    static LUA_STATES: RefCell<Vec<Rc<ScriptState>>> = const { RefCell::new(Vec::new()) };
}

/// One virtual user of a script.
pub struct ScriptUser {
    context: Arc<ScriptContext>,
    coroutine: Coroutine,
    state: Rc<ScriptState>,
    heartbeat: Arc<Heartbeat>,
    /// Whether its worker also runs other users.
    has_others: bool,
    /// Whether it waits for its next event, and can be resumed with "no more events".
    is_waiting: bool,
}

/// The request of the script's coroutine, or the reason why the user ends.
type ResumeResult = Result<Request, UserExit>;

/// The answer to a request, or the reason why the user ends.
type AnswerResult = Result<Answer, UserExit>;

impl ScriptUser {
    /// Creates a user. The script is not read until the user starts.
    ///
    /// # Errors
    /// The Lua state cannot be created, or the script is not valid Lua.
    pub fn new(
        context: &Arc<ScriptContext>,
        task: &Task,
        owner: &StateOwner,
        heartbeat: Arc<Heartbeat>,
    ) -> Result<ScriptUser, LuaScriptError> {
        let to_script_error = |error: mlua::Error| load_error(&error, &context.settings);
        let state = ScriptState::new(context, owner).map_err(to_script_error)?;
        let create_coroutine = || {
            let chunk = state.chunk(context)?;
            let (main_function, word) = match task {
                Task::Run => ("thread", None),
                Task::Command { word } => ("command", Some(word.as_str())),
            };
            let body = state.core_function("bind")?;
            let body = body.call((state.core_function(main_function)?, chunk, word))?;
            Coroutine::new(&state.lua, body)
        };
        let coroutine = create_coroutine().map_err(to_script_error)?;
        let state = Rc::new(state);
        LUA_STATES.with_borrow_mut(|states| states.push(Rc::clone(&state)));
        Ok(ScriptUser {
            context: Arc::clone(context),
            coroutine,
            state,
            heartbeat,
            has_others: owner.id.clients > owner.id.workers,
            is_waiting: false,
        })
    }

    fn settings(&self) -> &ScriptSettings {
        &self.context.settings
    }

    /// Runs the script until its next request. It can read the replies of `connections`.
    fn resume(&mut self, answer: Answer, connections: Option<&mut Connections>) -> ResumeResult {
        let (state, coroutine) = (&self.state, &mut self.coroutine);
        self.heartbeat.enter(state.lua.state());
        let run = || coroutine.resume(&state.lua, answer);
        let result = state.lent_connections().lend(connections, run);
        self.heartbeat.leave();
        result
            .and_then(|()| Request::decode(|index| self.coroutine.value(index)))
            .map_err(|error| self.fail("thread_run", &error_message(&error)))
    }

    /// Reports that a function of the script failed; returns the end of the user.
    #[cold]
    fn fail(&self, function: &str, reason: &str) -> UserExit {
        if self.settings().is_over() {
            // The function failed because the run ended.
            return UserExit::Stopped;
        }
        let reason = explain_memory_limit(reason, self.settings());
        self.settings().listener.function_failed(function, &reason);
        UserExit::Failed(match function {
            "" => "the command failed".to_owned(),
            _ => format!("`{function}' function failed: {reason}"),
        })
    }

    /// Reports that `thread_done` failed. The thread's events have already ended.
    #[cold]
    fn thread_done_failed(&self, reason: &str) {
        if self.settings().is_over() {
            return;
        }
        let reason = explain_memory_limit(reason, self.settings());
        self.settings().listener.thread_done_failed(&reason);
    }

    /// Runs the user from start to end.
    pub async fn run(mut self, db: Db) -> UserExit {
        let settings = self.settings();
        let sees_first_result = settings.is_v1_1 && settings.driver == Driver::Mysql;
        let mut connections = Connections::new(db, sees_first_result);
        let mut answer = Answer::Done;
        loop {
            if self.settings().is_over() {
                return UserExit::Stopped;
            }
            let request = match self.resume(answer, Some(&mut connections)) {
                Ok(request) => request,
                Err(exit) => return exit,
            };
            // Statements are not handled in `handle_request`: one future less to pass for each reply.
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
            Request::Close(id) => {
                connections.close_statement(id);
                Answer::Done
            }
            Request::WaitForEvent => self.wait_for_event(connections.user_db()).await?,
            Request::Start => {
                if !connections.user_db().is_in_transaction() {
                    self.wait_for_event(connections.user_db()).await?;
                }
                Answer::Done
            }
            Request::Stop => {
                self.end_event(connections.user_db()).await;
                Answer::Done
            }
            Request::Forget => {
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
            Request::Count(counter) => {
                increment(connections.user_db(), counter);
                Answer::Done
            }
            Request::Ready => {
                connections.user_db().gate().await;
                if self.has_others {
                    self.heartbeat.set_has_others();
                }
                Answer::Done
            }
            Request::KeepAlive => {
                connections.user_db().keep_alive();
                Answer::Done
            }
            Request::Fail(function, reason) if function == THREAD_DONE => {
                self.thread_done_failed(&reason);
                connections.user_db().discard_transaction();
                return Err(UserExit::Finished);
            }
            Request::Fail(function, reason) => return Err(self.fail(&function, &reason)),
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
                connection.deferred = None;
                match connection.db.renew().await {
                    Ok(()) => Answer::Flag(true),
                    Err(error) => error_answer(self.settings(), &error, false),
                }
            }
            Request::Results => Answer::Number(connections.current().results()),
            Request::Result(result) => self.result(result, connections).await?,
            _ => Answer::Done,
        })
    }

    /// Answers with a result of the last reply, or with the error that the server sent instead.
    async fn result(&self, result: usize, connections: &mut Connections) -> AnswerResult {
        let connection = connections.current();
        if result >= connection.db.last_reply().results()
            && let Some(deferred) = connection.deferred.take()
        {
            return self.handle_deferred(deferred, connections).await;
        }
        let reply = rows_and_columns(&connection.db.last_reply(), result);
        Ok(count_reply(&connection.db, reply))
    }

    /// Ends the event.
    async fn end_event(&mut self, db: &mut Db) {
        if db.is_in_transaction() {
            if !db.has_waited_since_start() {
                // The event made no request, so nothing has read the clock since it began: read it now.
                db.sleep(Duration::from_nanos(1)).await;
            }
            db.end_with_open_block(Outcome::Committed);
        }
    }

    /// Waits for the next event.
    async fn wait_for_event(&mut self, db: &mut Db) -> AnswerResult {
        self.is_waiting = true;
        let result = db.start(0).await;
        self.is_waiting = false;
        match result {
            Ok(()) => Ok(Answer::Flag(true)),
            Err(UserExit::Failed(reason)) => Err(self.fail("thread_run", &reason)),
            Err(UserExit::Stopped | UserExit::Finished) => Ok(Answer::Flag(false)),
        }
    }

    /// The text of the current request.
    fn request_text(&self) -> Result<&[u8], UserExit> {
        text(|index| self.coroutine.value(index))
            .map_err(|error| self.fail("thread_run", &error_message(&error)))
    }

    async fn prepare(&self, connections: &mut Connections) -> AnswerResult {
        let sql = self.request_text()?;
        let connection = connections.current();
        let Some((id, statement)) = connection.prepared.open(sql) else {
            let text = "a connection has at most 65,535 prepared statements open: close some";
            return Ok(Answer::Failed(FailedAnswer::internal(text)));
        };
        if !connection.db.is_prepared(&statement)
            && let Err(error) = connection.db.prepare(&statement).await
        {
            let text = statement_text(self.settings(), sql, &statement);
            let server_error = connection.db.server_error();
            let answer = report_failure(
                self.settings(),
                SqlOperation::Prepare,
                &text,
                &error,
                server_error.as_ref(),
            );
            // Drop the statement, so that a later attempt prepares it again.
            connections.close_statement(id);
            return Ok(answer);
        }
        Ok(Answer::Prepared(id, statement.parameters()))
    }

    /// Executes the current request: a text, or the prepared statement with this number.
    async fn execute(&self, id: Option<usize>, connections: &mut Connections) -> AnswerResult {
        let sees_first_result = connections.sees_first_result();
        let connection = connections.current();
        if let Some(deferred) = connection.deferred.take() {
            return self.handle_deferred(deferred, connections).await;
        }
        let db = &mut connection.db;
        let begun = match id {
            None => db.begin_query(self.request_text()?),
            Some(id) => match connection.prepared.get(id) {
                Some(statement) => self.begin_execution(&statement, db),
                None => {
                    return Ok(Answer::Failed(FailedAnswer::internal("no such statement")));
                }
            },
        };
        let result = match begun {
            Ok(()) => db.finish_request().await,
            Err(error) => Err(error),
        };
        match result.map(|reply| visible_reply(sees_first_result, &reply)) {
            Ok(reply) => Ok(count_reply(db, reply)),
            Err(error) => {
                let (operation, sql) = self.failed_statement(id, connection)?;
                self.handle_statement_error(operation, &sql, error, connections)
                    .await
            }
        }
    }

    /// The operation and the text of the current request, for messages.
    #[cold]
    fn failed_statement(
        &self,
        id: Option<usize>,
        connection: &Connection,
    ) -> Result<(SqlOperation, String), UserExit> {
        let prepared = &connection.prepared;
        let Some((id, statement)) = id.and_then(|id| Some((id, prepared.get(id)?))) else {
            let sql = lossy(self.request_text()?);
            return Ok((SqlOperation::Query, sql.into_owned()));
        };
        let values: Vec<Value<'_>> = self.values(statement.parameters()).collect();
        let text = prepared.text(id).unwrap_or_default();
        Ok(sent_statement(self.settings(), text, &statement, &values))
    }

    /// The values of the current request, an execution.
    fn values(&self, count: usize) -> impl Iterator<Item = Value<'_>> {
        (0..count).map(|index| self.coroutine.value(FIRST_VALUE + index))
    }

    /// Encodes the current request, an execution of this statement.
    fn begin_execution(&self, statement: &Statement, db: &mut Db) -> Result<(), DbError> {
        let count = statement.parameters();
        if count > INLINE_VALUES_MAX {
            let values: Vec<Value<'_>> = self.values(count).collect();
            return db.begin_request(statement, &values);
        }
        let mut inline = [Value::Null; INLINE_VALUES_MAX];
        for (slot, value) in inline.iter_mut().zip(self.values(count)) {
            *slot = value;
        }
        db.begin_request(statement, &inline[..count])
    }

    /// Answers with a deferred error, after the script has reached its statement.
    async fn handle_deferred(
        &self,
        deferred: DeferredError,
        connections: &mut Connections,
    ) -> AnswerResult {
        let sql = deferred.sql;
        self.handle_error(deferred.operation, &sql, deferred.error, connections)
            .await
    }

    /// Handles a failed statement. If it is not the first of a text, the script gets the result of the first.
    #[cold]
    async fn handle_statement_error(
        &self,
        operation: SqlOperation,
        sql: &str,
        error: DbError,
        connections: &mut Connections,
    ) -> AnswerResult {
        let sees_first_result = connections.sees_first_result();
        let connection = connections.current();
        let is_deferred =
            connection.db.server_error().is_some() && connection.db.last_reply().results() > 0;
        if !sees_first_result || !is_deferred || is_lost(&error) {
            return self.handle_error(operation, sql, error, connections).await;
        }
        let first = rows_and_columns(&connection.db.last_reply(), 0);
        connection.deferred = Some(DeferredError::new(operation, sql, error));
        Ok(count_reply(&connection.db, first))
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
        let is_ignored = settings.ignored.restarts_event(settings.driver, &error);
        // A script may catch other errors; an uncaught one ends the run without figures.
        connections.user_db().count_ignored();
        if !is_ignored {
            return Ok(report_failure(settings, operation, sql, &error, None));
        }
        let recovery = connections.recover().await;
        let db = connections.user_db();
        match recovery {
            Ok(()) => {}
            Err(UserExit::Failed(reason)) => return Err(self.fail("thread_run", &reason)),
            Err(exit) => {
                // The run is over: this was the last try.
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
}
