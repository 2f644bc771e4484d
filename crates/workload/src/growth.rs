//! Counts on the server what the committed transactions of a run have added to the data.
//!
//! In: a declared [`GrowthCounter`], a connection before the run and one after it, possibly to another server. Out:
//! counts. Must never: read a large table as a whole, or return an estimate.

use crate::catalog::{self, RelationNames};
use crate::describe::GrowthCounter;
use crate::{Error, sql};
use prony_server::Control;

/// Maximum size of tables whose rows are counted by reading them, in bytes: a few seconds from a slow disk.
const READ_BYTES_MAX: u64 = 1 << 30;
const TABLES_PER_QUERY: usize = 200;
const COUNTING: &str = "counting what the transactions add";

/// Why there is no count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotCounted {
    /// The reason; completes "was not counted: ...".
    pub reason: String,
    /// Whether a new connection may succeed, because this one was lost.
    pub is_lost: bool,
}

impl From<Error> for NotCounted {
    fn from(error: Error) -> NotCounted {
        NotCounted {
            is_lost: matches!(&error, Error::Server { source, .. } if source.is_lost()),
            reason: error.problem(),
        }
    }
}

/// A count before a run, with what the count after it needs.
#[derive(Clone, Debug)]
pub struct GrowthStart {
    counter: GrowthCounter,
    /// The highest ids before the run, of [`GrowthCounter::RowsWithNewIds`].
    highest_ids: Vec<i64>,
    pub count: u64,
}

impl GrowthStart {
    /// Counts before a run.
    pub fn read(control: &mut Control, counter: GrowthCounter) -> Result<Self, NotCounted> {
        let mut highest_ids = Vec::new();
        match &counter {
            GrowthCounter::SumOf { .. } => {}
            GrowthCounter::RowsOf(tables) => refuse_large(control, tables)?,
            GrowthCounter::RowsWithNewIds { tables, column } => {
                // One by one, because the rows of a UNION have no order.
                for table in tables {
                    let select = format!("select max({column}) from {table}");
                    let row = sql::query_row(control, COUNTING, &select)?;
                    highest_ids.push(row.int(0).unwrap_or(0));
                }
            }
        }
        let mut start = GrowthStart {
            counter,
            highest_ids,
            count: 0,
        };
        start.count = start.read_again(control)?;
        Ok(start)
    }

    pub fn read_again(&self, control: &mut Control) -> Result<u64, NotCounted> {
        let dialect = control.dialect();
        let count_all = dialect.count_all();
        let selects: Vec<String> = match &self.counter {
            GrowthCounter::SumOf { table, column } => {
                vec![format!("select {} from {table}", dialect.sum_of(column))]
            }
            GrowthCounter::RowsOf(tables) => {
                let select = |table| format!("select {count_all} from {table}");
                tables.iter().map(select).collect()
            }
            GrowthCounter::RowsWithNewIds { tables, column } => {
                let tables = tables.iter().zip(&self.highest_ids);
                let select =
                    |(table, id)| format!("select {count_all} from {table} where {column} > {id}");
                tables.map(select).collect()
            }
        };
        let mut sum = 0;
        for selects in selects.chunks(TABLES_PER_QUERY) {
            let rows = sql::query_rows(control, COUNTING, &selects.join(" union all "))?;
            sum += rows.iter().map(|row| row.count(0)).sum::<u64>();
        }
        Ok(sum)
    }
}

fn refuse_large(control: &mut Control, tables: &[String]) -> Result<(), NotCounted> {
    let names = tables.iter().map(String::as_str).collect();
    let entries = catalog::read_entries(control, &RelationNames::Listed(names))?;
    let unknown = entries
        .iter()
        .find_map(|entry| entry.facts.sizes_unknown.as_ref());
    let bytes: u64 = entries.iter().map(|entry| entry.facts.table_bytes).sum();
    let reason = match unknown {
        Some(reason) => format!("the sizes of the tables are not known: {reason}"),
        None if bytes <= READ_BYTES_MAX => return Ok(()),
        None => format!(
            "that would read {:.1} GB, and at most {:.1} GB are read for it",
            bytes as f64 / 1e9,
            READ_BYTES_MAX as f64 / 1e9
        ),
    };
    Err(NotCounted {
        reason,
        is_lost: false,
    })
}
