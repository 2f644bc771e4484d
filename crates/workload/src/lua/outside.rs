//! Answers the requests of Lua states that run outside of the load: `init()`, `done()`, commands that are not parallel,
//! and the script's top level. These states have no event loop, so their requests block the thread. Must never be used
//! in a load.

use super::answer::{Answer, FailedAnswer};
use super::connections::returned_result_index;
use super::listener::SqlOperation;
use super::request::{FIRST_PARAMETER, Request, sql_text};
use super::sql_errors::{
    DeferredError, describe_execution, error_answer, lossy_text, no_server_answer, report_failure,
    statement_text, too_many_parameters,
};
use super::state::{ScriptContext, ScriptState};
use super::statements::PreparedStatements;
use super::thread_functions::push_rows;
use super::values::RequestValues;
use super::watchdog::Heartbeat;
use crate::sysbench::{Driver, is_lost};
use mlua::{IntoLuaMulti, Lua, Result, Value as LuaValue, Variadic};
use prony_server::control::{BlockingConnection, Error};
use prony_session::DbError;
use prony_wire::{BlockState, Exchange, Value};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The pause between two attempts to reconnect.
const RECONNECT_PAUSE: Duration = Duration::from_millis(10);
/// The number of sysbench's counter of errors.
const ERROR_COUNTER: i64 = 4;
/// The number of sysbench's counter of reconnects.
const RECONNECT_COUNTER: i64 = 5;

struct OutsideConnections {
    context: Arc<ScriptContext>,
    connections: Vec<OutsideConnection>,
    current: usize,
    /// Numbers that are not in use. The number of a connection that could not be reopened remains in use.
    free_numbers: Vec<usize>,
    /// Whether a query returns the first of several results; otherwise it returns the last.
    returns_first_result: bool,
}

#[derive(Default)]
struct OutsideConnection {
    /// `None` if the connection is closed, or could not be reopened.
    blocking: Option<BlockingConnection>,
    prepared: PreparedStatements,
    /// The error of a later statement of the last query text, which the script has not reached yet.
    deferred_error: Option<DeferredError>,
}

/// Installs the function that answers a state's requests, and informs the watchdog while it waits for the server.
pub(super) fn install_answer_function(
    state: &ScriptState,
    context: &Arc<ScriptContext>,
    heartbeat: &Arc<Heartbeat>,
) -> Result<()> {
    let settings = &context.settings;
    let connections = RefCell::new(OutsideConnections {
        context: Arc::clone(context),
        connections: Vec::new(),
        current: 0,
        free_numbers: Vec::new(),
        returns_first_result: settings.driver == Driver::Mysql,
    });
    let (connections, heartbeat, scripts_must_end) = (
        Rc::new(connections),
        Arc::clone(heartbeat),
        Arc::clone(&settings.scripts_must_end),
    );
    let answer_function = state
        .lua
        .create_function(move |lua, request: Variadic<LuaValue>| {
            if scripts_must_end.load(Ordering::Relaxed) {
                return Err(mlua::Error::RuntimeError("interrupted".to_owned()));
            }
            heartbeat.set_waiting_for_server(true);
            let values = RequestValues::new(&request);
            let answer = Request::decode(|index| values.get(index))
                .and_then(|request| connections.borrow_mut().answer(lua, request, &values));
            heartbeat.set_waiting_for_server(false);
            answer?.into_lua_multi(lua)
        })?;
    state.core.raw_set("answer", answer_function)
}

impl OutsideConnections {
    fn answer(&mut self, lua: &Lua, request: Request, values: &RequestValues) -> Result<Answer> {
        let sql = || sql_text(|index| values.get(index));
        Ok(match request {
            Request::Connect => self.connect(),
            Request::Disconnect(number) => {
                self.disconnect(number);
                Answer::Done
            }
            Request::UseConnection(number) => {
                self.current = number;
                Answer::Done
            }
            Request::Query => self.query(sql()?),
            Request::Prepare => self.prepare(sql()?),
            Request::Execute(id) => self.execute(id, |index| values.get(FIRST_PARAMETER + index)),
            Request::CloseStatement(id) => {
                if let Some(connection) = self.connections.get_mut(self.current) {
                    connection.close_statement(id);
                }
                Answer::Done
            }
            Request::Rows(result) => self.rows_answer(lua, result)?,
            Request::ResultCount => {
                let connection = self.connections.get(self.current);
                Answer::Number(connection.map_or(0, OutsideConnection::result_count))
            }
            Request::SelectResult(result) => self.select_result(result),
            Request::WaitForEvent | Request::WriteEntry => Answer::Flag(false),
            Request::Reconnect => self.reconnect(self.current),
            Request::IncrementCounter(counter) => {
                self.context.outside_counters.increment(counter);
                Answer::Done
            }
            Request::Sleep(seconds) => {
                std::thread::sleep(Duration::try_from_secs_f64(seconds).unwrap_or_default());
                Answer::Done
            }
            _ => Answer::Done,
        })
    }

    fn connect(&mut self) -> Answer {
        let number = self.free_numbers.pop().unwrap_or_else(|| {
            self.connections.push(OutsideConnection::default());
            self.connections.len() - 1
        });
        match self.reconnect(number) {
            Answer::Flag(_) => {
                self.current = number;
                Answer::Number(number)
            }
            failed_answer => {
                self.free_numbers.push(number);
                failed_answer
            }
        }
    }

    fn disconnect(&mut self, number: usize) {
        if number < self.connections.len() && !self.free_numbers.contains(&number) {
            self.connections[number] = OutsideConnection::default();
            self.free_numbers.push(number);
        }
    }

    fn reconnect(&mut self, number: usize) -> Answer {
        match self.open(number) {
            Some(Ok(())) => Answer::Flag(true),
            Some(Err(error)) => {
                self.context.settings.listener.connection_refused(&error);
                connection_refused_answer(&self.context, &error)
            }
            None => no_server_answer(),
        }
    }

    /// Opens the connection with this number; `None` if there is no such number, or no server.
    fn open(&mut self, number: usize) -> Option<std::result::Result<(), Error>> {
        let settings = &self.context.settings;
        let (target, connection) = (settings.server.as_ref()?, self.connections.get_mut(number)?);
        // Close the old connection before the new one opens.
        connection.blocking = None;
        connection.deferred_error = None;
        let result = BlockingConnection::connect(target, settings.query_mode);
        Some(result.map(|blocking| connection.blocking = Some(blocking)))
    }

    fn query(&mut self, sql: &[u8]) -> Answer {
        self.execute_request(SqlOperation::Query, &lossy_text(sql), |exchange| {
            exchange.query(sql)
        })
    }

    fn prepare(&mut self, sql: &[u8]) -> Answer {
        let Some((prepared, blocking)) = open_connection(&mut self.connections, self.current)
        else {
            return no_server_answer();
        };
        let (id, statement) = prepared.open(sql);
        if let Some(answer) = too_many_parameters(&self.context.settings, &statement) {
            self.connections[self.current].close_statement(id);
            return answer;
        }
        if !blocking.exchange().is_prepared(&statement)
            && let Err(error) = blocking.request(|exchange| exchange.prepare(&statement))
        {
            let settings = &self.context.settings;
            let prepared_text = statement_text(settings, sql, &statement);
            let answer = report_failure(
                settings,
                SqlOperation::Prepare,
                &prepared_text,
                &to_db_error(&error),
                error.server_error(),
            );
            // Drop the statement, so that a later attempt prepares it again.
            self.connections[self.current].close_statement(id);
            return answer;
        }
        Answer::Prepared(id, statement.parameter_count())
    }

    fn execute<'a>(&mut self, id: usize, parameter: impl Fn(usize) -> Value<'a>) -> Answer {
        let Some(connection) = self.connections.get(self.current) else {
            return no_server_answer();
        };
        let Some(statement) = connection.prepared.get(id) else {
            return Answer::Failed(FailedAnswer::internal("no such statement"));
        };
        let text = connection.prepared.text(id).unwrap_or_default();
        let params: Vec<Value<'_>> = (0..statement.parameter_count()).map(parameter).collect();
        let (operation, sql) =
            describe_execution(&self.context.settings, text, &statement, &params);
        self.execute_request(operation, &sql, |exchange| {
            exchange.request(std::iter::once((&*statement, &params[..])));
        })
    }

    /// Makes a request, counts its outcome, and returns the answer for the script.
    fn execute_request(
        &mut self,
        operation: SqlOperation,
        sql: &str,
        request: impl FnOnce(&mut Exchange),
    ) -> Answer {
        let returns_first_result = self.returns_first_result;
        let Some(connection) = self.connections.get_mut(self.current) else {
            return no_server_answer();
        };
        if let Some(deferred) = connection.deferred_error.take() {
            return self.handle_error(deferred.operation, &deferred.sql, &deferred.error);
        }
        let Some(blocking) = &mut connection.blocking else {
            return no_server_answer();
        };
        match blocking.request(request) {
            Ok(()) => {
                let exchange = blocking.exchange();
                let result = returned_result_index(returns_first_result, exchange.result_count());
                self.context
                    .outside_counters
                    .count_reply(rows_and_columns(exchange, result))
            }
            Err(error) => {
                let (is_from_server, error) = (error.server_error().is_some(), to_db_error(&error));
                if returns_first_result
                    && is_from_server
                    && !is_lost(&error)
                    && blocking.exchange().result_count() > 0
                {
                    let first_result = rows_and_columns(blocking.exchange(), 0);
                    connection.deferred_error = Some(DeferredError::new(operation, sql, error));
                    return self.context.outside_counters.count_reply(first_result);
                }
                self.handle_error(operation, sql, &error)
            }
        }
    }

    /// Answers with a result of the last reply, or with the error that the server sent instead.
    fn select_result(&mut self, result: usize) -> Answer {
        let Some(connection) = self.connections.get_mut(self.current) else {
            return no_server_answer();
        };
        let Some(blocking) = &connection.blocking else {
            return no_server_answer();
        };
        if result >= blocking.exchange().result_count()
            && let Some(deferred) = connection.deferred_error.take()
        {
            return self.handle_error(deferred.operation, &deferred.sql, &deferred.error);
        }
        self.context
            .outside_counters
            .count_reply(rows_and_columns(blocking.exchange(), result))
    }

    /// Handles the error of a statement: if it is ignored, makes the connection usable again, otherwise reports it.
    #[cold]
    fn handle_error(&mut self, operation: SqlOperation, sql: &str, error: &DbError) -> Answer {
        let context = Arc::clone(&self.context);
        let settings = &context.settings;
        context.outside_counters.increment(ERROR_COUNTER);
        if !settings
            .ignored_errors
            .restarts_event(settings.driver, error)
        {
            return report_failure(settings, operation, sql, error, None);
        }
        if is_lost(error) {
            if !self.reconnect_with_retries() {
                return report_failure(settings, operation, sql, error, None);
            }
            context.outside_counters.increment(RECONNECT_COUNTER);
        } else if let Some((_, blocking)) = open_connection(&mut self.connections, self.current)
            && blocking.exchange().block_state() != BlockState::Idle
        {
            // Ignore a failure of the ROLLBACK: the next statement fails too.
            let _ = blocking.request(|exchange| exchange.query("ROLLBACK"));
        }
        error_answer(settings, error, true)
    }

    /// Tries for up to `max_query_gap_s` to reopen the current connection; without this limit, nothing would
    /// end the attempts outside of a run. Returns whether an attempt succeeded.
    fn reconnect_with_retries(&mut self) -> bool {
        let context = Arc::clone(&self.context);
        let settings = &context.settings;
        let deadline = Instant::now() + Duration::from_secs(settings.max_query_gap_s);
        loop {
            match self.open(self.current) {
                Some(Ok(())) => return true,
                Some(Err(_)) if !settings.must_scripts_end() && Instant::now() < deadline => {
                    std::thread::sleep(RECONNECT_PAUSE);
                }
                _ => return false,
            }
        }
    }

    /// Answers with all rows of a result; `None` means the result that the query returned.
    fn rows_answer(&self, lua: &Lua, result: Option<usize>) -> Result<Answer> {
        let connection = self.connections.get(self.current);
        let Some(blocking) = connection.and_then(|connection| connection.blocking.as_ref()) else {
            return Ok(Answer::Rows(lua.create_table()?));
        };
        let exchange = blocking.exchange();
        let result = result.unwrap_or_else(|| {
            returned_result_index(self.returns_first_result, exchange.result_count())
        });
        // SAFETY: `exec_raw` runs the closure in protected code, and passes an empty stack.
        let rows = unsafe {
            lua.exec_raw((), |state| {
                push_rows(state, exchange.rows(), result, (0, 0))
            })
        };
        Ok(Answer::Rows(rows?))
    }
}

impl OutsideConnection {
    /// The number of results of the last reply; an error that the server sent instead of a result counts as one.
    fn result_count(&self) -> usize {
        let successful_results = self
            .blocking
            .as_ref()
            .map_or(0, |blocking| blocking.exchange().result_count());
        successful_results + usize::from(self.deferred_error.is_some())
    }

    fn close_statement(&mut self, id: usize) {
        if let Some(statement) = self.prepared.close(id)
            && let Some(blocking) = &mut self.blocking
        {
            blocking.close_statement(&statement);
        }
    }
}

/// The connection with this number and its prepared statements; `None` if it is not open.
fn open_connection(
    connections: &mut [OutsideConnection],
    number: usize,
) -> Option<(&mut PreparedStatements, &mut BlockingConnection)> {
    let connection = connections.get_mut(number)?;
    Some((&mut connection.prepared, connection.blocking.as_mut()?))
}

fn rows_and_columns(exchange: &Exchange, result: usize) -> (u64, usize) {
    (
        exchange.affected_rows_of(result),
        exchange.column_count(result),
    )
}

/// Converts the error of a blocking connection to the error type of the event loop.
fn to_db_error(error: &Error) -> DbError {
    match error {
        Error::Statement(error) => DbError::from(&**error),
        Error::Violation(text) => DbError::protocol(text.clone()),
        other => DbError::lost(other.to_string(), false),
    }
}

fn connection_refused_answer(context: &ScriptContext, error: &Error) -> Answer {
    let server_error = error.server_error();
    let number = server_error.map_or(0, |error| error.number);
    Answer::Failed(FailedAnswer {
        error_number: match context.settings.driver {
            Driver::Mysql => number,
            Driver::Pgsql => 0,
        },
        sqlstate: server_error
            .map_or("00000", |error| error.code())
            .to_owned(),
        message: server_error.map_or_else(|| error.to_string(), |error| error.message.clone()),
        is_ignored: false,
    })
}
