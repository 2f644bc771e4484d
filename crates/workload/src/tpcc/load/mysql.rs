//! Filling the tables of MySQL and MariaDB.
//!
//! In: a load that has found what is there. Out: tables with rows, keys, indexes and statistics. Must
//! never: read a file for `LOAD DATA`, or leave tables that look whole and are not.
//!
//! Creating a table ends a transaction there, so the note comes first of all and goes last: whatever
//! is broken off between the two goes on from it. The rows lie in the primary key, which is there from
//! the start, and come in its order; the other indexes are built behind them.

use super::super::record::{self, Record};
use super::super::rows::{Content, Rows};
use super::super::schema::Table;
use super::super::{indexes, schema_mysql};
use super::{Done, Job, Remains, gone};
use crate::catalog::{self, Found};
use crate::fields::{Fields, Lines, Literals};
use crate::load_mysql::{Manner, Way};
use crate::loader::{Loader, all_stored};
use crate::parts::{self, Queue};
use crate::{Error, Phase, sql};
use prony_server::{Control, Protocol, Target};
use std::ops::Range;

impl Job<'_> {
    pub(super) fn on_mysql(
        &self,
        mut control: Control,
        old: &[Found<Table>],
        begun: Option<Record>,
        remains: &mut Remains,
    ) -> Result<Done, Error> {
        let mut continued = String::new();
        if let Some(record) = &begun {
            record.accept(&self.layout)?;
            *remains = Remains::Begun;
            let (done, scale) = (record.done, record.layout.scale);
            continued = format!("continued: {done} of {scale} warehouses were there already; ");
        }
        let record = match begun {
            Some(record) => record,
            None => self.begin_on_mysql(&mut control, old, remains)?,
        };
        self.create(&mut control, &record)?;
        let mut target = Loader::same_server(&control, self.request.target);
        if let Protocol::Mysql(options) = &mut target.protocol {
            // A statement that loads brings its rows along; no file is ever read.
            options.local_infile = true;
        }
        let manner = Manner::of(&mut control)?;
        self.fill(&target, &record, manner)?;
        self.second(&mut control, &target)?;
        self.analyze(&target)?;
        let doing = "noting that all is there";
        self.loader
            .statement(&mut control, doing, &record::remove())?;
        *remains = Remains::Loaded;
        let connections = self.request.connections();
        Ok(Done {
            found: catalog::find(&mut control)?,
            method: format!(
                "{continued}{connections}, {} in a transaction a warehouse; then indexes and \
                 ANALYZE TABLE",
                manner.words()
            ),
        })
    }

    /// Leaves the note, and takes the old tables away.
    fn begin_on_mysql(
        &self,
        control: &mut Control,
        old: &[Found<Table>],
        remains: &mut Remains,
    ) -> Result<Record, Error> {
        self.loader.go_on()?;
        *remains = Remains::Begun;
        if !old.is_empty() {
            let drop = catalog::drop_all::<Table>();
            self.loader
                .statement(control, "dropping the old tables", &drop)?;
        }
        record::create(control, &self.layout)?;
        record::find(control)?.ok_or_else(gone)
    }

    /// Creates the tables that are not there yet.
    ///
    /// # Errors
    /// One is missing that a part of the load is in already.
    fn create(&self, control: &mut Control, record: &Record) -> Result<(), Error> {
        let found = catalog::find::<Table>(control)?;
        if record.missing.len() <= record.layout.scale as usize {
            return super::refuse_missing(record, &found);
        }
        for table in Table::ALL {
            if found.iter().any(|found| found.table == table) {
                continue;
            }
            self.loader.meter.enter(Phase::Create, table.name());
            let (population, partitions) = (self.layout.population, self.layout.partitions);
            let create = schema_mysql::create(table, population, partitions);
            self.loader
                .statement(control, "creating the tables", &create)?;
        }
        Ok(())
    }

    /// Loads what is missing, over several connections.
    fn fill(&self, target: &Target, record: &Record, manner: Manner) -> Result<(), Error> {
        if record.missing.is_empty() {
            return Ok(());
        }
        self.loader.meter.expect(self.rows(record));
        let content = self.content(record);
        let queue = Queue::new(&record.missing);
        let jobs = self.request.jobs.min(record.missing.len() as u32);
        // One loader that has all to do tells of each table; of a rest it is not known where it is.
        let tells = jobs == 1 && record.missing.len() > record.layout.scale as usize;
        if !tells {
            self.loader.meter.enter(Phase::Rows, "");
        }
        parts::together(self.loader.watch, (0..jobs).collect(), |_| {
            let mut control = self.loader.connect_any(target)?;
            while let Some(part) = queue.next() {
                self.part_on_mysql(&mut control, &content, *part, manner, tells)?;
            }
            Ok(())
        })
    }

    /// Loads the items or a warehouse, with the note that it is there.
    fn part_on_mysql(
        &self,
        control: &mut Control,
        content: &Content,
        part: u32,
        manner: Manner,
        tells: bool,
    ) -> Result<(), Error> {
        sql::run(control, "beginning", "begin")?;
        if !record::note(control, Some(part))? {
            return sql::run(control, "ending", "rollback");
        }
        for table in Table::ALL {
            let warehouses = match (part, table) {
                (0, Table::Item) => 1..2,
                (0, _) | (_, Table::Item) => continue,
                _ => part..part + 1,
            };
            if tells {
                self.loader.meter.enter(Phase::Rows, table.name());
            }
            match manner.way {
                Way::LoadData => self.send::<Lines>(control, content, table, warehouses, manner)?,
                Way::Insert => {
                    self.send::<Literals>(control, content, table, warehouses, manner)?
                }
            }
        }
        self.loader.go_on()?;
        sql::run(control, "committing", "commit")
    }

    /// Sends rows of a table, in the order of its key.
    fn send<F: Fields>(
        &self,
        control: &mut Control,
        content: &Content,
        table: Table,
        warehouses: Range<u32>,
        manner: Manner,
    ) -> Result<(), Error> {
        let name = table.name();
        let doing = format!("sending rows of {name}");
        // In the order in which they are made.
        let columns: Vec<&str> = table.columns().iter().map(|(name, _)| *name).collect();
        let begin = manner.begin(name, &columns.join(", "));
        let mut rows = Rows::<F>::of(content, table, warehouses);
        let mut bytes = Vec::with_capacity(manner.bytes + 4096);
        while !rows.is_done() {
            self.loader.go_on()?;
            bytes.clear();
            manner.head(&begin, &mut bytes);
            let count = rows.fill(&mut bytes, manner.bytes);
            let stored = manner.store(control, &begin, &mut bytes);
            let stored = stored.map_err(|source| sql::server(&doing, source))?;
            all_stored(name, count, stored)?;
            self.loader.meter.sent(count, bytes.len() as u64);
        }
        Ok(())
    }

    /// Builds the indexes that are not there yet.
    fn second(&self, control: &mut Control, target: &Target) -> Result<(), Error> {
        self.loader.meter.enter(Phase::Keys, "");
        let second = indexes::second(control)?.into_iter();
        let missing = second.filter(|index| !index.is_there);
        let missing: Vec<String> = missing.map(|index| index.build).collect();
        let (jobs, doing) = (self.request.jobs, "building the indexes");
        self.loader.spread(target, jobs, doing, &missing)
    }

    /// Behind the indexes, of which it tells the optimizer too.
    fn analyze(&self, target: &Target) -> Result<(), Error> {
        self.loader.meter.enter(Phase::Statistics, "");
        let analyze = Table::ALL.map(|table| format!("analyze table {}", table.name()));
        let (jobs, doing) = (self.request.jobs, "collecting statistics");
        self.loader.spread(target, jobs, doing, &analyze)
    }
}
