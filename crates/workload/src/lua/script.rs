//! A script outside of the load, in a separate Lua state: its commands, its help, `init()`, `done()`, and the
//! program of its threads. Never runs an event.

use super::program::{LuaProgram, ThreadTask};
use super::query_counts::OutsideCounters;
use super::report::{self, ReportFigures, Reporter};
use super::settings::{LoadedFile, ScriptOptionValue, ScriptSettings};
use super::state::{
    ChunkCache, ScriptContext, ScriptState, StateOwner, error_message, explain_memory_limit,
    load_error,
};
use super::watchdog::{Heartbeat, Watchdog};
use crate::parallel::lock;
use mlua::{Function, IntoLua, MultiValue};
use prony_session::{QueryCounts, UserId};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The command that the second word of a command line selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Run,
    /// Run a command or function of the script once.
    Once,
    /// Run a command of the script in every thread.
    Parallel,
    /// Print the script's help.
    Help,
    /// A command that sysbench knows, but the script does not define.
    Missing,
    /// A command that neither sysbench nor the script knows.
    Unknown,
}

/// An error that prevents a script from being read or run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LuaScriptError {
    /// The command line is invalid; the text is for standard error and ends in a newline.
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Fatal(String),
    /// A function of the script failed.
    #[error("`{function}' function failed: {reason}")]
    Function {
        function: String,
        /// The reason, with file and line if they are known.
        reason: String,
    },
}

/// A script that has been read, with the state in which `init()`, `done()` and `help()` run.
pub struct LuaScript {
    main_state: OutsideState,
    is_legacy: bool,
}

/// A Lua state outside of the load, with its context and watchdog.
pub(super) struct OutsideState {
    pub context: Arc<ScriptContext>,
    pub state: ScriptState,
    heartbeat: Arc<Heartbeat>,
    /// Keeps the watchdog running as long as the state exists.
    _watchdog: Arc<Watchdog>,
}

impl OutsideState {
    /// Creates a state and reads the script in it. `tid` is the thread number that the script sees.
    pub fn read(
        context: Arc<ScriptContext>,
        is_legacy: Option<bool>,
        tid: u32,
    ) -> Result<OutsideState, LuaScriptError> {
        let threads = context.settings.threads;
        let id = UserId {
            client: tid,
            clients: threads,
            worker: 0,
            workers: 1,
            seed: 0,
        };
        let owner = StateOwner {
            id,
            is_legacy,
            is_outside_load: true,
        };
        let to_script_error = |error: mlua::Error| load_error(&error, &context.settings);
        let state = ScriptState::new(&context, &owner).map_err(to_script_error)?;
        let watchdog = Watchdog::start(&context);
        let heartbeat = watchdog.register_thread();
        super::outside::install_answer_function(&state, &context, &heartbeat)
            .map_err(to_script_error)?;
        let chunk = state.compile_script(&context).map_err(to_script_error)?;
        let outside_state = OutsideState {
            heartbeat,
            _watchdog: watchdog,
            state,
            context,
        };
        outside_state.call("read_script", chunk)?;
        Ok(outside_state)
    }

    /// Calls one of Prony's Lua functions in protected mode and returns its results.
    pub fn call(&self, name: &str, argument: impl IntoLua) -> Result<MultiValue, LuaScriptError> {
        let lua = &self.state.lua;
        let settings = &self.context.settings;
        let call = || {
            let protected_call = self.state.core_function("protected_call")?;
            let function = self.state.core_function(name)?;
            let argument = argument.into_lua(lua)?;
            self.heartbeat.mark_running(lua.state());
            let result = protected_call.call::<MultiValue>((function, argument));
            self.heartbeat.mark_stopped();
            result
        };
        let mut values = call().map_err(|error| load_error(&error, settings))?;
        let succeeded = values
            .pop_front()
            .is_some_and(|ok| ok.as_boolean() == Some(true));
        if succeeded {
            return Ok(values);
        }
        let mut text = || {
            let value = values.pop_front();
            let text = value.as_ref().and_then(mlua::Value::as_string);
            text.map(|text| text.to_string_lossy()).unwrap_or_default()
        };
        let (failed_function, message) = (text(), text());
        let message = explain_memory_limit(&message, settings);
        Err(match failed_function.as_str() {
            "" => LuaScriptError::Fatal(message),
            "usage" => LuaScriptError::Usage(message),
            _ => LuaScriptError::Function {
                function: failed_function,
                reason: message,
            },
        })
    }

    fn global(&self, name: &str) -> Option<Function> {
        self.state.lua.globals().get(name).ok()
    }
}

impl LuaScript {
    /// Reads a script: runs its top level, and checks the command line's options against the declared ones.
    pub fn open(settings: ScriptSettings) -> Result<LuaScript, LuaScriptError> {
        if settings.is_confined() && settings.text.starts_with(b"\x1b") {
            let problem = "agents load no compiled scripts, which can break memory safety";
            return Err(LuaScriptError::Fatal(problem.to_owned()));
        }
        let context = Arc::new(ScriptContext {
            settings,
            chunks: ChunkCache::default(),
            loaded: Mutex::default(),
            has_connected: AtomicBool::new(false),
            outside_counters: OutsideCounters::default(),
        });
        let main_state = OutsideState::read(context, None, 0)?;
        let declares_options = main_state.call("declares_options", mlua::Nil)?;
        let is_legacy = declares_options.front().and_then(mlua::Value::as_boolean) == Some(false);
        Ok(LuaScript {
            main_state,
            is_legacy,
        })
    }

    /// Returns the command that the second word of the command line selects in this script.
    pub fn classify_command(&self, word: &str) -> Result<Command, LuaScriptError> {
        let values = self.main_state.call("classify_command", word)?;
        let class = values.front().and_then(mlua::Value::as_string);
        let class = class.map(|text| text.to_string_lossy());
        Ok(match class.unwrap_or_default().as_str() {
            "run" => Command::Run,
            "command" => Command::Once,
            "parallel" => Command::Parallel,
            "help" => Command::Help,
            "missing" => Command::Missing,
            _ => Command::Unknown,
        })
    }

    pub fn print_help(&self) -> Result<(), LuaScriptError> {
        self.main_state.call("print_help", mlua::Nil).map(drop)
    }

    /// Runs the script's `init()`, before the threads of a run begin.
    pub fn run_init(&self) -> Result<(), LuaScriptError> {
        self.main_state.call("call_global", "init").map(drop)
    }

    /// Runs the script's `done()`, after its threads have ended.
    pub fn run_done(&self) -> Result<(), LuaScriptError> {
        self.main_state.call("call_global", "done").map(drop)
    }

    /// Runs a command that is not parallel in the state in which `init()` runs, as sysbench does. Returns whether the
    /// command succeeded.
    pub fn run_command_once(&self, word: &str) -> Result<bool, LuaScriptError> {
        let result = self.main_state.call("run_command_once", word)?;
        Ok(result.front().and_then(mlua::Value::as_boolean) != Some(false))
    }

    /// Whether the script may block its OS thread, because it or a module that it loads communicates with other
    /// processes, is a C module, or declares C functions.
    pub fn may_block(&self) -> Result<bool, LuaScriptError> {
        let lua = &self.main_state.state.lua;
        let text = lua.create_string(&self.main_state.context.settings.text);
        let text = text.map_err(|error| script_error(&error))?;
        let result = self.main_state.call("may_block", text)?;
        Ok(result.front().and_then(mlua::Value::as_boolean) == Some(true))
    }

    pub fn program(&self, task: ThreadTask) -> Result<LuaProgram, LuaScriptError> {
        let is_run = task == ThreadTask::Run;
        if is_run && self.main_state.global("event").is_none() && !self.has_main_loop()? {
            let name = &self.main_state.context.settings.name;
            return Err(LuaScriptError::Fatal(format!(
                "cannot find the event() function in {name}"
            )));
        }
        let context = Arc::clone(&self.main_state.context);
        Ok(LuaProgram::new(context, task, self.is_legacy))
    }

    /// Whether the script defines its own `thread_run`.
    fn has_main_loop(&self) -> Result<bool, LuaScriptError> {
        let values = self.main_state.call("has_main_loop", mlua::Nil)?;
        Ok(values.front().and_then(mlua::Value::as_boolean) == Some(true))
    }

    /// Creates a separate state for the script's intermediate reports or its checkpoints, as sysbench does; `None` if the
    /// script does not define the hook.
    pub fn create_reporter(&self, hook: &'static str) -> Result<Option<Reporter>, LuaScriptError> {
        let context = Arc::clone(&self.main_state.context);
        let tid = context.settings.threads;
        let state = OutsideState::read(context, Some(self.is_legacy), tid)?;
        let has_hook = report::has_hook(&state, hook)?;
        Ok(has_hook.then_some(Reporter { state, hook }))
    }

    pub fn has_final_report(&self) -> Result<bool, LuaScriptError> {
        report::has_hook(&self.main_state, report::CUMULATIVE_HOOK)
    }

    /// Prints the final report, in the state in which `init()` runs.
    pub fn print_final_report(&self, figures: &ReportFigures) -> Result<(), LuaScriptError> {
        report::call_hook(&self.main_state, report::CUMULATIVE_HOOK, figures)
    }

    /// Prints the end of the final report: the closing bracket, if it is a JSON list. Call it after the
    /// report.
    pub fn end_reports(&self) -> Result<(), LuaScriptError> {
        report::end_reports(&self.main_state)
    }

    /// Returns the queries made outside of threads since the last call.
    pub fn take_outside_queries(&self) -> QueryCounts {
        self.main_state.context.outside_counters.take()
    }

    /// Whether a thread has connected; a script that never connects measures no database.
    pub fn has_connected(&self) -> bool {
        let has_connected = &self.main_state.context.has_connected;
        has_connected.load(Ordering::Relaxed)
    }

    /// Records that a thread on another machine has connected.
    pub fn mark_connected(&self) {
        let has_connected = &self.main_state.context.has_connected;
        has_connected.store(true, Ordering::Relaxed);
    }

    /// The settings for other machines that run the threads: without passwords, and with the files that the script has
    /// loaded so far.
    pub fn settings_for_agents(&self) -> std::io::Result<ScriptSettings> {
        let context = &self.main_state.context;
        let loaded = lock(&context.loaded);
        let files = loaded.iter().map(|(name, path)| {
            let name = name.clone();
            std::fs::read(path).map(|text| LoadedFile { name, text })
        });
        let mut settings = context.settings.clone();
        settings.files = Some(files.collect::<std::io::Result<_>>()?);
        for (name, value) in &mut settings.general_options {
            if name.ends_with("_password") {
                *value = ScriptOptionValue::Text(String::new());
            }
        }
        Ok(settings)
    }
}

pub(super) fn script_error(error: &mlua::Error) -> LuaScriptError {
    LuaScriptError::Fatal(error_message(error))
}
