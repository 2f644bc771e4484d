//! Scripts in Lua.
//!
//! In: a command of a script. Out: what sysbench prints and does with it; an exit status. Must never:
//! run what the script does not have.

mod commands;
mod ear;
mod hooks;
mod settings;

use super::bench::{self, Bench};
use super::call::{Call, Ended, print};
use super::connection;
use crate::run::document::Reached;
use crate::run::host::processors;
use crate::signals::Signals;
use ear::Ear;
use hooks::Hooks;
use prony_dialect::sysbench::{
    Driver, EXIT_LATE, Level, NO_DRIVER, NOT_CONNECTED, Printed, Script, Settings, WORKERS,
    function_failed, ps_mode, run_header, unknown_command, unsupported_of_driver,
};
use prony_plan::WorkloadPlan;
use prony_server::control::Failure;
use prony_server::{Control, Facts, Target};
use prony_workload::lua::{self, Command, LUA, LuaProgram, Refused, Task};
use std::sync::Arc;
use std::time::Duration;

/// Time for the server to say what it is before a run, which may do without it.
const KNOWN_WITHIN: Duration = Duration::from_secs(5);

/// Does what is asked of a script.
///
/// # Errors
/// All has been said.
pub fn obey(call: &Call, asked: &Script) -> Result<(), Ended> {
    let mysql = &asked.settings.database.mysql;
    if let Some(why) = unsupported_of_driver(mysql) {
        return Err(call.fails_with(&why));
    }
    let signals = Signals::listen().map_err(|error| call.fails_with(&error.to_string()))?;
    let server = server(asked);
    // Whoever wants a driver is told what is wrong with it; a script may do without.
    let mut asked = asked.clone();
    let database = &mut asked.settings.database;
    if ps_mode(database).is_err() {
        "auto".clone_into(&mut database.ps_mode);
    }
    let asked = &asked;
    let ear = Arc::new(Ear::new(call, asked, &signals));
    let settings = settings::of(call, asked, &server, &ear, signals.flag())?;
    let path = settings.path.clone();
    let script = lua::Script::open(settings).map_err(|refused| says(call, &refused))?;
    let scene = Scene {
        call,
        asked,
        script: &script,
        ear: &ear,
        signals: &signals,
    };
    // A script without a command is read, and that is all.
    let Some(word) = asked.command.as_deref() else {
        return Ok(());
    };
    let once = |is_function, is_parallel| Task::Command {
        word: word.to_owned(),
        is_function,
        is_parallel,
    };
    let name = path.rsplit('/').next().unwrap_or_default();
    let meaning = script
        .command(word)
        .map_err(|refused| says(call, &refused))?;
    let task = match meaning {
        Command::Run => {
            let outcome = scene.run(server);
            signals.pass_on();
            return outcome;
        }
        Command::Help => return script.help().map_err(|refused| says(call, &refused)),
        Command::Once => once(false, false),
        Command::Parallel => {
            if asked.settings.threads > 1 {
                call.log(Level::Notice, WORKERS);
            }
            once(false, true)
        }
        Command::Function => once(true, false),
        Command::Missing => {
            let text = format!("'{name}' test does not implement the '{word}' command.\n");
            return Err(refuses(&text));
        }
        Command::Unknown => return Err(refuses(&format!("{}\n", unknown_command(word)))),
    };
    let outcome = scene.command(server, task);
    signals.pass_on();
    outcome
}

/// What all steps need.
struct Scene<'a> {
    call: &'a Call,
    asked: &'a Script,
    script: &'a lua::Script,
    ear: &'a Arc<Ear>,
    signals: &'a Signals,
}

/// Where to connect; else the lines of the log, and what a thread says that did not begin.
type Server = Result<(Driver, Target), (String, &'static str)>;

fn server(asked: &Script) -> Server {
    let database = &asked.settings.database;
    connection::warn_of_cipher(database);
    let known = prony_dialect::sysbench::driver(database).and_then(|_| ps_mode(database));
    known.map_err(|lines| (lines, NO_DRIVER))?;
    let within_s = asked.settings.thread_init_timeout_s;
    connection::target(database, within_s).map_err(|lines| (lines, NOT_CONNECTED))
}

/// The server; where there is none, the script is told as soon as it wants one.
fn reachable(settings: &Settings, server: Server) -> (Driver, Target) {
    server.unwrap_or_else(|_| {
        let driver = prony_dialect::sysbench::driver(&settings.database);
        let driver = driver.unwrap_or(Driver::Mysql);
        (driver, connection::nowhere(driver))
    })
}

/// What the server says of itself, for the store. A script may do without one: then nothing is known.
fn known(driver: Driver, target: &Target) -> (Facts, Reached) {
    let mut target = target.clone();
    let within = target.connect_timeout.unwrap_or(KNOWN_WITHIN);
    target.connect_timeout = Some(within.min(KNOWN_WITHIN));
    match Control::connect(&target) {
        Ok(mut control) => {
            let facts = prony_server::observe(&mut control).unwrap_or_default();
            (facts, Reached::of(&control))
        }
        Err(_) => {
            let engine = match driver {
                Driver::Mysql => "mysql",
                Driver::Pgsql => "postgresql",
            };
            (Facts::default(), Reached::nothing(engine))
        }
    }
}

/// Says why a script is refused.
fn says(call: &Call, refused: &Refused) -> Ended {
    match refused {
        Refused::Usage(text) => refuses(text),
        Refused::Fatal(text) => call.fails_with(text),
        Refused::Function { function, reason } => {
            call.fails(&function_failed(function, None, reason))
        }
    }
}

/// Words for standard error.
fn refuses(text: &str) -> Ended {
    print(&Printed {
        stdout: String::new(),
        stderr: text.to_owned(),
    });
    Ended::Status(1)
}

impl Scene<'_> {
    fn run(&self, server: Server) -> Result<(), Ended> {
        let Scene {
            call,
            asked,
            script,
            ear,
            ..
        } = self;
        let settings = &asked.settings;
        let refused = |refused: Refused| says(call, &refused);
        let program = script.program(Task::Run).map_err(refused)?;
        script.init().map_err(refused)?;
        call.log(Level::Notice, &(run_header(settings) + WORKERS));
        let hooks = Hooks::new(call, script, settings, ear).map_err(refused)?;
        let (driver, target) = reachable(settings, server);
        let (facts, reached) = known(driver, &target);
        let bench = Bench {
            settings,
            driver,
            target,
            program: Arc::new(program),
            workload: &LUA,
            plan: WorkloadPlan {
                name: "lua".to_owned(),
                scale: None,
                options: std::iter::once(("script".to_owned(), asked.name.clone().into()))
                    .collect(),
            },
            scale: 1,
            facts,
            reached,
            // Scripts may have much to do of their own, as in sysbench.
            processors: processors(),
            texts: &hooks,
            refused: Some(&|failures: &[Failure]| ear.unreached(driver, failures)),
        };
        // Asked when all threads are done, before anything is reported.
        let told = || {
            ear.settle();
            ear.is_fatal()
        };
        let ended = bench::run(call, &bench, self.signals, &told);
        // For a list that the last report itself began, or that none followed.
        hooks.end();
        ended.map_err(|ended| match ear.is_late() {
            true => Ended::Status(EXIT_LATE),
            false => ended,
        })?;
        script.done().map_err(refused)
    }

    fn command(&self, server: Server, task: Task) -> Result<(), Ended> {
        let program = self
            .script
            .program(task)
            .map_err(|refused| says(self.call, &refused))?;
        self.drive(server, program)
    }

    fn drive(&self, server: Server, program: LuaProgram) -> Result<(), Ended> {
        let scene = commands::Order {
            call: self.call,
            settings: &self.asked.settings,
            ear: self.ear,
            signals: self.signals,
        };
        let (driver, target) = reachable(&self.asked.settings, server);
        scene.carry_out(driver, &target, &program)
    }
}
