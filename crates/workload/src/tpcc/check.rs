//! Whether the tables are whole and consistent.
//!
//! In: a control connection. Out: findings; the scale of the data. Must never: call wrong what
//! cannot be decided, or right what was not looked at; hold off a load that goes on meanwhile.

use super::conditions::{self, Outcome, UNCOUNTED};
use super::indexes::{self, Second};
use super::layout::{self, Population};
use super::record::{self, Record};
use super::schema::Table;
use crate::catalog::{self, Found};
use crate::findings::{self, finding};
use crate::oltp::engine::Engine;
use crate::words::grouped;
use crate::{CheckReport, Error, Finding, State, sql};
use prony_server::Control;

/// Looks at everything, in one snapshot.
pub fn check(control: &mut Control) -> Result<CheckReport, Error> {
    let report = snapshot(control).and_then(|seen| look(control, seen));
    // Nothing to keep: an error here changes no finding.
    drop(sql::run(control, "ending the check", "rollback"));
    report
}

/// What the catalog says, while all of it stays so.
struct Seen {
    found: Vec<Found<Table>>,
    record: Option<Record>,
    second: Vec<Second>,
}

/// Takes a snapshot, in which the sums are exact even while a load or a run goes on; and holds the
/// tables, so that no load replaces them meanwhile.
fn snapshot(control: &mut Control) -> Result<Seen, Error> {
    let begin = match Engine::of(control) {
        Engine::Postgres => "begin transaction isolation level repeatable read read only",
        Engine::MySql => {
            "set transaction isolation level repeatable read; \
             start transaction with consistent snapshot, read only"
        }
    };
    let mut tries = 0;
    loop {
        let before = record::exists(control)?;
        sql::run(control, "beginning the check", begin)?;
        let found = catalog::find::<Table>(control)?;
        let record = record::find(control)?;
        let second = indexes::second(control)?;
        let held = hold(control, &found);
        // The server looks names up as of now, not as of the snapshot: where a load began or ended
        // between the two, what was read does not fit together.
        let fits = held.is_ok() && [before, record::exists(control)?] == [record.is_some(); 2];
        tries += 1;
        if fits || tries == TRIES_MAX {
            held?;
            return Ok(Seen {
                found,
                record,
                second,
            });
        }
        sql::run(control, "beginning the check again", "rollback")?;
    }
}

/// How often a check may come between the beginning and the end of loads.
const TRIES_MAX: u32 = 10;

/// Keeps tables from being dropped until the transaction ends.
fn hold(control: &mut Control, found: &[Found<Table>]) -> Result<(), Error> {
    let doing = "holding the tables";
    let ours = found.iter().filter(|found| found.ours);
    let names: Vec<&str> = ours.map(|found| found.table.name()).collect();
    if names.is_empty() {
        return Ok(());
    }
    match Engine::of(control) {
        Engine::Postgres => {
            let sql = format!("lock table {} in access share mode", names.join(", "));
            sql::run(control, doing, &sql)
        }
        // Whoever has read of a table holds it; and a table that is younger than the snapshot is
        // refused here.
        Engine::MySql => names.iter().try_for_each(|name| {
            sql::run(control, doing, &format!("select 1 from {name} limit 1"))
        }),
    }
}

fn look(control: &mut Control, seen: Seen) -> Result<CheckReport, Error> {
    let Seen {
        mut found,
        record,
        second,
    } = seen;
    let mut report = CheckReport {
        findings: record.iter().map(unfinished).collect(),
        ..CheckReport::default()
    };
    report.findings.extend(findings::tables(&found, "tpcc"));
    if found.iter().filter(|found| found.ours).count() == Table::ALL.len() {
        let counts = counts(control, record.as_ref())?;
        for (found, count) in found.iter_mut().zip(&counts) {
            found.facts.rows = count.rows;
        }
        let warehouses = counts
            .iter()
            .find(|count| count.table == Table::Warehouse)
            .and_then(|count| u32::try_from(count.rows).ok())
            .filter(|warehouses| *warehouses > 0);
        let rows = rows(&counts, warehouses, record.as_ref());
        report.findings.extend(rows);
        if record.is_none() {
            report.scale = warehouses;
            let keys = found.iter().filter_map(findings::key);
            report.findings.extend(keys);
            report.findings.extend(second.iter().map(second_index));
            report.findings.push(made(control)?);
        }
        report.findings.extend(consistency(control)?);
        // The others do not tell when they last looked.
        if Engine::of(control) == Engine::Postgres {
            let statistics = found.iter().filter_map(findings::statistics);
            report.findings.extend(statistics);
        }
    }
    report.tables = found.into_iter().map(|found| found.facts).collect();
    Ok(report)
}

fn unfinished(record: &Record) -> Finding {
    let text = format!(
        "{}; unless it goes on, {}",
        record.words(),
        record.layout.continued()
    );
    finding(State::Wrong, "load-unfinished", text)
}

/// Rows of a table.
struct Count {
    table: Table,
    rows: u64,
    /// Rows with a number outside what the scale has.
    outside: u64,
}

/// Counts all tables, in the order of [`Table::ALL`].
fn counts(control: &mut Control, record: Option<&Record>) -> Result<Vec<Count>, Error> {
    // Of a load that goes on, the last warehouse may be there before the first.
    let warehouses = match record {
        Some(record) => record.layout.scale.to_string(),
        None => "(select count(*) from warehouse)".to_owned(),
    };
    let mut counts = Vec::new();
    for table in Table::ALL {
        let within = match table {
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
                "true".to_owned()
            }
        };
        let name = table.name();
        let outside = format!("coalesce(sum(case when {within} then 0 else 1 end), 0)");
        let sql = format!("select count(*), {outside} from {name}");
        let row = sql::row(control, &format!("counting {name}"), &sql)?;
        let count = |column| row.int(column).and_then(|count| u64::try_from(count).ok());
        counts.push(Count {
            table,
            rows: count(0).unwrap_or(0),
            outside: count(1).unwrap_or(0),
        });
    }
    Ok(counts)
}

/// Whether the tables have the rows of the scale [1.2.1, 4.3.3.1].
fn rows(counts: &[Count], scale: Option<u32>, record: Option<&Record>) -> Vec<Finding> {
    let Some(scale) = scale else {
        if record.is_some() {
            return Vec::new();
        }
        let text = "warehouse is empty: load again".to_owned();
        return vec![finding(State::Wrong, "rows-warehouse", text)];
    };
    // Of a load that has not come to its end, the items may be missing, and that is known.
    counts
        .iter()
        .filter(|count| record.is_none() || count.table != Table::Item)
        .map(|count| rows_of(count, scale))
        .collect()
}

fn rows_of(count: &Count, scale: u32) -> Finding {
    let (id, grows) = match count.table {
        Table::Item => ("rows-item", false),
        Table::Warehouse => ("rows-warehouse", false),
        Table::District => ("rows-district", false),
        Table::Stock => ("rows-stock", false),
        Table::Customer => ("rows-customer", false),
        Table::History => ("rows-history", true),
        Table::Orders => ("rows-orders", true),
        Table::NewOrder => ("rows-new-order", true),
        Table::OrderLine => ("rows-order-line", true),
    };
    let name = count.table.name();
    let loaded = count.table.rows(scale);
    let (rows, wanted) = (grouped(count.rows), grouped(loaded));
    let warehouses = format!("{} warehouses", grouped(scale));
    if count.outside > 0 {
        let text = format!(
            "{} rows of {name} have numbers that {warehouses} do not have; load again",
            grouped(count.outside)
        );
        return finding(State::Wrong, id, text);
    }
    let (state, text) = match count.table {
        // Deliveries take rows away.
        Table::NewOrder if count.rows != loaded => (
            State::Ok,
            format!("{name} has {rows} rows; the load makes {wanted}"),
        ),
        // Whether their number is right is condition 4.
        Table::OrderLine => (State::Ok, format!("{name} has {rows} rows")),
        _ if count.rows == loaded => {
            let text = format!("{name} has {rows} rows, as loaded for {warehouses}");
            (State::Ok, text)
        }
        _ if grows && count.rows > loaded => {
            let more = grouped(count.rows - loaded);
            (
                State::Ok,
                format!("{name} has {rows} rows, {more} more than loaded"),
            )
        }
        _ => {
            let text = format!(
                "{name} has {rows} rows, and {warehouses} have {wanted}: rows were deleted or \
                 added by something else than this workload; load again"
            );
            (State::Wrong, text)
        }
    };
    finding(state, id, text)
}

/// Without the second indexes, look-ups by name read whole tables.
fn second_index(index: &Second) -> Finding {
    let Second {
        name,
        columns,
        build,
        is_there,
    } = index;
    if *is_there {
        let text = format!("{name} ({columns}) is there");
        return finding(State::Ok, "index", text);
    }
    let text = format!("index {name} is missing; this makes it: {build}");
    finding(State::Wrong, "index", text)
}

/// By whose rules the tables were made.
fn made(control: &mut Control) -> Result<Finding, Error> {
    let (population, partitions) = layout::found(control)?;
    let parts = match partitions {
        0 => String::new(),
        parts => format!("; order_line has {parts} partitions"),
    };
    let text = format!(
        "customers as the profile {} means them: {} % have bad credit{parts}",
        match population {
            Population::Standard => "standard",
            Population::HammerDb => "hammerdb or hammerdb-4.6",
        },
        population.bad_credit_percent()
    );
    Ok(finding(State::Ok, "population", text))
}

/// The twelve conditions.
fn consistency(control: &mut Control) -> Result<Vec<Finding>, Error> {
    let outcomes = conditions::decide(control)?;
    let uncounted = outcomes
        .iter()
        .find(|outcome| outcome.number == UNCOUNTED)
        .filter(|outcome| outcome.broken > 0);
    let conditions = outcomes
        .iter()
        .filter(|outcome| outcome.number != UNCOUNTED);
    Ok(conditions
        .map(|outcome| match (outcome.number, uncounted) {
            (12, Some(uncounted)) if outcome.broken == 0 => not_kept(uncounted),
            _ => condition(outcome),
        })
        .collect())
}

fn condition(outcome: &Outcome) -> Finding {
    let number = outcome.number;
    let (demand, places) = (conditions::demand(number), conditions::places(number));
    let compared = grouped(outcome.compared);
    if outcome.compared == 0 {
        let text = format!("{demand}: not decided, there are no {places} yet");
        return finding(State::Note, conditions::id(number), text);
    }
    if outcome.broken == 0 {
        let text = format!("{demand} ({compared} {places})");
        return finding(State::Ok, conditions::id(number), text);
    }
    let text = format!(
        "{demand}: not so for {} of {compared} {places}; the first \
         is {}; something wrote to the tables beside this workload, or the server lost a part of a \
         transaction",
        grouped(outcome.broken),
        outcome.example
    );
    finding(State::Wrong, conditions::id(number), text)
}

/// Runs of the `hammerdb` profiles do not keep c_ytd_payment and c_payment_cnt.
fn not_kept(uncounted: &Outcome) -> Finding {
    let text = format!(
        "{}: not expected to hold here for {} of {} customers, of whom the history has payments \
         that c_payment_cnt does not count; it holds for the others. The profiles hammerdb and hammerdb-4.6 leave \
         c_ytd_payment and c_payment_cnt as they are, because HammerDB does. The other eleven \
         conditions hold after them too",
        conditions::demand(12),
        grouped(uncounted.broken),
        grouped(uncounted.compared)
    );
    finding(State::Note, conditions::id(12), text)
}
