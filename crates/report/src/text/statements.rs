//! Latencies of the workload's statements.
//!
//! In: a Run. Out: a table, and a sentence below. Must never: give a percentile that the document does not
//! contain.

use crate::table::Table;
use crate::text::{TableSection, plain};
use crate::units::{self, count, or_dash, time_or_dash};
use prony_store::{Run, StatementLatency};

/// The latencies of the statements; `None` if the run did not measure them.
pub(crate) fn statements(run: &Run) -> Option<TableSection> {
    let statements = run.statements.as_ref()?;
    let mut titles = vec![
        "statement",
        "count",
        "mean",
        "p50",
        "p95",
        "p99",
        "max",
        "of service",
    ];
    let is_replay = statements
        .iter()
        .any(|statement| statement.recorded.is_some());
    if is_replay {
        titles.extend(["recorded mean", "recorded p50", "recorded p99"]);
    }
    let mut table = Table::new(&titles);
    for statement in statements {
        let latency = &statement.latency;
        let mut row = vec![
            plain(&statement.display_name()),
            count(latency.samples),
            units::time(latency.mean_ns),
            time_or_dash(latency.p50_ns),
            time_or_dash(latency.p95_ns),
            time_or_dash(latency.p99_ns),
            units::time(latency.max_ns as f64),
            or_dash(statement.service_time_share, units::percent_with_tenths),
        ];
        if is_replay {
            let recorded = statement.recorded.as_ref();
            row.extend([
                or_dash(recorded, |recorded| units::time(recorded.mean_ns)),
                time_or_dash(recorded.and_then(|recorded| recorded.p50_ns)),
                time_or_dash(recorded.and_then(|recorded| recorded.p99_ns)),
            ]);
        }
        table.row(row);
    }
    Some(TableSection {
        heading: "Latency of statements",
        table: Some(table).filter(|table| !table.is_empty()),
        text: statements_text(statements),
    })
}

/// What the figures mean, or why there are none.
fn statements_text(statements: &[StatementLatency]) -> String {
    if statements.is_empty() {
        return "None was measured: the load executed no statement of the workload's own. Statements that a script \
             sends as text, as with the simple protocol, are not measured separately."
            .to_owned();
    }
    let mut text =
        "Successful executions in the window, from the moment at which the client could send to \
                    the moment at which it noticed the reply."
            .to_owned();
    if statements.iter().any(|statement| statement.statements > 1) {
        text += " Statements that share a round trip are measured together, under the first one's name.";
    }
    if statements
        .iter()
        .any(|statement| statement.recorded.is_some())
    {
        text +=
            " Recorded: the server's own time in the log, without the way to the client and back.";
    }
    let shares = statements
        .iter()
        .filter_map(|statement| statement.service_time_share);
    let rest = 1.0 - shares.sum::<f64>();
    if rest >= 0.005 {
        text += &format!(
            " The remaining {} of the service time is connecting, think time within transactions, plain \
             text and failed statements.",
            units::percent_with_tenths(rest)
        );
    }
    text
}
