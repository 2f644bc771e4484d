//! C functions of Lua for the threads of a load: they make requests with any values, and read the rows of the connection's
//! last reply. LuaJIT does not compile calls of them, unlike those of [`compiled_functions`](super::compiled_functions).
//! These functions must not panic, and must not keep a reference to a reply after they return.

use super::answer::{Answer, FailedAnswer};
use super::connections::returned_result_index;
use super::coroutine::number_value;
use super::request::{Request, sql_text};
use super::thread_context::{LuaText, ThreadContext};
use mlua::ffi::{self, lua_CFunction, lua_State};
use mlua::{Function, LightUserData, Lua, Result};
use prony_session::{READ_ROW_BYTES_MAX, UNREAD_ROW_BYTES_MAX};
use prony_wire::{Value, WireRow};
use std::ffi::{CStr, c_int, c_void};

/// The error of a script that reads a result whose last rows were dropped.
const ROWS_TOO_LONG: &CStr =
    c"the rows of the result exceed 64 MiB, the most that a script can read, or 64 KiB if its text names no function for rows";
const _: () = assert!(READ_ROW_BYTES_MAX == 64 << 20 && UNREAD_ROW_BYTES_MAX == 64 << 10);

/// Maximum number of elements for which a table reserves memory when it is created; a larger table grows.
const TABLE_SIZE_HINT_MAX: c_int = 1 << 16;

/// Creates the C functions of a state, with the names under which the prelude finds them.
///
/// # Safety
/// `context` outlives the Lua state.
pub unsafe fn create_functions(
    lua: &Lua,
    context: *const ThreadContext,
) -> Result<[(&'static str, Function); 4]> {
    let function = |name, c_function: lua_CFunction| -> Result<(&'static str, Function)> {
        let context = LightUserData(context.cast_mut().cast::<c_void>());
        // SAFETY: the pushed value becomes the function's only upvalue; `exec_raw` catches errors.
        let closure = unsafe {
            lua.exec_raw::<Function>(context, |state| ffi::lua_pushcclosure(state, c_function, 1))
        };
        Ok((name, closure?))
    };
    Ok([
        function("ask", ask)?,
        function("failure", failure)?,
        function("all_rows", all_rows)?,
        function("first_row", first_row)?,
    ])
}

/// Pushes a table with the rows of one result of a reply, each a table of texts.
///
/// # Safety
/// Call it in protected code. `rows` and `columns` are the expected numbers, for which memory is reserved.
pub unsafe fn push_rows<'a>(
    state: *mut lua_State,
    reply: impl Iterator<Item = (usize, WireRow<'a>)>,
    result: usize,
    (rows, columns): (c_int, c_int),
) {
    // SAFETY: as the caller promises; a C function has space for 20 values on its stack.
    unsafe {
        ffi::lua_createtable(state, rows, 0);
        let rows = reply.filter(|(index, _)| *index == result);
        for (number, (_, row)) in (1..).zip(rows) {
            ffi::lua_createtable(state, columns, 0);
            for (column, value) in (1..).zip(row.values()) {
                if let Some(bytes) = value {
                    ffi::lua_pushlstring_(state, bytes.as_ptr().cast(), bytes.len());
                    ffi::lua_rawseti_(state, -2, column);
                }
            }
            ffi::lua_rawseti_(state, -2, number);
        }
    }
}

/// The context of the state that called a C function.
///
/// # Safety
/// `state` has called one of the functions of [`create_functions`].
unsafe fn thread_context<'a>(state: *mut lua_State) -> &'a ThreadContext {
    // SAFETY: the upvalue is a context that outlives the state.
    unsafe {
        let context = ffi::lua_touserdata(state, ffi::lua_upvalueindex(1));
        &*context.cast::<ThreadContext>()
    }
}

/// An argument of a C function as a value; `Null` if there is none.
///
/// # Safety
/// `state` has called a C function. The result is not used after the function has returned or removed the argument.
unsafe fn argument<'a>(state: *mut lua_State, index: usize) -> Value<'a> {
    let index = index as c_int + 1;
    // SAFETY: as the caller promises. Reading a string as such neither converts nor allocates.
    unsafe {
        match ffi::lua_type(state, index) {
            ffi::LUA_TNUMBER => number_value(ffi::lua_tonumber(state, index)),
            ffi::LUA_TSTRING => {
                let mut length = 0;
                let text = ffi::lua_tolstring(state, index, &mut length);
                Value::Bytes(std::slice::from_raw_parts(text.cast::<u8>(), length))
            }
            ffi::LUA_TBOOLEAN => Value::Int(i64::from(ffi::lua_toboolean(state, index) != 0)),
            _ => Value::Null,
        }
    }
}

/// Lua: `ask(code, ...)`. Makes a request and returns the answer.
unsafe extern "C-unwind" fn ask(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a running state, in protected code. The arguments remain on its stack while the
    // coroutine is suspended, and no local value needs to be dropped then.
    unsafe {
        let context = thread_context(state);
        let Ok(request) = Request::decode(|index| argument(state, index)) else {
            return ffi::luaL_error(state, c"an unknown request".as_ptr());
        };
        if let Ok(text) = sql_text(|index| argument(state, index)) {
            context.set_sql(LuaText::new(text.as_ptr(), text.len()));
        }
        match context.request(request) {
            Answer::Flag(flag) => {
                ffi::lua_pushboolean(state, c_int::from(flag));
                1
            }
            Answer::Reply(rows, columns) => {
                ffi::lua_pushnumber(state, rows as f64);
                ffi::lua_pushnumber(state, columns as f64);
                2
            }
            Answer::Number(number) => {
                ffi::lua_pushnumber(state, number as f64);
                1
            }
            Answer::CommandStatus(status) => {
                ffi::lua_pushnumber(state, status.into());
                1
            }
            Answer::Prepared(id, count) => {
                ffi::lua_pushnumber(state, id as f64);
                ffi::lua_pushnumber(state, count as f64);
                2
            }
            Answer::Failed(failure) => {
                ffi::lua_pushnil(state);
                1 + push_failure(state, &failure)
            }
            Answer::Done | Answer::Rows(_) => 0,
        }
    }
}

/// Pushes the values of an error, and returns their number.
///
/// # Safety
/// Call it in a C function of Lua. An out-of-memory error unwinds, which drops the error.
unsafe fn push_failure(state: *mut lua_State, failure: &FailedAnswer) -> c_int {
    // SAFETY: as the caller promises; a C function has space for 20 values on its stack.
    unsafe {
        ffi::lua_pushnumber(state, failure.error_number.into());
        for text in [&failure.sqlstate, &failure.message] {
            ffi::lua_pushlstring_(state, text.as_ptr().cast(), text.len());
        }
        ffi::lua_pushboolean(state, c_int::from(failure.is_ignored));
    }
    4
}

/// Lua: `failure()`. Returns the error of the last request of a compiled function: its number, SQLSTATE and message,
/// and whether it is ignored. Does not return if the thread has been abandoned.
unsafe extern "C-unwind" fn failure(state: *mut lua_State) -> c_int {
    // SAFETY: as in `ask`.
    unsafe {
        let failure = thread_context(state).take_failure();
        push_failure(state, &failure)
    }
}

/// Lua: `all_rows(result, rows, columns)`. Returns the rows of a result; if `result` is nil, those of the result that the
/// query returned. `rows` and `columns` are the expected numbers.
unsafe extern "C-unwind" fn all_rows(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a running state, in protected code. An out-of-memory error unwinds, which releases the
    // reply.
    unsafe {
        let Some(connections) = thread_context(state).connections() else {
            ffi::lua_createtable(state, 0, 0);
            return 1;
        };
        let returns_first_result = connections.returns_first_result();
        if connections.current().db.last_reply().has_dropped_rows() {
            return ffi::luaL_error(state, ROWS_TOO_LONG.as_ptr());
        }
        let reply = connections.current().db.last_reply();
        let result = match ffi::lua_isnumber(state, 1) {
            0 => returned_result_index(returns_first_result, reply.result_count()),
            _ => ffi::lua_tonumber(state, 1) as usize,
        };
        let size_hint = |index| (ffi::lua_tonumber(state, index) as c_int).min(TABLE_SIZE_HINT_MAX);
        push_rows(state, reply.iter(), result, (size_hint(2), size_hint(3)));
    }
    1
}

/// Lua: `first_row(columns)`. Returns the values of the first row of the result that the query returned.
unsafe extern "C-unwind" fn first_row(state: *mut lua_State) -> c_int {
    // SAFETY: as in `all_rows`.
    unsafe {
        let columns = ffi::lua_tonumber(state, 1) as c_int;
        let Some(connections) = thread_context(state).connections() else {
            return 0;
        };
        if ffi::lua_checkstack(state, columns) == 0 {
            return ffi::luaL_error(state, c"a row has too many columns".as_ptr());
        }
        let returns_first_result = connections.returns_first_result();
        let is_dropped = {
            let reply = connections.current().db.last_reply();
            let result = returned_result_index(returns_first_result, reply.result_count());
            reply.has_dropped_rows() && !reply.iter().any(|(index, _)| index == result)
        };
        if is_dropped {
            return ffi::luaL_error(state, ROWS_TOO_LONG.as_ptr());
        }
        let reply = connections.current().db.last_reply();
        let result = returned_result_index(returns_first_result, reply.result_count());
        let row = reply.iter().find(|(index, _)| *index == result);
        let values = row.iter().flat_map(|(_, row)| row.values());
        let mut count = 0;
        for value in values.take(columns as usize) {
            match value {
                Some(bytes) => ffi::lua_pushlstring_(state, bytes.as_ptr().cast(), bytes.len()),
                None => ffi::lua_pushnil(state),
            }
            count += 1;
        }
        count
    }
}
