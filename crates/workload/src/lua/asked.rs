//! What a script's coroutine yields.
//!
//! In: the values of a yield. Out: [`Asked`]. Must never: trust them: a script can reach the yield.

use mlua::{Error, LuaString, Value, Variadic};

/// Before the first of the numbers by which the prelude asks.
const BASE: f64 = 9_007_199_254_740_000.0;

/// The values of a yield, taken as they are on Lua's stack.
pub type Yielded = (Value, Value, Value, Variadic<Value>);

/// What is asked of the loop; `prelude/core.lua` has the same numbers.
pub enum Asked {
    /// Nothing: the coroutine is at its end.
    Nothing,
    /// A text is executed.
    Query(LuaString),
    /// A prepared statement is executed with these values.
    Execute(usize, Value, Variadic<Value>),
    /// A statement is prepared.
    Prepare(LuaString),
    /// The rows of the last reply: of this result, or of the one that scripts see first.
    Rows(Option<usize>),
    /// Whether another event begins; once it is due.
    More,
    /// An event begins, if none has.
    Start,
    /// The event is done.
    Stop,
    /// The event is not counted.
    Forget,
    /// So many seconds pass.
    Sleep(f64),
    /// A new connection.
    Renew,
    /// One of sysbench's counters goes up.
    Count(i64),
    /// A function gave up; its name and why.
    Fail(String, String),
    /// All events are done, and the thread has something to say yet.
    Linger,
    /// The thread is ready for its events.
    Ready,
    /// The event is done; whether another begins.
    Next,
    /// A prepared statement is used no more.
    Close(usize),
    /// A connection.
    Connect,
    /// A connection is used no more.
    Disconnect(usize),
    /// What follows is for this connection.
    Line(usize),
    /// How many results the last reply has.
    Results,
    /// Another result of the last reply.
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

fn place(value: &Value) -> mlua::Result<usize> {
    Ok(number(value).ok_or_else(unknown)? as usize)
}

fn text(value: Value) -> mlua::Result<LuaString> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(unknown()),
    }
}

fn lossy(value: &Value) -> String {
    let text = value.as_string().map(|text| text.to_string_lossy());
    text.unwrap_or_default()
}

impl Asked {
    /// What the values of a yield ask.
    ///
    /// # Errors
    /// They are not the prelude's.
    #[inline]
    pub fn of((what, first, second, rest): Yielded) -> mlua::Result<Self> {
        if what.is_nil() {
            return Ok(Asked::Nothing);
        }
        let what = number(&what).ok_or_else(unknown)?;
        Ok(match (what - BASE) as i64 {
            1 => Asked::Query(text(first)?),
            2 => Asked::Execute(place(&first)?, second, rest),
            3 => Asked::Prepare(text(first)?),
            4 => Asked::Rows(number(&first).map(|result| result as usize)),
            5 => Asked::More,
            6 => Asked::Start,
            7 => Asked::Stop,
            8 => Asked::Forget,
            9 => Asked::Sleep(number(&first).unwrap_or_default()),
            10 => Asked::Renew,
            11 => Asked::Count(number(&first).unwrap_or_default() as i64),
            12 => Asked::Fail(lossy(&first), lossy(&second)),
            13 => Asked::Linger,
            14 => Asked::Ready,
            15 => Asked::Next,
            16 => Asked::Close(place(&first)?),
            17 => Asked::Connect,
            18 => Asked::Disconnect(place(&first)?),
            19 => Asked::Line(place(&first)?),
            20 => Asked::Results,
            21 => Asked::Result(place(&first)?),
            _ => return Err(unknown()),
        })
    }
}
