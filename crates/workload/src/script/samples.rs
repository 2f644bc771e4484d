//! The samples of own SQL: rows that queries return once before the load, and from which `\sample` draws.
//!
//! The columns of a row stay together, so that what a table correlates, a statement correlates too. Drawing allocates
//! no more than a variable's text grows. The rows are in no document; the queries are.

use super::CommandKind;
use super::eval::Evaluator;
use super::options::option_error;
use super::transactions::OwnSql;
use super::value::Value;
use super::variables::VariableId;
use crate::remedy::Remedy;
use crate::{Error, Result, sql};
use prony_plan::WorkloadPlan;
use prony_server::Control;
use prony_server::control::{Error as ControlError, TextRow};
use std::collections::HashSet;

const KEYS: [&str; 2] = ["name", "sql"];
/// Maximum number of rows and bytes of one sample. The rows stay in memory during the load.
const ROWS_MAX: usize = 1_000_000;
const BYTES_MAX: usize = 64 << 20;
/// Maximum number of bytes of a reply with these rows: a protocol adds some to each cell.
const REPLY_BYTES_MAX: usize = 4 * BYTES_MAX;

/// A sample as the plan defines it.
pub(super) struct SampleQuery {
    pub name: String,
    pub sql: String,
}

/// The rows of a sample, at least one.
pub(super) struct SampleRows {
    rows: Vec<TextRow>,
}

pub(super) fn read_samples(plan: &WorkloadPlan) -> Result<Vec<SampleQuery>> {
    const HINT: &str =
        "[[workload.samples]] with name = \"users\" and sql = \"SELECT id FROM users\"";
    let Some(option) = plan.options.get("samples") else {
        return Ok(Vec::new());
    };
    let tables = option.as_array().into_iter().flatten();
    let samples = tables.map(|item| {
        let text = |key: &str| item.get(key).and_then(|value| value.as_str());
        let has_other_key = || {
            let mut keys = item.as_table().into_iter().flat_map(|table| table.keys());
            keys.any(|key| !KEYS.contains(&key.as_str()))
        };
        match (text("name"), text("sql")) {
            (Some(name), Some(sql)) if is_one_word(name) && !has_other_key() => Ok(SampleQuery {
                name: name.to_owned(),
                sql: sql.to_owned(),
            }),
            _ => Err(option_error(
                "a sample needs a name of one word and sql, and nothing else",
                HINT,
            )),
        }
    });
    let samples = samples.collect::<Result<Vec<_>>>()?;
    if samples.is_empty() {
        return Err(option_error("samples is not a list of tables", HINT));
    }
    let mut names = HashSet::new();
    match samples.iter().find(|sample| !names.insert(&sample.name)) {
        None => Ok(samples),
        Some(twice) => Err(option_error(
            &format!("two samples have the name \"{}\"", twice.name),
            "give each a name of its own",
        )),
    }
}

fn is_one_word(name: &str) -> bool {
    !name.is_empty() && !name.contains(|letter: char| letter.is_whitespace() || letter.is_control())
}

/// Lets the server execute the queries.
///
/// # Errors
/// The server refuses one, or its rows are no sample for the commands that use it.
pub(super) fn read_rows(control: &mut Control, own_sql: &OwnSql) -> Result<Vec<SampleRows>> {
    let mut samples = Vec::new();
    for (number, query) in own_sql.samples.iter().enumerate() {
        let activity = format!("reading the sample \"{}\"", query.name);
        let rows = control.query_at_most(&query.sql, ROWS_MAX, REPLY_BYTES_MAX);
        let rows = rows.map_err(|error| match error {
            ControlError::Statement(_) if error.hint().is_none() => Error::Data {
                problem: format!("{activity}: {error}"),
                remedy: Remedy::Advice(
                    "correct its query in [[workload.samples]]. If the plan was captured on another product, its \
                     queries are in that one's SQL: capture it on this product"
                        .to_owned(),
                ),
            },
            _ => sql::server_error(&activity, error),
        })?;
        let scripts = own_sql.set.scripts.iter();
        let commands = scripts.flat_map(|script| &script.commands);
        let columns = commands.filter_map(|command| match &command.kind {
            CommandKind::Sample(sample) if sample.sample == number => Some(sample.targets.len()),
            _ => None,
        });
        let rows = rows
            .ok_or_else(too_many_problem)
            .and_then(|rows| SampleRows::new(rows, columns.max().unwrap_or(0)));
        let rows = rows.map_err(|problem| {
            let advice = "correct the query of the sample in [[workload.samples]]";
            Error::Data {
                problem: format!("the sample \"{}\" {problem}", query.name),
                remedy: Remedy::Advice(advice.to_owned()),
            }
        })?;
        samples.push(rows);
    }
    Ok(samples)
}

fn too_many_problem() -> String {
    let mib = BYTES_MAX >> 20;
    format!("has more than {ROWS_MAX} rows or {mib} MiB: let its query return fewer")
}

impl SampleRows {
    /// Checks the rows, and leaves out those with a cell that is not text in UTF-8; `columns` is the largest number of
    /// variables that a command sets from them.
    pub fn new(mut rows: Vec<TextRow>, columns: usize) -> Result<SampleRows, String> {
        let Some(width) = rows.first().map(Vec::len) else {
            return Err("has no rows".to_owned());
        };
        if width < columns {
            return Err(format!("has {width} columns, and \\sample needs {columns}"));
        }
        let cells = || rows.iter().flatten().flatten();
        let bytes: usize = cells().map(String::len).sum();
        if rows.len() > ROWS_MAX || bytes > BYTES_MAX {
            return Err(too_many_problem());
        }
        // The control connection puts the replacement character in place of invalid UTF-8. A text rarely has it itself.
        let is_text = |cell: &String| !cell.contains(['\0', char::REPLACEMENT_CHARACTER]);
        rows.retain(|row| row.iter().flatten().all(is_text));
        if rows.is_empty() {
            return Err("has values that are not text in UTF-8".to_owned());
        }
        Ok(SampleRows { rows })
    }

    /// Sets variables to the first columns of a random row.
    #[inline]
    pub fn draw(&self, targets: &[VariableId], evaluator: &mut Evaluator) {
        let row = evaluator.random.uniform(0, self.rows.len() as i64 - 1);
        for (id, cell) in targets.iter().zip(&self.rows[row as usize]) {
            match cell {
                Some(text) => evaluator.variables.set_text(*id, text),
                None => evaluator.variables.set(*id, Value::Null),
            }
        }
    }
}
