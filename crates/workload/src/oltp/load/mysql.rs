//! Filling the tables of MySQL and MariaDB.
//!
//! In: a load that has found what is there. Out: tables with rows, keys, indexes and statistics. Must
//! never: read a file for `LOAD DATA`, or leave a table without a note of how far it is.
//!
//! Creating a table ends a transaction there, so the note on each table is all that tells a whole
//! load from a broken one. Rows lie in the primary key, which is there from the start; they come in
//! its order.

use super::super::engine::table;
use super::super::tables::{Found, Stage};
use super::{Job, Remains};
use crate::load_mysql::{Manner, Way};
use crate::loader::{Loader, all_stored};
use crate::parts::{self, Queue};
use crate::{Error, Phase, sql};
use prony_server::{Control, Protocol, Target};
use std::ops::Range;

/// A row and the head of a statement take no more.
const ROW_BYTES: usize = 1024;

impl Job<'_> {
    pub(super) fn on_mysql(
        &self,
        control: &mut Control,
        old: Vec<Found>,
        remains: &mut Remains,
    ) -> Result<String, Error> {
        let (kept, missing) = self.make_room(control, old, remains)?;
        let mut target = Loader::same_server(control, self.request.target);
        if let Protocol::Mysql(options) = &mut target.protocol {
            // A statement that loads brings its rows along; no file is ever read.
            options.local_infile = true;
        }
        let whole = self.whole(&missing);
        let sharing = match !whole && self.asked.auto_inc {
            true => self.request.jobs,
            false => 0,
        };
        let manner = Manner::of_sharing(control, sharing)?;
        if whole {
            self.whole_tables(&target, &missing, manner)?;
        } else {
            self.shared_tables(control, &target, &missing, manner)?;
        }
        self.indexes(control, &target)?;
        self.analyze(&target)?;
        for number in 1..=self.tables {
            let note = self.note(Stage::Loaded, number);
            let doing = "noting what is loaded";
            self.loader.statement(control, doing, &note)?;
        }
        *remains = Remains::Loaded;
        let way = match (self.rows, whole) {
            (0, _) => "empty tables",
            (_, true) => "whole tables",
            (_, false) => "tables shared by ranges of rows",
        };
        let connections = self.request.connections();
        Ok(format!(
            "{}{connections}, {way}, {}; then indexes and ANALYZE TABLE",
            self.continued(kept),
            manner.words()
        ))
    }

    /// Each job makes and fills one table after the other.
    fn whole_tables(&self, target: &Target, missing: &[u32], manner: Manner) -> Result<(), Error> {
        let queue = Queue::new(missing);
        parts::together(self.loader.watch, self.workers(missing.len()), |_| {
            let mut control = self.loader.connect_any(target)?;
            while let Some(number) = queue.next() {
                self.make(&mut control, *number)?;
                self.fill(&mut control, *number, 0..u64::from(self.rows), manner)?;
                self.filled(&mut control, *number)?;
            }
            Ok(())
        })
    }

    /// All jobs fill one table together, then the next one.
    fn shared_tables(
        &self,
        control: &mut Control,
        target: &Target,
        missing: &[u32],
        manner: Manner,
    ) -> Result<(), Error> {
        for number in missing {
            self.make(control, *number)?;
            let ranges = parts::split(u64::from(self.rows), self.request.jobs);
            parts::together(self.loader.watch, ranges, |range| {
                let mut control = self.loader.connect_any(target)?;
                self.fill(&mut control, *number, range, manner)
            })?;
            self.filled(control, *number)?;
        }
        Ok(())
    }

    fn make(&self, control: &mut Control, number: u32) -> Result<(), Error> {
        self.loader.meter.enter(Phase::Create, "");
        let is_bulk = self.workload.is_bulk();
        let create = self.engine.create(number, self.asked, is_bulk);
        let note = self.note_text(Stage::Filling);
        let doing = "creating the tables";
        let both = match self.asked.table_options.as_str() {
            // With the table, so that there is never one without a note; each change costs a wait
            // for the disk.
            "" => self.engine.with_comment(&create, &note),
            // Options may end in what no comment can follow, or be a comment.
            _ => format!("{create}; {}", self.engine.comment(number, &note)),
        };
        self.loader.statement(control, doing, &both)
    }

    fn filled(&self, control: &mut Control, number: u32) -> Result<(), Error> {
        let note = self.note(Stage::Filled, number);
        self.loader
            .statement(control, "noting what is loaded", &note)
    }

    /// Sends rows of a table, in the order of its key.
    fn fill(
        &self,
        control: &mut Control,
        number: u32,
        mut rows: Range<u64>,
        manner: Manner,
    ) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        self.loader.meter.enter(Phase::Rows, "");
        let name = table(number);
        let doing = format!("sending rows of {name}");
        let begin = manner.begin(&name, "id, k, c, pad");
        let mut bytes = Vec::with_capacity(manner.bytes + ROW_BYTES);
        while !rows.is_empty() {
            self.loader.go_on()?;
            let first = rows.start;
            bytes.clear();
            manner.head(&begin, &mut bytes);
            while bytes.len() < manner.bytes
                && let Some(row) = rows.next()
            {
                match manner.way {
                    Way::LoadData => self.content.line(number, row, &mut bytes),
                    Way::Insert => {
                        self.content.literal(number, row, true, &mut bytes);
                        bytes.push(b',');
                    }
                }
            }
            let stored = manner.store(control, &begin, &mut bytes);
            let stored = stored.map_err(|source| sql::server(&doing, source))?;
            all_stored(&name, rows.start - first, stored)?;
            self.loader
                .meter
                .sent(rows.start - first, bytes.len() as u64);
        }
        Ok(())
    }

    /// Behind the indexes, of which it tells the optimizer too.
    fn analyze(&self, target: &Target) -> Result<(), Error> {
        self.loader.meter.enter(Phase::Statistics, "");
        let analyze: Vec<String> = (1..=self.tables)
            .map(|number| format!("analyze table {}", table(number)))
            .collect();
        let (jobs, doing) = (self.request.jobs, "collecting statistics");
        self.loader.spread(target, jobs, doing, &analyze)
    }
}
