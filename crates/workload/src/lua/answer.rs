//! What a script's coroutine is resumed with.
//!
//! In: what became of what was asked. Out: values of Lua. Must never: hold on to a reply.

use mlua::{IntoLua, IntoLuaMulti, Lua, MultiValue, Result, Table, Value};
use prony_wire::Row;

/// What a script is answered.
pub enum Answer {
    /// It is done.
    Done,
    /// Yes or no.
    Flag(bool),
    /// A reply with so many rows of so many fields; rows changed, where there are no fields.
    Reply(u64, usize),
    /// A number.
    Number(usize),
    /// A statement was prepared: its number, and how many values it takes.
    Prepared(usize, usize),
    /// All rows.
    Rows(Table),
    /// A statement failed.
    Failed(Failure),
}

/// Why a statement failed, as scripts see it.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The number of MySQL; 0 on PostgreSQL.
    pub number: u32,
    /// SQLSTATE.
    pub state: String,
    /// What the server said.
    pub message: String,
    /// The event begins anew.
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

/// A failure that is no server's.
impl Failure {
    pub fn own(message: &str) -> Failure {
        Failure {
            number: 0,
            state: "00000".to_owned(),
            message: message.to_owned(),
            ignorable: false,
        }
    }
}

/// The rows of one result of a reply, each a table of texts.
pub fn rows<'a>(
    lua: &Lua,
    reply: impl Iterator<Item = (usize, Row<'a>)>,
    result: usize,
) -> Result<Table> {
    let all = lua.create_table()?;
    for (_, row) in reply.filter(|(of, _)| *of == result) {
        let table = lua.create_table()?;
        for (place, value) in row.values().enumerate() {
            if let Some(bytes) = value {
                table.raw_set(place + 1, lua.create_string(bytes)?)?;
            }
        }
        all.raw_push(table.into_lua(lua)?)?;
    }
    Ok(all)
}
