//! `pgbench -i`: creates and fills the tables.
//!
//! In: options, a server, the number of loading connections. Out: pgbench's tables; its messages on standard
//! error. Must never: with one connection, send a statement that this level of pgbench does not send; leave a
//! connection open after a signal.

mod rows;

use super::Failure;
use super::call::PgbenchCall;
use super::connection;
use crate::output::eprint;
use prony_dialect::libpq;
use prony_dialect::pgbench::{
    Freeze, InitOptions, RELKIND_RELATION, RELKIND_SQL, SetupAction, copy_sql, done_line,
    step_actions,
};
use prony_runner::Signals;
use prony_server::{Control, Target, control};
use prony_workload::stop::{StopWatcher, with_stop_watcher};
use prony_workload::tpcb::Table;
use std::time::Instant;

/// Runs the steps of an initialization.
///
/// `load_jobs`: connections that fill pgbench_accounts. With one connection, the default, all tables are
/// filled in one transaction, as in pgbench.
///
/// # Errors
/// The remaining text for standard error, and the exit status: after a signal, 128 plus the signal's number.
pub fn initialize(
    call: &PgbenchCall,
    options: &InitOptions,
    load_jobs: Option<u32>,
) -> Result<(), Failure> {
    const PURPOSE: &str = "initialization";
    let mut target = connection::target(call, &options.connection, PURPOSE)?;
    let mut control = connection::open(call, &options.connection, &mut target, PURPOSE)?;
    // With several hosts, further connections must use the host of this one.
    target.endpoints = vec![control.endpoint().clone()];
    let signals = Signals::listen().map_err(|error| call.messages.fatal(&error.to_string()))?;
    let outcome = with_stop_watcher(&signals.flag(), |watch| {
        watch.register(&control);
        let initialization = Initialization {
            call,
            options,
            target: &target,
            jobs: load_jobs.unwrap_or(1),
            watch,
        };
        initialization.run_steps(&mut control)
    });
    outcome.map_err(|text| match signals.received() {
        None => text.into(),
        // Like pgbench, report the cancel request before the server's error.
        Some(signal) => Failure {
            stderr: format!("Cancel request sent\n{text}"),
            exit_status: signal.exit_status(),
        },
    })
}

/// One initialization. Its errors are texts for standard error.
struct Initialization<'a> {
    call: &'a PgbenchCall,
    options: &'a InitOptions,
    /// The target of further connections.
    target: &'a Target,
    jobs: u32,
    watch: &'a StopWatcher<'a>,
}

impl Initialization<'_> {
    fn run_steps(&self, control: &mut Control) -> Result<(), String> {
        connection::print_notices(control);
        let mut step_times = Vec::new();
        for letter in self.options.steps.chars() {
            let started = Instant::now();
            self.run_step(control, letter)?;
            step_times.push((letter, started.elapsed().as_secs_f64()));
        }
        eprint(&done_line(&step_times));
        Ok(())
    }

    fn run_step(&self, control: &mut Control, letter: char) -> Result<(), String> {
        let version = control.server_version();
        for action in step_actions(&self.call.level, self.options, letter, version) {
            match action {
                SetupAction::Print(text) => eprint(&text),
                SetupAction::Sql(sql) => self.execute(control, &sql)?,
                SetupAction::Copy { table, .. } if table == Table::Accounts && self.jobs > 1 => {
                    // Commit now, so that the other connections see the tables. Then return, because a commit
                    // is the only action after this copy.
                    self.execute(control, "commit")?;
                    return self.copy_accounts_in_parallel();
                }
                SetupAction::Copy { table, freeze } => self.copy_table(control, table, freeze)?,
            }
        }
        Ok(())
    }

    /// Copies all rows of a table over this connection.
    fn copy_table(
        &self,
        control: &mut Control,
        table: Table,
        freeze: Freeze,
    ) -> Result<(), String> {
        let freeze = match freeze {
            Freeze::No => false,
            Freeze::Yes => true,
            Freeze::IfPlainTable => self.is_plain_table(control, table)?,
        };
        let progress = rows::TableProgress::start(&self.call.level, self.options, table);
        let all_rows = 0..table.rows(self.options.scale);
        let sql = copy_sql(table, freeze);
        self.copy(control, &sql, table, all_rows, &progress)?;
        progress.finish();
        Ok(())
    }

    fn is_plain_table(&self, control: &mut Control, table: Table) -> Result<bool, String> {
        self.check_stop()?;
        let rows = control.query_with(RELKIND_SQL, &[table.name()]);
        connection::print_notices(control);
        let rows = rows.map_err(|error| self.query_error(&error, RELKIND_SQL))?;
        let kind = rows.first().and_then(|row| row.first());
        Ok(kind.and_then(Option::as_deref) == Some(RELKIND_RELATION))
    }

    fn execute(&self, control: &mut Control, sql: &str) -> Result<(), String> {
        self.check_stop()?;
        let result = control.execute(sql);
        connection::print_notices(control);
        result.map_err(|error| self.query_error(&error, sql))?;
        Ok(())
    }

    fn query_error(&self, error: &control::Error, sql: &str) -> String {
        let message = libpq::statement_error(error, sql);
        let (messages, since_15) = (&self.call.messages, self.call.level.at_least(15));
        let query = if since_15 { "Query" } else { "query" };
        messages.fatal(&format!("query failed: {message}"))
            + &messages.detail(&format!("{query} was: {sql}"))
    }

    /// Checks whether the load should continue.
    ///
    /// # Errors
    /// The user stopped the load, or another connection failed. The text is empty, because the cause is
    /// reported elsewhere.
    fn check_stop(&self) -> Result<(), String> {
        if self.watch.should_continue() { Ok(()) } else { Err(String::new()) }
    }
}
