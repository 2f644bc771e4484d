//! The coroutine in which a script runs, through Lua's C API. Takes an answer; provides the values of the script's next
//! request, which stay on the coroutine's stack until the next resume. Outside of protected code, this module must never
//! call a function of the API that can raise an error.
//!
//! `mlua::Thread::resume` is not used, because it creates a handle for each value and checks the stack at each step: a
//! request took about 1,000 instructions more with it (`examples/lua_cost.rs`).

use super::answer::Answer;
use mlua::ffi::{self, lua_State};
use mlua::{Error, Function, IntoLuaMulti, Lua, Result, Thread, Value as LuaValue};
use prony_wire::Value;
use std::ffi::c_int;
use std::ptr;

/// 2^63, the smallest positive double that does not fit into a 64-bit integer.
const TWO_POW_63: f64 = 9_223_372_036_854_775_808.0;

/// The coroutine of one thread.
pub struct Coroutine {
    /// Keeps the coroutine alive.
    thread: Thread,
    has_started: bool,
}

impl Coroutine {
    /// Creates a coroutine that will call `body` without arguments.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn new(lua: &Lua, body: Function) -> Result<Coroutine> {
        Ok(Coroutine {
            thread: lua.create_thread(body)?,
            has_started: false,
        })
    }

    /// Resumes the coroutine, which belongs to `lua`, until it makes its next request or ends. Drops the values of the
    /// last request.
    ///
    /// # Errors
    /// The error that the coroutine raised; it cannot be resumed again.
    #[inline]
    pub fn resume(&mut self, lua: &Lua, answer: Answer) -> Result<()> {
        let state = self.thread.state();
        // SAFETY: the coroutine is alive and does not run: it has not started, or has yielded. A request has
        // no fewer values than the answer that replaces it, so the stack need not grow, and numbers and
        // booleans need no memory. `lua_resume` catches errors.
        let status = unsafe {
            if self.has_started {
                ffi::lua_settop(state, 0);
            }
            self.has_started = true;
            let count = match answer {
                Answer::Done => 0,
                Answer::Flag(flag) => {
                    ffi::lua_pushboolean(state, c_int::from(flag));
                    1
                }
                Answer::Reply(rows, columns) => {
                    ffi::lua_pushnumber(state, rows as f64);
                    ffi::lua_pushnumber(state, columns as f64);
                    2
                }
                other => push_in_protected_code(lua, state, other)?,
            };
            ffi::lua_resume(state, ptr::null_mut(), count, ptr::null_mut())
        };
        match status {
            ffi::LUA_OK | ffi::LUA_YIELD => Ok(()),
            _ => Err(take_error(lua, state)),
        }
    }

    /// A value of the request, by its index; `Null` if there is none.
    #[inline]
    pub fn value(&self, index: usize) -> Value<'_> {
        let state = self.thread.state();
        let index = index as c_int + 1;
        // SAFETY: the coroutine is alive and does not run, so its stack does not change while `self` is borrowed.
        // Reading a string as such neither converts nor allocates.
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
}

/// Converts a number of Lua to a statement's value: an integer if the number has no fraction and fits into 64
/// bits.
#[inline]
pub fn number_value(number: f64) -> Value<'static> {
    let integer = number as i64;
    match integer as f64 == number && number < TWO_POW_63 {
        true => Value::Int(integer),
        false => Value::Float(number),
    }
}

/// Pushes the values of an answer that may need memory, and returns their number.
#[cold]
fn push_in_protected_code(lua: &Lua, state: *mut lua_State, answer: Answer) -> Result<c_int> {
    let values = answer.into_lua_multi(lua)?;
    let count = values.len() as c_int;
    // SAFETY: `exec_raw` catches errors, and passes a state with only these values on its stack. The coroutine
    // belongs to the same state.
    unsafe {
        if ffi::lua_checkstack(state, count) == 0 {
            return Err(Error::StackError);
        }
        lua.exec_raw::<()>(values, |source| ffi::lua_xmove(source, state, count))?;
    }
    Ok(count)
}

/// Removes the error that ended the coroutine from its stack, and converts it.
#[cold]
fn take_error(lua: &Lua, state: *mut lua_State) -> Error {
    // SAFETY: the coroutine has ended with its error on top of its stack, and belongs to the same state.
    let value = unsafe { lua.exec_raw::<LuaValue>((), |target| ffi::lua_xmove(state, target, 1)) };
    match value {
        Ok(LuaValue::Error(error)) => *error,
        Ok(LuaValue::String(text)) => Error::RuntimeError(text.to_string_lossy()),
        Ok(other) => Error::RuntimeError(format!("a {} as an error", other.type_name())),
        Err(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coroutine(lua: &Lua, text: &str) -> Coroutine {
        let body = lua.load(text).into_function().expect("valid Lua");
        Coroutine::new(lua, body).expect("enough memory")
    }

    #[test]
    fn request_values_and_answers_pass_unchanged() {
        let lua = Lua::new();
        let mut coroutine = coroutine(
            &lua,
            "local yield = coroutine.yield
             local rows, columns = yield('text', 1, 2.5, true, nil, -0.0)
             local flag = yield(rows + columns, 'more')
             yield(select('#', yield(flag)))
             local missing, number, state = yield()
             yield(missing == nil and number .. state)",
        );
        coroutine.resume(&lua, Answer::Done).expect("a request");
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6].map(|index| coroutine.value(index)),
            [
                Value::Bytes(b"text"),
                Value::Int(1),
                Value::Float(2.5),
                Value::Int(1),
                Value::Null,
                Value::Int(0),
                Value::Null,
            ]
        );
        let failure = super::super::answer::FailedAnswer::internal("m");
        for (answer, first_value) in [
            (Answer::Reply(3, 4), Value::Int(7)),
            (Answer::Flag(false), Value::Int(0)),
            (Answer::Done, Value::Int(0)),
            (Answer::Done, Value::Null),
            (Answer::Failed(failure), Value::Bytes(b"000000")),
        ] {
            coroutine.resume(&lua, answer).expect("a request");
            assert_eq!(coroutine.value(0), first_value);
            // Except for the first, these requests have one value: none of the previous request is left.
            assert!(first_value == Value::Int(7) || coroutine.value(1) == Value::Null);
        }
        coroutine.resume(&lua, Answer::Done).expect("the end");
        assert_eq!(coroutine.value(0), Value::Null);
    }

    #[test]
    fn numbers_are_integers_if_they_have_no_fraction_and_fit() {
        for (number, value) in [
            (1.0, Value::Int(1)),
            (-7.0, Value::Int(-7)),
            (0.5, Value::Float(0.5)),
            (2f64.powi(60), Value::Int(1 << 60)),
            (2f64.powi(63), Value::Float(2f64.powi(63))),
            (-(2f64.powi(63)), Value::Int(i64::MIN)),
            (f64::INFINITY, Value::Float(f64::INFINITY)),
        ] {
            assert_eq!(number_value(number), value);
        }
        assert!(matches!(number_value(f64::NAN), Value::Float(number) if number.is_nan()));
    }

    #[test]
    fn script_errors_and_out_of_memory_errors_are_returned() {
        let lua = Lua::new();
        let mut failing = coroutine(&lua, "error('a problem', 0)");
        let error = failing.resume(&lua, Answer::Done).expect_err("an error");
        assert_eq!(error.to_string(), "runtime error: a problem");
        let mut raising_a_table = coroutine(&lua, "error({})");
        let error = raising_a_table
            .resume(&lua, Answer::Done)
            .expect_err("an error");
        assert_eq!(error.to_string(), "runtime error: a table as an error");
        let mut growing = coroutine(
            &lua,
            "local text = 'x' while true do text = text .. text end",
        );
        lua.set_memory_limit(1 << 20).expect("its own allocator");
        let error = growing.resume(&lua, Answer::Done).expect_err("an error");
        assert!(error.to_string().contains("not enough memory"), "{error}");
    }
}
