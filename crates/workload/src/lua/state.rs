//! One Lua state with sysbench's API, ready to read the script. The settings limit its memory.

use super::bundled;
use super::listener::Report;
use super::memory::LimitedLua;
use super::query_counts::OutsideCounters;
use super::script::LuaScriptError;
use super::settings::{LoadedFile, ScriptOptionValue, ScriptSettings};
use super::thread_context::ThreadContext;
use super::user_random::{UserRandom, function_addresses};
use super::{compiled_functions, thread_functions};
use crate::parallel::lock;
use mlua::chunk::ChunkMode;
use mlua::{Function, LightUserData, Lua, LuaString, Result, Table};
use prony_session::UserId;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The parts of the API that are written in Lua; each uses the previous ones.
const PRELUDE: [(&str, &str); 12] = [
    ("core", include_str!("prelude/core.lua")),
    ("blocking", include_str!("prelude/blocking.lua")),
    ("ffi", include_str!("prelude/ffi.lua")),
    ("calls", include_str!("prelude/calls.lua")),
    ("api", include_str!("prelude/api.lua")),
    ("sql", include_str!("prelude/sql.lua")),
    ("cmdline", include_str!("prelude/cmdline.lua")),
    ("events", include_str!("prelude/events.lua")),
    ("run", include_str!("prelude/run.lua")),
    ("legacy", include_str!("prelude/legacy.lua")),
    ("files", include_str!("prelude/files.lua")),
    ("confined", include_str!("prelude/confined.lua")),
];

/// A cache of compiled Lua chunks, shared by all states of a script.
#[derive(Default)]
pub struct ChunkCache {
    chunks: Mutex<HashMap<String, Arc<[u8]>>>,
}

impl ChunkCache {
    /// Loads a chunk as a function of this state. `name` is Lua's chunk name: `@` and a file, or `=` and a
    /// word.
    pub fn load(&self, lua: &Lua, name: &str, text: &[u8]) -> Result<Function> {
        let chunks = lock(&self.chunks);
        let cached = chunks.get(name).cloned();
        drop(chunks);
        if let Some(code) = cached {
            let chunk = lua.load(&code[..]).set_name(name);
            return chunk.set_mode(ChunkMode::Binary).into_function();
        }
        let function = lua.load(text).set_name(name).into_function()?;
        // `false` keeps debug information, because messages contain names and lines.
        let code = function.dump(false);
        let mut chunks = lock(&self.chunks);
        chunks.insert(name.to_owned(), code.into());
        Ok(function)
    }
}

pub struct ScriptContext {
    pub settings: ScriptSettings,
    pub chunks: ChunkCache,
    /// Names and paths of the files that the script has loaded.
    pub loaded: Mutex<Vec<(String, String)>>,
    /// Whether a state has connected; otherwise the script measures no database.
    pub has_connected: AtomicBool,
    /// Counts of queries made outside of threads.
    pub outside_counters: OutsideCounters,
}

pub struct StateOwner {
    pub id: UserId,
    /// Whether the script declares no options; `None` before it has been read.
    pub is_legacy: Option<bool>,
    /// Whether the state runs outside of the load, without an event loop.
    pub is_outside_load: bool,
}

pub struct ScriptState {
    pub lua: LimitedLua,
    pub core: Table,
    /// The context of the state's C functions. Declared after `lua`, so that it is dropped after the state.
    thread_context: Rc<ThreadContext>,
    /// The generator of the state's random functions. Declared after `lua` for the same reason.
    _random: Pinned<UserRandom>,
}

/// A value on the heap whose address a Lua state holds. This is a raw pointer, because moving a `Box` would assert
/// unique access and invalidate the state's pointer.
struct Pinned<T>(*mut T);

impl<T> Pinned<T> {
    fn new(value: T) -> Pinned<T> {
        Pinned(Box::into_raw(Box::new(value)))
    }
}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer comes from a `Box` and is freed only here. The state that holds its address
        // has already been dropped: `ScriptState` drops its fields in order, and these fields last.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl ScriptState {
    /// Creates a state with the API, without reading the script.
    pub fn new(context: &Arc<ScriptContext>, owner: &StateOwner) -> Result<ScriptState> {
        // Both are declared before the state, so that they outlive it if a later step fails.
        let random = Pinned::new(UserRandom::new(owner.id, context.settings.random));
        let thread_context = Rc::new(ThreadContext::default());
        // SAFETY: sysbench's scripts may use `ffi` and `debug`, with which a script can break memory safety; a user who
        // runs a script trusts it like any other program. Prony's own Lua code does not break memory safety.
        let lua = unsafe { LimitedLua::new(context.settings.memory_limit_bytes)? };
        // The garbage collector runs with LuaJIT's default settings, as in sysbench: it takes 0 to 6 % of the client's
        // instructions (`examples/lua_cost.rs`). A pause of 400 instead of 200 would save 2 % and double the memory.
        let core = lua.create_table()?;
        let host = create_host_table(&lua, context, owner)?;
        host.set("random_context", LightUserData(random.0.cast::<c_void>()))?;
        if !owner.is_outside_load {
            let address = Rc::as_ptr(&thread_context);
            host.set(
                "thread_context",
                LightUserData(address.cast_mut().cast::<c_void>()),
            )?;
            host.set(
                "row_cells",
                LightUserData(thread_context.cells().cast_mut().cast::<c_void>()),
            )?;
            host.set(
                "compiled_functions",
                address_table(&lua, &compiled_functions::addresses())?,
            )?;
            // SAFETY: the context is dropped after the state.
            for (name, function) in unsafe { thread_functions::create_functions(&lua, address)? } {
                host.set(name, function)?;
            }
        }
        for (name, text) in PRELUDE {
            if name == "legacy" && context.settings.is_v1_1
                || name == "confined" && !context.settings.is_confined()
            {
                continue;
            }
            let name = format!("=prony/{name}.lua");
            let chunk = context.chunks.load(&lua, &name, text.as_bytes())?;
            chunk.call::<()>((host.clone(), core.clone()))?;
        }
        Ok(ScriptState {
            lua,
            core,
            thread_context,
            _random: random,
        })
    }

    /// The context of the state's C functions.
    pub fn thread_context(&self) -> &Rc<ThreadContext> {
        &self.thread_context
    }

    /// Compiles the script; calling the returned function reads it.
    pub fn compile_script(&self, context: &ScriptContext) -> Result<Function> {
        let settings = &context.settings;
        let text = &settings.text;
        // Skip a `#!` line, which is not Lua, but keep its newline to preserve line numbers.
        let skipped_bytes = if text.starts_with(b"#") {
            text.iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(text.len())
        } else {
            0
        };
        let name = match settings.path.as_str() {
            "-" => "=stdin".to_owned(),
            path => format!("@{path}"),
        };
        context
            .chunks
            .load(&self.lua, &name, &text[skipped_bytes..])
    }

    pub fn core_function(&self, name: &str) -> Result<Function> {
        self.core.raw_get(name)
    }
}

/// The message of a Lua error, with file and line if the error has them.
pub fn error_message(error: &mlua::Error) -> String {
    match error {
        mlua::Error::RuntimeError(text) | mlua::Error::SyntaxError { message: text, .. } => text
            .split("\nstack traceback:")
            .next()
            .unwrap_or_default()
            .to_owned(),
        mlua::Error::MemoryError(_) => "not enough memory".to_owned(),
        mlua::Error::CallbackError { cause, .. } => error_message(cause),
        other => other.to_string(),
    }
}

/// Adds the memory limit to an out-of-memory message.
pub fn explain_memory_limit(reason: &str, settings: &ScriptSettings) -> String {
    if reason.ends_with("not enough memory") {
        format!(
            "{reason}: a state of the script may use {} MiB (PRONY_LUA_MEMORY)",
            settings.memory_limit_bytes >> 20
        )
    } else {
        reason.to_owned()
    }
}

pub fn load_error(error: &mlua::Error, settings: &ScriptSettings) -> LuaScriptError {
    LuaScriptError::Fatal(explain_memory_limit(&error_message(error), settings))
}

/// Creates the table through which the API's Lua code reaches Rust.
fn create_host_table(lua: &Lua, context: &Arc<ScriptContext>, owner: &StateOwner) -> Result<Table> {
    let settings = &context.settings;
    let host = lua.create_table()?;
    host.set("tid", owner.id.client)?;
    host.set("threads", settings.threads)?;
    host.set("driver", settings.driver.name())?;
    host.set("is_v1_1", settings.is_v1_1)?;
    host.set("no_driver", settings.missing_driver_message.as_deref())?;
    host.set("no_server", settings.missing_server_message.as_deref())?;
    host.set("version", settings.version.as_str())?;
    host.set("version_string", settings.version_string.as_str())?;
    host.set("command", settings.command.as_deref())?;
    host.set("script_path", settings.path.as_str())?;
    host.set("test_name", settings.name.as_str())?;
    host.set("path", settings.search_path.as_str())?;
    host.set("cpath", settings.c_search_path.as_deref())?;
    host.set("is_legacy", owner.is_legacy)?;
    host.set("is_outside_load", owner.is_outside_load)?;
    let argv = lua.create_table()?;
    for (index, argument) in settings.argv.iter().enumerate() {
        argv.raw_set(index, argument.as_str())?;
    }
    host.set("argv", argv)?;
    host.set("general_options", general_options(lua, settings)?)?;
    host.set("script_options", script_options(lua, settings)?)?;
    let addresses = address_table(lua, &function_addresses())?;
    host.set("random_functions", addresses)?;
    add_callbacks(lua, context, &host)?;
    Ok(host)
}

/// A table of the addresses of C functions, by name.
fn address_table(lua: &Lua, addresses: &[(&'static str, *mut c_void)]) -> Result<Table> {
    let table = lua.create_table()?;
    for (name, address) in addresses {
        table.raw_set(*name, LightUserData(*address))?;
    }
    Ok(table)
}

fn general_options(lua: &Lua, settings: &ScriptSettings) -> Result<Table> {
    let table = lua.create_table()?;
    for (name, value) in &settings.general_options {
        let name = name.as_str();
        match value {
            ScriptOptionValue::Switch(is_on) => table.raw_set(name, *is_on)?,
            ScriptOptionValue::Number(number) => table.raw_set(name, *number)?,
            ScriptOptionValue::Text(text) => table.raw_set(name, text.as_str())?,
            ScriptOptionValue::List(texts) => table.raw_set(name, texts.as_slice())?,
        }
    }
    Ok(table)
}

fn script_options(lua: &Lua, settings: &ScriptSettings) -> Result<Table> {
    let options = lua.create_table()?;
    for option in &settings.script_options {
        let table = lua.create_table()?;
        table.raw_set("name", option.name.as_str())?;
        table.raw_set("value", option.value.as_deref())?;
        table.raw_set("display_text", option.display_text.as_str())?;
        table.raw_set("from_file", option.is_from_file)?;
        options.raw_push(table)?;
    }
    Ok(options)
}

/// Adds the functions through which the API reports to the listener and loads bundled scripts.
fn add_callbacks(lua: &Lua, context: &Arc<ScriptContext>, host: &Table) -> Result<()> {
    let add_report = |name: &str, report: fn(Cow<'static, str>) -> Report<'static>| {
        let context = Arc::clone(context);
        let function = lua.create_function(move |_, text: LuaString| {
            let text = text.to_string_lossy().into();
            context.settings.listener.report(report(text));
            Ok(())
        })?;
        host.set(name, function)
    };
    // Output may be any bytes; messages are text.
    let output_context = Arc::clone(context);
    let output = lua.create_function(move |_, text: LuaString| {
        let bytes = text.as_bytes();
        let report = Report::Output(Cow::Borrowed(&bytes));
        output_context.settings.listener.report(report);
        Ok(())
    })?;
    host.set("output", output)?;
    add_report("server_unavailable", Report::ServerUnavailable)?;
    add_report("fatal", Report::Fatal)?;
    add_report("alert", Report::Alert)?;
    add_report("warn", Report::Warning)?;
    let connected_context = Arc::clone(context);
    let mark_connected = lua.create_function(move |_, ()| {
        connected_context
            .has_connected
            .store(true, Ordering::Relaxed);
        Ok(())
    })?;
    host.set("mark_connected", mark_connected)?;
    let bundled_context = Arc::clone(context);
    let load_bundled = move |lua: &Lua, name: LuaString| {
        let name = name.to_string_lossy();
        let load = |text: &str| {
            bundled_context
                .chunks
                .load(lua, &format!("@{name}.lua"), text.as_bytes())
        };
        bundled::script_text(&name).map(load).transpose()
    };
    host.set("load_bundled", lua.create_function(load_bundled)?)?;
    add_file_callbacks(lua, context, host)
}

/// Adds the function that records which files the script loads; for the script of another machine, the one that loads the
/// files that it was sent with.
fn add_file_callbacks(lua: &Lua, context: &Arc<ScriptContext>, host: &Table) -> Result<()> {
    let context = Arc::clone(context);
    if !context.settings.is_confined() {
        let loaded = lua.create_function(move |_, (name, path): (LuaString, LuaString)| {
            let (name, path) = (name.to_string_lossy(), path.to_string_lossy());
            let mut loaded = lock(&context.loaded);
            if !loaded.iter().any(|(known, _)| *known == name) {
                loaded.push((name, path));
            }
            Ok(())
        })?;
        return host.set("loaded", loaded);
    }
    let load_sent = move |lua: &Lua, name: LuaString| {
        let files = context.settings.files.iter().flatten();
        let mut files = files.filter(|file| file.name.as_bytes() == &*name.as_bytes());
        let load = |file: &LoadedFile| {
            let chunk = lua.load(&*file.text).set_name(format!("@{}", file.name));
            chunk.set_mode(ChunkMode::Text).into_function()
        };
        files.next().map(load).transpose()
    };
    host.set("load_sent", lua.create_function(load_sent)?)
}
