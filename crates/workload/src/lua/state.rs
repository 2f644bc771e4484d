//! One state of Lua: the API, and the script ready to be read in it.
//!
//! In: settings, whose state it is. Out: a state and its table of Prony's own functions. Must never: give
//! a script more memory than the settings say.

use super::bundled;
use super::compiled::Compiled;
use super::counted::Tally;
use super::help::Refused;
use super::numbers::{Numbers, functions};
use super::settings::{Settings, Value};
use mlua::{Function, LightUserData, Lua, LuaString, Result, Table};
use prony_session::UserId;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The parts of the API, in the order in which they stand on each other.
const PRELUDE: [(&str, &str); 8] = [
    ("core", include_str!("prelude/core.lua")),
    ("ffi", include_str!("prelude/ffi.lua")),
    ("api", include_str!("prelude/api.lua")),
    ("sql", include_str!("prelude/sql.lua")),
    ("cmdline", include_str!("prelude/cmdline.lua")),
    ("run", include_str!("prelude/run.lua")),
    ("legacy", include_str!("prelude/legacy.lua")),
    ("files", include_str!("prelude/files.lua")),
];

/// What all states of a script share.
pub struct Shared {
    pub settings: Settings,
    pub compiled: Compiled,
    /// A state has connected: the script measures a database.
    pub has_connected: AtomicBool,
    /// What was asked outside of threads.
    pub outside: Tally,
}

/// Whose state it is.
pub struct Owner {
    pub id: UserId,
    /// Whether the script declares no options; none before it was read for the first time.
    pub is_legacy: Option<bool>,
    /// It is a state of the front's: there is no loop.
    pub is_front: bool,
}

/// One state of Lua.
pub struct State {
    pub lua: Lua,
    /// Prony's own functions in it.
    pub core: Table,
    /// What its random functions draw from; the state goes first.
    _numbers: Kept,
}

/// Numbers to which a state has an address: not a box, whose own claim to them would end the address's when it
/// is moved.
struct Kept(*mut Numbers);

impl Kept {
    fn new(numbers: Numbers) -> Kept {
        Kept(Box::into_raw(Box::new(numbers)))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: it is of a box, is freed here alone, and who has its address is gone: `State` drops its
        // fields in turn, and this one last.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl State {
    /// A state with the API, before the script is read in it.
    ///
    /// # Errors
    /// When its memory does not even hold the API.
    pub fn new(shared: &Arc<Shared>, owner: &Owner) -> Result<State> {
        // Before the state, so that it outlives that if this fails.
        let numbers = Kept::new(Numbers::new(owner.id, shared.settings.random));
        // SAFETY: scripts of sysbench may use `ffi` and `debug`; whoever runs one trusts it as any other
        // program. Prony's own code uses neither to break Lua's rules.
        let lua = unsafe { Lua::unsafe_new() };
        lua.set_memory_limit(shared.settings.memory_limit_bytes)?;
        let core = lua.create_table()?;
        let host = host(&lua, shared, owner)?;
        host.set("context", LightUserData(numbers.0.cast::<c_void>()))?;
        for (name, text) in PRELUDE {
            if name == "legacy" && shared.settings.newer {
                continue;
            }
            let name = format!("=prony/{name}.lua");
            let chunk = shared.compiled.load(&lua, &name, text.as_bytes())?;
            chunk.call::<()>((host.clone(), core.clone()))?;
        }
        Ok(State {
            lua,
            core,
            _numbers: numbers,
        })
    }

    /// The script as a function that reads it.
    ///
    /// # Errors
    /// It is not Lua.
    pub fn chunk(&self, shared: &Shared) -> Result<Function> {
        let settings = &shared.settings;
        let text = &settings.text;
        // A line that names the interpreter is none of Lua's; the line's number stays.
        let skipped = match text.starts_with(b"#") {
            true => text
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(text.len()),
            false => 0,
        };
        let name = match settings.path.as_str() {
            "-" => "=stdin".to_owned(),
            path => format!("@{path}"),
        };
        shared.compiled.load(&self.lua, &name, &text[skipped..])
    }

    /// One of Prony's own functions.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn own(&self, name: &str) -> Result<Function> {
        self.core.raw_get(name)
    }
}

/// What an error of Lua says, with file and line where it has them.
pub fn words(error: &mlua::Error) -> String {
    match error {
        mlua::Error::RuntimeError(text) | mlua::Error::SyntaxError { message: text, .. } => text
            .split("\nstack traceback:")
            .next()
            .unwrap_or_default()
            .to_owned(),
        mlua::Error::MemoryError(_) => "not enough memory".to_owned(),
        mlua::Error::CallbackError { cause, .. } => words(cause),
        other => other.to_string(),
    }
}

/// Says how much memory there is to whom it was not enough.
pub fn explained(reason: &str, settings: &Settings) -> String {
    match reason.ends_with("not enough memory") {
        true => format!(
            "{reason}: a state of the script may use {} MiB (PRONY_LUA_MEMORY)",
            settings.memory_limit_bytes >> 20
        ),
        false => reason.to_owned(),
    }
}

/// A script that cannot be read.
pub fn refused(error: &mlua::Error, settings: &Settings) -> Refused {
    Refused::Fatal(explained(&words(error), settings))
}

/// What the API finds of Rust's side.
fn host(lua: &Lua, shared: &Arc<Shared>, owner: &Owner) -> Result<Table> {
    let settings = &shared.settings;
    let host = lua.create_table()?;
    host.set("tid", owner.id.client)?;
    host.set("threads", settings.threads)?;
    host.set("driver", settings.driver.name())?;
    host.set("newer", settings.newer)?;
    host.set("no_driver", settings.no_driver.as_deref())?;
    host.set("no_server", settings.no_server.as_deref())?;
    host.set("version", settings.version.as_str())?;
    host.set("version_string", settings.version_string.as_str())?;
    host.set("command", settings.command.as_deref())?;
    host.set("script_path", settings.path.as_str())?;
    host.set("test_name", settings.path.rsplit('/').next())?;
    host.set("path", settings.search_path.as_str())?;
    host.set("cpath", settings.c_search_path.as_deref())?;
    host.set("is_legacy", owner.is_legacy)?;
    host.set("is_front", owner.is_front)?;
    let argv = lua.create_table()?;
    for (place, argument) in settings.argv.iter().enumerate() {
        argv.raw_set(place, argument.as_str())?;
    }
    host.set("argv", argv)?;
    host.set("general", general(lua, settings)?)?;
    host.set("given", given(lua, settings)?)?;
    let addresses = lua.create_table()?;
    for (name, address) in functions() {
        addresses.set(name, LightUserData(address))?;
    }
    host.set("functions", addresses)?;
    told(lua, shared, &host)?;
    Ok(host)
}

fn general(lua: &Lua, settings: &Settings) -> Result<Table> {
    let general = lua.create_table()?;
    for (name, value) in &settings.general {
        let name = name.as_str();
        match value {
            Value::Switch(on) => general.raw_set(name, *on)?,
            Value::Number(number) => general.raw_set(name, *number)?,
            Value::Text(text) => general.raw_set(name, text.as_str())?,
            Value::List(texts) => general.raw_set(name, texts.as_slice())?,
        }
    }
    Ok(general)
}

fn given(lua: &Lua, settings: &Settings) -> Result<Table> {
    let all = lua.create_table()?;
    for given in &settings.given {
        let one = lua.create_table()?;
        one.raw_set("name", given.name.as_str())?;
        one.raw_set("value", given.value.as_deref())?;
        one.raw_set("shown", given.shown.as_str())?;
        one.raw_set("from_file", given.from_file)?;
        all.raw_push(one)?;
    }
    Ok(all)
}

/// What the API tells.
fn told(lua: &Lua, shared: &Arc<Shared>, host: &Table) -> Result<()> {
    let tell = |name: &str, to: fn(&Shared, &str)| {
        let shared = Arc::clone(shared);
        let function = lua.create_function(move |_, text: LuaString| {
            to(&shared, &text.to_string_lossy());
            Ok(())
        })?;
        host.set(name, function)
    };
    let shown = Arc::clone(shared);
    let show = lua.create_function(move |_, text: LuaString| {
        shown.settings.listener.shown(&text.as_bytes());
        Ok(())
    })?;
    host.set("show", show)?;
    tell("unreachable", |shared, lines| {
        shared.settings.listener.unreachable(lines);
    })?;
    tell("fatal", |shared, text| shared.settings.listener.fatal(text))?;
    tell("alert", |shared, text| shared.settings.listener.alert(text))?;
    tell("warn", |shared, text| {
        shared.settings.listener.warning(text)
    })?;
    let connected = Arc::clone(shared);
    let has_connected = lua.create_function(move |_, ()| {
        connected.has_connected.store(true, Ordering::Relaxed);
        Ok(())
    })?;
    host.set("has_connected", has_connected)?;
    let all = Arc::clone(shared);
    let bundled = move |lua: &Lua, name: LuaString| {
        let name = name.to_string_lossy();
        let load = |text: &str| {
            all.compiled
                .load(lua, &format!("@{name}.lua"), text.as_bytes())
        };
        bundled::text(&name).map(load).transpose()
    };
    host.set("bundled", lua.create_function(bundled)?)
}
