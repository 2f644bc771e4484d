//! `prony check` and `prony clean`.
//!
//! In: a workload and a server. Out: what was found, or dropped. Must never: change data in a check.

use super::{output, server};
use crate::args::TablesArgs;
use crate::exit::{Exit, Failure};
use prony_report::data::{self, Finding, Table};
use prony_report::units;
use prony_workload::{State, TableFacts};

/// Checks the data and prints what was found, and how large the tables are.
pub fn check(args: &TablesArgs) -> Result<Exit, Failure> {
    let workload = server::workload(&args.workload)?;
    let target = server::target(args.server.url.as_deref())?;
    let mut control = server::connect(&target)?;
    let report = workload
        .check(&mut control)
        .map_err(|error| server::workload_failure(&error, None))?;
    let findings: Vec<Finding> = report
        .findings
        .iter()
        .map(|finding| Finding {
            state: match finding.state {
                State::Ok => data::State::Ok,
                State::Note => data::State::Note,
                State::Wrong => data::State::Wrong,
            },
            id: finding.id.to_owned(),
            text: finding.text.clone(),
        })
        .collect();
    let tables = tables(&report.tables);
    output::show(|out, style| {
        match report.scale {
            Some(scale) => {
                let scale = units::count(u64::from(scale));
                writeln!(out, "{}, scale {scale}", workload.data())?;
            }
            None => writeln!(out, "{}, scale unknown", workload.data())?,
        }
        data::findings(out, style, &findings)?;
        data::tables(out, style, &tables)
    })?;
    if report.is_ok() {
        return Ok(Exit::Fine);
    }
    let hint = format!("load it anew: prony load {} --scale N", workload.data());
    let what = "the data is not as it should be";
    Err(Failure::new(Exit::Data, what, hint))
}

/// Drops the tables and names them.
pub fn clean(args: &TablesArgs) -> Result<Exit, Failure> {
    let workload = server::workload(&args.workload)?;
    let target = server::target(args.server.url.as_deref())?;
    let mut control = server::connect(&target)?;
    let dropped = workload.clean(&mut control).map_err(|error| {
        let mut failure = server::workload_failure(&error, None);
        if failure.exit == Exit::Unexpected {
            failure.exit = Exit::Load;
        }
        failure
    })?;
    output::show(|out, _| match dropped.as_slice() {
        [] => writeln!(out, "There were no tables of {} to drop.", workload.data()),
        names => writeln!(out, "Dropped {}.", names.join(", ")),
    })?;
    Ok(Exit::Fine)
}

/// The facts in the form of the view.
pub fn tables(facts: &[TableFacts]) -> Vec<Table> {
    facts
        .iter()
        .map(|table| Table {
            name: table.name.clone(),
            rows: table.rows,
            table_bytes: table.table_bytes,
            index_bytes: table.index_bytes,
            dead_rows: table.dead_rows,
            all_visible: table.all_visible,
        })
        .collect()
}
