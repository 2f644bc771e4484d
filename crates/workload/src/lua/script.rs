//! A script as the front sees it: read once, in a state of its own.
//!
//! In: settings. Out: what its commands are, its help, the program of its threads. Must never: run an
//! event.

use super::compiled::Compiled;
use super::counted::{Outside, Tally};
use super::help::{Command, Refused};
use super::program::{LuaProgram, Task};
use super::report::Reporter;
use super::settings::Settings;
use super::state::{Owner, Shared, State, explained, refused, words};
use super::watchdog::{Beat, Watch};
use mlua::{Function, IntoLua, MultiValue};
use prony_session::UserId;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A script that was read: the state in which `init()`, `done()` and `help()` run.
pub struct Script {
    front: Front,
    is_legacy: bool,
}

/// A state of the front, with what it needs to be called.
pub(super) struct Front {
    pub shared: Arc<Shared>,
    pub state: State,
    beat: Arc<Beat>,
    /// Its watchdog lives as long as it.
    _watch: Arc<Watch>,
}

impl Front {
    /// A state in which the script was read.
    pub fn read(shared: Arc<Shared>, is_legacy: Option<bool>) -> Result<Front, Refused> {
        let threads = shared.settings.threads;
        let id = UserId {
            client: 0,
            clients: threads,
            worker: 0,
            workers: 1,
            seed: 0,
        };
        let owner = Owner {
            id,
            is_legacy,
            is_front: true,
        };
        let wrong = |error: mlua::Error| refused(&error, &shared.settings);
        let state = State::new(&shared, &owner).map_err(wrong)?;
        let watch = Watch::start(&shared);
        let beat = watch.beat();
        super::front::answers(&state, &shared, &beat).map_err(wrong)?;
        let chunk = state.chunk(&shared).map_err(wrong)?;
        let front = Front {
            beat,
            _watch: watch,
            state,
            shared,
        };
        front.call("read", chunk)?;
        Ok(front)
    }

    /// Calls one of Prony's own functions; gives what it returns.
    pub fn call(&self, name: &str, argument: impl IntoLua) -> Result<MultiValue, Refused> {
        let lua = &self.state.lua;
        let settings = &self.shared.settings;
        let go = || {
            let guarded = self.state.own("guarded")?;
            let function = self.state.own(name)?;
            let argument = argument.into_lua(lua)?;
            self.beat.enter(lua.state());
            let result = guarded.call::<MultiValue>((function, argument));
            self.beat.leave();
            result
        };
        let mut values = go().map_err(|error| refused(&error, settings))?;
        let is_good = values
            .pop_front()
            .is_some_and(|ok| ok.as_boolean() == Some(true));
        if is_good {
            return Ok(values);
        }
        let mut text = || {
            let value = values.pop_front();
            let text = value.as_ref().and_then(mlua::Value::as_string);
            text.map(|text| text.to_string_lossy()).unwrap_or_default()
        };
        let (what, said) = (text(), text());
        let said = explained(&said, settings);
        Err(match what.as_str() {
            "" => Refused::Fatal(said),
            "usage" => Refused::Usage(said),
            _ => Refused::Function {
                function: what,
                reason: said,
            },
        })
    }

    /// A global function of the script, if there is one.
    fn global(&self, name: &str) -> Option<Function> {
        self.state.lua.globals().get(name).ok()
    }
}

impl Script {
    /// Reads a script: its first lines run, its options are checked against those given.
    ///
    /// # Errors
    /// The script is wrong, or an option is none of its.
    pub fn open(settings: Settings) -> Result<Script, Refused> {
        let shared = Arc::new(Shared {
            settings,
            compiled: Compiled::default(),
            has_connected: AtomicBool::new(false),
            outside: Tally::default(),
        });
        let front = Front::read(shared, None)?;
        let declared = front.call("declares_options", mlua::Nil)?;
        let is_legacy = declared.front().and_then(mlua::Value::as_boolean) == Some(false);
        Ok(Script { front, is_legacy })
    }

    /// What a word of the command line means to the script.
    ///
    /// # Errors
    /// Its tables are not what they should be.
    pub fn command(&self, word: &str) -> Result<Command, Refused> {
        let values = self.front.call("meaning", word)?;
        let meaning = values.front().and_then(mlua::Value::as_string);
        let meaning = meaning
            .map(|text| text.to_string_lossy())
            .unwrap_or_default();
        Ok(match meaning.as_str() {
            "run" => Command::Run,
            "command" => Command::Once,
            "parallel" => Command::Parallel,
            "function" => Command::Function,
            "help" => Command::Help,
            "missing" => Command::Missing,
            _ => Command::Unknown,
        })
    }

    /// Tells its help to the listener.
    ///
    /// # Errors
    /// The script's own `help()` gave up.
    pub fn help(&self) -> Result<(), Refused> {
        self.front.call("help", mlua::Nil).map(drop)
    }

    /// The script's `init()`, before threads of a run begin.
    ///
    /// # Errors
    /// It gave up.
    pub fn init(&self) -> Result<(), Refused> {
        self.front.call("call", "init").map(drop)
    }

    /// The script's `done()`, after its threads.
    ///
    /// # Errors
    /// It gave up.
    pub fn done(&self) -> Result<(), Refused> {
        self.front.call("call", "done").map(drop)
    }

    /// The program of its threads.
    ///
    /// # Errors
    /// It is to run, and has no `event()`.
    pub fn program(&self, task: Task) -> Result<LuaProgram, Refused> {
        let is_run = task == Task::Run;
        if is_run && self.front.global("event").is_none() && !self.has_main_loop()? {
            let path = &self.front.shared.settings.path;
            let name = path.rsplit('/').next().unwrap_or_default();
            return Err(Refused::Fatal(format!(
                "cannot find the event() function in {name}"
            )));
        }
        let shared = Arc::clone(&self.front.shared);
        Ok(LuaProgram::new(shared, task, self.is_legacy))
    }

    /// Whether the script brings a `thread_run` of its own.
    fn has_main_loop(&self) -> Result<bool, Refused> {
        let own = self.front.call("has_main_loop", mlua::Nil)?;
        Ok(own.front().and_then(mlua::Value::as_boolean) == Some(true))
    }

    /// The script's reports, in a state of their own; none where it has no hooks for any.
    ///
    /// # Errors
    /// The script cannot be read again.
    pub fn reporter(&self) -> Result<Option<Reporter>, Refused> {
        let shared = Arc::clone(&self.front.shared);
        Reporter::new(Front::read(shared, Some(self.is_legacy))?)
    }

    /// What was asked outside of threads since this was last asked.
    pub fn outside(&self) -> Outside {
        self.front.shared.outside.take()
    }

    /// Whether a thread has connected: a script that never does measures no database.
    pub fn has_connected(&self) -> bool {
        let connected = &self.front.shared.has_connected;
        connected.load(std::sync::atomic::Ordering::Relaxed)
    }
}

/// An error of Lua as the front's.
pub(super) fn wrong(error: &mlua::Error) -> Refused {
    Refused::Fatal(words(error))
}
