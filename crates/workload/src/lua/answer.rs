//! The values with which a script's coroutine is resumed. They must not hold references to a reply.

use mlua::{IntoLuaMulti, Lua, MultiValue, Result, Table, Value};

/// The answer to a request.
pub enum Answer {
    /// The request is done; it has no result.
    Done,
    Flag(bool),
    /// The numbers of rows and of columns of a reply; without columns, the number of changed rows and 0.
    Reply(u64, usize),
    Number(usize),
    /// A prepared statement: its number, and its number of parameters.
    Prepared(usize, usize),
    /// All rows of a result, outside of the load.
    Rows(Table),
    Failed(FailedAnswer),
}

/// The error of a failed statement, as scripts see it.
#[derive(Clone, Debug)]
pub struct FailedAnswer {
    /// MySQL's error number; 0 on PostgreSQL.
    pub number: u32,
    /// SQLSTATE.
    pub state: String,
    /// The server's message.
    pub message: String,
    /// Whether the error is ignored, which restarts the event.
    pub ignorable: bool,
}

impl IntoLuaMulti for Answer {
    fn into_lua_multi(self, lua: &Lua) -> Result<MultiValue> {
        match self {
            Answer::Done => Ok(MultiValue::new()),
            Answer::Flag(flag) => flag.into_lua_multi(lua),
            Answer::Reply(rows, fields) => (rows, fields).into_lua_multi(lua),
            Answer::Number(number) => number.into_lua_multi(lua),
            Answer::Prepared(id, count) => (id, count).into_lua_multi(lua),
            Answer::Rows(rows) => rows.into_lua_multi(lua),
            Answer::Failed(failure) => (
                Value::Nil,
                failure.number,
                failure.state,
                failure.message,
                failure.ignorable,
            )
                .into_lua_multi(lua),
        }
    }
}

impl FailedAnswer {
    /// A failure that no server reported.
    pub fn internal(message: &str) -> FailedAnswer {
        FailedAnswer {
            number: 0,
            state: "00000".to_owned(),
            message: message.to_owned(),
            ignorable: false,
        }
    }
}
