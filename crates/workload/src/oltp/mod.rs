//! The workloads that sysbench bundles, and `hot-row`, on sysbench's tables.
//!
//! In: options, a control connection. Out: what `Workload` asks for. Must never: send other
//! statements than sysbench does, or refuse tables that sysbench made.
//!
//! `event` says what each workload does; `engine` has the texts in which engines differ.

mod bulk;
mod check;
pub mod distribution;
pub mod engine;
pub mod event;
mod load;
pub mod manner;
pub mod options;
mod player;
mod program;
pub mod queries;
mod reader;
mod ready;
pub mod rows;
mod tables;
mod tables_mysql;

#[cfg(test)]
mod tests;

use crate::{CheckReport, Error, LoadReport, LoadRequest, Loaded, Progress, Workload};
use engine::Engine;
use event::{Event, Part, Sql};
use options::Asked;
pub use program::OltpProgram;
use prony_plan::{QueryMode, WorkloadPlan};
use prony_server::Control;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The columns of the tables.
const COLUMNS: &str = "id,k,c,pad";
/// Those of `bulk_insert`.
const BULK_COLUMNS: &str = "id,k";
/// Rows of a table where none are asked for.
const SIZE: u32 = 10_000;
/// The same of `hot-row`.
const HOT_SIZE: u32 = 100;
/// The workload by whose name the tables go that all but `bulk_insert` share.
const DATA: &str = "oltp_read_write";

/// One of the workloads.
#[derive(Clone, Copy, Debug)]
pub struct Oltp {
    /// As `prony run NAME` takes it: sysbench's own name.
    pub name: &'static str,
    /// One line in words.
    pub title: &'static str,
    /// What a transaction is.
    pub event: Event,
    /// The workload by whose name its tables go.
    data: &'static str,
    /// Rows of a table where none are asked for.
    default_size: u32,
}

macro_rules! workloads {
    ($($id:ident $name:literal $event:expr, $title:literal;)*) => {
        $(
            #[doc = concat!("`", $name, "`: ", $title, ".")]
            pub static $id: Oltp = Oltp {
                name: $name,
                title: $title,
                event: $event,
                data: DATA,
                default_size: SIZE,
            };
        )*
    };
}

workloads! {
    OLTP_READ_WRITE "oltp_read_write" event::READ_WRITE,
        "sysbench's read-write transaction: 14 reads, 4 writes";
    OLTP_READ_ONLY "oltp_read_only" event::READ_ONLY,
        "sysbench's read-only transaction: 10 rows by key, 4 ranges";
    OLTP_WRITE_ONLY "oltp_write_only" event::WRITE_ONLY,
        "sysbench's write-only transaction: 2 updates, a delete, an insert";
    OLTP_POINT_SELECT "oltp_point_select" event::single(&[Part::Each(Sql::PointSelect)]),
        "one row by key (1 statement)";
    OLTP_INSERT "oltp_insert" event::single(&[Part::TextInsert]),
        "a new row (1 statement, sent as text)";
    OLTP_UPDATE_INDEX "oltp_update_index" event::bare(&[Part::Each(Sql::IndexUpdate)]),
        "update an indexed column (1 statement)";
    OLTP_UPDATE_NON_INDEX "oltp_update_non_index" event::bare(&[Part::Each(Sql::NonIndexUpdate)]),
        "update a column without an index (1 statement)";
    OLTP_DELETE "oltp_delete" event::single(&[Part::Each(Sql::Delete)]),
        "delete a row, which is not put back (1 statement)";
    SELECT_RANDOM_POINTS "select_random_points" event::single(&[Part::Each(Sql::RandomPoints)]),
        "rows of ten values of an indexed column (1 statement)";
    SELECT_RANDOM_RANGES "select_random_ranges" event::single(&[Part::Each(Sql::RandomRanges)]),
        "count the rows of ten ranges of an indexed column (1 statement)";
}

/// `bulk_insert`: rows appended by INSERTs of 512 KiB.
pub static BULK_INSERT: Oltp = Oltp {
    name: "bulk_insert",
    title: "append rows by INSERTs of 512 KiB, about 30,000 rows (1 statement)",
    event: Event::Bulk,
    data: "bulk_insert",
    default_size: 0,
};

/// `hot-row`: all users update the same row.
pub static HOT_ROW: Oltp = Oltp {
    name: "hot-row",
    title: "all users update the same row, each in a transaction (3 statements)",
    event: event::HOT_ROW,
    data: DATA,
    default_size: HOT_SIZE,
};

/// The workload of this family that has this name.
pub fn named(name: &str) -> Option<&'static Oltp> {
    let all = [
        &OLTP_READ_WRITE,
        &OLTP_READ_ONLY,
        &OLTP_WRITE_ONLY,
        &OLTP_POINT_SELECT,
        &OLTP_INSERT,
        &OLTP_UPDATE_INDEX,
        &OLTP_UPDATE_NON_INDEX,
        &OLTP_DELETE,
        &SELECT_RANDOM_POINTS,
        &SELECT_RANDOM_RANGES,
        &BULK_INSERT,
        &HOT_ROW,
    ];
    all.into_iter().find(|workload| workload.name == name)
}

impl Oltp {
    fn is_bulk(&self) -> bool {
        matches!(self.event, Event::Bulk)
    }

    fn has(&self, part: Part) -> bool {
        matches!(self.event, Event::Parts { parts, .. } if parts.contains(&part))
    }

    fn is_hot(&self) -> bool {
        self.has(Part::Each(Sql::HotUpdate))
    }

    /// Whether its statements name the first table alone.
    fn on_one_table(&self) -> bool {
        let parts = [Sql::HotUpdate, Sql::RandomPoints, Sql::RandomRanges];
        parts.into_iter().any(|sql| self.has(Part::Each(sql)))
    }

    fn columns(&self) -> &'static str {
        if self.is_bulk() {
            BULK_COLUMNS
        } else {
            COLUMNS
        }
    }

    /// Rows with which each table is loaded: none where users bring all of them.
    pub fn rows(&self, asked: &Asked) -> u32 {
        let brings_all = self.has(Part::TextInsert) && !asked.auto_inc;
        if self.is_bulk() || brings_all {
            return 0;
        }
        asked.table_size.unwrap_or(self.default_size)
    }
}

impl Workload for Oltp {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn data(&self) -> &'static str {
        self.data
    }

    fn statements(&self) -> Vec<String> {
        program::statements(self, &Asked::default(), Engine::Postgres)
    }

    fn options(&self) -> &'static [&'static str] {
        options::KEYS
    }

    fn check_options(&self, plan: &WorkloadPlan, _protocol: QueryMode) -> Vec<Error> {
        options::read(plan, self).err().unwrap_or_default()
    }

    fn load(
        &self,
        request: &LoadRequest<'_>,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<LoadReport, Error> {
        load::load(self, request, progress, stop)
    }

    fn check(&self, control: &mut Control) -> Result<CheckReport, Error> {
        check::check(control, self)
    }

    fn clean(&self, control: &mut Control) -> Result<Vec<String>, Error> {
        tables::clean(control, self.columns())
    }

    fn program(&self, control: &mut Control, plan: &WorkloadPlan) -> Result<Loaded, Error> {
        let program = OltpProgram::ready(control, plan, self)?;
        Ok(Loaded {
            scale: program.tables(),
            program: Arc::new(program),
        })
    }
}
