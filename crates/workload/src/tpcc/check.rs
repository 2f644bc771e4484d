//! Checks that the tables are complete and consistent.
//!
//! Takes a control connection; returns findings and the scale of the data. A check must never report a
//! problem that it cannot prove, report success for something that it did not examine, or block a concurrent
//! load.

use super::conditions::{self, ConditionResult, UNCOUNTED_PAYMENTS};
use super::indexes::{self, SecondaryIndex};
use super::layout::{self, Population};
use super::schema::Table;
use super::unfinished_load::{self, UnfinishedLoad};
use crate::catalog::{self, CatalogTable};
use crate::findings::{self, LOAD_UNFINISHED};
use crate::number_format::grouped;
use crate::remedy::Remedy;
use crate::{CheckReport, Finding, Result, sql};
use prony_document::SqlDialect;
use prony_server::Control;

/// Runs all checks in one snapshot.
pub fn check(control: &mut Control) -> Result<CheckReport> {
    let report = take_snapshot(control).and_then(|catalog| examine(control, catalog));
    // The transaction wrote nothing, so an error here changes no finding.
    let end = control.dialect().end_snapshot();
    drop(sql::execute(control, "ending the check", end));
    report
}

/// The catalog's entries, which locks protect from changes.
struct CatalogSnapshot {
    tables: Vec<CatalogTable<Table>>,
    unfinished_load: Option<UnfinishedLoad>,
    secondary_indexes: Vec<SecondaryIndex>,
}

/// Takes a snapshot, in which the sums are exact even during a load or a run, and locks the tables so
/// that no load can replace them.
fn take_snapshot(control: &mut Control) -> Result<CatalogSnapshot> {
    let begin = control.dialect().begin_snapshot();
    let mut tries = 0;
    loop {
        sql::execute(control, "beginning the check", begin)?;
        let tables = catalog::find::<Table>(control)?;
        let unfinished_load = unfinished_load::find_among(&tables);
        let secondary_indexes = indexes::find_secondary(control)?;
        let locked = lock_tables(control, &tables);
        // The server resolves names at the time of the query, not of the snapshot. If a load replaced
        // tables in between, the results are inconsistent. Once the tables are locked, a load can neither
        // replace nor finish them.
        let is_consistent = locked.is_ok() && {
            let tables_after_lock = catalog::find::<Table>(control)?;
            tables_after_lock.len() == tables.len()
                && unfinished_load::find_among(&tables_after_lock) == unfinished_load
        };
        tries += 1;
        if is_consistent || tries == TRIES_MAX {
            locked?;
            return Ok(CatalogSnapshot {
                tables,
                unfinished_load,
                secondary_indexes,
            });
        }
        let end = control.dialect().end_snapshot();
        sql::execute(control, "beginning the check again", end)?;
    }
}

/// Maximum number of attempts of a check that collides with the start or the end of a load.
const TRIES_MAX: u32 = 10;

/// Keeps the tables from being dropped until the transaction ends.
fn lock_tables(control: &mut Control, tables: &[CatalogTable<Table>]) -> Result<()> {
    let action = "locking the tables";
    let own_tables = tables.iter().filter(|entry| entry.is_own);
    let names: Vec<&str> = own_tables.map(|entry| entry.table.name()).collect();
    if names.is_empty() {
        return Ok(());
    }
    match control.dialect() {
        SqlDialect::PostgreSql => {
            let sql = format!("lock table {} in access share mode", names.join(", "));
            sql::execute(control, action, &sql)
        }
        // Reading a table takes its metadata lock on MySQL. On SQL Server a snapshot refuses tables that were
        // changed since it was taken, and a serializable transaction locks what it reads.
        dialect @ (SqlDialect::MySql | SqlDialect::TransactSql) => {
            names.iter().try_for_each(|name| {
                let select = dialect.select_first(1, &format!("1 from {name}"));
                sql::execute(control, action, &select)
            })
        }
    }
}

fn examine(control: &mut Control, catalog: CatalogSnapshot) -> Result<CheckReport> {
    let CatalogSnapshot {
        mut tables,
        unfinished_load,
        secondary_indexes,
    } = catalog;
    let mut report = CheckReport {
        findings: unfinished_load.iter().map(unfinished_finding).collect(),
        ..CheckReport::default()
    };
    let workload_to_load = unfinished_load.is_none().then_some("tpcc");
    report
        .findings
        .extend(findings::table_findings(&tables, workload_to_load));
    if tables.iter().filter(|table| table.is_own).count() == Table::ALL.len() {
        let counts = count_rows(control, unfinished_load.as_ref())?;
        for (table, count) in tables.iter_mut().zip(&counts) {
            table.facts.rows = count.rows;
        }
        let warehouses = counts
            .iter()
            .find(|count| count.table == Table::Warehouse)
            .and_then(|count| u32::try_from(count.rows).ok())
            .filter(|warehouses| *warehouses > 0);
        let rows = row_findings(&counts, warehouses, unfinished_load.as_ref());
        report.findings.extend(rows);
        if unfinished_load.is_none() {
            report.scale = warehouses;
            let keys = tables.iter().filter_map(findings::key_finding);
            report.findings.extend(keys);
            report
                .findings
                .extend(secondary_indexes.iter().map(index_finding));
            report.findings.push(population_finding(control)?);
        }
        report.findings.extend(condition_findings(control)?);
        match control.dialect() {
            SqlDialect::PostgreSql if unfinished_load.is_none() => {
                let statistics = tables.iter().filter_map(findings::statistics_finding);
                report.findings.extend(statistics);
            }
            // The other servers do not report when a table was last analyzed.
            SqlDialect::PostgreSql | SqlDialect::MySql | SqlDialect::TransactSql => {}
        }
    }
    report.tables = tables.into_iter().map(|table| table.facts).collect();
    Ok(report)
}

fn unfinished_finding(unfinished: &UnfinishedLoad) -> Finding {
    Finding::wrong(LOAD_UNFINISHED, unfinished.message()).with(unfinished.remedy())
}

struct RowCount {
    table: Table,
    rows: u64,
    /// Number of rows with a key outside the range that the scale implies.
    out_of_range_rows: u64,
}

/// Counts the rows of all tables, in the order of [`Table::ALL`].
fn count_rows(
    control: &mut Control,
    unfinished_load: Option<&UnfinishedLoad>,
) -> Result<Vec<RowCount>> {
    let dialect = control.dialect();
    let count_all = dialect.count_all();
    // While a load is in progress, the last warehouse may exist before the first.
    let warehouses = match unfinished_load.map(UnfinishedLoad::scale) {
        Some(scale) => u64::from(scale),
        // SQL Server accepts no subquery inside an aggregate.
        None => {
            let select = format!("select {count_all} from warehouse");
            sql::query_row(control, "counting warehouse", &select)?.count(0)
        }
    };
    let mut counts = Vec::new();
    for table in Table::ALL {
        let is_in_range = match table {
            Table::Item => "i_id between 1 and 100000".to_owned(),
            Table::Warehouse => format!("w_id between 1 and {warehouses}"),
            Table::District => {
                format!("d_w_id between 1 and {warehouses} and d_id between 1 and 10")
            }
            Table::Stock => {
                format!("s_w_id between 1 and {warehouses} and s_i_id between 1 and 100000")
            }
            Table::Customer => format!(
                "c_w_id between 1 and {warehouses} and c_d_id between 1 and 10 \
                 and c_id between 1 and 3000"
            ),
            Table::History | Table::Orders | Table::NewOrder | Table::OrderLine => {
                "1 = 1".to_owned()
            }
        };
        let name = table.name();
        let out_of_range = dialect.sum_of(&format!("case when {is_in_range} then 0 else 1 end"));
        let sql = format!("select {count_all}, coalesce({out_of_range}, 0) from {name}");
        let row = sql::query_row(control, &format!("counting {name}"), &sql)?;
        counts.push(RowCount {
            table,
            rows: row.count(0),
            out_of_range_rows: row.count(1),
        });
    }
    Ok(counts)
}

/// Checks that the tables have the rows that the scale requires [1.2.1, 4.3.3.1].
fn row_findings(
    counts: &[RowCount],
    scale: Option<u32>,
    unfinished_load: Option<&UnfinishedLoad>,
) -> Vec<Finding> {
    let Some(scale) = scale else {
        if unfinished_load.is_some() {
            return Vec::new();
        }
        return vec![Finding::wrong(
            "rows-warehouse",
            "warehouse is empty: load again",
        )];
    };
    // During an unfinished load the items may be missing; the finding about the load says so.
    counts
        .iter()
        .filter(|count| unfinished_load.is_none() || count.table != Table::Item)
        .map(|count| row_finding(count, scale, unfinished_load.is_some()))
        .collect()
}

/// The finding on the row count of a table. With `is_load_unfinished`, missing rows may still be loaded,
/// which another finding reports.
fn row_finding(count: &RowCount, scale: u32, is_load_unfinished: bool) -> Finding {
    let id = format!("rows-{}", count.table.name().replace('_', "-"));
    let runs_add_rows = matches!(
        count.table,
        Table::History | Table::Orders | Table::NewOrder | Table::OrderLine
    );
    let name = count.table.name();
    let loaded = count.table.rows(scale);
    let (rows, expected) = (grouped(count.rows), grouped(loaded));
    let warehouses = format!("{} warehouses", grouped(scale));
    if count.out_of_range_rows > 0 {
        let text = format!(
            "{} rows of {name} have keys out of range for {warehouses}{}",
            grouped(count.out_of_range_rows),
            if is_load_unfinished { "" } else { "; load again" }
        );
        return Finding::wrong(id, text);
    }
    let ok = |text| Finding::ok(&id, text);
    match count.table {
        // Orders and deliveries change the number of rows.
        Table::NewOrder if count.rows != loaded => ok(format!(
            "{name} has {rows} rows; the load created {expected}"
        )),
        // The number of order lines is random; condition 4 compares it with the orders.
        Table::OrderLine => ok(format!("{name} has {rows} rows")),
        _ if count.rows == loaded => ok(format!(
            "{name} has {rows} rows, as loaded for {warehouses}"
        )),
        _ if runs_add_rows && count.rows > loaded => {
            let added_rows = grouped(count.rows - loaded);
            ok(format!(
                "{name} has {rows} rows, {added_rows} more than loaded"
            ))
        }
        _ if is_load_unfinished => {
            let text = format!("{name} has {rows} rows so far, of {expected} for {warehouses}");
            Finding::wrong(id, text)
        }
        _ => {
            let text = format!(
                "{name} has {rows} rows, but {warehouses} have {expected}: rows were deleted, or \
                 added by something other than this workload; load again"
            );
            Finding::wrong(id, text)
        }
    }
}

/// The finding on a secondary index. Without these indexes, lookups by name scan whole tables.
fn index_finding(index: &SecondaryIndex) -> Finding {
    let SecondaryIndex {
        name,
        columns,
        build,
        exists,
    } = index;
    if *exists {
        return Finding::ok("index", format!("{name} ({columns}) exists"));
    }
    Finding::wrong(
        "index",
        format!("index {name} is missing; create it with: {build}"),
    )
}

fn population_finding(control: &mut Control) -> Result<Finding> {
    let layout = layout::detect(control)?;
    let population = layout.population;
    let mut parts = match layout.partitions {
        0 => String::new(),
        parts => format!("; order_line has {parts} partitions"),
    };
    if layout.has_history_key {
        parts += "; history has a key";
    }
    let text = format!(
        "customers of the population for the profile {}: {} % have bad credit{parts}",
        match population {
            Population::Standard => "standard",
            Population::HammerDb => "hammerdb or hammerdb-4.6",
        },
        population.bad_credit_percent()
    );
    Ok(Finding::ok("population", text))
}

fn condition_findings(control: &mut Control) -> Result<Vec<Finding>> {
    let results = conditions::check_all(control)?;
    let is_of_uncounted = |result: &&ConditionResult| result.condition.number == UNCOUNTED_PAYMENTS;
    let uncounted = results
        .iter()
        .find(|result| is_of_uncounted(result) && result.violations > 0);
    let conditions = results.iter().filter(|result| !is_of_uncounted(result));
    let finding = |result: &ConditionResult| match (result.condition.number, uncounted) {
        (12, Some(uncounted)) if result.violations == 0 => {
            counters_not_maintained(result, uncounted)
        }
        _ => condition_finding(result),
    };
    Ok(conditions.map(finding).collect())
}

/// The id of a condition's finding: `condition-1` to `condition-12`.
fn finding_id(result: &ConditionResult) -> String {
    format!("condition-{}", result.condition.number)
}

fn condition_finding(result: &ConditionResult) -> Finding {
    let id = finding_id(result);
    let (requirement, entities) = (result.condition.requirement, result.condition.entities);
    let compared = grouped(result.compared);
    if result.compared == 0 {
        let text = format!("{requirement}: not checked, because there are no {entities} yet");
        return Finding::note(id, text);
    }
    if result.violations == 0 {
        return Finding::ok(id, format!("{requirement} ({compared} {entities})"));
    }
    // Condition 2 is about the number of a district's next order.
    let (hint, remedy) = match result.condition.number {
        2 => (
            "; d_next_o_id may be taken, as HammerDB before 4.11 leaves it",
            Some(Remedy::RepairSequences),
        ),
        _ => ("", None),
    };
    let text = format!(
        "{requirement}: violated by {} of {compared} {entities}; the first \
         is {}; something else wrote to the tables, or the server lost part of a \
         transaction{hint}",
        grouped(result.violations),
        result.example
    );
    Finding::wrong(id, text).with(remedy)
}

/// The finding on condition 12 after runs of the `hammerdb` profiles, which do not maintain c_ytd_payment and
/// c_payment_cnt.
fn counters_not_maintained(result: &ConditionResult, uncounted: &ConditionResult) -> Finding {
    let text = format!(
        "{}: not expected to hold here for {} of {} customers, whose history has payments \
         that c_payment_cnt does not count; it holds for the others. The profiles hammerdb and hammerdb-4.6 do \
         not update c_ytd_payment and c_payment_cnt, because HammerDB does not. The other eleven \
         conditions hold with these profiles too",
        result.condition.requirement,
        grouped(uncounted.violations),
        grouped(uncounted.compared)
    );
    Finding::note(finding_id(result), text)
}
