//! Creating and filling the tables.
//!
//! In: options, a seed, a server. Out: tables with rows, keys, indexes, statistics, all pages
//! all-visible. Must never: leave a half-loaded database that looks whole, load again what is there
//! already, or stay when told to stop.
//!
//! One job makes all in one transaction, which leaves the old tables as they were if it breaks.
//! Several jobs take whole tables, each made and filled in a transaction of its own, where COPY may
//! freeze rows; where there are fewer tables than jobs they share each table by ranges of rows. A
//! note on each table says how far it is; started again with the same options, a load keeps the
//! tables that are filled. Indexes come last, those of one table at the same time. `mysql` does the
//! same without transactions, which do not hold tables there.

mod mysql;
mod remains;

use super::Oltp;
use super::distribution::Draw;
use super::engine::{Engine, Index, table};
use super::options::{self, Asked};
use super::rows::{Content, Rows};
use super::tables::{self, Found, Note, Stage};
use crate::loader::{self, Loader};
use crate::parts::{self, Queue};
use crate::progress::Meter;
use crate::{Error, LoadReport, LoadRequest, Phase, Progress, copy_binary, sql, stop};
use prony_server::{Control, Target};
use remains::Remains;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

/// Up to so many tables and rows one job makes all in one transaction: locks and time have bounds.
const ONE_TRANSACTION: (u32, u64) = (200, 20_000_000);
/// Notes and keys that are changed in one transaction.
const TABLES_AT_ONCE: usize = 200;
/// Bytes of a row with its share of the indexes.
const ROW_BYTES: u64 = 270;

/// Loads; see the top of this file.
pub fn load(
    workload: &Oltp,
    request: &LoadRequest<'_>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<LoadReport, Error> {
    // Whoever asks for more than the first problem asks `check_options`.
    let asked = options::read(request.plan, workload).map_err(|mut all| all.swap_remove(0))?;
    loader::check_jobs(request.jobs)?;
    let meter = Meter::start(progress, 0);
    let mut remains = Remains::Untouched;
    let outcome = stop::watched(stop, |watch| {
        let loader = Loader {
            meter: &meter,
            watch,
        };
        let mut control = loader.connect_any(request.target)?;
        let engine = Engine::of(&control);
        Job::new(workload, request, &asked, engine, loader).run(&mut control, &mut remains)
    });
    let tables = asked.tables.unwrap_or(1);
    let size = u64::from(workload.rows(&asked));
    let loaded = outcome.map_err(|error| {
        let size_mb = u64::from(tables) * size * ROW_BYTES / 1_000_000;
        remains.explain(error, workload, tables, size_mb, stop)
    })?;
    let (phases, seconds) = meter.finish();
    let exact = loaded.found.into_iter().map(|mut found| {
        found.facts.rows = size;
        found
    });
    Ok(LoadReport {
        scale: tables,
        jobs: request.jobs,
        rows: meter.rows(),
        bytes_sent: meter.bytes(),
        phases,
        seconds,
        tables: tables::facts(exact.collect()),
        method: loaded.method,
    })
}

/// What a load tells of itself.
struct Done {
    found: Vec<Found>,
    method: String,
}

/// One load.
struct Job<'a> {
    workload: &'a Oltp,
    request: &'a LoadRequest<'a>,
    asked: &'a Asked,
    engine: Engine,
    tables: u32,
    /// Rows of a table.
    rows: u32,
    content: Content,
    /// The same words for the same data.
    what: String,
    loader: Loader<'a>,
}

impl<'a> Job<'a> {
    fn new(
        workload: &'a Oltp,
        request: &'a LoadRequest<'a>,
        asked: &'a Asked,
        engine: Engine,
        loader: Loader<'a>,
    ) -> Self {
        let tables = asked.tables.unwrap_or(1);
        let size = asked.table_size.unwrap_or(workload.default_size);
        let rows = workload.rows(asked);
        Job {
            workload,
            request,
            asked,
            engine,
            tables,
            rows,
            content: Content {
                seed: request.seed,
                k: Draw::new(asked.distribution, 1, i64::from(size)),
            },
            what: Note::what(asked, tables, rows, size, request.seed),
            loader,
        }
    }

    fn run(&self, control: &mut Control, remains: &mut Remains) -> Result<Done, Error> {
        self.loader.lock_out_others(control, self.workload.data)?;
        let old = tables::find(control)?;
        tables::refuse_foreign(&old, self.workload.columns(), self.tables)?;
        let old: Vec<Found> = old
            .into_iter()
            .filter(|found| found.columns == self.workload.columns())
            .collect();
        let all = u64::from(self.rows) * u64::from(self.tables);
        let (few, small) = ONE_TRANSACTION;
        let unfinished = old.iter().any(|found| self.is_kept(found));
        let method = if self.engine == Engine::MySql {
            self.on_mysql(control, old, remains)?
        } else if self.request.jobs == 1 && self.tables <= few && all <= small && !unfinished {
            self.in_one(control, &old, remains)?
        } else {
            self.in_parts(control, old, remains)?
        };
        let found = tables::find(control)?.into_iter();
        let found = found.filter(|found| found.number <= self.tables);
        Ok(Done {
            found: found.collect(),
            method,
        })
    }

    /// Whether a table is what an earlier load with the same options has filled.
    fn is_kept(&self, found: &Found) -> bool {
        let note = found.note.as_ref();
        note.is_some_and(|note| note.stage == Stage::Filled && note.what == self.what)
    }

    fn note(&self, stage: Stage, number: u32) -> String {
        self.engine.comment(number, &self.note_text(stage))
    }

    fn note_text(&self, stage: Stage) -> String {
        let what = self.what.clone();
        Note { what, stage }.text()
    }

    /// All in one transaction.
    fn in_one(
        &self,
        control: &mut Control,
        old: &[Found],
        remains: &mut Remains,
    ) -> Result<String, Error> {
        let loader = &self.loader;
        loader
            .meter
            .expect(u64::from(self.rows) * u64::from(self.tables));
        sql::run(control, "beginning", "begin")?;
        for drop in tables::drop_all(old) {
            loader.statement(control, "dropping the old tables", &drop)?;
        }
        for number in 1..=self.tables {
            self.create(control, number, Stage::Loaded)?;
            self.copy(control, number, 0..u64::from(self.rows), true)?;
        }
        loader.meter.enter(Phase::Statistics, "");
        for number in 1..=self.tables {
            let analyze = format!("analyze {}", table(number));
            loader.statement(control, "collecting statistics", &analyze)?;
        }
        loader.meter.enter(Phase::Keys, "");
        for number in 1..=self.tables {
            for index in self.engine.indexes(self.asked, self.workload.is_bulk()) {
                let build = self.engine.build(index, number);
                loader.statement(control, "building the indexes", &build)?;
                if index == Index::Primary {
                    let attach = self.engine.attach(number);
                    loader.statement(control, "making the primary keys", &attach)?;
                }
            }
        }
        *remains = Remains::Committing;
        sql::run(control, "committing", "commit")?;
        *remains = Remains::Loaded;
        loader.flush_counts(control)?;
        // Of frozen pages this reads almost nothing. It tells the server that there is nothing to
        // vacuum, else autovacuum would come into the first run.
        loader.meter.enter(Phase::Statistics, "");
        for number in 1..=self.tables {
            let vacuum = format!("vacuum {}", table(number));
            loader.statement(control, "vacuuming", &vacuum)?;
        }
        Ok("one transaction, binary COPY with FREEZE".to_owned())
    }

    /// Drops the tables that are not kept; gives how many are, and which are missing.
    fn make_room(
        &self,
        control: &mut Control,
        old: Vec<Found>,
        remains: &mut Remains,
    ) -> Result<(usize, Vec<u32>), Error> {
        let (kept, dropped): (Vec<Found>, Vec<Found>) = old
            .into_iter()
            .partition(|found| found.number <= self.tables && self.is_kept(found));
        if !kept.is_empty() {
            *remains = Remains::Begun;
        }
        let missing: Vec<u32> = (1..=self.tables)
            .filter(|number| kept.iter().all(|found| found.number != *number))
            .collect();
        self.loader
            .meter
            .expect(u64::from(self.rows) * missing.len() as u64);
        for drop in tables::drop_all(&dropped) {
            let doing = "dropping the old tables";
            self.loader.statement(control, doing, &drop)?;
            *remains = Remains::Begun;
        }
        *remains = Remains::Begun;
        Ok((kept.len(), missing))
    }

    /// Table by table, over several connections.
    fn in_parts(
        &self,
        control: &mut Control,
        old: Vec<Found>,
        remains: &mut Remains,
    ) -> Result<String, Error> {
        let (kept, missing) = self.make_room(control, old, remains)?;
        let target = Loader::same_server(control, self.request.target);
        let whole = self.whole(&missing);
        if whole {
            self.tables_in_parallel(&target, &missing)?;
        } else {
            self.ranges_in_parallel(control, &target, &missing)?;
        }
        self.statistics(&target)?;
        self.indexes(control, &target)?;
        self.finish(control)?;
        *remains = Remains::Loaded;
        let way = match whole {
            true => "a transaction a table, COPY with FREEZE",
            false => "tables shared by ranges of rows, COPY",
        };
        Ok(format!(
            "{}{}, {way}; then VACUUM and indexes",
            self.continued(kept),
            self.request.connections()
        ))
    }

    /// Whether each job takes whole tables; else all share one after the other.
    fn whole(&self, missing: &[u32]) -> bool {
        missing.len() >= self.request.jobs as usize || self.rows == 0
    }

    fn continued(&self, kept: usize) -> String {
        match kept {
            0 => String::new(),
            kept => format!("continued: {kept} of {} tables were there; ", self.tables),
        }
    }

    /// Each job makes and fills one table after the other.
    fn tables_in_parallel(&self, target: &Target, missing: &[u32]) -> Result<(), Error> {
        let queue = Queue::new(missing);
        parts::together(self.loader.watch, self.workers(missing.len()), |_| {
            let mut control = self.loader.connect_any(target)?;
            while let Some(number) = queue.next() {
                sql::run(&mut control, "beginning", "begin")?;
                self.create(&mut control, *number, Stage::Filled)?;
                self.copy(&mut control, *number, 0..u64::from(self.rows), true)?;
                self.loader.go_on()?;
                sql::run(&mut control, "committing", "commit")?;
            }
            self.loader.flush_counts(&mut control)
        })
    }

    /// All jobs fill one table together, then the next one.
    fn ranges_in_parallel(
        &self,
        control: &mut Control,
        target: &Target,
        missing: &[u32],
    ) -> Result<(), Error> {
        for number in missing {
            sql::run(control, "beginning", "begin")?;
            self.create(control, *number, Stage::Filling)?;
            sql::run(control, "committing", "commit")?;
            let ranges = parts::split(u64::from(self.rows), self.request.jobs);
            parts::together(self.loader.watch, ranges, |range| {
                let mut control = self.loader.connect_any(target)?;
                self.copy(&mut control, *number, range, false)?;
                self.loader.flush_counts(&mut control)
            })?;
            let note = self.note(Stage::Filled, *number);
            self.loader
                .statement(control, "noting what is loaded", &note)?;
        }
        Ok(())
    }

    fn create(&self, control: &mut Control, number: u32, stage: Stage) -> Result<(), Error> {
        self.loader.meter.enter(Phase::Create, "");
        let is_bulk = self.workload.is_bulk();
        let mut statements = vec![
            self.engine.create(number, self.asked, is_bulk),
            self.note(stage, number),
        ];
        let number_on = self.engine.number_on(number, self.asked, self.rows);
        statements.extend(number_on.filter(|_| !is_bulk));
        let doing = "creating the tables";
        self.loader
            .statement(control, doing, &statements.join("; "))
    }

    fn copy(
        &self,
        control: &mut Control,
        number: u32,
        range: Range<u64>,
        freeze: bool,
    ) -> Result<(), Error> {
        if self.rows == 0 {
            return Ok(());
        }
        self.loader.meter.enter(Phase::Rows, "");
        let freeze = if freeze { ", freeze on" } else { "" };
        let options = format!("{}{freeze}", copy_binary::OPTION);
        let rows = Rows::new(self.content, number, range);
        self.loader.copy(control, &table(number), &options, rows)
    }

    /// Before the indexes: building one then leaves the exact number of rows in the catalog.
    fn statistics(&self, target: &Target) -> Result<(), Error> {
        self.loader.meter.enter(Phase::Statistics, "");
        let vacuum: Vec<String> = (1..=self.tables)
            .map(|number| format!("vacuum (analyze) {}", table(number)))
            .collect();
        let jobs = self.request.jobs;
        self.loader.spread(target, jobs, "vacuuming", &vacuum)
    }

    /// Builds the indexes that are not there yet.
    fn indexes(&self, control: &mut Control, target: &Target) -> Result<(), Error> {
        self.loader.meter.enter(Phase::Keys, "");
        let found = tables::find(control)?;
        let wanted = self.engine.indexes(self.asked, self.workload.is_bulk());
        let mut missing = Vec::new();
        for found in found.iter().filter(|found| found.number <= self.tables) {
            let of_table = wanted.iter().filter(|index| match index {
                Index::Primary | Index::Plain => !found.indexed[0],
                Index::Secondary => !found.indexed[1],
            });
            missing.extend(of_table.map(|index| self.engine.build(*index, found.number)));
        }
        let (jobs, doing) = (self.request.jobs, "building the indexes");
        self.loader.spread(target, jobs, doing, &missing)
    }

    fn workers(&self, pieces: usize) -> Vec<u32> {
        (0..self.request.jobs.min(pieces as u32)).collect()
    }

    /// Makes the primary keys, and notes that all is there.
    fn finish(&self, control: &mut Control) -> Result<(), Error> {
        let found = tables::find(control)?;
        let wanted = self.engine.indexes(self.asked, self.workload.is_bulk());
        let found: Vec<&Found> = found
            .iter()
            .filter(|found| found.number <= self.tables)
            .collect();
        for some in found.chunks(TABLES_AT_ONCE) {
            let mut statements = vec!["begin".to_owned()];
            for found in some {
                if wanted.contains(&Index::Primary) && !found.keyed {
                    statements.push(self.engine.attach(found.number));
                }
                statements.push(self.note(Stage::Loaded, found.number));
            }
            statements.push("commit".to_owned());
            let doing = "making the primary keys";
            self.loader
                .statement(control, doing, &statements.join("; "))?;
        }
        Ok(())
    }
}
