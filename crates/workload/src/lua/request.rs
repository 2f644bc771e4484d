//! The requests that a script's coroutine makes. Their values are checked, because a script can reach the function that
//! makes them by `debug`.

use mlua::Error;
use prony_wire::Value;

/// The prelude's request codes start at `CODE_BASE + 1`.
const CODE_BASE: i64 = 9_007_199_254_740_000;

/// A request to the event loop; `prelude/core.lua` has the same codes. Excludes the text of a query or a command, which
/// [`sql_text`] returns, and the parameters of an execution, which begin at [`FIRST_PARAMETER`] of the request's values.
#[derive(Debug, PartialEq)]
pub enum Request {
    /// The coroutine has ended.
    Finished,
    /// Execute a text.
    Query,
    /// Execute the prepared statement with this number.
    Execute(usize),
    Prepare,
    /// Return rows of the last reply: those of this result, or of the result that scripts see first.
    Rows(Option<usize>),
    /// Wait until the next event is due; return false if there is none.
    WaitForEvent,
    /// Begin an event, unless one has begun.
    BeginEvent,
    EndEvent,
    /// End the current event without counting it.
    DiscardEvent,
    /// Sleep for this many seconds.
    Sleep(f64),
    /// Open a new connection in place of the current one.
    Reconnect,
    /// Increment one of sysbench's counters.
    IncrementCounter(i64),
    /// End the user, because a function failed: its name and the reason.
    FunctionFailed(String, String),
    /// Let the thread run on after its last event, for `thread_done`.
    KeepRunning,
    /// Wait for the common start of all threads: this one is ready for its events.
    WaitForCommonStart,
    /// End the current event and wait until the next one is due; return false if there is none.
    NextEvent,
    CloseStatement(usize),
    /// Open an additional connection.
    Connect,
    /// Close a connection.
    Disconnect(usize),
    /// Use this connection from now on.
    UseConnection(usize),
    /// Return the number of results of the last reply.
    ResultCount,
    /// Return the numbers of rows and columns of this result of the last reply.
    SelectResult(usize),
    /// Run a command in a shell; return its wait status.
    RunCommand,
    /// Write the entry of the open transaction into the ledger; return whether it was written.
    WriteEntry,
}

/// The index of an execution's first statement parameter among the values of its request.
pub const FIRST_PARAMETER: usize = 2;

fn unknown_request_error() -> Error {
    Error::RuntimeError("an unknown request".to_owned())
}

fn as_number(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Int(number) => Some(number as f64),
        Value::Float(number) => Some(number),
        _ => None,
    }
}

fn as_index(value: Value<'_>) -> mlua::Result<usize> {
    match value {
        Value::Int(number) => usize::try_from(number).map_err(|_| unknown_request_error()),
        _ => Err(unknown_request_error()),
    }
}

/// The text of a query, of a statement to prepare, or of a command; `value` returns a value of the request by its index.
pub fn sql_text<'a>(value: impl Fn(usize) -> Value<'a>) -> mlua::Result<&'a [u8]> {
    match value(1) {
        Value::Bytes(text) => Ok(text),
        _ => Err(unknown_request_error()),
    }
}

fn lossy_text(value: Value<'_>) -> String {
    match value {
        Value::Bytes(text) => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    }
}

impl Request {
    /// Decodes a request; `value` returns one of its values by index, or `Null` if there is none.
    #[inline]
    pub fn decode<'a>(value: impl Fn(usize) -> Value<'a>) -> mlua::Result<Self> {
        let code = match value(0) {
            Value::Null => return Ok(Request::Finished),
            Value::Int(code) => code - CODE_BASE,
            _ => return Err(unknown_request_error()),
        };
        Ok(match code {
            1 => Request::Query,
            2 => Request::Execute(as_index(value(1))?),
            15 => Request::NextEvent,
            _ => return Request::decode_rare_request(code, value),
        })
    }

    #[inline(never)]
    fn decode_rare_request<'a>(
        code: i64,
        value: impl Fn(usize) -> Value<'a>,
    ) -> mlua::Result<Self> {
        Ok(match code {
            3 => Request::Prepare,
            4 => Request::Rows(as_index(value(1)).ok()),
            5 => Request::WaitForEvent,
            6 => Request::BeginEvent,
            7 => Request::EndEvent,
            8 => Request::DiscardEvent,
            9 => Request::Sleep(as_number(value(1)).unwrap_or_default()),
            10 => Request::Reconnect,
            11 => Request::IncrementCounter(as_number(value(1)).unwrap_or_default() as i64),
            12 => Request::FunctionFailed(lossy_text(value(1)), lossy_text(value(2))),
            13 => Request::KeepRunning,
            14 => Request::WaitForCommonStart,
            16 => Request::CloseStatement(as_index(value(1))?),
            17 => Request::Connect,
            18 => Request::Disconnect(as_index(value(1))?),
            19 => Request::UseConnection(as_index(value(1))?),
            20 => Request::ResultCount,
            21 => Request::SelectResult(as_index(value(1))?),
            22 => Request::RunCommand,
            23 => Request::WriteEntry,
            _ => return Err(unknown_request_error()),
        })
    }
}
