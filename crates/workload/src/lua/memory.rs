//! The memory of a Lua state: LuaJIT's own allocator, with a limit. It keeps the objects of a state together, where
//! `mlua`'s allocator spreads the objects of all states over the program's heap: with 64 states that run in turn,
//! each event would find fewer of its objects in the caches, and each string would pay for the heap's locks.

use mlua::{Lua, Result, StdLib, ffi};
use std::ffi::c_void;
use std::ops::Deref;

/// A Lua state that may use a limited amount of memory. It is closed when this is dropped; values of the state that
/// live longer can no longer be used.
pub struct LimitedLua {
    lua: &'static Lua,
    state: *mut ffi::lua_State,
    /// From a `Box`; freed after the state is closed. A raw pointer, because the state holds this address.
    allocator: *mut LimitedAllocator,
}

/// LuaJIT's allocator, and how much it may still hand out. Sizes are in bytes.
struct LimitedAllocator {
    allocate: ffi::lua_Alloc,
    /// The first argument of `allocate`.
    data: *mut c_void,
    used: usize,
    limit: usize,
}

impl LimitedLua {
    /// Opens a state with all standard libraries, `ffi` and `debug` included.
    ///
    /// # Safety
    /// What runs in the state can break memory safety through `ffi` and `debug`.
    pub unsafe fn new(limit_bytes: usize) -> Result<LimitedLua> {
        // SAFETY: a new state, which only this value holds. `lua` is handed out only for as long as `self` lives, and
        // the state's own reference counts keep it alive until the state is closed.
        unsafe {
            let state = ffi::luaL_newstate();
            assert!(!state.is_null(), "not enough memory for a Lua state");
            let mut data = std::ptr::null_mut();
            let allocate = ffi::lua_getallocf(state, &mut data);
            let kib = ffi::lua_gc(state, ffi::LUA_GCCOUNT, 0);
            let allocator = Box::into_raw(Box::new(LimitedAllocator {
                allocate,
                data,
                used: (usize::try_from(kib).unwrap_or_default() + 1) << 10,
                limit: usize::MAX,
            }));
            ffi::lua_setallocf(state, limited_allocate, allocator.cast());
            let lua = Lua::get_or_init_from_ptr(state);
            let limited = LimitedLua {
                lua,
                state,
                allocator,
            };
            ffi::luaL_requiref(state, c"_G".as_ptr(), ffi::luaopen_base, 1);
            ffi::lua_settop(state, 0);
            lua.load_std_libs(StdLib::ALL)?;
            (*allocator).limit = limit_bytes;
            Ok(limited)
        }
    }
}

impl Deref for LimitedLua {
    type Target = Lua;

    fn deref(&self) -> &Lua {
        self.lua
    }
}

impl Drop for LimitedLua {
    fn drop(&mut self) {
        // SAFETY: the state is open, and nothing uses it from here on. `lua_close` gives the allocator's own memory
        // back only if it finds LuaJIT's allocator in its place.
        unsafe {
            let allocator = Box::from_raw(self.allocator);
            ffi::lua_setallocf(self.state, allocator.allocate, allocator.data);
            ffi::lua_close(self.state);
        }
    }
}

/// Hands a request of Lua to LuaJIT's allocator, unless the state would then use more than its limit.
///
/// # Safety
/// As `lua_Alloc`; `allocator` points to the state's [`LimitedAllocator`].
unsafe extern "C" fn limited_allocate(
    allocator: *mut c_void,
    memory: *mut c_void,
    old_bytes: usize,
    new_bytes: usize,
) -> *mut c_void {
    // SAFETY: see above; only the state's thread calls this, and never from inside of itself.
    let allocator = unsafe { &mut *allocator.cast::<LimitedAllocator>() };
    let used = (allocator.used - old_bytes).saturating_add(new_bytes);
    if used > allocator.limit && new_bytes > old_bytes {
        return std::ptr::null_mut();
    }
    // SAFETY: the arguments are Lua's.
    let memory = unsafe { (allocator.allocate)(allocator.data, memory, old_bytes, new_bytes) };
    if !memory.is_null() || new_bytes == 0 {
        allocator.used = used;
    }
    memory
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    fn open(limit_bytes: usize) -> LimitedLua {
        // SAFETY: the tests' own code does not use `ffi` or `debug`.
        unsafe { LimitedLua::new(limit_bytes) }.expect("enough memory")
    }

    #[test]
    fn a_state_grows_up_to_its_limit_and_can_be_used_after_an_error() {
        let lua = open(16 << 20);
        let grow = |bytes: usize| {
            let chunk = lua.load(format!("return #string.rep('x', {bytes})"));
            chunk.eval::<usize>()
        };
        assert_eq!(grow(1 << 20).expect("below the limit"), 1 << 20);
        for _ in 0..100 {
            let error = grow(32 << 20).expect_err("above the limit");
            error.to_string().assert_contains("not enough memory");
        }
        // What was refused or freed is not counted.
        for _ in 0..100 {
            assert_eq!(grow(1 << 20).expect("below the limit"), 1 << 20);
        }
        let other = open(128 << 20);
        let text: mlua::LuaString = other
            .load("return string.rep('x', 33554432)")
            .eval()
            .expect("below");
        assert_eq!(text.as_bytes().len(), 32 << 20);
    }

    #[test]
    fn values_that_outlive_their_state_are_dropped_without_it() {
        let lua = open(2 << 20);
        let function = lua.load("return 1").into_function().expect("valid Lua");
        let table = lua.create_table().expect("enough memory");
        drop(lua);
        drop((function, table));
    }

    #[test]
    fn counted_bytes_are_those_of_the_state() {
        let lua = open(64 << 20);
        // SAFETY: the state is open.
        let counted = || unsafe { (*lua.allocator).used };
        lua.load("big = {} for i = 1, 100000 do big[i] = tostring(i) end")
            .exec()
            .expect("below the limit");
        lua.gc_collect().expect("collects");
        assert!(counted().abs_diff(lua.used_memory()) < 4096);
        lua.load("big = nil").exec().expect("valid Lua");
        lua.gc_collect().expect("collects");
        assert!(counted().abs_diff(lua.used_memory()) < 4096);
    }
}
