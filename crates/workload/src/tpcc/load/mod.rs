//! Creating and filling the tables.
//!
//! In: a scale, a seed, a server. Out: the nine tables with rows, keys, statistics, all pages
//! all-visible. Must never: leave a half-loaded database that looks whole, begin anew what can be
//! continued, or stay when told to stop.
//!
//! A note of Prony's own (`record`) stands beside the tables until all is done. Several loaders
//! take warehouses from a queue, each in one transaction with the note that it is there; started
//! again, a load goes on with what is missing. Few warehouses and one loader instead fill the tables
//! in the transaction that creates them, where COPY may freeze rows. Keys come last, as unique
//! indexes that become primary keys in the transaction that takes the note away. What is different on
//! MySQL and MariaDB is in `mysql`.

mod mysql;

use super::indexes::valid;
use super::layout::Layout;
use super::random::LastNames;
use super::record::{self, Record};
use super::rows::{Content, Rows, order_lines};
use super::schema::{MAX_SCALE, Table};
use crate::catalog::{self, Found};
use crate::commands::caller;
use crate::loader::{self, Loader};
use crate::oltp::engine::Engine;
use crate::parts::{self, Queue};
use crate::progress::Meter;
use crate::remains::Broken;
use crate::{Error, LoadReport, LoadRequest, Phase, Progress, copy_binary, sql, stop};
use prony_server::{Control, Target};
use std::ops::Range;
use std::sync::atomic::AtomicBool;

/// Up to so many warehouses, about 2 GB, one loader makes all in one transaction.
const ONE_TRANSACTION_MAX: u32 = 20;

/// Megabytes of a warehouse with its indexes.
const WAREHOUSE_MB: u64 = 110;

/// Loads; see the top of this file.
pub fn load(
    request: &LoadRequest<'_>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<LoadReport, Error> {
    let layout = Layout::of(request.plan, request.seed)?;
    let scale = layout.scale;
    check_asked(scale, request.jobs)?;
    let meter = Meter::start(progress, 0);
    let mut remains = Remains::Untouched;
    let outcome = stop::watched(stop, |watch| {
        let loader = Loader {
            meter: &meter,
            watch,
        };
        let job = Job {
            request,
            layout,
            loader,
        };
        job.run(&mut remains)
    });
    let loaded = outcome.map_err(|error| remains.explain(error, scale, stop))?;
    let (phases, seconds) = meter.finish();
    let tables = loaded.found.into_iter().map(|found| crate::TableFacts {
        rows: match found.table {
            Table::OrderLine => order_lines(request.seed, 1..scale + 1),
            table => table.rows(scale),
        },
        ..found.facts
    });
    Ok(LoadReport {
        scale,
        jobs: request.jobs,
        rows: meter.rows(),
        bytes_sent: meter.bytes(),
        phases,
        seconds,
        tables: tables.collect(),
        method: loaded.method,
    })
}

fn check_asked(scale: u32, jobs: u32) -> Result<(), Error> {
    if !(1..=MAX_SCALE).contains(&scale) {
        return Err(Error::Asked {
            problem: format!("a scale of {scale} is not possible"),
            hint: format!("1 to {MAX_SCALE} warehouses, each about {WAREHOUSE_MB} MB"),
        });
    }
    loader::check_jobs(jobs)
}

/// How far a load came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remains {
    /// Nothing was changed; or all of it in a transaction that did not commit.
    Untouched,
    /// The commit of the tables was sent.
    Committing,
    /// Tables and a note are there.
    Begun,
    /// All is there.
    Loaded,
}

impl Remains {
    fn explain(self, error: Error, scale: u32, stop: &AtomicBool) -> Error {
        let caller = caller();
        let committing = format!(
            "either new tables or the old ones: the server's answer to the commit was lost{}",
            caller
                .check("tpcc")
                .map_or(String::new(), |check| format!("; `{check}` tells"))
        );
        let begun = format!(
            "tables without all their rows or keys, which no run accepts; `{}` with the same scale \
             and seed continues, `{}` drops them",
            caller.load("tpcc", &[]),
            caller.clean("tpcc", &[])
        );
        let remains = match self {
            Remains::Untouched => "nothing: the database is as it was before",
            Remains::Committing => &committing,
            Remains::Begun => &begun,
            Remains::Loaded => "all tables with rows and keys",
        };
        let again = if self == Remains::Untouched {
            "start the load again"
        } else {
            "start the load again with the same scale and seed: it goes on with what is missing"
        };
        let broken = Broken {
            remains,
            untouched: self == Remains::Untouched,
            scale,
            size_mb: u64::from(scale) * WAREHOUSE_MB,
            again,
        };
        broken.explain(error, stop)
    }
}

/// What a load tells of itself.
struct Done {
    found: Vec<Found<Table>>,
    method: String,
}

/// One load.
#[derive(Clone, Copy)]
struct Job<'a> {
    request: &'a LoadRequest<'a>,
    layout: Layout,
    loader: Loader<'a>,
}

impl Job<'_> {
    fn run(&self, remains: &mut Remains) -> Result<Done, Error> {
        let mut control = self.loader.connect_any(self.request.target)?;
        self.loader.lock_out_others(&mut control, "tpcc")?;
        let old = catalog::find::<Table>(&mut control)?;
        catalog::refuse_foreign(&old)?;
        let begun = record::find(&mut control)?;
        if Engine::of(&control) == Engine::MySql {
            return self.on_mysql(control, &old, begun, remains);
        }
        let method = self.method(begun.as_ref());
        let record = match begun {
            Some(record) => {
                record.accept(&self.layout)?;
                refuse_missing(&record, &old)?;
                *remains = Remains::Begun;
                record
            }
            None => self.begin(&mut control, &old, remains)?,
        };
        let target = Loader::same_server(&control, self.request.target);
        self.warehouses(&target, &record)?;
        self.loader.flush_counts(&mut control)?;
        self.statistics(&target)?;
        self.keys(&mut control, &target)?;
        self.finish(&mut control)?;
        *remains = Remains::Loaded;
        let found = catalog::find(&mut control)?;
        Ok(Done { found, method })
    }

    fn in_one_transaction(&self) -> bool {
        self.request.jobs == 1 && self.layout.scale <= ONE_TRANSACTION_MAX
    }

    fn method(&self, begun: Option<&Record>) -> String {
        match begun {
            Some(record) => format!(
                "continued: {} of {} warehouses were there already; binary COPY",
                record.done, record.layout.scale
            ),
            None if self.in_one_transaction() => {
                "one transaction, binary COPY with FREEZE; then keys".to_owned()
            }
            None => format!(
                "{}, binary COPY in a transaction a warehouse; then VACUUM and keys",
                self.request.connections()
            ),
        }
    }

    /// Puts empty tables, or with one loader full ones, in place of the old ones.
    fn begin(
        &self,
        control: &mut Control,
        old: &[Found<Table>],
        remains: &mut Remains,
    ) -> Result<Record, Error> {
        sql::run(control, "beginning", "begin")?;
        if !old.is_empty() {
            let drop = catalog::drop_all::<Table>();
            self.loader
                .statement(control, "dropping the old tables", &drop)?;
        }
        for table in Table::ALL {
            self.loader.meter.enter(Phase::Create, table.name());
            self.loader
                .statement(control, "creating the tables", &self.layout.create(table))?;
        }
        record::create(control, &self.layout)?;
        if self.in_one_transaction() {
            let Some(mut record) = record::find(control)? else {
                return Err(gone());
            };
            self.loader.meter.expect(self.rows(&record));
            let content = self.content(&record);
            for table in Table::ALL {
                self.copy(control, &content, table, 1..self.layout.scale + 1, true)?;
            }
            record::note(control, None)?;
            record.missing.clear();
            *remains = Remains::Committing;
            sql::run(control, "committing", "commit")?;
            *remains = Remains::Begun;
            return Ok(record);
        }
        *remains = Remains::Committing;
        sql::run(control, "committing", "commit")?;
        *remains = Remains::Begun;
        record::find(control)?.ok_or_else(gone)
    }

    fn content(&self, record: &Record) -> Content {
        Content {
            seed: record.layout.seed,
            moment_micros: record.moment_micros,
            names: LastNames::new(),
            bad_credit_percent: record.layout.population.bad_credit_percent(),
        }
    }

    /// Rows of the parts that are missing.
    fn rows(&self, record: &Record) -> u64 {
        let (items, warehouses) = match record.missing.first() {
            Some(0) => (Table::Item.rows(1), &record.missing[1..]),
            _ => (0, &record.missing[..]),
        };
        let random = |table: &&Table| matches!(table, Table::Item | Table::OrderLine);
        let others = Table::ALL.iter().filter(|table| !random(table));
        let fixed: u64 = others.map(|table| table.rows(1)).sum();
        let lines: u64 = warehouses
            .iter()
            .map(|warehouse| order_lines(record.layout.seed, *warehouse..warehouse + 1))
            .sum();
        items + fixed * warehouses.len() as u64 + lines
    }

    /// Loads what is missing, over several connections.
    fn warehouses(&self, target: &Target, record: &Record) -> Result<(), Error> {
        if record.missing.is_empty() {
            return Ok(());
        }
        self.loader.meter.expect(self.rows(record));
        self.loader.meter.enter(Phase::Rows, "");
        let content = self.content(record);
        let queue = Queue::new(&record.missing);
        let jobs = self.request.jobs.min(record.missing.len() as u32);
        parts::together(self.loader.watch, (0..jobs).collect(), |_| {
            let mut control = self.loader.connect(target)?;
            while let Some(part) = queue.next() {
                self.part(&mut control, &content, *part)?;
            }
            self.loader.flush_counts(&mut control)
        })
    }

    /// Loads the items or a warehouse, with the note that it is there.
    fn part(&self, control: &mut Control, content: &Content, part: u32) -> Result<(), Error> {
        sql::run(control, "beginning", "begin")?;
        if !record::note(control, Some(part))? {
            return sql::run(control, "ending", "rollback");
        }
        for table in Table::ALL {
            match (part, table) {
                (0, Table::Item) => self.copy(control, content, table, 1..2, false)?,
                (0, _) | (_, Table::Item) => {}
                _ => self.copy(control, content, table, part..part + 1, false)?,
            }
        }
        self.loader.go_on()?;
        sql::run(control, "committing", "commit")
    }

    fn copy(
        &self,
        control: &mut Control,
        content: &Content,
        table: Table,
        warehouses: Range<u32>,
        freeze: bool,
    ) -> Result<(), Error> {
        if freeze {
            self.loader.meter.enter(Phase::Rows, table.name());
        }
        // Rows that the server deals out to partitions it does not freeze; VACUUM follows.
        let dealt = table == Table::OrderLine && self.layout.partitions > 0;
        let freeze = if freeze && !dealt { ", freeze on" } else { "" };
        let options = format!("{}{freeze}", copy_binary::OPTION);
        let rows = Rows::new(content, table, warehouses);
        self.loader.copy(control, table.name(), &options, rows)
    }

    /// Before the keys: building a key then leaves the exact number of rows in the catalog, where
    /// ANALYZE leaves an estimate. Of frozen pages VACUUM reads almost nothing; it tells the server
    /// that there is nothing to vacuum, else autovacuum would come into the first run.
    fn statistics(&self, target: &Target) -> Result<(), Error> {
        self.loader.meter.enter(Phase::Statistics, "");
        let vacuum = Table::ALL.map(|table| format!("vacuum (analyze) {}", table.name()));
        let jobs = self.request.jobs;
        self.loader.spread(target, jobs, "vacuuming", &vacuum)
    }

    /// Builds the indexes that are not there yet.
    fn keys(&self, control: &mut Control, target: &Target) -> Result<(), Error> {
        self.loader.meter.enter(Phase::Keys, "");
        let there = valid(control, "true")?;
        let mut missing = self.layout.builds();
        missing.retain(|index| !there.contains(&index.name));
        let missing: Vec<String> = missing.into_iter().map(|index| index.statement).collect();
        let (jobs, doing) = (self.request.jobs, "building the keys and indexes");
        self.loader.spread(target, jobs, doing, &missing)
    }

    /// Makes the primary keys and takes the note away.
    fn finish(&self, control: &mut Control) -> Result<(), Error> {
        let primary = valid(control, "i.indisprimary")?;
        let mut statements = vec!["begin".to_owned()];
        let mut missing = self.layout.builds();
        missing.retain(|index| !primary.contains(&index.name));
        statements.extend(missing.into_iter().filter_map(|index| index.attach));
        let last = self.layout.last_key();
        let last = last.filter(|(name, _)| !primary.iter().any(|there| there == name));
        statements.extend(last.map(|(_, statement)| statement));
        statements.push(record::remove());
        statements.push("commit".to_owned());
        let doing = "making the primary keys";
        self.loader
            .statement(control, doing, &statements.join("; "))
    }
}

/// # Errors
/// A load is to be continued, and one of its tables was dropped since.
fn refuse_missing(record: &Record, found: &[Found<Table>]) -> Result<(), Error> {
    let there = |table: &Table| found.iter().any(|found| found.table == *table);
    let Some(missing) = Table::ALL.iter().find(|table| !there(table)) else {
        return Ok(());
    };
    Err(Error::Data {
        problem: format!(
            "{}, and table {} was dropped since",
            record.words(),
            missing.name()
        ),
        hint: format!(
            "`{}` drops the others; then load anew",
            caller().clean("tpcc", &[])
        ),
    })
}

fn gone() -> Error {
    Error::Data {
        problem: format!("table {} has gone while it was loaded", record::NAME),
        hint: "somebody dropped it; load again".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_scales_are_refused_with_the_range() {
        assert!(check_asked(1, 1).is_ok());
        for (scale, jobs) in [(0, 1), (MAX_SCALE + 1, 1), (1, 0)] {
            let refused = check_asked(scale, jobs);
            let message = refused.expect_err("impossible").to_string();
            assert!(message.contains("hint: 1 to "), "{message}");
        }
    }
}
