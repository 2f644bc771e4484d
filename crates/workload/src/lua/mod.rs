//! Scripts in Lua, as sysbench runs them: on LuaJIT, with sysbench's API.
//!
//! In: a script, the command line's [`Settings`]. Out: its options and commands, the program of its
//! threads, its reports. Must never: print; block a worker but where the script itself does; let a
//! script's mistake be more than an error of that script.
//!
//! A thread of sysbench is a virtual user: a state of Lua of its own, in which the script is read again,
//! and one coroutine. The script blocks in its own words (`con:query()`); underneath the coroutine yields
//! what it asks, and [`user`] resumes it with the answer of the loop. What scripts see is written in Lua
//! (`prelude/`), so that the compiler sees through it.

mod answer;
mod asked;
mod bundled;
mod compiled;
mod counted;
mod failed;
mod front;
mod help;
mod lines;
mod listener;
mod numbers;
mod path;
mod program;
mod report;
mod script;
mod settings;
mod state;
mod statements;
mod user;
mod values;
mod watchdog;
mod workload;

#[cfg(test)]
mod tests;

pub use counted::Outside;
pub use help::{Command, Refused};
pub use listener::{Listener, SqlFailure, Step};
pub use path::search_path;
pub use program::{LuaProgram, Task};
pub use report::{Figures, Reporter};
pub use script::Script;
pub use settings::{Given, Random, Settings, Value};
pub use workload::{LUA, LuaWorkload};
