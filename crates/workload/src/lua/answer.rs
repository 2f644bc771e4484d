//! The values with which a script's coroutine is resumed. They must not hold references to a reply.

use mlua::{IntoLuaMulti, Lua, MultiValue, Result, Table, Value};
use std::ffi::c_int;

pub enum Answer {
    /// The request is done; it has no result.
    Done,
    /// A boolean, such as whether an event has begun.
    Flag(bool),
    /// The numbers of rows and of columns of a reply. For a statement that returns no rows, the number of rows that it
    /// changed, and 0.
    Reply(u64, usize),
    /// The number of a connection, or a number of results.
    Number(usize),
    /// The wait status of a command, as `system` of the C library returns it.
    CommandStatus(c_int),
    /// The id of a prepared statement, and its number of parameters.
    Prepared(usize, usize),
    /// All rows of a result. Used only outside of the load; in a load, C functions read the rows.
    Rows(Table),
    /// The statement failed, or could not be sent.
    Failed(FailedAnswer),
}

/// The error of a failed statement, as scripts see it.
#[derive(Clone, Debug)]
pub struct FailedAnswer {
    /// MySQL's error number; 0 on PostgreSQL.
    pub error_number: u32,
    pub sqlstate: String,
    pub message: String,
    /// Whether the error is ignored, so that the event is restarted.
    pub is_ignored: bool,
}

impl IntoLuaMulti for Answer {
    fn into_lua_multi(self, lua: &Lua) -> Result<MultiValue> {
        match self {
            Answer::Done => Ok(MultiValue::new()),
            Answer::Flag(flag) => flag.into_lua_multi(lua),
            Answer::Reply(rows, columns) => (rows, columns).into_lua_multi(lua),
            Answer::Number(number) => number.into_lua_multi(lua),
            Answer::CommandStatus(status) => status.into_lua_multi(lua),
            Answer::Prepared(id, count) => (id, count).into_lua_multi(lua),
            Answer::Rows(rows) => rows.into_lua_multi(lua),
            Answer::Failed(failure) => (
                Value::Nil,
                failure.error_number,
                failure.sqlstate,
                failure.message,
                failure.is_ignored,
            )
                .into_lua_multi(lua),
        }
    }
}

impl FailedAnswer {
    /// The answer for an error that Prony itself detects.
    pub fn internal(message: &str) -> FailedAnswer {
        FailedAnswer {
            error_number: 0,
            sqlstate: "00000".to_owned(),
            message: message.to_owned(),
            is_ignored: false,
        }
    }
}
