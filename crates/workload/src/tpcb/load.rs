//! Creating and filling the tables.
//!
//! In: a scale, a server. Out: the database state of `pgbench -i`: tables, keys, all pages
//! all-visible, statistics. Must never: leave a half-loaded database that looks whole, or stay when
//! told to stop.
//!
//! With one job all is one transaction: dropping the old tables, making the new ones, COPY with
//! FREEZE, statistics, keys. A load that breaks leaves the database as it was; the price is that old
//! and new tables must fit on the disk together. COPY may only freeze a table that its own transaction created, so several
//! jobs load unfrozen rows, and VACUUM passes over them afterwards. On two cores that is slower
//! (measured at scale 50: COPY 2.9 s against 2.6 s, but VACUUM 0.2 s against 1.0 s), so one job is
//! the default; with more idle cores the shorter COPY wins.

use super::catalog::{self, Found};
use super::remains::{Remains, explain};
use super::rows::Rows;
use super::schema::{DROP, MAX_SCALE, Table};
use crate::parts;
use crate::progress::Meter;
use crate::stop::{self, Watch};
use crate::{Error, LoadReport, LoadRequest, Phase, Progress, sql};
use prony_server::{Control, Target};
use std::sync::atomic::AtomicBool;

/// More loaders than this only queue for the table's extension lock.
const JOBS_MAX: u32 = 1000;

/// Settings of a role or database that would break a long load, and notices of tables that do not
/// exist. For this session only.
const SESSION: &str = "set client_min_messages = warning; set statement_timeout = 0; set lock_timeout = 0; \
     set idle_in_transaction_session_timeout = 0";

/// Loads; see the top of this file.
pub fn load(
    request: &LoadRequest<'_>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<LoadReport, Error> {
    let scale = request.plan.scale.unwrap_or(1);
    check_asked(scale, request.jobs)?;
    let rows = Table::ALL.iter().map(|table| table.rows(scale)).sum();
    let meter = Meter::start(progress, rows);
    let mut remains = Remains::Untouched;
    let outcome = stop::watched(stop, |watch| {
        let job = Job {
            request,
            scale,
            meter: &meter,
            watch,
        };
        job.run(&mut remains)
    });
    let found = outcome.map_err(|error| explain(error, &remains, scale, stop))?;
    let (phases, seconds) = meter.finish();
    let tables = found
        .into_iter()
        .map(|found| crate::TableFacts {
            rows: found.table.rows(scale),
            ..found.facts
        })
        .collect();
    Ok(LoadReport {
        scale,
        jobs: request.jobs,
        rows: meter.rows(),
        bytes_sent: meter.bytes(),
        phases,
        seconds,
        tables,
        method: if request.jobs == 1 {
            "one transaction, COPY with FREEZE".to_owned()
        } else {
            format!("{} connections, COPY, then VACUUM", request.jobs)
        },
    })
}

fn check_asked(scale: u32, jobs: u32) -> Result<(), Error> {
    if !(1..=MAX_SCALE).contains(&scale) {
        return Err(Error::Asked {
            problem: format!("a scale of {scale} is not possible"),
            hint: format!(
                "1 to {MAX_SCALE}; each step is 100,000 accounts, about 16 MB with their key"
            ),
        });
    }
    if !(1..=JOBS_MAX).contains(&jobs) {
        return Err(Error::Asked {
            problem: format!("{jobs} jobs are not possible"),
            hint: format!("1 to {JOBS_MAX}; more than the server has idle cores gain nothing"),
        });
    }
    Ok(())
}

/// One load.
#[derive(Clone, Copy)]
struct Job<'a> {
    request: &'a LoadRequest<'a>,
    scale: u32,
    meter: &'a Meter<'a>,
    watch: &'a Watch<'a>,
}

impl Job<'_> {
    fn run(&self, remains: &mut Remains) -> Result<Vec<Found>, Error> {
        let mut control = self.connect(self.request.target)?;
        let old = catalog::find(&mut control)?;
        catalog::refuse_foreign(&old)?;
        sql::run(&mut control, "beginning", "begin")?;
        if !old.is_empty() {
            self.statement(&mut control, "dropping the old tables", DROP)?;
        }
        if self.request.jobs == 1 {
            self.in_one(&mut control, remains)?;
        } else {
            self.in_parts(&mut control, remains)?;
        }
        catalog::find(&mut control)
    }

    /// All in the transaction that is open.
    fn in_one(&self, control: &mut Control, remains: &mut Remains) -> Result<(), Error> {
        self.create(control)?;
        for table in Table::KEYED {
            self.copy(control, table, 0..table.rows(self.scale), true)?;
        }
        // Before the keys, as pgbench has it: building a key then leaves the exact number of rows
        // in the catalog, where ANALYZE leaves an estimate.
        for table in Table::ALL {
            self.meter.enter(Phase::Statistics, table.name());
            self.statement(
                control,
                "collecting statistics",
                &format!("analyze {}", table.name()),
            )?;
        }
        for table in Table::KEYED {
            self.add_key(control, table)?;
        }
        *remains = Remains::Committing;
        sql::run(control, "committing", "commit")?;
        *remains = Remains::Loaded;
        self.flush_counts(control)?;
        // All pages are frozen, so this reads almost nothing. It tells the server that there is
        // nothing to vacuum: autovacuum would come within a minute, into the first run. Before
        // PostgreSQL 14, where COPY does not mark pages all-visible, it does that work.
        for table in Table::ALL {
            self.meter.enter(Phase::Statistics, table.name());
            self.statement(control, "vacuuming", &format!("vacuum {}", table.name()))?;
        }
        Ok(())
    }

    /// Accounts over several connections, which must see the tables: the transaction that is open
    /// ends before them, and the old tables are gone.
    fn in_parts(&self, control: &mut Control, remains: &mut Remains) -> Result<(), Error> {
        self.create(control)?;
        for table in [Table::Branches, Table::Tellers] {
            self.copy(control, table, 0..table.rows(self.scale), true)?;
        }
        *remains = Remains::Parts;
        sql::run(control, "committing", "commit")?;
        // With several hosts, the others must load the one that has the tables.
        let target = Target {
            endpoints: vec![control.endpoint().clone()],
            ..self.request.target.clone()
        };
        let ranges = parts::split(Table::Accounts.rows(self.scale), self.request.jobs);
        parts::together(self.watch, ranges, |range| {
            let mut control = self.connect(&target)?;
            self.copy(&mut control, Table::Accounts, range, false)?;
            self.flush_counts(&mut control)
        })?;
        for table in Table::ALL {
            self.meter.enter(Phase::Statistics, table.name());
            let vacuum = format!("vacuum (analyze) {}", table.name());
            self.statement(control, "vacuuming", &vacuum)?;
        }
        parts::together(self.watch, Table::KEYED.to_vec(), |table| {
            self.add_key(&mut self.connect(&target)?, table)
        })?;
        *remains = Remains::Loaded;
        Ok(())
    }

    fn connect(&self, target: &Target) -> Result<Control, Error> {
        let mut control =
            Control::connect(target).map_err(|source| sql::server("connecting", source))?;
        self.watch.add(&control);
        sql::run(&mut control, "preparing the session", SESSION)?;
        Ok(control)
    }

    /// Has the session's counts of inserted rows written down now. A session keeps them back for
    /// up to a second; coming after the VACUUM they would look like rows not yet vacuumed.
    fn flush_counts(&self, control: &mut Control) -> Result<(), Error> {
        let doing = "flushing the session's statistics";
        let version = "select current_setting('server_version_num')::int";
        if sql::row(control, doing, version)?.int(0) >= Some(150_000) {
            sql::run(control, doing, "select pg_stat_force_next_flush()")?;
        }
        Ok(())
    }

    fn create(&self, control: &mut Control) -> Result<(), Error> {
        // In pgbench's order.
        for table in [
            Table::History,
            Table::Tellers,
            Table::Accounts,
            Table::Branches,
        ] {
            self.meter.enter(Phase::Create, table.name());
            self.statement(control, "creating the tables", &table.create(self.scale))?;
        }
        Ok(())
    }

    fn add_key(&self, control: &mut Control, table: Table) -> Result<(), Error> {
        let Some(statement) = table.add_key() else {
            return Ok(());
        };
        self.meter.enter(Phase::Keys, table.name());
        self.statement(control, "building the primary keys", &statement)
    }

    /// Runs a statement unless the load is over.
    fn statement(&self, control: &mut Control, doing: &str, statement: &str) -> Result<(), Error> {
        self.go_on()?;
        sql::run(control, doing, statement)
    }

    /// Sends rows of a table.
    fn copy(
        &self,
        control: &mut Control,
        table: Table,
        range: std::ops::Range<u64>,
        freeze: bool,
    ) -> Result<(), Error> {
        let doing = format!("sending rows of {}", table.name());
        let failed = |source| sql::server(&doing, source);
        self.meter.enter(Phase::Rows, table.name());
        self.go_on()?;
        let freeze = if freeze { " with (freeze on)" } else { "" };
        let statement = format!("copy {} from stdin{freeze}", table.name());
        let mut copy = control.copy_in(&statement).map_err(failed)?;
        let expected = range.end - range.start;
        let rows = Rows::new(table, range.start, range.end);
        let sent = rows.send(&mut copy, |count, bytes| {
            self.meter.sent(count, bytes);
            self.watch.goes_on()
        });
        if !sent.map_err(failed)? {
            // Given up, the copy is aborted by its drop.
            drop(copy);
            return self.go_on();
        }
        let stored = copy.finish().map_err(failed)?;
        if stored != expected {
            return Err(Error::Data {
                problem: format!(
                    "{expected} rows were sent to {}, and the server stored {stored}",
                    table.name()
                ),
                hint: "look for a trigger or rule on the table".to_owned(),
            });
        }
        Ok(())
    }

    /// # Errors
    /// The user asked to stop, or another loader failed (whose error counts, not this one).
    fn go_on(&self) -> Result<(), Error> {
        if self.watch.goes_on() {
            return Ok(());
        }
        Err(Error::Stopped {
            remains: String::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_scales_and_jobs_are_refused_with_the_range() {
        assert!(check_asked(1, 1).is_ok());
        for (scale, jobs) in [(0, 1), (MAX_SCALE + 1, 1), (1, 0), (1, JOBS_MAX + 1)] {
            let message = check_asked(scale, jobs)
                .expect_err("impossible")
                .to_string();
            assert!(message.contains("hint: 1 to "), "{message}");
        }
    }
}
