//! Serves the Lua states that run outside of the load: `init()`, `done()`, commands that are not parallel,
//! and the script's top level. Without an event loop, requests use blocking connections and are answered
//! immediately. Must never be used in a load.

use super::answer::{Answer, FailedAnswer};
use super::connections::visible_result;
use super::listener::SqlOperation;
use super::request::{FIRST_VALUE, Request, text};
use super::sql_errors::{
    DeferredError, error_answer, lossy, no_server, report_failure, sent_statement, statement_text,
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
use prony_wire::{Block, Exchange, Value};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Pause between two attempts to reconnect.
const RETRY_PAUSE: Duration = Duration::from_millis(10);
/// sysbench's counters of errors and of reconnects.
const ERROR_COUNTER: i64 = 4;
const RECONNECT_COUNTER: i64 = 5;

/// The connections of one Lua state, by number.
struct OutsideConnections {
    context: Arc<ScriptContext>,
    all: Vec<OutsideConnection>,
    current: usize,
    /// Numbers that are not in use. A connection that could not be reopened is closed, but its number is in use.
    free: Vec<usize>,
    /// Whether a script first sees the first of several results, and requests the others.
    sees_first_result: bool,
}

#[derive(Default)]
struct OutsideConnection {
    blocking: Option<BlockingConnection>,
    prepared: PreparedStatements,
    /// The error of a later statement of the last text, which the script has not reached yet.
    deferred: Option<DeferredError>,
}

/// Installs the function that answers a state's requests, and informs the watchdog while it waits for the server.
pub(super) fn install_answer(
    state: &ScriptState,
    context: &Arc<ScriptContext>,
    heartbeat: &Arc<Heartbeat>,
) -> Result<()> {
    let settings = &context.settings;
    let connections = RefCell::new(OutsideConnections {
        context: Arc::clone(context),
        all: Vec::new(),
        current: 0,
        free: Vec::new(),
        sees_first_result: settings.is_v1_1 && settings.driver == Driver::Mysql,
    });
    let (connections, heartbeat, end) = (
        Rc::new(connections),
        Arc::clone(heartbeat),
        Arc::clone(&settings.end),
    );
    let answer = state
        .lua
        .create_function(move |lua, request: Variadic<LuaValue>| {
            if end.load(Ordering::Relaxed) {
                return Err(mlua::Error::RuntimeError("interrupted".to_owned()));
            }
            heartbeat.set_waiting(true);
            let values = RequestValues::new(&request);
            let answer = Request::decode(|index| values.get(index))
                .and_then(|request| connections.borrow_mut().answer(lua, request, &values));
            heartbeat.set_waiting(false);
            answer?.into_lua_multi(lua)
        })?;
    state.core.raw_set("answer", answer)
}

impl OutsideConnections {
    fn answer(&mut self, lua: &Lua, request: Request, values: &RequestValues) -> Result<Answer> {
        let text = || text(|index| values.get(index));
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
            Request::Query => self.query(text()?),
            Request::Prepare => self.prepare(text()?),
            Request::Execute(id) => self.execute(id, |index| values.get(FIRST_VALUE + index)),
            Request::Close(id) => {
                if let Some(connection) = self.all.get_mut(self.current) {
                    connection.close(id);
                }
                Answer::Done
            }
            Request::Rows(result) => self.rows(lua, result)?,
            Request::Results => {
                let connection = self.all.get(self.current);
                Answer::Number(connection.map_or(0, OutsideConnection::results))
            }
            Request::Result(result) => self.result(result),
            Request::WaitForEvent => Answer::Flag(false),
            Request::Reconnect => self.reconnect(self.current),
            Request::Count(counter) => {
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
        let number = self.free.pop().unwrap_or_else(|| {
            self.all.push(OutsideConnection::default());
            self.all.len() - 1
        });
        match self.reconnect(number) {
            Answer::Flag(_) => {
                self.current = number;
                Answer::Number(number)
            }
            failure => {
                self.free.push(number);
                failure
            }
        }
    }

    fn disconnect(&mut self, number: usize) {
        if number < self.all.len() && !self.free.contains(&number) {
            self.all[number] = OutsideConnection::default();
            self.free.push(number);
        }
    }

    fn reconnect(&mut self, number: usize) -> Answer {
        match self.open(number) {
            Some(Ok(())) => Answer::Flag(true),
            Some(Err(error)) => {
                self.context.settings.listener.connection_refused(&error);
                refused_answer(&self.context, &error)
            }
            None => no_server(),
        }
    }

    /// Opens the connection with this number; `None` if there is no such number, or no server.
    fn open(&mut self, number: usize) -> Option<std::result::Result<(), Error>> {
        let settings = &self.context.settings;
        let (target, connection) = (settings.server.as_ref()?, self.all.get_mut(number)?);
        // Close the old connection before the new one opens.
        connection.blocking = None;
        connection.deferred = None;
        let result = BlockingConnection::connect(target, settings.mode);
        Some(result.map(|blocking| connection.blocking = Some(blocking)))
    }

    fn query(&mut self, sql: &[u8]) -> Answer {
        self.execute_request(SqlOperation::Query, &lossy(sql), |exchange| {
            exchange.query(sql)
        })
    }

    fn prepare(&mut self, sql: &[u8]) -> Answer {
        let Some((prepared, blocking)) = open_connection(&mut self.all, self.current) else {
            return no_server();
        };
        let Some((id, statement)) = prepared.open(sql) else {
            let text = "a connection has at most 65,535 prepared statements open: close some";
            return Answer::Failed(FailedAnswer::internal(text));
        };
        if !blocking.exchange().is_prepared(&statement)
            && let Err(error) = blocking.request(|exchange| exchange.prepare(&statement))
        {
            let settings = &self.context.settings;
            let text = statement_text(settings, sql, &statement);
            let answer = report_failure(
                settings,
                SqlOperation::Prepare,
                &text,
                &to_db_error(&error),
                error.server(),
            );
            // Drop the statement, so that a later attempt prepares it again.
            self.all[self.current].close(id);
            return answer;
        }
        Answer::Prepared(id, statement.parameters())
    }

    fn execute<'a>(&mut self, id: usize, value: impl Fn(usize) -> Value<'a>) -> Answer {
        let Some(connection) = self.all.get(self.current) else {
            return no_server();
        };
        let Some(statement) = connection.prepared.get(id) else {
            return Answer::Failed(FailedAnswer::internal("no such statement"));
        };
        let text = connection.prepared.text(id).unwrap_or_default();
        let params: Vec<Value<'_>> = (0..statement.parameters()).map(value).collect();
        let (operation, sql) = sent_statement(&self.context.settings, text, &statement, &params);
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
        let sees_first_result = self.sees_first_result;
        let Some(connection) = self.all.get_mut(self.current) else {
            return no_server();
        };
        if let Some(deferred) = connection.deferred.take() {
            return self.handle_error(deferred.operation, &deferred.sql, &deferred.error);
        }
        let Some(blocking) = &mut connection.blocking else {
            return no_server();
        };
        match blocking.request(request) {
            Ok(()) => {
                let exchange = blocking.exchange();
                let result = visible_result(sees_first_result, exchange.results());
                self.context
                    .outside_counters
                    .count_reply(rows_and_columns(exchange, result))
            }
            Err(error) => {
                let (from_server, error) = (error.server().is_some(), to_db_error(&error));
                if sees_first_result
                    && from_server
                    && !is_lost(&error)
                    && blocking.exchange().results() > 0
                {
                    let first = rows_and_columns(blocking.exchange(), 0);
                    connection.deferred = Some(DeferredError::new(operation, sql, error));
                    return self.context.outside_counters.count_reply(first);
                }
                self.handle_error(operation, sql, &error)
            }
        }
    }

    /// Answers with a result of the last reply, or with the error that the server sent instead.
    fn result(&mut self, result: usize) -> Answer {
        let Some(connection) = self.all.get_mut(self.current) else {
            return no_server();
        };
        let Some(blocking) = &connection.blocking else {
            return no_server();
        };
        if result >= blocking.exchange().results()
            && let Some(deferred) = connection.deferred.take()
        {
            return self.handle_error(deferred.operation, &deferred.sql, &deferred.error);
        }
        self.context
            .outside_counters
            .count_reply(rows_and_columns(blocking.exchange(), result))
    }

    /// Handles the error of a statement: recovers if it is ignored, otherwise reports it.
    #[cold]
    fn handle_error(&mut self, operation: SqlOperation, sql: &str, error: &DbError) -> Answer {
        let context = Arc::clone(&self.context);
        let settings = &context.settings;
        context.outside_counters.increment(ERROR_COUNTER);
        if !settings.ignored.restarts_event(settings.driver, error) {
            return report_failure(settings, operation, sql, error, None);
        }
        if is_lost(error) {
            if !self.retry_reconnect() {
                return report_failure(settings, operation, sql, error, None);
            }
            context.outside_counters.increment(RECONNECT_COUNTER);
        } else if let Some((_, blocking)) = open_connection(&mut self.all, self.current)
            && blocking.exchange().block() != Block::Idle
        {
            // If the ROLLBACK fails, the next statement shows it.
            let _ = blocking.request(|exchange| exchange.query("ROLLBACK"));
        }
        error_answer(settings, error, true)
    }

    /// Tries to reconnect the current connection for up to `max_query_gap_s`. Outside of a run, nothing else
    /// would end the attempts.
    fn retry_reconnect(&mut self) -> bool {
        let context = Arc::clone(&self.context);
        let settings = &context.settings;
        let deadline = Instant::now() + Duration::from_secs(settings.max_query_gap_s);
        loop {
            match self.open(self.current) {
                Some(Ok(())) => return true,
                Some(Err(_)) if !settings.is_over() && Instant::now() < deadline => {
                    std::thread::sleep(RETRY_PAUSE);
                }
                _ => return false,
            }
        }
    }

    fn rows(&self, lua: &Lua, result: Option<usize>) -> Result<Answer> {
        let connection = self.all.get(self.current);
        let Some(blocking) = connection.and_then(|connection| connection.blocking.as_ref()) else {
            return Ok(Answer::Rows(lua.create_table()?));
        };
        let exchange = blocking.exchange();
        let result =
            result.unwrap_or_else(|| visible_result(self.sees_first_result, exchange.results()));
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
    /// The number of results of the last reply, including an error in place of one.
    fn results(&self) -> usize {
        let results = self
            .blocking
            .as_ref()
            .map_or(0, |blocking| blocking.exchange().results());
        results + usize::from(self.deferred.is_some())
    }

    fn close(&mut self, id: usize) {
        if let Some(statement) = self.prepared.close(id)
            && let Some(blocking) = &mut self.blocking
        {
            blocking.close(&statement);
        }
    }
}

/// An open connection, with its prepared statements.
fn open_connection(
    all: &mut [OutsideConnection],
    number: usize,
) -> Option<(&mut PreparedStatements, &mut BlockingConnection)> {
    let connection = all.get_mut(number)?;
    Some((&mut connection.prepared, connection.blocking.as_mut()?))
}

fn rows_and_columns(exchange: &Exchange, result: usize) -> (u64, usize) {
    (exchange.affected_by(result), exchange.width(result))
}

/// Converts the error of a blocking connection to the error type of the event loop.
fn to_db_error(error: &Error) -> DbError {
    match error {
        Error::Statement(error) => DbError::from(&**error),
        Error::Violation(text) => DbError::protocol(text.clone()),
        other => DbError::lost(other.to_string(), false),
    }
}

/// The answer for a refused connection.
fn refused_answer(context: &ScriptContext, error: &Error) -> Answer {
    let server_error = error.server();
    let number = server_error.map_or(0, |error| error.number);
    Answer::Failed(FailedAnswer {
        number: match context.settings.driver {
            Driver::Mysql => number,
            Driver::Pgsql => 0,
        },
        state: server_error
            .map_or("00000", |error| error.code())
            .to_owned(),
        message: server_error.map_or_else(|| error.to_string(), |error| error.message.clone()),
        ignorable: false,
    })
}
