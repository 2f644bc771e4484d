//! Whether the tables are whole.
//!
//! In: a control connection. Out: findings, one for all tables where they are alike. Must never:
//! call wrong what a workload does by its nature without saying which.

use super::engine::Engine;
use super::tables::{self, Found, Stage};
use super::{Oltp, ready};
use crate::commands::caller;
use crate::findings::finding;
use crate::words::grouped;
use crate::{CheckReport, Error, Finding, State, sql};
use prony_server::Control;

/// What one pass over a table finds.
struct Contents {
    name: String,
    rows: u64,
    lowest: Option<i64>,
    highest: Option<i64>,
    /// Rows whose texts have another length than those of the load.
    misshapen: u64,
    /// Rows that it was loaded with, as noted.
    loaded: Option<u64>,
    /// Rows from 1 to that number.
    inside: u64,
}

/// Looks at everything: reads each table once, in one snapshot.
pub fn check(control: &mut Control, workload: &Oltp) -> Result<CheckReport, Error> {
    let begin = match Engine::of(control) {
        Engine::Postgres => "begin transaction isolation level repeatable read read only",
        Engine::MySql => {
            "set transaction isolation level repeatable read; \
             start transaction with consistent snapshot, read only"
        }
    };
    sql::run(control, "beginning the check", begin)?;
    let report = look(control, workload);
    // Nothing to keep: an error here changes no finding.
    drop(sql::run(control, "ending the check", "rollback"));
    report
}

fn look(control: &mut Control, workload: &Oltp) -> Result<CheckReport, Error> {
    let found = tables::find(control)?;
    let (mut ours, foreign): (Vec<Found>, Vec<Found>) = found
        .into_iter()
        .partition(|found| found.columns == workload.columns());
    let mut findings = numbers(&ours, workload);
    findings.extend(foreign.iter().map(|found| {
        let text = format!(
            "{} has the columns ({}), which are not those of this workload",
            found.facts.name, found.columns
        );
        finding(State::Wrong, "table-foreign", text)
    }));
    findings.extend(unfinished(&ours, workload));
    let mut contents = Vec::new();
    for found in &mut ours {
        let read = read(control, found, workload)?;
        found.facts.rows = read.rows;
        contents.push(read);
    }
    findings.extend(rows(&contents, workload));
    if !workload.is_bulk() {
        findings.extend(shape(&contents));
    }
    findings.extend(indexes(&ours, workload));
    Ok(CheckReport {
        scale: (!ours.is_empty()).then_some(ours.len() as u32),
        findings,
        tables: tables::facts(ours),
    })
}

fn numbers(ours: &[Found], workload: &Oltp) -> Vec<Finding> {
    let load = format!("`{}` makes them", caller().load(workload.data, &[]));
    let text = match (ours.len(), ours.last()) {
        (0, _) | (_, None) => format!("there are no tables; {load}"),
        (count, Some(last)) if last.number as usize != count => format!(
            "there are {count} tables up to {}: some are missing between them; {load} anew",
            last.facts.name
        ),
        (1, Some(last)) => {
            let text = format!("table {} is there", last.facts.name);
            return vec![finding(State::Ok, "tables", text)];
        }
        (count, Some(last)) => {
            let text = format!(
                "all {count} tables are there, sbtest1 to {}",
                last.facts.name
            );
            return vec![finding(State::Ok, "tables", text)];
        }
    };
    vec![finding(State::Wrong, "tables", text)]
}

fn unfinished(ours: &[Found], workload: &Oltp) -> Option<Finding> {
    let mut notes = ours.iter().filter_map(|found| found.note.as_ref());
    let note = notes.find(|note| note.stage != Stage::Loaded)?;
    let text = format!(
        "{}; `{}` with the options of that load continues it",
        ready::unfinished(note),
        caller().load(workload.name, &note.sizes())
    );
    Some(finding(State::Wrong, "load", text))
}

fn read(control: &mut Control, found: &Found, workload: &Oltp) -> Result<Contents, Error> {
    let name = found.facts.name.clone();
    let loaded = found.note.as_ref().and_then(|note| note.number("rows"));
    let misshapen = match workload.is_bulk() {
        true => "false",
        false => "length(c) <> 119 or length(pad) <> 59",
    };
    let row = sql::row(
        control,
        &format!("reading {name}"),
        &format!(
            "select count(*), min(id), max(id), sum(case when {misshapen} then 1 else 0 end), \
             sum(case when id between 1 and {} then 1 else 0 end) from {name}",
            loaded.unwrap_or(0)
        ),
    )?;
    let count = |column| {
        let value = row.int(column).and_then(|value| u64::try_from(value).ok());
        value.unwrap_or(0)
    };
    Ok(Contents {
        rows: count(0),
        lowest: row.int(1),
        highest: row.int(2),
        misshapen: count(3),
        inside: count(4),
        name,
        loaded,
    })
}

/// Whether the rows are those of the load: the first table that has lost one is named.
fn rows(contents: &[Contents], workload: &Oltp) -> Vec<Finding> {
    let id = "rows";
    let mut lost = contents.iter().filter_map(|read| {
        let loaded = read.loaded?;
        (read.inside < loaded).then_some((read, loaded - read.inside))
    });
    if let Some((read, missing)) = lost.next() {
        let more = match lost.count() {
            0 => String::new(),
            count => format!(", and {count} other tables have lost rows too"),
        };
        let text = format!(
            "{} has lost {} of the {} rows that it was loaded with{more}: oltp_delete does that; \
             load again",
            read.name,
            grouped(missing),
            grouped(read.loaded.unwrap_or(0)),
        );
        return vec![finding(State::Wrong, id, text)];
    }
    let all: u64 = contents.iter().map(|read| read.rows).sum();
    let added: u64 = contents
        .iter()
        .filter_map(|read| Some(read.rows - read.loaded?.min(read.rows)))
        .sum();
    let known = contents.iter().filter(|read| read.loaded.is_some()).count();
    let mut findings = Vec::new();
    if known > 0 {
        let text = format!(
            "{} rows; each table has those that it was loaded with",
            grouped(all)
        );
        findings.push(finding(State::Ok, id, text));
    }
    if added > 0 {
        let adding = match workload.is_bulk() {
            true => "bulk_insert",
            false => "oltp_insert",
        };
        let text = format!(
            "{} rows were added since: {adding} does that",
            grouped(added)
        );
        findings.push(finding(State::Note, "rows-added", text));
    }
    if known < contents.len() {
        let gaps = contents.iter().filter(|read| read.loaded.is_none());
        let gaps = gaps
            .filter(|read| read.lowest != Some(1) || read.highest != i64::try_from(read.rows).ok());
        let text = format!(
            "{} tables were not loaded by Prony, so how many rows they should have is not known; \
             {} of them have numbers other than 1 to their count",
            contents.len() - known,
            gaps.count()
        );
        findings.push(finding(State::Note, "rows-unknown", text));
    }
    findings
}

fn shape(contents: &[Contents]) -> Option<Finding> {
    let id = "shape";
    let read = contents.iter().find(|read| read.misshapen > 0);
    if let Some(read) = read {
        let text = format!(
            "{} rows of {} have texts of other lengths than 119 and 59 characters; load again",
            grouped(read.misshapen),
            read.name
        );
        return Some(finding(State::Wrong, id, text));
    }
    let text = "all texts have 119 and 59 characters".to_owned();
    (!contents.is_empty()).then(|| finding(State::Ok, id, text))
}

fn indexes(ours: &[Found], workload: &Oltp) -> Vec<Finding> {
    let names = |without: &dyn Fn(&&Found) -> bool| {
        let names = ours.iter().filter(without);
        let names: Vec<&str> = names.map(|found| found.facts.name.as_str()).collect();
        names.join(", ")
    };
    let mut findings = Vec::new();
    let bare = names(&|found| !found.indexed[0]);
    let unkeyed = names(&|found| !found.keyed && found.indexed[0]);
    if !bare.is_empty() {
        let text = format!("{bare} without an index on id: the load did not come to its end");
        findings.push(finding(State::Wrong, "key", text));
    } else if !unkeyed.is_empty() {
        let text = format!("{unkeyed} with an index on id in place of a primary key (secondary)");
        findings.push(finding(State::Note, "key", text));
    } else if !ours.is_empty() {
        let text = "all tables have their primary key (id)".to_owned();
        findings.push(finding(State::Ok, "key", text));
    }
    let plain = names(&|found| !found.indexed[1]);
    if !workload.is_bulk() && !plain.is_empty() {
        let text = format!("{plain} without an index on k (create_secondary off)");
        findings.push(finding(State::Note, "index", text));
    }
    findings
}
