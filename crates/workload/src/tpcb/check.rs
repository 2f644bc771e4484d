//! Whether the tables are whole and their balances add up.
//!
//! In: a control connection. Out: findings; the scale of the data. Must never: call wrong what
//! cannot be decided, or right what was not looked at.
//!
//! All accounts, tellers and branches start at 0. Each transaction of `tpcb` adds one amount to an
//! account, a teller, a branch and the history; each of `simple-update` to an account and the
//! history. So, with A, T, B and H the sums over the four tables:
//!   T = B always;
//!   A = H as long as nobody emptied the history;
//!   A = B as long as only `tpcb` ran.
//! pgbench empties the history at the start of each run (unless -n), and its -i once too. The
//! catalog shows that: TRUNCATE gives a table a new file.

use super::schema::Table;
use crate::catalog::{self, Found};
use crate::findings::{self, finding};
use crate::words::grouped;
use crate::{CheckReport, Error, Finding, State, sql};
use prony_server::Control;

/// What one pass over a table finds.
struct Contents {
    table: Table,
    rows: u64,
    lowest: Option<i64>,
    highest: Option<i64>,
    /// Sum of the balances, or of the history's amounts.
    sum: i64,
    /// Rows that belong to another branch than their number says.
    misplaced: u64,
}

/// Looks at everything: reads each table once, in one snapshot.
pub fn check(control: &mut Control) -> Result<CheckReport, Error> {
    // In one snapshot the sums are exact even while a load is running.
    let begin = "begin transaction isolation level repeatable read read only";
    sql::run(control, "beginning the check", begin)?;
    let report = look(control);
    // Nothing to keep: an error here changes no finding.
    drop(sql::run(control, "ending the check", "rollback"));
    report
}

fn look(control: &mut Control) -> Result<CheckReport, Error> {
    let mut found = catalog::find::<Table>(control)?;
    let mut findings = findings::tables(&found, "tpcb");
    let mut contents = Vec::new();
    for found in found.iter_mut().filter(|found| found.ours) {
        let read = read(control, found.table)?;
        found.facts.rows = read.rows;
        contents.push(read);
    }
    let scale = contents
        .iter()
        .find(|read| read.table == Table::Branches)
        .and_then(|read| u32::try_from(read.rows).ok())
        .filter(|scale| *scale > 0);
    findings.extend(contents.iter().filter_map(|read| rows(read, scale)));
    findings.extend(
        found
            .iter()
            .filter(|found| found.ours)
            .filter_map(findings::key),
    );
    findings.extend(balances(&found, &contents));
    findings.extend(found.iter().filter_map(findings::statistics));
    Ok(CheckReport {
        scale,
        findings,
        tables: found.into_iter().map(|found| found.facts).collect(),
    })
}

fn read(control: &mut Control, table: Table) -> Result<Contents, Error> {
    let (sum, key, misplaced) = match table {
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
    let row = sql::row(
        control,
        &format!("reading {name}"),
        &format!(
            "select count(*), min({key}), max({key}), coalesce(sum({sum}), 0), \
             count(*) filter (where {misplaced}) from {name}"
        ),
    )?;
    let count = |column| {
        row.int(column)
            .and_then(|value| u64::try_from(value).ok())
            .unwrap_or(0)
    };
    Ok(Contents {
        table,
        rows: count(0),
        lowest: row.int(1),
        highest: row.int(2),
        sum: row.int(3).unwrap_or(0),
        misplaced: count(4),
    })
}

/// Whether the rows of a table are those of the scale: as many, numbered without a gap.
fn rows(read: &Contents, scale: Option<u32>) -> Option<Finding> {
    let id = match read.table {
        Table::Branches => "rows-branches",
        Table::Tellers => "rows-tellers",
        Table::Accounts => "rows-accounts",
        Table::History => return None,
    };
    let name = read.table.name();
    let Some(scale) = scale else {
        return (read.table == Table::Branches).then(|| {
            let text = format!("{name} is empty: the load did not come to its end; load again");
            finding(State::Wrong, id, text)
        });
    };
    let wanted = read.table.rows(scale);
    let key = read.table.key().unwrap_or_default();
    if read.rows != wanted {
        let text = format!(
            "{name} has {} rows, and scale {} has {}: the load did not come to its end, \
             or rows were added or deleted; load again",
            grouped(read.rows),
            grouped(scale),
            grouped(wanted)
        );
        return Some(finding(State::Wrong, id, text));
    }
    // As many rows as numbers, the ends right, and (see the key's finding) none twice: no gap.
    if read.lowest != Some(1) || read.highest != i64::try_from(wanted).ok() {
        let text = format!(
            "{name}.{key} runs from {} to {} instead of 1 to {}; load again",
            grouped(read.lowest.unwrap_or(0)),
            grouped(read.highest.unwrap_or(0)),
            grouped(wanted)
        );
        return Some(finding(State::Wrong, id, text));
    }
    if read.misplaced > 0 {
        let text = format!(
            "{} rows of {name} belong to another branch than their number says; load again",
            grouped(read.misplaced)
        );
        return Some(finding(State::Wrong, id, text));
    }
    let (wanted, scale) = (grouped(wanted), grouped(scale));
    let text = format!("{name} has {wanted} rows, {key} 1 to {wanted} (scale {scale})");
    Some(finding(State::Ok, id, text))
}

/// The invariants among the sums.
fn balances(found: &[Found<Table>], contents: &[Contents]) -> Vec<Finding> {
    let sum = |table| {
        contents
            .iter()
            .find(|read| read.table == table)
            .map(|read| read.sum)
    };
    let mut findings = Vec::new();
    if let (Some(tellers), Some(branches)) = (sum(Table::Tellers), sum(Table::Branches)) {
        let id = "balances-tellers-branches";
        let agree = tellers == branches;
        let (tellers, branches) = (grouped(tellers), grouped(branches));
        findings.push(if agree {
            let text = format!("tellers and branches both add up to {branches}");
            finding(State::Ok, id, text)
        } else {
            let text = format!(
                "tellers add up to {tellers} and branches to {branches}: every transaction of \
                 these workloads changes both alike, so one was lost in part, or something else \
                 wrote to the tables"
            );
            finding(State::Wrong, id, text)
        });
    }
    let emptied = found
        .iter()
        .any(|found| found.table == Table::History && found.rewritten);
    if let (Some(accounts), Some(history)) = (sum(Table::Accounts), sum(Table::History)) {
        findings.push(accounts_history(
            accounts,
            history,
            sum(Table::Branches),
            emptied,
        ));
    }
    findings
}

fn accounts_history(accounts: i64, history: i64, branches: Option<i64>, emptied: bool) -> Finding {
    let id = "balances-accounts-history";
    let like_branches = branches == Some(accounts);
    let agree = accounts == history;
    let (accounts, history) = (grouped(accounts), grouped(history));
    if agree {
        let text = format!("accounts and history both add up to {accounts}");
        return finding(State::Ok, id, text);
    }
    if !emptied {
        let text = format!(
            "accounts add up to {accounts} and the history to {history}, and the history was not \
             emptied since it was created: an update was lost, or something else wrote to the tables"
        );
        return finding(State::Wrong, id, text);
    }
    let why = format!(
        "accounts add up to {accounts} and the history to {history}; the history was emptied or \
         rewritten since it was created (pgbench empties it before each run), so the two cannot \
         be compared"
    );
    if like_branches {
        let text = format!("{why}; accounts and branches agree, as they do where only tpcb ran");
        return finding(State::Ok, id, text);
    }
    let text = format!(
        "{why}, nor can accounts with branches where simple-update ran; \
         load again for a check of every balance"
    );
    finding(State::Note, id, text)
}

/// The scale of the data, when it is fit for a run of the workload `name`.
///
/// Cheap at any scale: counts the small tables, and looks at accounts through its key only.
///
/// # Errors
/// A table is missing, half-loaded, not ours; or the scale is not the one asked for.
pub fn scale_for_run(control: &mut Control, name: &str, asked: Option<u32>) -> Result<u32, Error> {
    crate::products::need_postgres(control)?;
    let found = catalog::find::<Table>(control)?;
    let wanted = asked.map_or("N".to_owned(), |scale| scale.to_string());
    for table in Table::ALL {
        if !found.iter().any(|found| found.table == table) {
            return Err(Error::Data {
                problem: format!("table {} is missing", table.name()),
                hint: format!("prony load {name} --scale {wanted}"),
            });
        }
    }
    catalog::refuse_foreign(&found)?;
    let facts = sql::row(
        control,
        "reading the scale",
        "select (select count(*) from pgbench_branches), (select count(*) from pgbench_tellers)",
    )?;
    let branches = facts.int(0).unwrap_or(0);
    let scale = u32::try_from(branches).unwrap_or(0);
    let half = |what: String| Error::Data {
        problem: format!("the data is not whole: {what}; a load did not come to its end"),
        hint: format!("prony load {name} --scale {wanted}"),
    };
    if scale == 0 {
        return Err(half("pgbench_branches is empty".to_owned()));
    }
    if let Some(found) = found
        .iter()
        .find(|found| found.table.key().is_some() && !found.keyed)
    {
        return Err(half(format!("{} has no primary key", found.table.name())));
    }
    let tellers = facts
        .int(1)
        .and_then(|count| u64::try_from(count).ok())
        .unwrap_or(0);
    if tellers != Table::Tellers.rows(scale) {
        return Err(half(format!(
            "pgbench_tellers has {tellers} rows, and scale {scale} has {}",
            Table::Tellers.rows(scale)
        )));
    }
    // Through the key: two index look-ups, where a count would read the whole table.
    let ends = sql::row(
        control,
        "reading the scale",
        "select (select min(aid) from pgbench_accounts), (select max(aid) from pgbench_accounts)",
    )?;
    let last = i64::try_from(Table::Accounts.rows(scale)).unwrap_or(i64::MAX);
    if (ends.int(0), ends.int(1)) != (Some(1), Some(last)) {
        return Err(half(match (ends.int(0), ends.int(1)) {
            (Some(low), Some(high)) => format!(
                "pgbench_accounts has numbers {low} to {high}, and scale {scale} has 1 to {last}"
            ),
            _ => "pgbench_accounts is empty".to_owned(),
        }));
    }
    match asked {
        Some(asked) if asked != scale => Err(Error::Data {
            problem: format!("the data has scale {scale}, and scale {asked} was asked for"),
            hint: format!(
                "leave the scale out to run on what is there, or: prony load {name} --scale {asked}"
            ),
        }),
        _ => Ok(scale),
    }
}
