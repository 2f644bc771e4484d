//! The coroutine in which a script runs. It has a stack of its own, so that a C function of the script can wait for an
//! answer wherever the script calls it: from compiled code, inside of the script's own coroutines, and in functions that
//! `table.sort`, `string.gsub` or `require` call. While it is suspended, nothing may call a function of Lua's API on its
//! state that runs Lua code, allocates or raises an error.
//!
//! With a coroutine of Lua, LuaJIT interpreted the code that follows each request, because its compiler cannot leave
//! the protected call of an event in a trace that begins there.

use super::thread_context::ThreadContext;
use corosensei::stack::DefaultStack;
use corosensei::{CoroutineResult, Yielder};
use mlua::ffi;
use mlua::{Error, Function, Lua, Result, Value as LuaValue};
use prony_wire::Value;
use std::ffi::c_int;
use std::rc::Rc;

pub type Suspender = Yielder<(), ()>;

/// Size of a coroutine's stack. Only the pages that are used take memory. Below 2 MiB, so that the kernel does not back
/// it with a huge page.
const STACK_BYTES: usize = 1 << 20;

/// 2^63, the smallest positive double that does not fit into a 64-bit integer.
const TWO_POW_63: f64 = 9_223_372_036_854_775_808.0;

pub struct Coroutine {
    inner: corosensei::Coroutine<(), (), c_int>,
    context: Rc<ThreadContext>,
    /// The slot of the state's registry with the function; later with the error that the function raised.
    slot: c_int,
}

impl Coroutine {
    /// Creates a coroutine that will call `body` without arguments. Its C functions use `context`.
    pub fn new(lua: &Lua, context: &Rc<ThreadContext>, body: Function) -> Result<Coroutine> {
        // SAFETY: the function is the only value on the stack, and is replaced with its slot; `exec_raw` catches errors.
        let slot: c_int = unsafe {
            lua.exec_raw(body, |state| {
                let slot = ffi::luaL_ref(state, ffi::LUA_REGISTRYINDEX);
                ffi::lua_pushinteger(state, slot.into());
            })?
        };
        let stack = DefaultStack::new(STACK_BYTES).map_err(|error| {
            Error::RuntimeError(format!("no memory for the stack of a thread: {error}"))
        })?;
        let (state, own_context) = (lua.state(), Rc::as_ptr(context));
        let run_body = move |suspender: &Suspender, ()| {
            // SAFETY: `Coroutine` keeps the context alive. While this coroutine runs, nothing else uses the state, whose
            // stack has space for 20 values. The slot exists, so that setting it needs no memory.
            unsafe {
                (*own_context).set_suspender(Some(suspender));
                ffi::lua_rawgeti_(state, ffi::LUA_REGISTRYINDEX, slot);
                let status = ffi::lua_pcall(state, 0, 0, 0);
                if status != ffi::LUA_OK {
                    ffi::lua_rawseti_(state, ffi::LUA_REGISTRYINDEX, slot);
                }
                (*own_context).set_suspender(None);
                status
            }
        };
        Ok(Coroutine {
            inner: corosensei::Coroutine::with_stack(stack, run_body),
            context: Rc::clone(context),
            slot,
        })
    }

    /// Resumes the coroutine, which belongs to `lua`, until it makes its next request or ends.
    ///
    /// # Errors
    /// The error that the coroutine raised; it cannot be resumed again.
    #[inline]
    pub fn resume(&mut self, lua: &Lua) -> Result<()> {
        match self.inner.resume(()) {
            CoroutineResult::Yield(()) | CoroutineResult::Return(ffi::LUA_OK) => Ok(()),
            CoroutineResult::Return(_) => Err(self.take_error(lua)),
        }
    }

    #[cold]
    fn take_error(&self, lua: &Lua) -> Error {
        // SAFETY: the coroutine has ended and has put its error into the slot.
        let value = unsafe {
            lua.exec_raw::<LuaValue>((), |state| {
                ffi::lua_rawgeti_(state, ffi::LUA_REGISTRYINDEX, self.slot);
            })
        };
        match value {
            Ok(LuaValue::Error(error)) => *error,
            Ok(LuaValue::String(text)) => Error::RuntimeError(text.to_string_lossy()),
            Ok(other) => Error::RuntimeError(format!("a {} as an error", other.type_name())),
            Err(error) => error,
        }
    }
}

impl Drop for Coroutine {
    /// Abandons a suspended coroutine: its script does not run on.
    fn drop(&mut self) {
        if self.inner.done() || !self.inner.started() {
            return;
        }
        if self.context.abandon() {
            let _ = self.inner.resume(());
        }
        self.context.set_suspender(None);
        // SAFETY: the frames of a suspended coroutine hold no values that need to be dropped, as `thread_context`
        // requires. Lua's stack is freed when the state is closed.
        unsafe { self.inner.force_reset() };
    }
}

/// Converts a number of Lua to a statement's value: an integer if the number has no fraction and fits into 64
/// bits.
#[inline]
pub fn number_value(number: f64) -> Value<'static> {
    let integer = number as i64;
    if integer as f64 == number && number < TWO_POW_63 {
        Value::Int(integer)
    } else {
        Value::Float(number)
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::{Answer, FailedAnswer};
    use super::super::memory::LimitedLua;
    use super::super::request::Request;
    use super::super::{compiled_functions, thread_functions};
    use super::*;
    use mlua::LightUserData;
    use prony_assertions::TextAssertions;
    use std::ffi::c_void;

    /// Declares the C functions that compiled code calls.
    const DECLARATIONS: &str = "
        local ffi = require('ffi')
        local context = ffi.cast('void *', thread_context)
        local call = ffi.cast('double (*)(void *, const char *, size_t)', compiled.query)
        local function query(text) return call(context, text, #text) end\n";

    fn state() -> LimitedLua {
        // SAFETY: the tests' own code uses `ffi`.
        let state = unsafe { LimitedLua::new(2 << 20) };
        state.expect("enough memory")
    }

    fn start(lua: &Lua, text: &str) -> (Coroutine, Rc<ThreadContext>) {
        let context = Rc::new(ThreadContext::default());
        let address = Rc::as_ptr(&context);
        let globals = lua.globals();
        // SAFETY: each test drops the state before the context, or never runs it again.
        let functions = unsafe { thread_functions::create_functions(lua, address) };
        for (name, function) in functions.expect("enough memory") {
            globals.set(name, function).expect("a global");
        }
        let compiled = lua.create_table().expect("enough memory");
        for (name, address) in compiled_functions::addresses() {
            let address = LightUserData(address);
            compiled.set(name, address).expect("a field");
        }
        globals.set("compiled", compiled).expect("a global");
        let address = LightUserData(address.cast_mut().cast::<c_void>());
        globals.set("thread_context", address).expect("a global");
        let body = lua.load(format!("{DECLARATIONS}{text}")).into_function();
        let coroutine = Coroutine::new(lua, &context, body.expect("valid Lua"));
        (coroutine.expect("enough memory"), context)
    }

    #[test]
    fn requests_and_answers_pass_from_every_place_in_a_script() {
        let lua = state();
        let (mut coroutine, context) = start(
            &lua,
            "local code = 9007199254740000
             assert(query('first') == 3 + 4 * 2 ^ 40)
             assert(query('second') == -1)
             local number, state, message, is_ignored = failure()
             assert(number == 0 and state == '00000' and message == 'm' and is_ignored == false)
             local inner = coroutine.wrap(function() coroutine.yield(ask(code + 5)) end)
             assert(inner() == true);
             ('x'):gsub('.', function(text)
                local nothing, number, state = ask(code + 3, text)
                assert(nothing == nil and number == 0 and state == '00000')
             end)
             assert(select('#', ask(code + 13)) == 0)
             assert(not pcall(ask, 1) and not pcall(ask, {}))",
        );
        let failure = FailedAnswer::internal("m");
        for (answer, request, sql) in [
            (Answer::Done, Request::Query, "first"),
            (Answer::Reply(3, 4), Request::Query, "second"),
            (Answer::Failed(failure.clone()), Request::WaitForEvent, ""),
            (Answer::Flag(true), Request::Prepare, "x"),
            (Answer::Failed(failure), Request::KeepRunning, ""),
            (Answer::Done, Request::Finished, ""),
        ] {
            let resumed = context.run(None, answer, || coroutine.resume(&lua));
            resumed.expect("no error");
            assert_eq!(context.take_request(), request);
            // SAFETY: the coroutine is suspended.
            let current_sql = unsafe { context.sql() };
            assert!(sql.is_empty() || current_sql == sql.as_bytes());
        }
    }

    #[test]
    fn a_coroutine_is_abandoned_outside_of_compiled_code() {
        let lua = state();
        let text = "done = 0
             while true do
                if query('x') < 0 then failed = true failure() resumed = true end
                done = done + 1
             end";
        let (mut coroutine, context) = start(&lua, text);
        for _ in 0..1000 {
            let answer = Answer::Reply(1, 1);
            let resumed = context.run(None, answer, || coroutine.resume(&lua));
            resumed.expect("no error");
        }
        drop(coroutine);
        let global = |name: &str| lua.globals().get::<mlua::Value>(name).expect("a global");
        assert_eq!(global("done"), mlua::Value::Integer(999));
        assert_eq!(global("failed"), mlua::Value::Boolean(true));
        assert_eq!(global("resumed"), mlua::Value::Nil);
        // The state can be used and closed.
        assert_eq!(lua.load("return 1 + 1").eval::<i32>().expect("a number"), 2);
    }

    #[test]
    fn numbers_are_integers_if_they_have_no_fraction_and_fit() {
        for (number, value) in [
            (1.0, Value::Int(1)),
            (-7.0, Value::Int(-7)),
            (-0.0, Value::Int(0)),
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
        for (text, message) in [
            ("error('a problem', 0)", "runtime error: a problem"),
            ("error({})", "runtime error: a table as an error"),
            (
                "local text = 'x' while true do text = text .. text end",
                "not enough memory",
            ),
        ] {
            let lua = state();
            let (mut coroutine, context) = start(&lua, text);
            let resumed = context.run(None, Answer::Done, || coroutine.resume(&lua));
            let error = resumed.expect_err("an error").to_string();
            error.assert_ends_with(message);
        }
    }
}
