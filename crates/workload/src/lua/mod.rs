//! Lua scripts, as sysbench runs them: on LuaJIT, with sysbench's API.
//!
//! Takes a script and the [`ScriptSettings`] of the command line; provides the script's options and commands,
//! the program of its threads, and its reports. Never prints, and never blocks a worker unless the script does.
//! A mistake in a script can only make that script fail, not Prony.
//!
//! A sysbench thread is a virtual user with a separate Lua state, in which the script is read again, and one
//! coroutine, which has a stack of its own. The script makes blocking calls (`con:query()`): a C function suspends the
//! coroutine with a request, and [`user`] resumes it with the answer of the event loop. The API for scripts is written in
//! Lua (`prelude/`) and makes the frequent requests through `ffi` ([`compiled_functions`]), so that LuaJIT can compile
//! a loop of events as one piece of code.

mod answer;
mod bundled;
mod compiled_functions;
mod connections;
mod coroutine;
mod listener;
mod memory;
mod outside;
mod program;
mod query_counts;
mod report;
mod request;
mod script;
mod settings;
mod shell_command;
mod sql_errors;
mod state;
mod statements;
mod thread_context;
mod thread_functions;
mod user;
mod user_random;
mod values;
mod watchdog;
mod workload;

#[cfg(test)]
mod tests;

pub use bundled::{script_text as bundled_script, search_path};
pub use listener::{Listener, Report, SqlFailure, SqlOperation};
pub use program::{LuaProgram, ThreadTask};
pub use report::{CUMULATIVE_HOOK, INTERMEDIATE_HOOK, ReportFigures, Reporter};
pub use script::{Command, LuaScript, LuaScriptError};
pub use settings::{LoadedFile, RandomSettings, ScriptOption, ScriptOptionValue, ScriptSettings};
pub use workload::{LUA, LuaWorkload};
