//! The requests that a script's coroutine yields. All values are checked, because a script can call
//! `coroutine.yield` directly.

use mlua::Error;
use prony_wire::Value;

/// The codes of the requests in the prelude start at `BASE + 1`.
const BASE: i64 = 9_007_199_254_740_000;

/// A request to the event loop; `prelude/core.lua` has the same codes. Texts and values of statements stay where the
/// request's values are: see [`text`], and [`FIRST_VALUE`] for those of an execution.
#[derive(Debug, PartialEq)]
pub enum Request {
    /// The coroutine has ended.
    Finished,
    /// Execute a text.
    Query,
    /// Execute the prepared statement with this number.
    Execute(usize),
    /// Prepare a statement.
    Prepare,
    /// Return rows of the last reply: those of this result, or of the result that scripts see first.
    Rows(Option<usize>),
    /// Wait until the next event is due; return false if there is none.
    WaitForEvent,
    /// Begin an event, unless one has begun.
    Start,
    /// End the event.
    Stop,
    /// Drop the event from the counts.
    Forget,
    /// Sleep for this many seconds.
    Sleep(f64),
    /// Open a new connection in place of the current one.
    Reconnect,
    /// Increment one of sysbench's counters.
    Count(i64),
    /// A function failed: its name and the reason.
    Fail(String, String),
    /// Keep the thread alive: its events have ended, but it has not.
    KeepAlive,
    /// The thread is ready for its events.
    Ready,
    /// End the event and wait until the next one is due; return false if there is none.
    NextEvent,
    /// Close a prepared statement.
    Close(usize),
    /// Open an additional connection.
    Connect,
    /// Close a connection.
    Disconnect(usize),
    /// Use this connection from now on.
    UseConnection(usize),
    /// Return the number of results of the last reply.
    Results,
    /// Return this result of the last reply.
    Result(usize),
}

/// The index of the first value of an execution among the values of its request.
pub const FIRST_VALUE: usize = 2;

fn unknown() -> Error {
    Error::RuntimeError("coroutine.yield() was called outside of a coroutine".to_owned())
}

fn number(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Int(number) => Some(number as f64),
        Value::Float(number) => Some(number),
        _ => None,
    }
}

fn index(value: Value<'_>) -> mlua::Result<usize> {
    match value {
        Value::Int(number) => usize::try_from(number).map_err(|_| unknown()),
        _ => Err(unknown()),
    }
}

/// The text of a query or of a statement to prepare, given the values of the request.
///
/// # Errors
/// The values do not come from the prelude.
pub fn text<'a>(value: impl Fn(usize) -> Value<'a>) -> mlua::Result<&'a [u8]> {
    match value(1) {
        Value::Bytes(text) => Ok(text),
        _ => Err(unknown()),
    }
}

fn lossy_text(value: Value<'_>) -> String {
    match value {
        Value::Bytes(text) => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    }
}

impl Request {
    /// Decodes a request from its values; a missing value is `Null`.
    ///
    /// # Errors
    /// The values do not come from the prelude.
    #[inline]
    pub fn decode<'a>(value: impl Fn(usize) -> Value<'a>) -> mlua::Result<Self> {
        let code = match value(0) {
            Value::Null => return Ok(Request::Finished),
            Value::Int(code) => code - BASE,
            _ => return Err(unknown()),
        };
        Ok(match code {
            1 => Request::Query,
            2 => Request::Execute(index(value(1))?),
            15 => Request::NextEvent,
            _ => return Request::decode_rare(code, value),
        })
    }

    #[inline(never)]
    fn decode_rare<'a>(code: i64, value: impl Fn(usize) -> Value<'a>) -> mlua::Result<Self> {
        Ok(match code {
            3 => Request::Prepare,
            4 => Request::Rows(index(value(1)).ok()),
            5 => Request::WaitForEvent,
            6 => Request::Start,
            7 => Request::Stop,
            8 => Request::Forget,
            9 => Request::Sleep(number(value(1)).unwrap_or_default()),
            10 => Request::Reconnect,
            11 => Request::Count(number(value(1)).unwrap_or_default() as i64),
            12 => Request::Fail(lossy_text(value(1)), lossy_text(value(2))),
            13 => Request::KeepAlive,
            14 => Request::Ready,
            16 => Request::Close(index(value(1))?),
            17 => Request::Connect,
            18 => Request::Disconnect(index(value(1))?),
            19 => Request::UseConnection(index(value(1))?),
            20 => Request::Results,
            21 => Request::Result(index(value(1))?),
            _ => return Err(unknown()),
        })
    }
}
