//! Runs the commands of bundled tests with Prony's workloads.
//!
//! Must never: measure a test or options that differ from the command line.

use super::agents::coordinator;
use super::bench::{Bench, DefaultTexts, EventCounts, print_late_start};
use super::call::{CommandError, SysbenchCall, eprint, set_advice};
use super::connection;
use super::errors::SysbenchErrorPolicy;
use super::tables::Tables;
use crate::agents::{start, too_few};
use crate::cleartext::connect;
use crate::tool_run::{ConnectedServer, ToolFleet, facts_or_reason};
use prony_dialect::sysbench::{
    Command, Driver, LogLevel, NOT_CONNECTED, NOT_PREPARED, NativeCommand, ProgramCost,
    SysbenchCommands, advice_of_test, command_header, parse_ps_mode, prepare_failed,
    unsupported_driver_option, workload_plan,
};
use prony_fleet::Fleet;
use prony_plan::{QueryMode, WorkloadPlan};
use prony_runner::{GrowthBefore, Signals};
use prony_server::control::Error;
use prony_server::{Control, Target};
use prony_workload::oltp::policy::OltpPolicy;
use prony_workload::oltp::{self, OLTP_READ_WRITE, Oltp, OltpProgram, options, statements};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The test whose events are rows.
pub const BULK_INSERT: &str = "bulk_insert";

/// A command of a bundled test, and its workload.
pub struct BundledCommand<'a> {
    pub native: &'a NativeCommand,
    pub workload: &'static Oltp,
    /// The workload's options.
    pub plan: WorkloadPlan,
}

impl BundledCommand<'_> {
    pub fn table_count(&self) -> u32 {
        let tables = self.plan.options.get("tables");
        let tables = tables.and_then(toml::Value::as_integer);
        tables
            .and_then(|tables| u32::try_from(tables).ok())
            .unwrap_or(1)
    }
}

/// Runs a command of a bundled test.
///
/// # Errors
/// The exit status; the error is already printed.
pub fn run_command(call: &SysbenchCall, native: &NativeCommand) -> Result<(), CommandError> {
    if let Some(reason) = unsupported_driver_option(&native.settings.database.mysql) {
        return Err(call.fail_with_text(&reason));
    }
    let Some(workload) = oltp::find(native.test.name) else {
        return Err(call.fail_with_text(&format!("{} is not a workload", native.test.name)));
    };
    let mut command = BundledCommand {
        native,
        workload,
        plan: workload_plan(native),
    };
    if native.test.name.starts_with("select_random") {
        // These tests read the first of the tables that all tests share.
        match native.command {
            Command::Prepare => command.workload = &OLTP_READ_WRITE,
            Command::Run => drop(command.plan.options.insert("tables".to_owned(), 1.into())),
            _ => {}
        }
    }
    if let (Command::Prepare | Command::Run, Err(problems)) = (
        native.command,
        options::read(&command.plan, command.workload),
    ) {
        let lines: Vec<String> = problems
            .iter()
            .map(|problem| option_error_text(native, problem))
            .collect();
        return Err(call.fail_with_text(&lines.join("\nFATAL: ")));
    }
    let mut fleet = None;
    if native.command == Command::Run {
        let threads = native.settings.threads;
        if let Some(problem) = too_few(threads, "threads", "set --threads") {
            return Err(call.fail_with_text(&problem));
        }
        fleet = start(&AtomicBool::new(false))
            .map_err(|error| call.fail_with_text(&error.to_string()))?;
    }
    call.log(LogLevel::Notice, &command_header(native));
    let server = connection::resolve_server(&native.settings);
    let not_started = |(lines, reason)| call.fail_to_start(native.command, lines, reason);
    let (driver, target) = server.map_err(not_started)?;
    let tables = Tables {
        call,
        command: &command,
        driver,
        target: &target,
    };
    match native.command {
        Command::Prepare => tables.prepare(),
        Command::Prewarm => tables.prewarm(),
        Command::Cleanup => tables.cleanup(),
        Command::Run => run(call, &command, driver, target, fleet),
        // The help was printed when the arguments were parsed.
        Command::Help => Ok(()),
    }
}

/// The error of an invalid option, with its name and value on the command line.
fn option_error_text(native: &NativeCommand, problem: &prony_workload::Error) -> String {
    let prony_workload::Error::Value {
        key,
        value,
        expected,
        hint,
    } = problem
    else {
        return problem.to_string();
    };
    let mut extras = native.extras.iter().rev();
    let written = extras.find(|extra| extra.name == *key && extra.value.is_some());
    let text = written
        .and_then(|extra| extra.value.as_ref())
        .unwrap_or(value);
    let option = key.replace('_', "-");
    // Without the description, which names options of `prony`.
    let values = hint.split_once(": ").map_or(&**hint, |(values, _)| values);
    format!("--{option}={text} is not {expected}: {values}")
}

fn run(
    call: &SysbenchCall,
    command: &BundledCommand<'_>,
    driver: Driver,
    target: Target,
    fleet: Option<Fleet>,
) -> Result<(), CommandError> {
    let native = command.native;
    let database = &native.settings.database;
    let mut control = connect(&target).map_err(|error| {
        if let Error::Connect(failures) = &error
            && connection::has_timed_out(failures)
        {
            return print_late_start(call, &native.settings);
        }
        let lines = connection::control_error_lines(database, driver, &error);
        call.fail_to_start(native.command, lines, NOT_CONNECTED)
    })?;
    check_tables(call, command, driver, &mut control)?;
    let program = OltpProgram::for_unchecked_tables(&mut control, &command.plan, command.workload)
        .map_err(|error| call.fail_with_text(&error.render(&SysbenchCommands)))?;
    let facts = facts_or_reason(&mut control);
    let scale = program.table_count();
    let growth = GrowthBefore::read(&mut control, command.workload, &command.plan, scale);
    let server = ConnectedServer::read(target, facts, &mut control, Some(growth));
    drop(control);
    let signals = Signals::listen().map_err(|error| call.fail_with_text(&error.to_string()))?;
    let errors = Arc::new(SysbenchErrorPolicy::new(
        call.clone(),
        driver,
        database.mysql.ignored_errors.clone(),
        command.workload.name == BULK_INSERT,
        signals.flag(),
    ));
    let event_counts = Arc::new(EventCounts::new(native.settings.threads));
    let coordinator = fleet.is_some().then(|| {
        let tool_server = connection::tool_server(database, &server.server.target);
        let (ignored, counts) = (&database.mysql.ignored_errors, event_counts.clone());
        coordinator(driver, ignored, tool_server, errors.clone(), counts)
    });
    let program = program.with_policy(OltpPolicy {
        errors: Some(errors.clone()),
        counts_rows_as_events: true,
    });
    let bench = Bench {
        call,
        settings: &native.settings,
        driver,
        server,
        program: Arc::new(program),
        workload: command.workload,
        plan: command.plan.clone(),
        scale,
        cost: ProgramCost::Low,
        thread_per_user: false,
        texts: &DefaultTexts,
        on_connect_refused: None,
        signals: &signals,
        error_printed: &|| errors.has_ended_run(),
        event_counts,
    };
    bench.run(ToolFleet::of(fleet, coordinator.as_ref()))
}

/// Checks that the tables match the options. sysbench prepares its statements before the threads start, so
/// that a missing table fails the prepare; without prepared statements, the first event fails instead, and
/// this check reports nothing.
fn check_tables(
    call: &SysbenchCall,
    command: &BundledCommand<'_>,
    driver: Driver,
    control: &mut Control,
) -> Result<(), CommandError> {
    let Err(problem) = OltpProgram::for_loaded_tables(control, &command.plan, command.workload)
    else {
        return Ok(());
    };
    let database = &command.native.settings.database;
    if let prony_workload::Error::InvalidRequest { .. } = problem {
        return Err(call.fail_with_text(&problem.to_string()));
    }
    // A missing table fails here only if the test prepares statements, which some tests do not.
    let statement_count = options::read(&command.plan, command.workload)
        .map(|options| command.workload.event.statement_kinds(&options).len())
        .unwrap_or(0);
    let uses_prepared = statement_count > 0 && parse_ps_mode(database) == Ok(QueryMode::Prepared);
    for number in 1..=command.table_count() {
        let name = statements::table_name(number);
        let sql = format!("SELECT c FROM {name} WHERE id=0");
        let error = control.query(&sql).err();
        let Some(server_error) = error.as_ref().and_then(|error| error.server_error()) else {
            continue;
        };
        if !uses_prepared {
            return Ok(());
        }
        let (number, code) = (server_error.number, server_error.code());
        set_advice(advice_of_test(driver, Command::Run, number, code));
        let message = match driver {
            Driver::Mysql => server_error.message.clone(),
            Driver::Pgsql => server_error.in_statement(&sql),
        };
        let lines = prepare_failed(driver, number, &message);
        return Err(call.fail_to_start(Command::Run, lines, NOT_PREPARED));
    }
    // The tables exist, but may have fewer rows than the options require.
    let problem = problem.render(&SysbenchCommands);
    eprint(&format!("prony: {problem}\n"));
    Ok(())
}
