//! Creates and fills the tables.
//!
//! A load creates the nine tables with rows, keys, indexes and statistics, and the routines that
//! HammerDB's driver calls. Each part of a load is a warehouse, or the items.

use super::indexes;
use super::layout::Layout;
use super::random::LastNames;
use super::routines;
use super::rows::{Content, TpccRows, order_line_count};
use super::schema::{MAX_SCALE, Table};
use super::{TPCC, sqlserver, unfinished_load, warehouse_bytes};
use crate::catalog::Tables;
use crate::copy::RowSource;
use crate::engines::require_engine;
use crate::loader::check_scale;
use crate::loader::dataset::{self, Dataset, ExistingTables, IndexBuild, LoadPart};
use crate::loader::load_state::LoadSubject;
use crate::loader::procedure;
use crate::note::TableStage;
use crate::row_format::RowFormat;
use crate::{Error, LoadReport, LoadRequest, Result, TableFacts, Workload, sql};
use prony_document::SqlDialect;
use prony_server::Control;
use std::ops::Range;

/// With more warehouses, the progress of a load has the mean number of order lines: to count them before the load takes
/// 30,000 draws for each, and the mean is off by less than 1 in 10,000. The facts of the loaded tables, which must be exact,
/// count them all: beside a load of that size this takes no time.
const COUNTED_WAREHOUSES_MAX: u32 = 1_000;

/// Maximum number of warehouses, about 2 GB, that a single loader loads in one transaction.
const ONE_TRANSACTION_WAREHOUSES_MAX: u32 = 20;

pub fn load(request: &LoadRequest<'_>) -> Result<LoadReport> {
    let layout = Layout::of(request.plan, request.seed)?;
    let warehouse_bytes = warehouse_bytes(request.target.protocol.dialect());
    let steps = format!(" warehouses, each about {} MB", warehouse_bytes / 1_000_000);
    check_scale(layout.scale, MAX_SCALE, &steps)?;
    let subject = LoadSubject {
        load: layout.load_spec(),
        scale: layout.scale,
        bytes: u64::from(layout.scale) * warehouse_bytes,
    };
    procedure::load(request, &subject, |control| {
        require_engine(control, TPCC.dialects())?;
        let dialect = control.dialect();
        refuse_partitions(&layout, dialect)?;
        let layout = Layout {
            has_history_key: dialect == SqlDialect::MySql
                && adds_history_key(control, layout.has_history_key)?,
            ..layout
        };
        let start_s = match unfinished_load::find(control)? {
            Some(unfinished) => unfinished.resume(&layout)?,
            None => now_s(control)?,
        };
        Ok(TpccDataset {
            layout,
            dialect,
            start_s,
            content: Content {
                seed: layout.seed,
                timestamp_micros: (start_s - EPOCH_S) * 1_000_000,
                names: LastNames::new(),
                bad_credit_percent: layout.population.bad_credit_percent(),
            },
        })
    })
}

/// Whether history gets an invisible primary key on MySQL or MariaDB: because it is `requested`, or the server refuses
/// tables without one (`sql_require_primary_key` of MySQL 8.0.13 or later, `innodb_force_primary_key` of MariaDB).
///
/// # Errors
/// The server does not answer, or has no invisible columns.
fn adds_history_key(control: &mut Control, requested: bool) -> Result<bool> {
    // The values are compared here, because Dolt cannot compare them in the condition of this statement.
    let show = "show variables where variable_name in ('sql_require_primary_key', 'innodb_force_primary_key')";
    let activity = "asking whether tables need primary keys";
    let variables = sql::query_rows(control, activity, show)?;
    let is_required = variables.iter().any(|row| row.text(1) == Some("ON"));
    let adds_key = requested || is_required;
    if adds_key && !control.has_since(control.product().invisible_key_since) {
        return Err(Error::InvalidRequest {
            problem: "history needs an invisible primary key, which this version does not have".to_owned(),
            hint: "MySQL has them from 8.0.23 on, MariaDB from 10.3 on; else turn off history_key, and on the server \
                   sql_require_primary_key or innodb_force_primary_key"
                .to_owned(),
        });
    }
    Ok(adds_key)
}

/// Seconds from 1970 to 2000, the epoch of PostgreSQL's timestamps.
const EPOCH_S: i64 = 946_684_800;

/// The server's time, in seconds since 1970.
fn now_s(control: &mut Control) -> Result<i64> {
    let select = match control.dialect() {
        SqlDialect::PostgreSql => "select extract(epoch from date_trunc('second', now()))::bigint",
        // MySQL's datetime has no time zone: it is treated as UTC when it is read and when it is written.
        SqlDialect::MySql => "select timestampdiff(second, '1970-01-01', now())",
        // Local time, as `sysdatetime()` in the transactions. Days and seconds are counted separately,
        // because `datediff` has 32 bits, which seconds since 1970 exceed in 2038.
        SqlDialect::TransactSql => {
            "select datediff(day, '19700101', sysdatetime()) * cast(86400 as bigint) \
             + datediff(second, cast(cast(sysdatetime() as date) as datetime2), sysdatetime())"
        }
    };
    let row = sql::query_row(control, "reading the server's clock", select)?;
    seconds_of_clock(row.text(0))
}

/// The seconds in a server's answer.
fn seconds_of_clock(answer: Option<&str>) -> Result<i64> {
    let seconds = answer.and_then(|answer| answer.parse().ok());
    seconds.ok_or_else(|| Error::InvalidRequest {
        problem: format!(
            "the server's time cannot be read: it answered {:?} instead of seconds since 1970",
            answer.unwrap_or("NULL")
        ),
        hint: "the loaded rows contain the time of the load; use a server whose time functions are those of \
               PostgreSQL, MySQL or SQL Server"
            .to_owned(),
    })
}

/// Refuses partitions where the server has none by hash.
fn refuse_partitions(layout: &Layout, dialect: SqlDialect) -> Result<()> {
    match dialect {
        SqlDialect::TransactSql if layout.partitions > 0 => Err(Error::InvalidRequest {
            problem: "SQL Server has no hash partitions".to_owned(),
            hint: "omit --partitions".to_owned(),
        }),
        SqlDialect::PostgreSql | SqlDialect::MySql | SqlDialect::TransactSql => Ok(()),
    }
}

struct TpccDataset {
    layout: Layout,
    dialect: SqlDialect,
    /// Start time of the load, in seconds since 1970.
    start_s: i64,
    content: Content,
}

impl Dataset for TpccDataset {
    fn find_existing_tables(&self, control: &mut Control) -> Result<ExistingTables> {
        let is_same_data =
            |note: &_| Layout::from_note(note).is_some_and(|(layout, _)| layout == self.layout);
        dataset::find_existing_tables::<Table>(control, "tpcc", is_same_data)
    }

    fn table_count(&self) -> usize {
        Table::ALL.len()
    }

    fn label(&self, table: usize) -> &'static str {
        Table::ALL[table].name()
    }

    fn columns(&self, table: usize) -> String {
        // Rows have their values in the order of PostgreSQL's columns, whatever order the table has.
        Tables::columns(Table::ALL[table], SqlDialect::PostgreSql).join(", ")
    }

    fn create_statement(&self, table: usize, stage: TableStage) -> String {
        let table = Table::ALL[table];
        let create = self.layout.create(table, self.dialect);
        match table {
            // The table that is created last has the note.
            Table::OrderLine => format!("{create}; {}", self.note(stage)),
            _ => create,
        }
    }

    fn finish_statements(&self) -> Vec<String> {
        vec![self.note(TableStage::Loaded)]
    }

    fn parts(&self) -> Vec<LoadPart> {
        let items = LoadPart::split(&(0..1), 1, 1);
        let tables = 1..Table::ALL.len();
        items
            .chain(LoadPart::split(&tables, u64::from(self.layout.scale), 1))
            .collect()
    }

    fn missing_parts(&self, control: &mut Control, all: &[LoadPart]) -> Result<Vec<LoadPart>> {
        let item = self.dialect.select_first(1, "-1 as unit from item");
        let first_units =
            format!("select * from ({item}) i union all select w_id - 1 from warehouse");
        dataset::missing_parts(control, all, &first_units)
    }

    fn row_count(&self, parts: &[LoadPart]) -> u64 {
        let is_counted = self.layout.scale <= COUNTED_WAREHOUSES_MAX;
        let rows = |part: &LoadPart| {
            let warehouse_count = (part.units.end - part.units.start) as u32;
            let count = |table: usize| match Table::ALL[table] {
                Table::OrderLine if is_counted => {
                    order_line_count(self.layout.seed, warehouses(&part.units))
                }
                table => table.rows(warehouse_count),
            };
            part.tables.clone().map(count).sum::<u64>()
        };
        parts.iter().map(rows).sum()
    }

    fn rows<F: RowFormat>(&self, table: usize, units: Range<u64>) -> impl RowSource {
        TpccRows::<F>::of(&self.content, Table::ALL[table], warehouses(&units))
    }

    fn indexes(&self) -> Vec<IndexBuild> {
        match self.dialect {
            SqlDialect::PostgreSql => self.layout.index_builds(),
            SqlDialect::MySql => indexes::mysql_builds(),
            SqlDialect::TransactSql => sqlserver::indexes::builds(self.layout.population),
        }
    }

    fn fits_one_transaction(&self) -> bool {
        self.layout.scale <= ONE_TRANSACTION_WAREHOUSES_MAX
    }

    /// The server does not freeze rows that it routes to partitions.
    fn may_freeze(&self, table: usize) -> bool {
        Table::ALL[table] != Table::OrderLine || self.layout.partitions == 0
    }

    /// Creates the routines that HammerDB's driver calls. A server may refuse them, for lack of
    /// privileges or because it has no procedures; the tables are complete without them.
    fn after_load(&self, control: &mut Control) -> Result<String> {
        match routines::install_driver_routines(control) {
            Ok(()) => Ok(String::new()),
            Err(error) if error.is_refusal() => {
                // The error has aborted the transaction, but only a rollback ends it; on SQL Server there is none.
                match self.dialect {
                    SqlDialect::PostgreSql | SqlDialect::MySql => {
                        sql::execute(control, "rolling back", "rollback")?;
                    }
                    SqlDialect::TransactSql => {}
                }
                let problem = error.problem();
                Ok(format!(
                    "; without routines for HammerDB's driver: {problem}"
                ))
            }
            Err(error) => Err(error),
        }
    }

    fn facts(&self, control: &mut Control) -> Result<Vec<TableFacts>> {
        let Layout { scale, seed, .. } = self.layout;
        dataset::facts(control, |table| match table {
            Table::OrderLine => order_line_count(seed, 1..scale + 1),
            table => table.rows(scale),
        })
    }
}

impl TpccDataset {
    /// The statement that puts the note on the table.
    fn note(&self, stage: TableStage) -> String {
        let note = self.layout.note(self.start_s, stage).text();
        self.dialect
            .comment_statement(Table::OrderLine.name(), &note)
    }
}

/// The warehouse numbers of these units, from 1.
fn warehouses(units: &Range<u64>) -> Range<u32> {
    units.start as u32 + 1..units.end as u32 + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_plan::WorkloadPlan;

    #[test]
    fn partitions_are_refused_on_sql_server() {
        let plan = |partitions: u32| WorkloadPlan {
            name: "tpcc".to_owned(),
            scale: Some(1),
            options: [(
                "partitions".to_owned(),
                partitions.to_string().as_str().into(),
            )]
            .into(),
        };
        let layout = |partitions| Layout::of(&plan(partitions), 0).expect("valid options");
        let refused = |partitions, dialect| refuse_partitions(&layout(partitions), dialect);
        assert!(refused(0, SqlDialect::TransactSql).is_ok());
        assert!(refused(2, SqlDialect::PostgreSql).is_ok());
        let error = refused(2, SqlDialect::TransactSql).expect_err("no such partitions");
        error.to_string().assert_contains("no hash partitions");
    }

    #[test]
    fn a_time_that_cannot_be_read_is_no_time() {
        assert_eq!(seconds_of_clock(Some("1795213070")).unwrap(), 1_795_213_070);
        for (answer, shown) in [
            (None, "NULL"),
            (Some(""), "\"\""),
            (Some("2026-11-21 10:00:00"), "2026-11-21 10:00:00"),
        ] {
            let error = seconds_of_clock(answer).expect_err("not a number");
            error.problem().assert_contains(shown);
        }
    }
}
