//! The commands of the bundled tests, by Prony's own workloads.
//!
//! In: what was asked. Out: calls of the command's own file. Must never: measure something else than
//! what was asked.

use super::bench::{self, Bench, Customary};
use super::call::{Call, Ended, advise, tell};
use super::trouble::Errors;
use super::{connection, tables};
use crate::run::document::Reached;
use crate::run::host::processors;
use crate::signals::Signals;
use prony_dialect::sysbench::{
    Command, Driver, Level, NO_DRIVER, NOT_PREPARED, Native, THREADS_FAILED, advice,
    command_header, failing_function, fatal, function_failed, mysql_not_prepared,
    pgsql_not_prepared, ps_mode, unsupported, workload_plan,
};
use prony_plan::{QueryMode, WorkloadPlan};
use prony_server::control::Error;
use prony_server::{Control, Target};
use prony_workload::oltp::manner::Manner;
use prony_workload::oltp::{OLTP_READ_WRITE, Oltp, OltpProgram, engine, named, options};
use std::sync::Arc;

/// A command of a bundled test, and its workload.
pub struct Asked<'a> {
    /// As asked.
    pub native: &'a Native,
    /// The workload.
    pub workload: &'static Oltp,
    /// Its options.
    pub plan: WorkloadPlan,
}

impl Asked<'_> {
    /// How many tables.
    pub fn tables(&self) -> u32 {
        let tables = self.plan.options.get("tables");
        let tables = tables.and_then(toml::Value::as_integer);
        tables
            .and_then(|tables| u32::try_from(tables).ok())
            .unwrap_or(1)
    }
}

/// Does what is asked of a bundled test.
///
/// # Errors
/// All has been said.
pub fn obey(call: &Call, native: &Native) -> Result<(), Ended> {
    if let Some(why) = unsupported(native) {
        return Err(call.fails_with(&why));
    }
    let Some(workload) = named(native.test.name) else {
        return Err(call.fails_with(&format!("{} is no workload", native.test.name)));
    };
    let mut asked = Asked {
        native,
        workload,
        plan: workload_plan(native),
    };
    if native.test.name.starts_with("select_random") {
        // Their tables are those of all, and they read the first one.
        match native.command {
            Command::Prepare => asked.workload = &OLTP_READ_WRITE,
            Command::Run => drop(asked.plan.options.insert("tables".to_owned(), 1.into())),
            _ => {}
        }
    }
    if let (Command::Prepare | Command::Run, Err(problems)) =
        (native.command, options::read(&asked.plan, asked.workload))
    {
        let lines: Vec<String> = problems.iter().map(|said| as_typed(native, said)).collect();
        return Err(call.fails_with(&lines.join("\nFATAL: ")));
    }
    call.log(Level::Notice, &command_header(native));
    let (driver, target) = target(call, native)?;
    match native.command {
        Command::Prepare => tables::prepare(call, &asked, driver, &target),
        Command::Prewarm => tables::prewarm(call, &asked, driver, &target),
        Command::Cleanup => tables::cleanup(call, &asked, driver, &target),
        Command::Run => run(call, &asked, driver, target),
        // It was answered when the line was read.
        Command::Help => Ok(()),
    }
}

/// What is wrong with an option, by its name and text on the command line.
fn as_typed(native: &Native, problem: &prony_workload::Error) -> String {
    let prony_workload::Error::Value {
        key,
        value,
        what,
        hint,
    } = problem
    else {
        return problem.to_string();
    };
    let typed = native.typed.get(key.as_str()).unwrap_or(value);
    let option = key.replace('_', "-");
    format!("--{option}={typed} is not {what}: {hint}")
}

/// The server, and a driver whose options are right.
fn target(call: &Call, native: &Native) -> Result<(Driver, Target), Ended> {
    let database = &native.settings.database;
    let known = prony_dialect::sysbench::driver(database).and_then(|_| ps_mode(database));
    if let Err(lines) = known {
        return Err(not_begun(call, native.command, lines, NO_DRIVER));
    }
    connection::warn_of_cipher(database);
    let within_s = native.settings.thread_init_timeout_s;
    connection::target(database, within_s).map_err(|lines| {
        let reason = prony_dialect::sysbench::NOT_CONNECTED;
        not_begun(call, native.command, lines, reason)
    })
}

/// A command whose threads did not begin.
fn not_begun(call: &Call, command: Command, lines: String, reason: &str) -> Ended {
    let function = failing_function(command, false);
    let mut lines = lines + &function_failed(function, None, reason);
    if command == Command::Run {
        lines += &fatal(THREADS_FAILED);
    }
    call.fails(&lines)
}

fn run(call: &Call, asked: &Asked<'_>, driver: Driver, target: Target) -> Result<(), Ended> {
    let native = asked.native;
    let database = &native.settings.database;
    let mut control = Control::connect(&target).map_err(|error| {
        if let Error::Connect(failures) = &error
            && connection::is_late(failures)
        {
            return bench::late(call, &native.settings);
        }
        let lines = connection::refused(database, driver, &error);
        let reason = prony_dialect::sysbench::NOT_CONNECTED;
        not_begun(call, native.command, lines, reason)
    })?;
    look(call, asked, driver, &mut control)?;
    let program = OltpProgram::as_asked(&mut control, &asked.plan, asked.workload)
        .map_err(|error| call.fails_with(&error.to_string()))?;
    let facts = prony_server::observe(&mut control).unwrap_or_default();
    let reached = Reached::of(&control);
    drop(control);
    let signals = Signals::listen().map_err(|error| call.fails_with(&error.to_string()))?;
    let errors = Arc::new(Errors::new(
        Arc::new(Call::new(&native.settings, Vec::new())),
        driver,
        database.mysql.ignored.clone(),
        signals.flag(),
    ));
    let scale = program.tables();
    let program = program.with_manner(Manner {
        judge: Some(errors.clone()),
        event_is_row: true,
    });
    let bench = Bench {
        settings: &native.settings,
        driver,
        target,
        program: Arc::new(program),
        workload: asked.workload,
        plan: asked.plan.clone(),
        scale,
        facts,
        reached,
        // One thread drives some 200,000 statements a second: the rest is left to a server here.
        processors: processors() / 2,
        texts: &Customary,
        refused: None,
    };
    bench::run(call, &bench, &signals, &|| errors.is_fatal())
}

/// Looks whether the tables are what was asked. sysbench prepares its statements before the threads
/// start, and so do its words here; without prepared statements the first event finds out.
fn look(
    call: &Call,
    asked: &Asked<'_>,
    driver: Driver,
    control: &mut Control,
) -> Result<(), Ended> {
    let Err(problem) = OltpProgram::ready(control, &asked.plan, asked.workload) else {
        return Ok(());
    };
    let database = &asked.native.settings.database;
    if let prony_workload::Error::Asked { .. } = problem {
        return Err(call.fails_with(&problem.to_string()));
    }
    // Some tests send text alone.
    let statements = options::read(&asked.plan, asked.workload)
        .map(|options| asked.workload.event.needs(&options).len())
        .unwrap_or(0);
    let prepared = statements > 0 && ps_mode(database) == Ok(QueryMode::Prepared);
    for number in 1..=asked.tables() {
        let name = engine::table(number);
        let sql = format!("SELECT c FROM {name} WHERE id=0");
        let said = control.query(&sql).err();
        let Some(said) = said.as_ref().and_then(|error| error.server()) else {
            continue;
        };
        if !prepared {
            return Ok(());
        }
        advise(advice(driver, u32::from(said.number), said.code()));
        let lines = match driver {
            Driver::Mysql => mysql_not_prepared(u32::from(said.number), &said.message),
            Driver::Pgsql => pgsql_not_prepared(&said.in_statement(&sql)),
        };
        return Err(not_begun(call, Command::Run, lines, NOT_PREPARED));
    }
    // They are there: whoever asks for more rows than there are does not find all of them.
    tell(&format!("prony: {problem}\n"));
    Ok(())
}
