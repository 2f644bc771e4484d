//! The requests that a script's coroutine yields. All values are checked, because a script can call
//! `coroutine.yield` directly.

use mlua::{Error, LuaString, Value, Variadic};

/// The codes of the requests in the prelude start at `BASE + 1`.
const BASE: f64 = 9_007_199_254_740_000.0;

/// The values of a yield, as they are on Lua's stack.
pub type Yielded = (Value, Value, Value, Variadic<Value>);

/// A request to the event loop; `prelude/core.lua` has the same codes.
pub enum Request {
    /// The coroutine has ended.
    Finished,
    /// Execute a text.
    Query(LuaString),
    /// Execute a prepared statement with these values.
    Execute(usize, Value, Variadic<Value>),
    /// Prepare a statement.
    Prepare(LuaString),
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

fn unknown() -> Error {
    Error::RuntimeError("coroutine.yield() was called outside of a coroutine".to_owned())
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

fn index(value: &Value) -> mlua::Result<usize> {
    Ok(number(value).ok_or_else(unknown)? as usize)
}

fn text(value: Value) -> mlua::Result<LuaString> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(unknown()),
    }
}

fn lossy_text(value: &Value) -> String {
    let text = value.as_string().map(|text| text.to_string_lossy());
    text.unwrap_or_default()
}

impl Request {
    /// Decodes the values of a yield.
    ///
    /// # Errors
    /// The values do not come from the prelude.
    #[inline]
    pub fn decode((code, first, second, others): Yielded) -> mlua::Result<Self> {
        if code.is_nil() {
            return Ok(Request::Finished);
        }
        let code = number(&code).ok_or_else(unknown)?;
        Ok(match (code - BASE) as i64 {
            1 => Request::Query(text(first)?),
            2 => Request::Execute(index(&first)?, second, others),
            3 => Request::Prepare(text(first)?),
            4 => Request::Rows(number(&first).map(|result| result as usize)),
            5 => Request::WaitForEvent,
            6 => Request::Start,
            7 => Request::Stop,
            8 => Request::Forget,
            9 => Request::Sleep(number(&first).unwrap_or_default()),
            10 => Request::Reconnect,
            11 => Request::Count(number(&first).unwrap_or_default() as i64),
            12 => Request::Fail(lossy_text(&first), lossy_text(&second)),
            13 => Request::KeepAlive,
            14 => Request::Ready,
            15 => Request::NextEvent,
            16 => Request::Close(index(&first)?),
            17 => Request::Connect,
            18 => Request::Disconnect(index(&first)?),
            19 => Request::UseConnection(index(&first)?),
            20 => Request::Results,
            21 => Request::Result(index(&first)?),
            _ => return Err(unknown()),
        })
    }
}
