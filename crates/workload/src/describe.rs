//! Descriptions of workloads, as constants for the help, the Run document and the checks of a run. Must never
//! query a server, or name a workload.

use prony_document::SqlDialect;
pub use prony_document::{Contention, MinimumDuration, Remark, ScaleUnit};

/// An option of a workload, in plans and as `--option NAME=VALUE`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptionSpec {
    pub name: &'static str,
    pub kind: OptionKind,
    /// The default value; if `None`, [`help`](Self::help) explains the default.
    pub default: Option<&'static str>,
    pub help: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionKind {
    /// An integer from the first to the second, inclusive.
    Integer(u32, u32),
    /// A number above the first and below the second.
    Float(f64, f64),
    /// `on` or `off`.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A line of text.
    Text,
    /// Several texts.
    Texts,
    /// Tables with keys of their own, such as transactions.
    Tables,
}

impl OptionKind {
    pub fn values(&self) -> String {
        match self {
            OptionKind::Integer(min, u32::MAX) => format!("{min} or more"),
            OptionKind::Integer(min, max) => format!("{min} to {max}"),
            OptionKind::Float(above, below) => format!("above {above} and below {below}"),
            OptionKind::Switch => "on or off".to_owned(),
            OptionKind::Choice(words) => format!("one of {}", words.join(", ")),
            OptionKind::Text => "text".to_owned(),
            OptionKind::Texts => "texts".to_owned(),
            OptionKind::Tables => "tables".to_owned(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSpec {
    /// The name; for numbered tables, that of the first.
    pub name: &'static str,
    pub rows: TableRows,
    /// How transactions change the number of rows.
    pub growth: TableGrowth,
}

impl TableSpec {
    /// Rows of all tables of this kind after a load at this scale; `None` if an option sets the number.
    pub(crate) fn loaded_rows(&self, scale: u64) -> Option<u64> {
        match self.rows {
            TableRows::PerScale(rows) => Some(rows.saturating_mul(scale)),
            TableRows::Fixed(rows) => Some(rows),
            TableRows::ValueOfOption(_) => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableRows {
    /// This number per unit of scale.
    PerScale(u64),
    /// This number at any scale.
    Fixed(u64),
    /// The value of this option, in each table; there is one table per unit of scale.
    ValueOfOption(&'static str),
}

/// How transactions change the number of a table's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableGrowth {
    /// The number stays the same.
    Constant,
    /// Transactions add rows. With at least this number of rows per unit of scale, the data counts as grown.
    Grows(u64),
    /// Transactions add and remove rows.
    Varies,
}

/// How transactions write entries into the ledger of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerEntries {
    /// With the statements of the program's table.
    WithStatements,
    /// With texts that are in no table, or by requests of their own.
    WithTexts,
    /// They cannot: a session does not see what they send.
    Impossible,
}

/// What committed transactions add to the data. If acknowledged commits are lost, the data has grown by less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Transactions only read.
    ReadOnly,
    /// Transactions write, but their commits cannot be counted in the data, for this reason.
    Uncounted(&'static str),
    /// Each of these grows by one for each committed transaction of its kinds, and for no other reason.
    Counted(Vec<CountedGrowth>),
}

/// Something that grows by one with each committed transaction of some kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedGrowth {
    /// What is counted, such as `rows of pgbench_history`.
    pub what: String,
    pub kinds: Vec<&'static str>,
    pub counter: GrowthCounter,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrowthCounter {
    /// The sum of a column of a small table.
    SumOf {
        table: &'static str,
        column: &'static str,
    },
    /// The number of rows of tables. It is not counted if the tables are too large to be read.
    RowsOf(Vec<String>),
    /// The number of rows whose id, which the server assigns in ascending order and which has an index, is above
    /// the highest id before the run. The size of the tables does not matter.
    RowsWithNewIds {
        tables: Vec<String>,
        column: &'static str,
    },
}

impl Growth {
    pub(crate) fn rows_of(table: &'static str, kinds: Vec<&'static str>) -> CountedGrowth {
        CountedGrowth {
            what: format!("rows of {table}"),
            kinds,
            counter: GrowthCounter::RowsOf(vec![table.to_owned()]),
        }
    }
}

pub const ALL_DIALECTS: &[SqlDialect] = &SqlDialect::ALL;
