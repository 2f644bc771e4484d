//! What a script is run with.
//!
//! In: nothing. Out: plain data. Must never: be shown as a whole: the general options hold passwords,
//! because scripts may read them.

use super::listener::Listener;
use crate::oltp::distribution::Distribution;
use crate::sysbench::{Driver, Ignored};
use prony_plan::QueryMode;
use prony_server::Target;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Memory that one state of a script may use, where nothing else is said, bytes.
pub const MEMORY_LIMIT_BYTES: usize = 1 << 30;
/// How long a script may run without asking for anything before it is taken to be stuck, seconds.
pub const PATIENCE_S: u64 = 60;

/// The value of an option, as scripts see it.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// A switch.
    Switch(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// Texts.
    List(Vec<String>),
}

/// An option that is not a general one: the script says whether it knows it.
#[derive(Clone)]
pub struct Given {
    /// With `_`.
    pub name: String,
    /// None without `=`.
    pub value: Option<String>,
    /// As it was written, for messages; without what may be a password.
    pub shown: String,
    /// From a configuration file: unknown ones are only warned of there.
    pub from_file: bool,
}

/// How numbers are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Random {
    /// What `sysbench.rand.default` draws.
    pub default: Distribution,
    /// Uniform numbers in the mean of a gaussian one, at least 1.
    pub iterations: u32,
    /// Size of the middle part of `special`, per cent.
    pub part_pct: u32,
    /// Draws out of it, per cent.
    pub share_pct: u32,
    /// Of `pareto`, above 0 and below 1.
    pub pareto_h: f64,
    /// Of `zipfian`, above 0.
    pub zipfian_exponent: f64,
}

/// What a script is run with. Not to be shown: passwords are among the general options.
#[derive(Clone)]
pub struct Settings {
    /// The text of the script.
    pub text: Vec<u8>,
    /// As the command line names it; messages begin with it.
    pub path: String,
    /// The API of 1.1 in place of 1.0.
    pub newer: bool,
    /// The version that scripts see, such as `1.0.20`.
    pub version: String,
    /// The same in sysbench's own line.
    pub version_string: String,
    /// The program's name, then its arguments; without passwords.
    pub argv: Vec<String>,
    /// The command line's second word.
    pub command: Option<String>,
    /// The general options by name with `_`.
    pub general: Vec<(String, Value)>,
    /// All other options.
    pub given: Vec<Given>,
    /// Threads, at least 1.
    pub threads: u32,
    /// The sort of server.
    pub driver: Driver,
    /// The server, for what a script asks outside of threads: `init()`, `done()`. None: it must not.
    pub server: Option<Target>,
    /// How that one's statements are sent; those of threads are sent as the plan says.
    pub mode: QueryMode,
    /// Why there is no driver, or no server, as lines of the log: said to a script that wants one.
    pub no_driver: Option<String>,
    /// The same of the server.
    pub no_server: Option<String>,
    /// Errors after which an event begins anew.
    pub ignored: Ignored,
    /// How numbers are drawn.
    pub random: Random,
    /// Where `require` looks, as Lua's `package.path`; see [`super::search_path`].
    pub search_path: String,
    /// The same for modules in C; Lua's default where there is none.
    pub c_search_path: Option<String>,
    /// Memory that one state may use, bytes.
    pub memory_limit_bytes: usize,
    /// How long a script may run without asking for anything before it is taken to be stuck, seconds.
    pub patience_s: u64,
    /// Set from outside when all is to end at once: by a signal, or because a function gave up. No script
    /// goes on then, and one that runs on is stopped soon.
    pub end: Arc<AtomicBool>,
    /// Who hears what scripts write and what goes wrong.
    pub listener: Arc<dyn Listener>,
}

impl Settings {
    /// Whether all is to end at once.
    pub(super) fn is_over(&self) -> bool {
        self.end.load(Ordering::Relaxed)
    }

    /// The default limit of memory, bytes.
    pub const MEMORY_LIMIT_BYTES: usize = MEMORY_LIMIT_BYTES;
    /// The default patience, seconds.
    pub const PATIENCE_S: u64 = PATIENCE_S;
}
