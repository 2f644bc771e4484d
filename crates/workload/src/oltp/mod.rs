//! The workloads that sysbench bundles, and `hot-row`, on sysbench's tables.
//!
//! They must send exactly the statements that sysbench sends, and accept tables that sysbench
//! created.
//!
//! `event` defines what each workload does; `statements` has the SQL that depends on the dialect.

mod bulk;
mod check;
pub mod distribution;
pub mod event;
mod load;
pub mod options;
pub mod policy;
mod program;
pub mod queries;
pub mod rows;
pub mod statements;
mod table_check;
mod tables;
mod user;

#[cfg(test)]
mod tests;

use crate::describe::{
    CountedGrowth, Growth, GrowthCounter, LedgerEntries, OptionSpec, ScaleUnit, TableGrowth,
    TableRows, TableSpec,
};
use crate::remedy::{LoadOption, LoadSpec};
use crate::{CheckReport, Error, LoadReport, LoadRequest, ReadyWorkload, Result, Workload};
use event::{Event, EventPart, StatementKind};
use options::OltpOptions;
pub use program::OltpProgram;
use prony_document::SqlDialect;
use prony_plan::{QueryMode, WorkloadPlan};
use prony_server::Control;
use std::sync::Arc;

const COLUMNS: &str = "id,k,c,pad";
/// The columns of the tables of `bulk_insert`.
const BULK_COLUMNS: &str = "id,k";
const DEFAULT_TABLE_SIZE: u32 = 10_000;
/// Default number of rows of a table of `hot-row`.
const HOT_ROW_TABLE_SIZE: u32 = 100;
static TABLES: [TableSpec; 1] = [TableSpec {
    name: "sbtest1",
    rows: TableRows::ValueOfOption("table_size"),
    growth: TableGrowth::Varies,
}];
static HOT_TABLES: [TableSpec; 1] = [TableSpec {
    growth: TableGrowth::Constant,
    ..TABLES[0]
}];
static BULK_TABLES: [TableSpec; 1] = [TableSpec {
    rows: TableRows::Fixed(0),
    ..TABLES[0]
}];
/// The workload under whose name the shared tables are loaded; all workloads except `bulk_insert` use them.
const SHARED_DATASET: &str = "oltp_read_write";

#[derive(Clone, Copy, Debug)]
pub struct Oltp {
    /// The name for `prony run NAME`: sysbench's own.
    pub name: &'static str,
    pub title: &'static str,
    pub event: Event,
    /// The workload under whose name its tables are loaded.
    dataset: &'static str,
    default_table_size: u32,
}

macro_rules! workloads {
    ($($id:ident $name:literal $event:expr, $title:literal;)*) => {
        $(
            #[doc = concat!("`", $name, "`: ", $title, ".")]
            pub static $id: Oltp = Oltp {
                name: $name,
                title: $title,
                event: $event,
                dataset: SHARED_DATASET,
                default_table_size: DEFAULT_TABLE_SIZE,
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
    OLTP_POINT_SELECT "oltp_point_select"
        event::single_statement(&[EventPart::Statement(StatementKind::PointSelect)]),
        "one row by key (1 statement)";
    OLTP_INSERT "oltp_insert" event::single_statement(&[EventPart::TextInsert]),
        "a new row (1 statement, sent as text)";
    OLTP_UPDATE_INDEX "oltp_update_index"
        event::without_block(&[EventPart::Statement(StatementKind::IndexUpdate)]),
        "update an indexed column (1 statement)";
    OLTP_UPDATE_NON_INDEX "oltp_update_non_index"
        event::without_block(&[EventPart::Statement(StatementKind::NonIndexUpdate)]),
        "update a column without an index (1 statement)";
    OLTP_DELETE "oltp_delete" event::single_statement(&[EventPart::Statement(StatementKind::Delete)]),
        "delete a row, which is not put back (1 statement)";
    SELECT_RANDOM_POINTS "select_random_points"
        event::single_statement(&[EventPart::Statement(StatementKind::RandomPoints)]),
        "rows of ten values of an indexed column (1 statement)";
    SELECT_RANDOM_RANGES "select_random_ranges"
        event::single_statement(&[EventPart::Statement(StatementKind::RandomRanges)]),
        "count the rows of ten ranges of an indexed column (1 statement)";
}

/// `bulk_insert`: rows appended by INSERTs of 512 KiB.
pub static BULK_INSERT: Oltp = Oltp {
    name: "bulk_insert",
    title: "append rows by INSERTs of 512 KiB, about 30,000 rows (1 statement)",
    event: Event::Bulk,
    dataset: "bulk_insert",
    default_table_size: 0,
};

/// `hot-row`: all users update the same row.
pub static HOT_ROW: Oltp = Oltp {
    name: "hot-row",
    title: "all users update the same row, each in a transaction (3 statements)",
    event: event::HOT_ROW,
    dataset: SHARED_DATASET,
    default_table_size: HOT_ROW_TABLE_SIZE,
};

pub static ALL: [&Oltp; 12] = [
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

/// Returns the sysbench workload (or `hot-row`) with this name.
pub fn find(name: &str) -> Option<&'static Oltp> {
    ALL.into_iter().find(|workload| workload.name == name)
}

impl Oltp {
    fn load_spec(&self, options: Vec<LoadOption>) -> LoadSpec {
        LoadSpec {
            workload: self.name,
            dataset: self.dataset,
            options,
        }
    }

    fn is_bulk(&self) -> bool {
        matches!(self.event, Event::Bulk)
    }

    fn has_part(&self, part: EventPart) -> bool {
        matches!(self.event, Event::Parts { parts, .. } if parts.contains(&part))
    }

    /// Whether it is `hot-row`.
    fn is_hot(&self) -> bool {
        self.has_part(EventPart::Statement(StatementKind::HotUpdate))
    }

    /// Whether its statements use only the first table.
    fn uses_one_table(&self) -> bool {
        let kinds = [
            StatementKind::HotUpdate,
            StatementKind::RandomPoints,
            StatementKind::RandomRanges,
        ];
        kinds
            .into_iter()
            .any(|kind| self.has_part(EventPart::Statement(kind)))
    }

    fn columns(&self) -> &'static str {
        if self.is_bulk() { BULK_COLUMNS } else { COLUMNS }
    }

    /// Number of rows loaded into each table; 0 if users insert all rows.
    pub fn loaded_rows(&self, options: &OltpOptions) -> u32 {
        let users_insert_all = self.has_part(EventPart::TextInsert) && !options.auto_inc;
        if self.is_bulk() || users_insert_all {
            return 0;
        }
        options.table_size.unwrap_or(self.default_table_size)
    }
}

impl Workload for Oltp {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn dataset(&self) -> &'static str {
        self.dataset
    }

    fn statements(&self) -> Vec<String> {
        program::statements(self, &OltpOptions::default(), SqlDialect::PostgreSql)
    }

    fn options(&self) -> &'static [OptionSpec] {
        options::OPTIONS
    }

    fn scale_unit(&self) -> Option<ScaleUnit> {
        Some(ScaleUnit::new("table", "tables"))
    }

    fn tables(&self) -> &'static [TableSpec] {
        if self.is_bulk() {
            &BULK_TABLES
        } else if self.is_hot() {
            &HOT_TABLES
        } else {
            &TABLES
        }
    }

    fn rows_to_load(&self, plan: &WorkloadPlan, scale: u64) -> u64 {
        let options = options::read(plan, self);
        let rows = options.map_or(0, |options| u64::from(self.loaded_rows(&options)));
        rows.saturating_mul(scale)
    }

    fn bytes_per_scale(&self, dialect: SqlDialect, plan: &WorkloadPlan) -> Option<u64> {
        // The tables start with a hundred rows or none, so their size depends on the run.
        if self.is_bulk() || self.is_hot() {
            return None;
        }
        let options = options::read(plan, self).ok()?;
        let row_bytes = match dialect {
            SqlDialect::PostgreSql => 255,
            SqlDialect::MySql | SqlDialect::TransactSql => 250,
        };
        Some(u64::from(self.loaded_rows(&options)) * row_bytes).filter(|bytes| *bytes > 0)
    }

    fn growth(&self, plan: &WorkloadPlan, scale: u32) -> Growth {
        let Ok(options) = options::read(plan, self) else {
            return Growth::Uncounted("its options are invalid");
        };
        if self.is_bulk() {
            return Growth::Uncounted("a transaction inserts as many rows as fit into a packet");
        }
        if !self.has_part(EventPart::TextInsert) {
            return match self.event.queries(&options).writes {
                0 => Growth::ReadOnly,
                _ => Growth::Uncounted("it changes, deletes and replaces rows"),
            };
        }
        let tables: Vec<String> = (1..=scale).map(statements::table_name).collect();
        Growth::Counted(vec![CountedGrowth {
            what: match &tables[..] {
                [table] => format!("rows of {table}"),
                tables => format!("rows of {} tables sbtest", tables.len()),
            },
            kinds: vec![self.name],
            counter: if options.auto_inc {
                GrowthCounter::RowsWithNewIds {
                    tables,
                    column: "id",
                }
            } else {
                GrowthCounter::RowsOf(tables)
            },
        }])
    }

    /// `INSERT`s of new rows are sent as texts, so the ledger's entries are too.
    fn ledger_entries(&self, _protocol: QueryMode) -> LedgerEntries {
        if self.is_bulk() || self.has_part(EventPart::TextInsert) {
            LedgerEntries::WithTexts
        } else {
            LedgerEntries::WithStatements
        }
    }

    fn check_options(&self, plan: &WorkloadPlan, _protocol: QueryMode) -> Vec<Error> {
        options::read(plan, self).err().unwrap_or_default()
    }

    fn load(&self, request: &LoadRequest<'_>) -> Result<LoadReport> {
        load::load(self, request)
    }

    fn check(&self, control: &mut Control) -> Result<CheckReport> {
        crate::engines::require_engine(control, self.dialects())?;
        check::check(control, self)
    }

    fn clean(&self, control: &mut Control) -> Result<Vec<String>> {
        crate::engines::require_engine(control, self.dialects())?;
        tables::drop_all(control, self.columns())
    }

    fn program(&self, control: &mut Control, plan: &WorkloadPlan) -> Result<ReadyWorkload> {
        crate::engines::require_engine(control, self.dialects())?;
        let program = OltpProgram::for_loaded_tables(control, plan, self)?;
        let scale = program.table_count();
        Ok(ReadyWorkload::new(Arc::new(program), scale))
    }
}
