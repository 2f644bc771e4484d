//! Rows to the server, over one connection or several.
//!
//! In: a table, a range of its rows. Out: the rows; progress lines for those of all connections
//! together. Must never: leave rows of a COPY that was told to stop.

use super::super::call::say;
use super::super::connection;
use super::{Init, Told, notices};
use prony_dialect::pgbench::{InitOptions, Level, LoadProgress, copy_sql};
use prony_server::Control;
use prony_workload::tpcb::{Rows, Table};
use prony_workload::{copy, parts};
use std::io::IsTerminal;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How far a table is.
pub struct Progress {
    started: Instant,
    /// Rows sent, and what was said of them.
    shown: Mutex<(u64, LoadProgress)>,
}

impl Progress {
    /// Starts the clock.
    pub fn start(level: &Level, options: &InitOptions, table: Table) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let lines = LoadProgress::new(level, table, options.scale, options.quiet, terminal);
        Progress {
            started: Instant::now(),
            shown: Mutex::new((0, lines)),
        }
    }

    fn sent(&self, count: u64) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let (rows, lines) = &mut *shown;
        *rows += count;
        // Printed under the lock, so that lines stay in order.
        say(&lines.advance(*rows, self.started.elapsed().as_secs_f64()));
    }

    /// All rows are sent.
    pub fn finish(&self) {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        say(&shown.1.finish());
    }
}

impl Init<'_> {
    /// pgbench_accounts over several connections. Their rows are not frozen, because that takes the
    /// transaction that made or emptied the table.
    pub(super) fn accounts_in_parts(&self) -> Told {
        let table = Table::Accounts;
        let sql = copy_sql(table, false);
        let progress = Progress::start(&self.call.level, self.options, table);
        let ranges = parts::split(table.rows(self.options.scale), self.jobs);
        parts::together(self.watch, ranges, |range| {
            self.go_on()?;
            let mut control = Control::connect(self.target)
                .map_err(|error| self.call.voice.error(&connection::libpq(&error)))?;
            self.watch.add(&control);
            self.copy(&mut control, &sql, table, range, &progress)
        })?;
        progress.finish();
        Ok(())
    }

    /// Rows of a table by a COPY.
    pub(super) fn copy(
        &self,
        control: &mut Control,
        sql: &str,
        table: Table,
        range: Range<u64>,
        progress: &Progress,
    ) -> Told {
        self.go_on()?;
        let mut rows = Rows::new(table, range.start, range.end);
        let outcome = control.copy_in(sql).map_err(|error| {
            let said = connection::in_statement(&error, sql);
            self.call
                .voice
                .fatal(&format!("unexpected copy in result: {said}"))
        });
        let outcome = outcome.and_then(|mut copy| {
            let sent = copy::send(&mut rows, &mut copy, |count, _| {
                progress.sent(count);
                self.watch.goes_on()
            });
            let stored = match sent {
                // Given up, the copy is aborted by its drop.
                Ok(None) => return Err(String::new()),
                Ok(Some(_)) => copy.finish().map(drop),
                Err(error) => Err(error),
            };
            // libpq prints the server's words itself.
            stored.map_err(|error| {
                let said = connection::libpq(&error);
                format!("{said}\n{}", self.call.voice.fatal("PQendcopy failed"))
            })
        });
        notices(control);
        outcome
    }
}
