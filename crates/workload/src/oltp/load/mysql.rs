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
use crate::loader::{Loader, all_stored};
use crate::parts::{self, Queue};
use crate::{Error, Phase, sql};
use prony_server::{Control, Protocol, Target};
use std::ops::Range;

/// Bytes of rows in one statement, if the server takes them: it is committed as a whole, which is
/// a wait for the disk, and what a stop has to wait for.
const STATEMENT_BYTES: u64 = 4 << 20;
/// The same of an `INSERT`, of which the server keeps each value apart before it stores the first.
const INSERT_BYTES: u64 = 1 << 20;
/// What a statement takes beside its rows, and a row at the most.
const SPARE_BYTES: u64 = 1024;

/// How rows get there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// `LOAD DATA LOCAL` from memory, where the server allows it.
    LoadData,
    /// `INSERT`s of many rows.
    Insert,
}

/// How rows get there, and how many bytes of them at once.
#[derive(Clone, Copy, Debug)]
struct Manner {
    way: Way,
    bytes: usize,
}

impl Manner {
    /// As the server allows. `sharing`: so many loaders fill one table that numbers its rows.
    fn of(control: &mut Control, sharing: u32) -> Result<Manner, Error> {
        let settings = "select @@local_infile, @@max_allowed_packet, @@innodb_autoinc_lock_mode";
        let row = sql::row(control, "reading the server's limits", settings)?;
        // Else a LOAD DATA keeps all others out of such a table until it ends. It takes the server
        // half the time of an INSERT, so two loaders are as well off by turns.
        let alone = sharing > 2 && row.int(2) != Some(2);
        let (way, most) = match row.int(0) == Some(1) && !alone {
            true => (Way::LoadData, STATEMENT_BYTES),
            false => (Way::Insert, INSERT_BYTES),
        };
        let packet = row.int(1).and_then(|bytes| u64::try_from(bytes).ok());
        let bytes = packet.unwrap_or(0).saturating_sub(SPARE_BYTES).min(most);
        Ok(Manner {
            way,
            bytes: bytes.max(1) as usize,
        })
    }

    fn words(self) -> &'static str {
        match self.way {
            Way::LoadData => "LOAD DATA from memory",
            Way::Insert => "INSERTs of many rows",
        }
    }
}

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
        let manner = Manner::of(control, sharing)?;
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
        let jobs = self.request.jobs;
        let connections = match jobs {
            1 => "one connection".to_owned(),
            _ => format!("{jobs} connections"),
        };
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
        let load = format!(
            "load data local infile 'rows' into table {name} character set latin1 (id, k, c, pad)"
        );
        let insert = self.engine.insert_rows(number, true);
        let mut bytes = Vec::with_capacity(manner.bytes + SPARE_BYTES as usize);
        while !rows.is_empty() {
            self.loader.go_on()?;
            let first = rows.start;
            bytes.clear();
            if manner.way == Way::Insert {
                bytes.extend_from_slice(insert.as_bytes());
            }
            while bytes.len() < manner.bytes
                && let Some(row) = rows.next()
            {
                match manner.way {
                    Way::LoadData => self.content.line(number, row, &mut bytes),
                    Way::Insert => {
                        if row > first {
                            bytes.push(b',');
                        }
                        self.content.literal(number, row, true, &mut bytes);
                    }
                }
            }
            let stored = match manner.way {
                Way::LoadData => control.load_data(&load, &bytes),
                Way::Insert => control.execute(std::str::from_utf8(&bytes).unwrap_or_default()),
            };
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
