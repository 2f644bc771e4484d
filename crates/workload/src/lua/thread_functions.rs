//! C functions that do for a script, in threads of a load, what needs no waiting: they read the rows of the
//! connection's last reply, and begin the next event. By requests to the event loop, a row of three columns took about
//! 19,000 instructions more, most of them in mlua's conversions, and the next event at most 500 (`examples/lua_cost.rs`).
//! They must not panic, and must not hold a reference to a reply after they return.

use super::connections::{Connections, visible_result};
use mlua::ffi::{self, lua_CFunction, lua_State};
use mlua::{Function, LightUserData, Lua, Result};
use prony_session::Outcome;
use prony_wire::WireRow;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;

/// Largest size with which a table is created; a larger one grows.
const SIZE_HINT_MAX: c_int = 1 << 16;

/// The connections that the C functions of one Lua state use: those of its thread, while the thread runs it.
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
    /// Calls `run`, which runs the state; until it returns, the state's functions read replies of these connections.
    #[inline]
    pub fn lend<R>(&self, connections: Option<&mut Connections>, run: impl FnOnce() -> R) -> R {
        self.connections
            .set(connections.map_or(ptr::null_mut(), ptr::from_mut));
        let result = run();
        self.connections.set(ptr::null_mut());
        result
    }
}

/// Creates the functions of a state; returns them with the names by which the prelude finds them.
///
/// # Safety
/// `lent` outlives the Lua state.
pub unsafe fn create(
    lua: &Lua,
    lent: *const LentConnections,
) -> Result<[(&'static str, Function); 3]> {
    let function = |name, c_function: lua_CFunction| -> Result<(&'static str, Function)> {
        let lent = LightUserData(lent.cast_mut().cast::<c_void>());
        // SAFETY: the function takes them from its upvalue; `exec_raw` catches errors.
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
/// Call it in protected code. `rows` and `columns` are their expected numbers.
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
/// `state` has called one of the functions of [`create`], and the result is dropped before the function returns.
unsafe fn connections<'a>(state: *mut lua_State) -> Option<&'a mut Connections> {
    // SAFETY: the upvalue is a `LentConnections` that outlives the state. Nothing else uses what it holds until the
    // state stops running.
    unsafe {
        let lent = ffi::lua_touserdata(state, ffi::lua_upvalueindex(1)).cast::<LentConnections>();
        (*lent).connections.get().as_mut()
    }
}

/// Lua: `all_rows(result, rows, columns)`. Without a result, those of the result that scripts see first.
unsafe extern "C-unwind" fn all_rows(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a running state, in protected code. If it runs out of memory, it unwinds, which
    // releases the reply.
    unsafe {
        let Some(connections) = connections(state) else {
            ffi::lua_createtable(state, 0, 0);
            return 1;
        };
        let sees_first_result = connections.sees_first_result();
        let reply = connections.current().db.last_reply();
        let result = match ffi::lua_isnumber(state, 1) {
            0 => visible_result(sees_first_result, reply.results()),
            _ => ffi::lua_tonumber(state, 1) as usize,
        };
        let size = |index| (ffi::lua_tonumber(state, index) as c_int).min(SIZE_HINT_MAX);
        push_rows(state, reply.iter(), result, (size(2), size(3)));
    }
    1
}

/// Lua: `next_event()`. Ends the event and begins the next one, if that is possible without waiting; returns whether
/// the next one has begun.
unsafe extern "C-unwind" fn next_event(state: *mut lua_State) -> c_int {
    // SAFETY: as in `all_rows`.
    unsafe {
        let has_begun = connections(state).is_some_and(|connections| {
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

/// Lua: `first_row(columns)`.
unsafe extern "C-unwind" fn first_row(state: *mut lua_State) -> c_int {
    // SAFETY: as in `all_rows`.
    unsafe {
        let columns = ffi::lua_tonumber(state, 1) as c_int;
        let Some(connections) = connections(state) else {
            return 0;
        };
        if ffi::lua_checkstack(state, columns) == 0 {
            return ffi::luaL_error(state, c"a row has too many columns".as_ptr());
        }
        let sees_first_result = connections.sees_first_result();
        let reply = connections.current().db.last_reply();
        let result = visible_result(sees_first_result, reply.results());
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
