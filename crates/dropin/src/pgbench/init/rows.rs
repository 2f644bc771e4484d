//! Loads rows over one or several connections.
//!
//! In: a table, a range of its rows. Out: the rows; progress lines about the rows of all connections
//! together. Must never: leave rows of an interrupted COPY.

use super::super::connection::print_notices;
use super::Initialization;
use crate::output::{eprint, lock};
use prony_dialect::libpq;
use prony_dialect::pgbench::{InitOptions, Level, LoadProgress, copy_sql};
use prony_server::Control;
use prony_workload::tpcb::{AccountRows, Table};
use prony_workload::{copy, parallel};
use std::io::IsTerminal;
use std::ops::Range;
use std::sync::Mutex;
use std::time::Instant;

pub struct TableProgress {
    started: Instant,
    /// Rows sent, and the progress lines printed for them.
    state: Mutex<(u64, LoadProgress)>,
}

impl TableProgress {
    /// The progress of a table before its first row is sent; the elapsed time starts now.
    pub fn start(level: &Level, options: &InitOptions, table: Table) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let lines = LoadProgress::new(level, table, options.scale, options.quiet, is_terminal);
        TableProgress {
            started: Instant::now(),
            state: Mutex::new((0, lines)),
        }
    }

    fn add_rows(&self, count: u64) {
        let mut state = lock(&self.state);
        let (rows, lines) = &mut *state;
        *rows += count;
        // Print while the lock is held, so that lines stay in order.
        eprint(&lines.advance(*rows, self.started.elapsed().as_secs_f64()));
    }

    /// Prints the end of the progress, after all rows are sent.
    pub fn finish(&self) {
        eprint(&lock(&self.state).1.finish());
    }
}

impl Initialization<'_> {
    /// Copies pgbench_accounts over several connections. The rows are not frozen, because COPY can freeze
    /// only in the transaction that created or truncated the table.
    pub(super) fn copy_accounts_in_parallel(&self) -> Result<(), String> {
        let table = Table::Accounts;
        let sql = copy_sql(table, false);
        let progress = TableProgress::start(&self.call.level, self.options, table);
        let ranges = parallel::split_rows(table.rows(self.options.scale), self.jobs);
        parallel::run_concurrently(self.watch, ranges, |range| {
            self.check_stop()?;
            let mut control = Control::connect(self.target)
                .map_err(|error| self.call.messages.error(&libpq::error_message(&error)))?;
            self.watch.register(&control);
            self.copy(&mut control, &sql, table, range, &progress)
        })?;
        progress.finish();
        Ok(())
    }

    /// Copies a range of a table's rows.
    pub(super) fn copy(
        &self,
        control: &mut Control,
        sql: &str,
        table: Table,
        range: Range<u64>,
        progress: &TableProgress,
    ) -> Result<(), String> {
        self.check_stop()?;
        let mut rows = AccountRows::new(table, range.start, range.end);
        let outcome = control.copy_in(sql).map_err(|error| {
            let message = libpq::statement_error(&error, sql);
            self.call
                .messages
                .fatal(&format!("unexpected copy in result: {message}"))
        });
        let outcome = outcome.and_then(|mut copy| {
            let sent = copy::send_rows(&mut rows, &mut copy, |count, _| {
                progress.add_rows(count);
                self.watch.should_continue()
            });
            let stored = match sent {
                // Dropping `copy` aborts the COPY.
                Ok(None) => return Err(String::new()),
                Ok(Some(_)) => copy.finish().map(drop),
                Err(error) => Err(error),
            };
            // The server's message, as libpq prints it.
            stored.map_err(|error| {
                let message = libpq::error_message(&error);
                format!(
                    "{message}\n{}",
                    self.call.messages.fatal("PQendcopy failed")
                )
            })
        });
        print_notices(control);
        outcome
    }
}
