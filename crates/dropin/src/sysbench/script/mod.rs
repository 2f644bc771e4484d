//! Runs Lua scripts.
//!
//! In: a command of a script. Out: sysbench's actions and output; an exit status. Must never: run a command
//! that the script does not define.

pub mod agents;
mod commands;
mod hooks;
mod logger;
mod settings;

use super::bench::{Bench, EventCounts};
use super::call::{CommandError, SysbenchCall, print_usage_error};
use super::connection::{self, ResolvedServer};
use crate::agents::{start, too_few};
use crate::cleartext::connect;
use crate::tool_run::{ConnectedServer, ToolFleet, facts_or_reason};
use agents::coordinator;
use hooks::ReportHooks;
use logger::ScriptLogger;
use prony_dialect::sysbench::{
    Driver, EXIT_STATUS_LATE_START, GeneralOptions, INITIALIZING_WORKERS, LogLevel, ProgramCost,
    ScriptCommand, fatal_line, function_failed, parse_driver, parse_ps_mode, run_header,
    unknown_command, unsupported_driver_option,
};
use prony_document::Product;
use prony_plan::{WorkloadPlan, system_error};
use prony_runner::{ConnectionInfo, Signals};
use prony_server::control::ConnectFailure;
use prony_server::{ServerFacts, Target};
use prony_workload::lua::{self, Command, LUA, LuaScriptError, ThreadTask};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Time limit for reading the server's facts; a run also works without them.
const FACTS_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs a command of a script.
///
/// # Errors
/// The exit status; the error is already printed.
pub fn run_command(call: &SysbenchCall, command: &ScriptCommand) -> Result<(), CommandError> {
    let mysql = &command.settings.database.mysql;
    if let Some(reason) = unsupported_driver_option(mysql) {
        return Err(call.fail_with_text(&reason));
    }
    let signals = Signals::listen().map_err(|error| call.fail_with_text(&error.to_string()))?;
    let server = connection::resolve_server(&command.settings);
    // If the driver or the mode is invalid, `server` holds the error, which is reported when the script
    // connects. Until then, use a valid mode.
    let mut command = command.clone();
    let database = &mut command.settings.database;
    if parse_ps_mode(database).is_err() {
        "auto".clone_into(&mut database.ps_mode);
    }
    let command = &command;
    let logger = Arc::new(ScriptLogger::new(call, command, &signals));
    let settings = settings::script_settings(call, command, &server, &logger, signals.flag())?;
    let name = settings.name.clone();
    let script = lua::LuaScript::open(settings).map_err(|error| print_failure(call, &error))?;
    let run = ScriptRun {
        call,
        command,
        script: &script,
        logger: &logger,
        signals: &signals,
    };
    // Without a command the script is only loaded.
    let Some(command_name) = command.command.as_deref() else {
        return Ok(());
    };
    let command_kind = script
        .classify_command(command_name)
        .map_err(|error| print_failure(call, &error))?;
    let outcome = match command_kind {
        Command::Run => run.run(server),
        Command::Help => {
            // sysbench ends with success even if the function failed.
            if let Err(error) = script.print_help() {
                let _ = print_failure(call, &error);
            }
            return Ok(());
        }
        Command::Once => run.run_in_one_thread(command_name),
        // A single thread needs no parallel run.
        Command::Parallel if command.settings.threads == 1 => run.run_in_one_thread(command_name),
        Command::Parallel => {
            call.log(LogLevel::Notice, INITIALIZING_WORKERS);
            let name = command_name.to_owned();
            run.run_in_threads(server, ThreadTask::Command { name })
        }
        Command::Missing => {
            let text = format!("'{name}' test does not implement the '{command_name}' command.\n");
            return Err(print_usage_error(&text));
        }
        Command::Unknown => {
            let text = unknown_command(command_name);
            return Err(print_usage_error(&format!("{text}\n")));
        }
    };
    signals.end_by_signal();
    outcome
}

struct ScriptRun<'a> {
    call: &'a SysbenchCall,
    command: &'a ScriptCommand,
    script: &'a lua::LuaScript,
    logger: &'a Arc<ScriptLogger>,
    signals: &'a Signals,
}

/// The driver and target. If there is no server, the script gets an error when it connects.
fn target_or_placeholder(settings: &GeneralOptions, server: ResolvedServer) -> (Driver, Target) {
    server.unwrap_or_else(|_| {
        let driver = parse_driver(&settings.database).unwrap_or(Driver::Mysql);
        (driver, connection::placeholder_target(driver))
    })
}

/// The server with its facts, for the store; the facts are empty if there is no server.
fn connected_server(driver: Driver, target: Target) -> ConnectedServer {
    let mut facts_target = target.clone();
    let timeout = target.connect_timeout.unwrap_or(FACTS_TIMEOUT);
    facts_target.connect_timeout = Some(timeout.min(FACTS_TIMEOUT));
    match connect(&facts_target) {
        Ok(mut control) => {
            let facts = facts_or_reason(&mut control);
            ConnectedServer::read(target, facts, &mut control, None)
        }
        Err(error) => {
            let connection = ConnectionInfo::without_connection(match driver {
                Driver::Mysql => Product::MYSQL,
                Driver::Pgsql => Product::POSTGRESQL,
            });
            let facts = ServerFacts::not_readable(&error);
            ConnectedServer::new(target, facts, connection, None, None)
        }
    }
}

/// Prints the error of a script to the log.
fn print_failure(call: &SysbenchCall, error: &LuaScriptError) -> CommandError {
    match error {
        LuaScriptError::Usage(text) => print_usage_error(text),
        other => call.fail(&failure_line(other)),
    }
}

/// The error of a script as a line of the log.
fn failure_line(error: &LuaScriptError) -> String {
    match error {
        LuaScriptError::Usage(text) | LuaScriptError::Fatal(text) => fatal_line(text),
        LuaScriptError::Function { function, reason } => function_failed(function, reason),
    }
}

impl ScriptRun<'_> {
    fn run(&self, server: ResolvedServer) -> Result<(), CommandError> {
        let ScriptRun {
            call,
            command,
            script,
            logger,
            ..
        } = self;
        let settings = &command.settings;
        let fail = |error: LuaScriptError| print_failure(call, &error);
        if let Some(problem) = too_few(settings.threads, "threads", "set --threads") {
            return Err(call.fail_with_text(&problem));
        }
        let fleet = start(&self.signals.flag());
        let fleet = fleet.map_err(|error| call.fail_with_text(&error.to_string()))?;
        script
            .run_init()
            .map_err(|error| self.print_failure_with_advice(&error))?;
        let program = script.program(ThreadTask::Run).map_err(fail)?;
        call.log(
            LogLevel::Notice,
            &(run_header(settings) + INITIALIZING_WORKERS),
        );
        let hooks = ReportHooks::new(call, script, settings, logger).map_err(fail)?;
        let (driver, target) = target_or_placeholder(settings, server);
        let event_counts = Arc::new(EventCounts::new(settings.threads));
        let coordinator = (fleet.is_some()).then(|| {
            let server = connection::tool_server(&settings.database, &target);
            coordinator(script, server, logger, event_counts.clone())
        });
        let unread = |error: io::Error| call.fail_with_text(&system_error(&error));
        let coordinator = coordinator.transpose().map_err(unread)?;
        let bench = Bench {
            call,
            settings,
            driver,
            server: connected_server(driver, target),
            program: Arc::new(program),
            workload: &LUA,
            plan: WorkloadPlan {
                name: "lua".to_owned(),
                scale: None,
                options: std::iter::once(("script".to_owned(), command.name.clone().into()))
                    .collect(),
            },
            scale: 1,
            cost: ProgramCost::High,
            thread_per_user: script.may_block().map_err(fail)?,
            texts: &hooks,
            on_connect_refused: Some(&|failures: &[ConnectFailure]| {
                logger.log_connect_failure(driver, failures)
            }),
            signals: self.signals,
            error_printed: &|| logger.has_failed(),
            event_counts,
        };
        let outcome = bench.run(ToolFleet::of(fleet, coordinator.as_ref()));
        // The script may have to close a list of reports, even if its last report was not printed.
        hooks.end_reports();
        outcome.map_err(|error| {
            if logger.start_timed_out() { CommandError(EXIT_STATUS_LATE_START) } else { error }
        })?;
        // Like sysbench, exit with status 0: the run is complete and its report is printed.
        if let Err(problem) = script.run_done() {
            print_failure(call, &problem);
        }
        Ok(())
    }

    fn print_failure_with_advice(&self, error: &LuaScriptError) -> CommandError {
        self.logger.set_advice_about(&error.to_string());
        print_failure(self.call, error)
    }

    /// Runs a command in a single thread.
    fn run_in_one_thread(&self, command_name: &str) -> Result<(), CommandError> {
        match self.script.run_command_once(command_name) {
            Ok(true) => Ok(()),
            Ok(false) => Err(CommandError(1)),
            // A signal interrupted the command.
            Err(_) if self.signals.received().is_some() => Err(CommandError(1)),
            Err(error) => Err(self.print_failure_with_advice(&error)),
        }
    }
}
