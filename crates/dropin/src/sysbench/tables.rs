//! The commands `prepare`, `prewarm` and `cleanup` of the bundled tests.
//!
//! In: options, a server. Out: tables created, read or dropped; sysbench's lines. Must never: load into
//! existing tables, which sysbench refuses.

use super::call::{CommandError, SysbenchCall, eprint, print_output_bytes};
use super::connection;
use super::errors;
use super::native::BundledCommand;
use prony_dialect::sysbench::{
    Command, Driver, NOT_CONNECTED, SysbenchCommands, creating_index, creating_table,
    dropping_table, failing_function, function_failed, inserting_rows, prewarm_mysql_only,
    prewarming_table,
};
use prony_document::SqlDialect;
use prony_runner::Signals;
use prony_server::control::Error as ControlError;
use prony_server::{Control, Target};
use prony_workload::oltp::{options, statements};
use prony_workload::{
    Error, LoadDivision, LoadPhase, LoadRequest, Progress, ProgressUpdate, Workload,
};
use std::collections::BTreeSet;
use std::sync::Mutex;

fn print_line(line: &str) {
    print_output_bytes(line.as_bytes());
}

/// A command on the tables of a bundled test. Its errors are already printed.
pub struct Tables<'a> {
    pub call: &'a SysbenchCall,
    pub command: &'a BundledCommand<'a>,
    pub driver: Driver,
    pub target: &'a Target,
}

impl Tables<'_> {
    fn connect(&self) -> Result<Control, CommandError> {
        crate::cleartext::connect(self.target).map_err(|error| {
            let database = &self.command.native.settings.database;
            let lines = connection::control_error_lines(database, self.driver, &error);
            let command = self.command.native.command;
            self.call.fail_to_start(command, lines, NOT_CONNECTED)
        })
    }

    fn statement_failed(&self, error: &ControlError, sql: &str) -> CommandError {
        let command = self.command.native.command;
        let lines = errors::statement_failure_lines(self.driver, command, error, sql);
        self.call.fail(&lines)
    }

    /// Creates and fills the tables.
    ///
    /// # Errors
    /// A table already exists, or the load fails.
    pub fn prepare(&self) -> Result<(), CommandError> {
        let (call, command) = (self.call, self.command);
        let options = options::read(&command.plan, command.workload).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            call.fail_with_text(&lines.join("\n"))
        })?;
        let mut control = self.connect()?;
        let table_count = options.tables.unwrap_or(1);
        let dialect = control.dialect();
        let existing = existing_tables(&mut control)
            .map_err(|(error, sql)| self.statement_failed(&error, sql))?;
        for number in 1..=table_count {
            let name = statements::table_name(number);
            if !existing.contains(&name) {
                continue;
            }
            // Send the statement, so that the server reports in its own words that the table exists.
            print_line(&creating_table(&name));
            let is_bulk = !command.native.test.declares_options;
            let create = statements::create_table(dialect, number, &options, is_bulk);
            control
                .execute(&create)
                .map_err(|error| self.statement_failed(&error, &create))?;
        }
        drop(control);
        let signals = Signals::listen().map_err(|error| call.fail_with_text(&error.to_string()))?;
        let progress = PrepareProgress {
            table_count,
            rows_per_table: u64::from(command.workload.loaded_rows(&options)),
            has_secondary_index: options.create_secondary && command.native.test.declares_options,
            printed_table_count: Mutex::new(0),
        };
        let request = LoadRequest {
            target: self.target,
            plan: &command.plan,
            jobs: command.native.settings.threads,
            seed: 0,
            division: LoadDivision::Undivided,
            progress: &progress,
            stop: &signals.flag(),
        };
        match command.workload.load(&request) {
            Ok(_) => {
                progress.finish();
                Ok(())
            }
            Err(error) => {
                let function = failing_function(Command::Prepare, false);
                let problem = match &error {
                    Error::Server { source, .. } => source.to_string(),
                    other => other.problem(),
                };
                let command_error = call.fail(&function_failed(function, &problem));
                for line in error.advice(&SysbenchCommands) {
                    eprint(&format!("prony: {line}\n"));
                }
                signals.end_by_signal();
                Err(command_error)
            }
        }
    }

    /// Reads all tables and their indexes into the server's memory.
    ///
    /// # Errors
    /// A table is missing, or the server is not MySQL.
    pub fn prewarm(&self) -> Result<(), CommandError> {
        let (call, command) = (self.call, self.command);
        if self.driver == Driver::Pgsql {
            let function = failing_function(Command::Prewarm, false);
            return Err(call.fail(&function_failed(function, prewarm_mysql_only(call.compat))));
        }
        let mut control = self.connect()?;
        for number in 1..=command.table_count() {
            let name = statements::table_name(number);
            print_line(&prewarming_table(&name, call.compat));
            let rows = "sum(length(c) + length(pad))";
            let primary = format!("select {rows} from {name} force index (primary)");
            let secondary = format!("select sum(k) from {name} force index (k_{number})");
            for (sql, may_be_refused) in [
                (format!("analyze table {name}"), false),
                (primary, false),
                // Without a secondary index there is nothing to read.
                (secondary, true),
            ] {
                match control.query(&sql) {
                    Ok(_) => {}
                    Err(error) if may_be_refused && error.server_error().is_some() => {}
                    Err(error) => return Err(self.statement_failed(&error, &sql)),
                }
            }
        }
        Ok(())
    }

    /// Drops the tables.
    ///
    /// # Errors
    /// The server rejects a statement.
    pub fn cleanup(&self) -> Result<(), CommandError> {
        let mut control = self.connect()?;
        for number in 1..=self.command.table_count() {
            let name = statements::table_name(number);
            print_line(&dropping_table(&name));
            let sql = format!("DROP TABLE IF EXISTS {name}");
            let dropped = control.execute(&sql);
            dropped.map_err(|error| self.statement_failed(&error, &sql))?;
        }
        Ok(())
    }
}

/// Reads the names of tables with sysbench's prefix in the schema in which new tables are created.
const SBTEST_TABLES_MYSQL_SQL: &str = "select table_name from information_schema.tables \
    where table_schema = database() and table_name like 'sbtest%'";
/// The same query for PostgreSQL.
const SBTEST_TABLES_POSTGRES_SQL: &str = "select relname from pg_class \
    where relname like 'sbtest%' and pg_table_is_visible(oid)";

/// The names of existing tables, including tables that the role may not read.
fn existing_tables(
    control: &mut Control,
) -> Result<BTreeSet<String>, (ControlError, &'static str)> {
    let sql = match control.dialect() {
        SqlDialect::PostgreSql => SBTEST_TABLES_POSTGRES_SQL,
        SqlDialect::MySql | SqlDialect::TransactSql => SBTEST_TABLES_MYSQL_SQL,
    };
    let rows = control.query(sql).map_err(|error| (error, sql))?;
    Ok(rows
        .into_iter()
        .filter_map(|row| row.into_iter().next()?)
        .collect())
}

/// Prints the progress of a load as sysbench does, table by table in the order of their numbers. Prony builds
/// indexes after it has loaded all rows, but prints the line of an index after the rows of its table.
struct PrepareProgress {
    table_count: u32,
    rows_per_table: u64,
    /// Whether the load builds a secondary index on each table.
    has_secondary_index: bool,
    /// The number of tables whose lines are printed; the index line of the last table is not printed yet.
    printed_table_count: Mutex<u32>,
}

impl PrepareProgress {
    /// Prints the lines of all tables up to `table`; the rows of earlier tables are loaded.
    fn print_tables_up_to(&self, table: u32) {
        let Ok(mut printed_table_count) = self.printed_table_count.lock() else {
            return;
        };
        while *printed_table_count < table {
            if *printed_table_count > 0 && self.has_secondary_index {
                let name = statements::table_name(*printed_table_count);
                print_line(&creating_index(&name));
            }
            *printed_table_count += 1;
            if *printed_table_count > self.table_count {
                return;
            }
            let name = statements::table_name(*printed_table_count);
            print_line(&creating_table(&name));
            if self.rows_per_table > 0 {
                print_line(&inserting_rows(self.rows_per_table, &name));
            }
        }
    }

    /// Prints the remaining lines after all rows are loaded.
    fn finish(&self) {
        self.print_tables_up_to(self.table_count + 1);
    }
}

impl Progress for PrepareProgress {
    fn update(&self, update: &ProgressUpdate) {
        match update.phase {
            LoadPhase::Create => {}
            LoadPhase::Rows => {
                let loaded = update.rows_done.checked_div(self.rows_per_table);
                let table = u32::try_from(loaded.unwrap_or(0) + 1).unwrap_or(u32::MAX);
                self.print_tables_up_to(table.min(self.table_count));
            }
            LoadPhase::Keys | LoadPhase::Statistics => self.finish(),
        }
    }
}
