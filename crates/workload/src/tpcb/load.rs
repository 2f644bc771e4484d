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

use super::remains::{Remains, explain};
use super::rows::Rows;
use super::schema::{MAX_SCALE, Table};
use crate::catalog::{self, Found};
use crate::loader::{self, Loader};
use crate::parts;
use crate::progress::Meter;
use crate::stop;
use crate::{Error, LoadReport, LoadRequest, Phase, Progress, sql};
use prony_server::Control;
use std::sync::atomic::AtomicBool;

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
            loader: Loader {
                meter: &meter,
                watch,
            },
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
            format!("{}, COPY, then VACUUM", request.connections())
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
    loader::check_jobs(jobs)
}

/// One load.
#[derive(Clone, Copy)]
struct Job<'a> {
    request: &'a LoadRequest<'a>,
    scale: u32,
    loader: Loader<'a>,
}

impl Job<'_> {
    fn run(&self, remains: &mut Remains) -> Result<Vec<Found<Table>>, Error> {
        let mut control = self.loader.connect(self.request.target)?;
        let old = catalog::find::<Table>(&mut control)?;
        catalog::refuse_foreign(&old)?;
        sql::run(&mut control, "beginning", "begin")?;
        if !old.is_empty() {
            self.loader.statement(
                &mut control,
                "dropping the old tables",
                &catalog::drop_all::<Table>(),
            )?;
        }
        if self.request.jobs == 1 {
            self.in_one(&mut control, remains)?;
        } else {
            self.in_parts(&mut control, remains)?;
        }
        catalog::find::<Table>(&mut control)
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
            self.loader.meter.enter(Phase::Statistics, table.name());
            self.loader.statement(
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
        self.loader.flush_counts(control)?;
        // All pages are frozen, so this reads almost nothing. It tells the server that there is
        // nothing to vacuum: autovacuum would come within a minute, into the first run. Before
        // PostgreSQL 14, where COPY does not mark pages all-visible, it does that work.
        for table in Table::ALL {
            self.loader.meter.enter(Phase::Statistics, table.name());
            self.loader
                .statement(control, "vacuuming", &format!("vacuum {}", table.name()))?;
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
        let target = Loader::same_server(control, self.request.target);
        let ranges = parts::split(Table::Accounts.rows(self.scale), self.request.jobs);
        parts::together(self.loader.watch, ranges, |range| {
            let mut control = self.loader.connect(&target)?;
            self.copy(&mut control, Table::Accounts, range, false)?;
            self.loader.flush_counts(&mut control)
        })?;
        for table in Table::ALL {
            self.loader.meter.enter(Phase::Statistics, table.name());
            let vacuum = format!("vacuum (analyze) {}", table.name());
            self.loader.statement(control, "vacuuming", &vacuum)?;
        }
        parts::together(self.loader.watch, Table::KEYED.to_vec(), |table| {
            self.add_key(&mut self.loader.connect(&target)?, table)
        })?;
        *remains = Remains::Loaded;
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
            self.loader.meter.enter(Phase::Create, table.name());
            self.loader
                .statement(control, "creating the tables", &table.create(self.scale))?;
        }
        Ok(())
    }

    fn add_key(&self, control: &mut Control, table: Table) -> Result<(), Error> {
        let Some(statement) = table.add_key() else {
            return Ok(());
        };
        self.loader.meter.enter(Phase::Keys, table.name());
        self.loader
            .statement(control, "building the primary keys", &statement)
    }

    /// Sends rows of a table.
    fn copy(
        &self,
        control: &mut Control,
        table: Table,
        range: std::ops::Range<u64>,
        freeze: bool,
    ) -> Result<(), Error> {
        let options = if freeze { "freeze on" } else { "" };
        let rows = Rows::new(table, range.start, range.end);
        self.loader.meter.enter(Phase::Rows, table.name());
        self.loader.copy(control, table.name(), options, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_scales_and_jobs_are_refused_with_the_range() {
        assert!(check_asked(1, 1).is_ok());
        for (scale, jobs) in [(0, 1), (MAX_SCALE + 1, 1), (1, 0), (1, 1001)] {
            let message = check_asked(scale, jobs)
                .expect_err("impossible")
                .to_string();
            assert!(message.contains("hint: 1 to "), "{message}");
        }
    }
}
