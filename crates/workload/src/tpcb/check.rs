//! Checks that the tables are complete and their balances add up.
//!
//! Returns findings and the scale of the data. Must never report an error that it cannot prove, or
//! report data as correct that it did not examine.
//!
//! All balances start at 0. Each transaction of `tpcb` adds the same amount to an account, a teller, a
//! branch and the history; each transaction of `simple-update` only to an account and the history. For
//! the sums A, T, B and H over the four tables, this means: T = B always; A = H unless the history was
//! emptied; A = B if only `tpcb` ran. pgbench empties the history at the start of each run (unless -n),
//! and once in `pgbench -i`. The catalog shows this: TRUNCATE gives a table a new file.

use super::schema::Table;
use crate::catalog::{self, CatalogTable, Tables};
use crate::findings;
use crate::note::LoadNote;
use crate::number_format::grouped;
use crate::remedy::{LoadSpec, Remedy};
use crate::{CheckReport, Error, Finding, Result, sql};
use prony_document::SqlDialect;
use prony_server::Control;

struct TableContents {
    table: Table,
    rows: u64,
    lowest_key: Option<i64>,
    highest_key: Option<i64>,
    /// Sum of the balances, or of the history's amounts.
    sum: i64,
    /// Number of rows whose branch does not match their key.
    wrong_branch_rows: u64,
}

/// Runs all checks: reads each table once, in one snapshot.
pub fn check(control: &mut Control) -> Result<CheckReport> {
    sql::in_snapshot(control, examine)
}

fn examine(control: &mut Control) -> Result<CheckReport> {
    let mut tables = catalog::find::<Table>(control)?;
    let mut findings = findings::table_findings(&tables, Some("tpcb"));
    let mut notes = tables.iter().filter_map(|table| table.note.as_ref());
    if let Some(note) = notes.find(|note| note.is_unfinished()) {
        findings.push(note.unfinished_finding(load_from_note("tpcb", note)));
    }
    let mut contents = Vec::new();
    for table in tables.iter_mut().filter(|table| table.is_own) {
        let content = read_table(control, table.table)?;
        table.facts.rows = content.rows;
        contents.push(content);
    }
    let branches = contents
        .iter()
        .find(|content| content.table == Table::Branches);
    let scale = branches.and_then(|content| u32::try_from(content.rows).ok());
    let scale = scale.filter(|scale| *scale > 0);
    let row_findings = contents
        .iter()
        .filter_map(|content| check_rows(content, scale));
    findings.extend(row_findings);
    let own_tables = tables.iter().filter(|table| table.is_own);
    findings.extend(own_tables.filter_map(findings::key_finding));
    findings.extend(check_balances(&tables, &contents));
    findings.extend(tables.iter().filter_map(findings::statistics_finding));
    Ok(CheckReport {
        scale,
        findings,
        tables: tables.into_iter().map(|table| table.facts).collect(),
    })
}

fn read_table(control: &mut Control, table: Table) -> Result<TableContents> {
    let (sum, key, has_wrong_branch) = match table {
        Table::Branches => ("bbalance", "bid", "false"),
        Table::Tellers => ("tbalance", "tid", "bid is distinct from (tid - 1) / 10 + 1"),
        Table::Accounts => (
            "abalance",
            "aid",
            "bid is distinct from (aid - 1) / 100000 + 1",
        ),
        Table::History => ("delta", "null::int", "false"),
    };
    let name = table.name();
    let row = sql::query_row(
        control,
        &format!("reading {name}"),
        &format!(
            "select count(*), min({key}), max({key}), coalesce(sum({sum}), 0), \
             count(*) filter (where {has_wrong_branch}) from {name}"
        ),
    )?;
    Ok(TableContents {
        table,
        rows: row.count(0),
        lowest_key: row.int(1),
        highest_key: row.int(2),
        sum: row.int(3).unwrap_or(0),
        wrong_branch_rows: row.count(4),
    })
}

/// Checks that the rows of a table match the scale: the right number, numbered without gaps. Without a scale, there
/// are no branches.
fn check_rows(content: &TableContents, scale: Option<u32>) -> Option<Finding> {
    if content.table == Table::History {
        return None;
    }
    let name = content.table.name();
    let id = name.replace("pgbench_", "rows-");
    let Some(scale) = scale else {
        return (content.table == Table::Branches).then(|| {
            Finding::wrong(
                id,
                format!("{name} is empty: the load did not finish; load again"),
            )
        });
    };
    let expected = content.table.rows(scale);
    let key = content.table.key(SqlDialect::PostgreSql).concat();
    if content.rows != expected {
        let text = format!(
            "{name} has {} rows, and scale {} has {}: the load did not finish, \
             or rows were added or deleted; load again",
            grouped(content.rows),
            grouped(scale),
            grouped(expected)
        );
        return Some(Finding::wrong(id, text));
    }
    // If the count, the lowest and the highest key are right, the keys have no gap: the finding `key`
    // excludes duplicates.
    if content.lowest_key != Some(1) || content.highest_key != i64::try_from(expected).ok() {
        let text = format!(
            "{name}.{key} runs from {} to {} instead of 1 to {}; load again",
            grouped(content.lowest_key.unwrap_or(0)),
            grouped(content.highest_key.unwrap_or(0)),
            grouped(expected)
        );
        return Some(Finding::wrong(id, text));
    }
    if content.wrong_branch_rows > 0 {
        let text = format!(
            "{} rows of {name} have the wrong branch for their number; load again",
            grouped(content.wrong_branch_rows)
        );
        return Some(Finding::wrong(id, text));
    }
    let (expected, scale) = (grouped(expected), grouped(scale));
    let text = format!("{name} has {expected} rows, {key} 1 to {expected} (scale {scale})");
    Some(Finding::ok(id, text))
}

fn check_balances(tables: &[CatalogTable<Table>], contents: &[TableContents]) -> Vec<Finding> {
    let sum = |table| {
        contents
            .iter()
            .find(|content| content.table == table)
            .map(|content| content.sum)
    };
    let mut findings = Vec::new();
    if let (Some(tellers), Some(branches)) = (sum(Table::Tellers), sum(Table::Branches)) {
        let id = "balances-tellers-branches";
        let sums_are_equal = tellers == branches;
        let (tellers, branches) = (grouped(tellers), grouped(branches));
        findings.push(if sums_are_equal {
            Finding::ok(
                id,
                format!("tellers and branches both add up to {branches}"),
            )
        } else {
            let text = format!(
                "tellers add up to {tellers} and branches to {branches}: every transaction of \
                 these workloads changes both by the same amount, so part of one was lost, or \
                 something else wrote to the tables"
            );
            Finding::wrong(id, text)
        });
    }
    let history_was_emptied = tables
        .iter()
        .any(|table| table.table == Table::History && table.is_rewritten);
    if let (Some(accounts), Some(history)) = (sum(Table::Accounts), sum(Table::History)) {
        findings.push(compare_accounts_with_history(
            accounts,
            history,
            sum(Table::Branches),
            history_was_emptied,
        ));
    }
    findings
}

fn compare_accounts_with_history(
    accounts: i64,
    history: i64,
    branches: Option<i64>,
    history_was_emptied: bool,
) -> Finding {
    let id = "balances-accounts-history";
    let equals_branches = branches == Some(accounts);
    let sums_are_equal = accounts == history;
    let (accounts, history) = (grouped(accounts), grouped(history));
    if sums_are_equal {
        return Finding::ok(
            id,
            format!("accounts and history both add up to {accounts}"),
        );
    }
    if !history_was_emptied {
        let text = format!(
            "accounts add up to {accounts} and the history to {history}, and the history was not \
             emptied since it was created: an update was lost, or something else wrote to the tables"
        );
        return Finding::wrong(id, text);
    }
    let explanation = format!(
        "accounts add up to {accounts} and the history to {history}; the history was emptied or \
         rewritten since it was created (pgbench empties it before each run), so the two cannot \
         be compared"
    );
    if equals_branches {
        let text =
            format!("{explanation}; accounts and branches agree, as they do if only tpcb ran");
        return Finding::ok(id, text);
    }
    let text = format!(
        "{explanation}, and neither can accounts and branches if simple-update ran; \
         load again to check every balance"
    );
    Finding::note(id, text)
}

/// The load of the tables for a workload; `scale` is `N` if it is not known.
pub fn load_spec(workload: &'static str, scale: String) -> LoadSpec {
    LoadSpec {
        workload,
        dataset: "tpcb",
        options: vec![("scale", scale)],
    }
}

/// The load that left this note.
fn load_from_note(workload: &'static str, note: &LoadNote) -> LoadSpec {
    load_spec(workload, note.value("branches").unwrap_or("N").to_owned())
}

/// Returns the scale of the data, if the workload `name` can run on it. `None` requests no particular scale.
///
/// Cheap at any scale: counts the rows of the small tables, and reads accounts only through its key.
pub fn scale_for_run(
    control: &mut Control,
    name: &'static str,
    requested: Option<u32>,
) -> Result<u32> {
    crate::engines::require_postgres(control)?;
    let scale_text = requested.map_or("N".to_owned(), |scale| scale.to_string());
    let load = load_spec(name, scale_text);
    catalog::find_loaded::<Table>(control, &load, |note| load_from_note(name, note))?;
    let counts = sql::query_row(
        control,
        "reading the scale",
        "select (select count(*) from pgbench_branches), (select count(*) from pgbench_tellers)",
    )?;
    let scale = u32::try_from(counts.count(0)).unwrap_or(0);
    let incomplete_error = |reason: String| Error::Data {
        problem: format!("the data is incomplete: {reason}; a load did not finish"),
        remedy: Remedy::Load(load.clone()),
    };
    if scale == 0 {
        return Err(incomplete_error("pgbench_branches is empty".to_owned()));
    }
    let tellers = counts.count(1);
    if tellers != Table::Tellers.rows(scale) {
        return Err(incomplete_error(format!(
            "pgbench_tellers has {tellers} rows, and scale {scale} has {}",
            Table::Tellers.rows(scale)
        )));
    }
    // Two index lookups; a count would scan the whole table.
    let bounds = sql::query_row(
        control,
        "reading the scale",
        "select (select min(aid) from pgbench_accounts), (select max(aid) from pgbench_accounts)",
    )?;
    let last = i64::try_from(Table::Accounts.rows(scale)).unwrap_or(i64::MAX);
    if (bounds.int(0), bounds.int(1)) != (Some(1), Some(last)) {
        let reason = match (bounds.int(0), bounds.int(1)) {
            (Some(low), Some(high)) => format!(
                "pgbench_accounts has numbers {low} to {high}, and scale {scale} has 1 to {last}"
            ),
            _ => "pgbench_accounts is empty".to_owned(),
        };
        return Err(incomplete_error(reason));
    }
    load.check_scale(scale, requested)
}
