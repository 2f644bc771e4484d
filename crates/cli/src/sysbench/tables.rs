//! `prepare`, `prewarm` and `cleanup` of the bundled tests.
//!
//! In: what was asked, a server. Out: tables made, read or dropped; sysbench's lines. Must never: load
//! over tables that are there: sysbench does not either.

use super::call::{Call, Ended, tell};
use super::connection;
use super::native::Asked;
use super::trouble;
use crate::signals::Signals;
use prony_dialect::sysbench::{
    Command, Driver, Level, NOT_CONNECTED, PREWARM_MYSQL_ONLY, creating_index, creating_table,
    dropping_table, failing_function, function_failed, inserting, load_jobs, prewarming,
};
use prony_server::control::Error as ControlError;
use prony_server::{Control, Product, Target};
use prony_workload::oltp::{engine, options};
use prony_workload::{Error, LoadRequest, Progress, Step, Workload};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Opens a control connection for a command.
///
/// # Errors
/// In sysbench's words.
pub fn connect(
    call: &Call,
    asked: &Asked<'_>,
    driver: Driver,
    target: &Target,
) -> Result<Control, Ended> {
    Control::connect(target).map_err(|error| {
        let database = &asked.native.settings.database;
        let lines = connection::refused(database, driver, &error);
        let function = failing_function(asked.native.command, false);
        call.fails(&(lines + &function_failed(function, None, NOT_CONNECTED)))
    })
}

/// Makes and fills the tables.
///
/// # Errors
/// One of them is there already, or the load fails; all has been said.
pub fn prepare(
    call: &Call,
    asked: &Asked<'_>,
    driver: Driver,
    target: &Target,
) -> Result<(), Ended> {
    let options = options::read(&asked.plan, asked.workload).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        call.fails_with(&lines.join("\n"))
    })?;
    let mut control = connect(call, asked, driver, target)?;
    let tables = options.tables.unwrap_or(1);
    let engine = engine::Engine::of(&control);
    let there = there(&mut control).map_err(|(error, sql)| {
        call.fails(&trouble::statement(driver, Command::Prepare, &error, sql))
    })?;
    for number in 1..=tables {
        let name = engine::table(number);
        if !there.contains(&name) {
            continue;
        }
        // The server's own words for that.
        call.log(Level::Notice, &creating_table(&name));
        let is_bulk = !asked.native.test.declares_options;
        let create = engine.create(number, &options, is_bulk);
        if let Err(error) = control.execute(&create) {
            let lines = trouble::statement(driver, Command::Prepare, &error, &create);
            return Err(call.fails(&lines));
        }
    }
    drop(control);
    let signals = Signals::listen().map_err(|error| call.fails_with(&error.to_string()))?;
    let request = LoadRequest {
        target,
        plan: &asked.plan,
        jobs: load_jobs(&asked.native.settings),
        seed: 0,
    };
    let lines = Lines {
        call,
        tables,
        rows: u64::from(asked.workload.rows(&options)),
        indexed: options.create_secondary && asked.native.test.declares_options,
        told: Mutex::new(0),
    };
    match asked.workload.load(&request, &lines, &signals.flag()) {
        Ok(_) => {
            lines.up_to(tables);
            Ok(())
        }
        Err(error) => {
            let function = failing_function(Command::Prepare, false);
            let problem = match &error {
                Error::Server { source, .. } => source.to_string(),
                other => other.problem(),
            };
            let failed = call.fails(&function_failed(function, None, &problem));
            for line in error.advice() {
                tell(&format!("prony: {line}\n"));
            }
            signals.pass_on();
            Err(failed)
        }
    }
}

/// What has one of the names of tables, where a new one would be made or found.
const ALL_TABLES: &str = "select table_name from information_schema.tables \
    where table_schema = database() and table_name like 'sbtest%'";
/// The same of PostgreSQL.
const ALL_TABLES_POSTGRES: &str = "select relname from pg_class \
    where relname like 'sbtest%' and pg_table_is_visible(oid)";

/// Names that are taken. A table that the role may not read is one too.
fn there(control: &mut Control) -> Result<BTreeSet<String>, (ControlError, &'static str)> {
    let sql = match control.product() {
        Product::Postgres => ALL_TABLES_POSTGRES,
        Product::Mysql | Product::MariaDb => ALL_TABLES,
    };
    let rows = control.query(sql).map_err(|error| (error, sql))?;
    Ok(rows
        .into_iter()
        .filter_map(|row| row.into_iter().next()?)
        .collect())
}

/// Tells of a load in sysbench's lines, table by table in the order of their numbers. Prony builds the
/// indexes when all rows are there; the line of each stands where sysbench has it.
struct Lines<'a> {
    call: &'a Call,
    tables: u32,
    /// Of a table.
    rows: u64,
    indexed: bool,
    /// Tables that were told of.
    told: Mutex<u32>,
}

impl Lines<'_> {
    fn up_to(&self, table: u32) {
        let Ok(mut told) = self.told.lock() else {
            return;
        };
        while *told < table.min(self.tables) {
            *told += 1;
            let name = engine::table(*told);
            let mut text = creating_table(&name);
            if self.rows > 0 {
                text += &inserting(self.rows, &name);
            }
            if self.indexed {
                text += &creating_index(&name);
            }
            self.call.log(Level::Notice, &text);
        }
    }
}

impl Progress for Lines<'_> {
    fn step(&self, step: &Step) {
        let table = step.rows_done.checked_div(self.rows).unwrap_or(0) + 1;
        self.up_to(u32::try_from(table).unwrap_or(u32::MAX));
    }
}

/// Reads all tables and their indexes, so that the server has them in its memory.
///
/// # Errors
/// A table is missing, or the server is not MySQL's; all has been said.
pub fn prewarm(
    call: &Call,
    asked: &Asked<'_>,
    driver: Driver,
    target: &Target,
) -> Result<(), Ended> {
    if driver == Driver::Pgsql {
        let function = failing_function(Command::Prewarm, false);
        return Err(call.fails(&function_failed(function, None, PREWARM_MYSQL_ONLY)));
    }
    let mut control = connect(call, asked, driver, target)?;
    for number in 1..=asked.tables() {
        let name = engine::table(number);
        call.log(Level::Notice, &prewarming(&name));
        let secondary = format!("select sum(k) from {name} force index (k_{number})");
        let statements = [
            format!("analyze table {name}"),
            format!("select sum(length(c) + length(pad)) from {name} force index (primary)"),
            secondary.clone(),
        ];
        for sql in statements {
            match control.query(&sql) {
                Ok(_) => {}
                // The table was made without that index.
                Err(error) if sql == secondary && error.server().is_some() => {}
                Err(error) => {
                    let lines = trouble::statement(driver, Command::Prewarm, &error, &sql);
                    return Err(call.fails(&lines));
                }
            }
        }
    }
    Ok(())
}

/// Drops the tables.
///
/// # Errors
/// The server refuses; all has been said.
pub fn cleanup(
    call: &Call,
    asked: &Asked<'_>,
    driver: Driver,
    target: &Target,
) -> Result<(), Ended> {
    let mut control = connect(call, asked, driver, target)?;
    for number in 1..=asked.tables() {
        let name = engine::table(number);
        call.log(Level::Notice, &dropping_table(&name));
        let sql = format!("DROP TABLE IF EXISTS {name}");
        control.execute(&sql).map_err(|error| {
            call.fails(&trouble::statement(driver, Command::Cleanup, &error, &sql))
        })?;
    }
    Ok(())
}
