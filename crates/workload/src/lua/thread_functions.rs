//! C functions for the threads of a load, for requests that need no waiting: they read the rows of the connection's last
//! reply, and begin the next event. As requests to the event loop, reading a row of three columns took about 19,000
//! instructions more, most of them in mlua's conversions, and beginning the next event up to 500 more
//! (`examples/lua_cost.rs`). These functions must not panic, and must not keep a reference to a reply after they return.

use super::connections::{Connections, returned_result_index};
use mlua::ffi::{self, lua_CFunction, lua_State};
use mlua::{Function, LightUserData, Lua, Result};
use prony_session::Outcome;
use prony_wire::WireRow;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;

/// Maximum number of elements for which a table reserves memory when it is created; a larger table grows.
const TABLE_SIZE_HINT_MAX: c_int = 1 << 16;

/// The connections that the C functions of one Lua state use: those of the thread that runs the state, while it runs.
pub struct LentConnections {
    /// Null while the state does not run.
    connections: Cell<*mut Connections>,
}

impl Default for LentConnections {
    fn default() -> Self {
        LentConnections {
            connections: Cell::new(ptr::null_mut()),
        }
    }
}

impl LentConnections {
    /// Calls `run`, which runs the state. Until `run` returns, the state's C functions use these connections.
    #[inline]
    pub fn lend<R>(&self, connections: Option<&mut Connections>, run: impl FnOnce() -> R) -> R {
        self.connections
            .set(connections.map_or(ptr::null_mut(), ptr::from_mut));
        let result = run();
        self.connections.set(ptr::null_mut());
        result
    }
}

/// Creates the C functions of a state, with the names under which the prelude finds them.
///
/// # Safety
/// `lent` outlives the Lua state.
pub unsafe fn create_functions(
    lua: &Lua,
    lent: *const LentConnections,
) -> Result<[(&'static str, Function); 3]> {
    let function = |name, c_function: lua_CFunction| -> Result<(&'static str, Function)> {
        let lent = LightUserData(lent.cast_mut().cast::<c_void>());
        // SAFETY: the pushed value becomes the function's only upvalue; `exec_raw` catches errors.
        let closure = unsafe {
            lua.exec_raw::<Function>(lent, |state| ffi::lua_pushcclosure(state, c_function, 1))
        };
        Ok((name, closure?))
    };
    Ok([
        function("all_rows", all_rows)?,
        function("first_row", first_row)?,
        function("next_event", next_event)?,
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

/// The connections of the state that called a C function; `None` after the end of its thread.
///
/// # Safety
/// `state` has called one of the functions of [`create_functions`], and the result is dropped before the function returns.
unsafe fn lent_connections<'a>(state: *mut lua_State) -> Option<&'a mut Connections> {
    // SAFETY: the upvalue is a `LentConnections` that outlives the state. Until the state stops running, nothing else
    // uses the connections.
    unsafe {
        let lent = ffi::lua_touserdata(state, ffi::lua_upvalueindex(1)).cast::<LentConnections>();
        (*lent).connections.get().as_mut()
    }
}

/// Lua: `all_rows(result, rows, columns)`. Returns the rows of a result; if `result` is nil, those of the result that the
/// query returned. `rows` and `columns` are the expected numbers.
unsafe extern "C-unwind" fn all_rows(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a running state, in protected code. An out-of-memory error unwinds, which releases the
    // reply.
    unsafe {
        let Some(connections) = lent_connections(state) else {
            ffi::lua_createtable(state, 0, 0);
            return 1;
        };
        let returns_first_result = connections.returns_first_result();
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

/// Lua: `next_event()`. Ends the current event and begins the next one, if that is possible without waiting. Returns
/// whether the next one has begun; the current event may have ended without it.
unsafe extern "C-unwind" fn next_event(state: *mut lua_State) -> c_int {
    // SAFETY: as in `all_rows`.
    unsafe {
        let has_begun = lent_connections(state).is_some_and(|connections| {
            let db = connections.user_db();
            if !db.is_in_transaction() || !db.has_waited_since_start() {
                return false;
            }
            db.end_with_open_block(Outcome::Committed);
            db.try_start(0)
        });
        ffi::lua_pushboolean(state, c_int::from(has_begun));
    }
    1
}

/// Lua: `first_row(columns)`. Returns the values of the first row of the result that the query returned.
unsafe extern "C-unwind" fn first_row(state: *mut lua_State) -> c_int {
    // SAFETY: as in `all_rows`.
    unsafe {
        let columns = ffi::lua_tonumber(state, 1) as c_int;
        let Some(connections) = lent_connections(state) else {
            return 0;
        };
        if ffi::lua_checkstack(state, columns) == 0 {
            return ffi::luaL_error(state, c"a row has too many columns".as_ptr());
        }
        let returns_first_result = connections.returns_first_result();
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
