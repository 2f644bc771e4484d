//! The settings of a script. Never print them completely: the general options include passwords, because
//! scripts may read them.

use super::listener::{Listener, Nobody};
use crate::oltp::distribution::Distribution;
use crate::sysbench::{Driver, IgnoredErrors};
use prony_plan::QueryMode;
use prony_server::Target;
use prony_session::{READ_ROW_BYTES_MAX, UNREAD_ROW_BYTES_MAX};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Default memory limit of one Lua state, in bytes.
pub const DEFAULT_MEMORY_LIMIT_BYTES: usize = 1 << 30;
/// Default maximum time between two requests of a script, in seconds.
pub const DEFAULT_MAX_QUERY_GAP_S: u64 = 60;

#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub enum ScriptOptionValue {
    /// A boolean option.
    Switch(bool),
    /// A numeric option.
    Number(f64),
    Text(String),
    /// An option with several values.
    List(Vec<String>),
}

/// An option that is not one of sysbench's general options; the script may declare it.
#[derive(Clone, Serialize, Deserialize)]
pub struct ScriptOption {
    /// Name, with `_` instead of `-`.
    pub name: String,
    /// `None` if the option has no `=`.
    pub value: Option<String>,
    /// The option as written, for messages; omits a value that may be a password.
    pub display_text: String,
    /// Whether the option comes from a configuration file. If no script declares such an option, only a
    /// warning is printed.
    pub is_from_file: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RandomSettings {
    /// The distribution of `sysbench.rand.default`.
    pub default_distribution: Distribution,
    /// Number of uniform numbers averaged for `gaussian` and `special`, at least 1.
    pub iterations: u32,
    /// Size of the middle part of `special`, as a percentage of the range.
    pub spec_pct: u32,
    /// Percentage of draws from the middle part of `special`.
    pub spec_res: u32,
    /// Parameter of `pareto`, above 0 and below 1.
    pub pareto_h: f64,
    /// Exponent of `zipfian`, above 0.
    pub zipfian_exponent: f64,
}

impl Default for RandomSettings {
    fn default() -> RandomSettings {
        let (iterations, spec_pct, spec_res) = (12, 1, 75);
        RandomSettings {
            default_distribution: Distribution::Special {
                iterations,
                spec_pct,
                spec_res,
            },
            iterations,
            spec_pct,
            spec_res,
            pareto_h: 0.2,
            zipfian_exponent: 0.8,
        }
    }
}

/// A file that a script has loaded.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedFile {
    /// The name of the module, or the path that the script gave.
    pub name: String,
    pub text: Vec<u8>,
}

/// The settings of a script. Do not print them: the general options include passwords. Their serialised form is for other
/// machines, see [`super::LuaScript::settings_for_agents`].
#[derive(Clone, Serialize, Deserialize)]
pub struct ScriptSettings {
    pub text: Vec<u8>,
    /// The script's file; messages begin with it.
    pub path: String,
    /// The last part of the script's name on the command line.
    pub name: String,
    /// Whether to provide the API of sysbench 1.1 instead of 1.0.
    pub is_v1_1: bool,
    /// The version in `sysbench.version`, such as `1.0.20`.
    pub version: String,
    /// The version in `sysbench.version_string`, such as `sysbench 1.0.20`.
    pub version_string: String,
    /// The program's name, then its arguments, without passwords.
    pub argv: Vec<String>,
    /// The command, such as `run`: the second word of the command line.
    pub command: Option<String>,
    /// The general options, by name with `_` instead of `-`.
    pub general_options: Vec<(String, ScriptOptionValue)>,
    /// All other options of the command line.
    pub script_options: Vec<ScriptOption>,
    /// Number of threads, at least 1.
    pub threads: u32,
    pub driver: Driver,
    /// The server for queries made outside of threads, as in `init()` and `done()`; `None` forbids them.
    #[serde(skip)]
    pub server: Option<Target>,
    /// The protocol mode of queries; the plan of the threads has the same mode.
    pub query_mode: QueryMode,
    /// Log lines that explain why there is no driver; `None` if there is one.
    pub missing_driver_message: Option<String>,
    /// Log lines that explain why there is no server; `None` if there is one.
    pub missing_server_message: Option<String>,
    /// Errors after which an event is restarted.
    pub ignored_errors: IgnoredErrors,
    pub random: RandomSettings,
    /// Where `require` looks, in the form of Lua's `package.path`; see [`super::search_path`].
    pub search_path: String,
    /// The search path for modules in C, as Lua's `package.cpath`; `None` for Lua's default.
    pub c_search_path: Option<String>,
    /// Memory limit of one Lua state, in bytes.
    pub memory_limit_bytes: usize,
    /// Maximum time between two requests of a script, in seconds. Outside of threads, also the maximum time
    /// of the attempts to reconnect.
    pub max_query_gap_s: u64,
    /// The only files that the script may load. It is then another machine's, and gets no files, commands or C functions
    /// of this one (`prelude/confined.lua`).
    pub files: Option<Vec<LoadedFile>>,
    /// Set by the caller when all scripts must end: after a signal, or because a function failed. From then on no
    /// script is resumed, and the watchdog interrupts a running one.
    #[serde(skip)]
    pub scripts_must_end: Arc<AtomicBool>,
    /// Receives the scripts' output and errors.
    #[serde(skip, default = "nobody")]
    pub listener: Arc<dyn Listener>,
}

/// The listener of settings that have just been received.
fn nobody() -> Arc<dyn Listener> {
    Arc::new(Nobody)
}

impl ScriptSettings {
    /// The command `run` of a script by sysbench 1.0.20, in one thread, without an option and without a server for queries
    /// outside of threads.
    pub fn new(
        path: &str,
        text: Vec<u8>,
        driver: Driver,
        listener: Arc<dyn Listener>,
    ) -> ScriptSettings {
        ScriptSettings {
            text,
            path: path.to_owned(),
            name: path.rsplit('/').next().unwrap_or_default().to_owned(),
            is_v1_1: false,
            version: "1.0.20".to_owned(),
            version_string: "sysbench 1.0.20".to_owned(),
            argv: ["sysbench", path, "run"].map(str::to_owned).to_vec(),
            command: Some("run".to_owned()),
            general_options: vec![("threads".to_owned(), ScriptOptionValue::Number(1.0))],
            script_options: Vec::new(),
            threads: 1,
            driver,
            server: None,
            query_mode: QueryMode::Prepared,
            missing_driver_message: None,
            missing_server_message: None,
            ignored_errors: IgnoredErrors::Codes(Vec::new()),
            random: RandomSettings::default(),
            search_path: super::search_path(None, None),
            c_search_path: None,
            memory_limit_bytes: DEFAULT_MEMORY_LIMIT_BYTES,
            max_query_gap_s: DEFAULT_MAX_QUERY_GAP_S,
            files: None,
            scripts_must_end: Arc::default(),
            listener,
        }
    }

    /// Whether the script is another machine's.
    pub(super) fn is_confined(&self) -> bool {
        self.files.is_some()
    }

    pub(super) fn must_scripts_end(&self) -> bool {
        self.scripts_must_end.load(Ordering::Relaxed)
    }

    /// The most bytes of a result's rows that a connection keeps: few if nothing in the text reads rows or runs other code.
    pub(super) fn row_bytes_max(&self) -> usize {
        const READING: [&[u8]; 5] = [b"fetch", b"query_row", b"require", b"dofile", b"load"];
        let reads = |name: &&[u8]| self.text.windows(name.len()).any(|word| word == *name);
        if READING.iter().any(reads) { READ_ROW_BYTES_MAX } else { UNREAD_ROW_BYTES_MAX }
    }

    pub const DEFAULT_MEMORY_LIMIT_BYTES: usize = DEFAULT_MEMORY_LIMIT_BYTES;
    /// The default maximum time between two requests, in seconds.
    pub const DEFAULT_MAX_QUERY_GAP_S: u64 = DEFAULT_MAX_QUERY_GAP_S;
}
