//! What a script's coroutine yields.
//!
//! In: the values of a yield. Out: [`Asked`]. Must never: trust them: a script can reach the yield.

use mlua::{Error, FromLuaMulti, Lua, LuaString, MultiValue, Value};

/// What is asked of the loop; `prelude/core.lua` has the same numbers.
pub enum Asked {
    /// Nothing: the coroutine is at its end.
    Nothing,
    /// A text is executed.
    Query(LuaString),
    /// A prepared statement is executed with these values.
    Execute(usize, MultiValue),
    /// A statement is prepared.
    Prepare(LuaString),
    /// The rows of the last reply.
    Rows,
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
    /// The script ignores an error that is not one of those that are ignored.
    Restart,
}

fn unknown() -> Error {
    Error::RuntimeError("coroutine.yield() was called outside of a coroutine".to_owned())
}

fn number(value: Option<Value>) -> Option<f64> {
    match value? {
        Value::Integer(number) => Some(number as f64),
        Value::Number(number) => Some(number),
        _ => None,
    }
}

fn lossy(value: Option<Value>) -> String {
    let text = value.as_ref().and_then(Value::as_string);
    text.map(|text| text.to_string_lossy()).unwrap_or_default()
}

impl FromLuaMulti for Asked {
    fn from_lua_multi(mut values: MultiValue, _: &Lua) -> mlua::Result<Self> {
        let Some(what) = values.pop_front() else {
            return Ok(Asked::Nothing);
        };
        let what = number(Some(what)).ok_or_else(unknown)?;
        let mut text = || match values.pop_front() {
            Some(Value::String(text)) => Ok(text),
            _ => Err(unknown()),
        };
        Ok(match what as i64 {
            1 => Asked::Query(text()?),
            2 => {
                let id = number(values.pop_front()).ok_or_else(unknown)?;
                Asked::Execute(id as usize, values)
            }
            3 => Asked::Prepare(text()?),
            4 => Asked::Rows,
            5 => Asked::More,
            6 => Asked::Start,
            7 => Asked::Stop,
            8 => Asked::Forget,
            9 => Asked::Sleep(number(values.pop_front()).unwrap_or_default()),
            10 => Asked::Renew,
            11 => Asked::Count(number(values.pop_front()).unwrap_or_default() as i64),
            12 => Asked::Fail(lossy(values.pop_front()), lossy(values.pop_front())),
            13 => Asked::Linger,
            14 => Asked::Restart,
            _ => return Err(unknown()),
        })
    }
}
