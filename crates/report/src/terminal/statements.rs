//! Latencies of the workload's statements.
//!
//! In: a Run. Out: a table, and a sentence below. Must never: print a percentile that the document does not
//! contain.

use crate::printer::Printer;
use crate::table::Table;
use crate::text::plain;
use crate::units::{self, count, or_dash, time_or_dash};
use prony_store::{Run, StatementLatency};
use std::io;

/// The heading of the table.
pub(crate) const STATEMENTS: &str = "Latency of statements";

/// Columns of [`statement_rows`].
pub(crate) const STATEMENT_COLUMNS: [&str; 8] = [
    "statement",
    "count",
    "mean",
    "p50",
    "p95",
    "p99",
    "max",
    "of service",
];

/// The rows of the statements; empty if none was measured.
pub(crate) fn statement_rows(run: &Run) -> Vec<[String; 8]> {
    let statements = run.statements.iter().flatten();
    statements.map(statement_row).collect()
}

fn statement_row(statement: &StatementLatency) -> [String; 8] {
    let latency = &statement.latency;
    [
        plain(&statement.display_name()),
        count(latency.samples),
        units::time(latency.mean_ns),
        time_or_dash(latency.p50_ns),
        time_or_dash(latency.p95_ns),
        time_or_dash(latency.p99_ns),
        units::time(latency.max_ns as f64),
        or_dash(statement.service_time_share, |share| {
            format!("{:.1} %", share * 100.0)
        }),
    ]
}

/// What the figures mean, or why there are none; `None` if the run did not measure statements.
pub(crate) fn statements_text(run: &Run) -> Option<String> {
    let statements = run.statements.as_ref()?;
    if statements.is_empty() {
        return Some(
            "None was measured: the load executed no statement of the workload's own. Statements that a script \
             sends as text, as with the simple protocol, are not measured separately."
                .to_owned(),
        );
    }
    let mut text =
        "Successful executions in the window, from the moment at which the client could send to \
                    the moment at which it noticed the reply."
            .to_owned();
    if statements.iter().any(|statement| statement.statements > 1) {
        text += " Statements that share a round trip are measured together, under the first one's name.";
    }
    let shares = statements
        .iter()
        .filter_map(|statement| statement.service_time_share);
    let rest = 1.0 - shares.sum::<f64>();
    if rest >= 0.005 {
        text += &format!(
            " The remaining {:.1} % of the service time is connecting, think time within transactions, plain \
             text and failed statements.",
            rest * 100.0
        );
    }
    Some(text)
}

/// Writes the latency of each statement, if the run measured them.
pub fn write_statements(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let Some(text) = statements_text(run) else {
        return Ok(());
    };
    out.heading(STATEMENTS)?;
    let rows = statement_rows(run);
    if !rows.is_empty() {
        let mut table = Table::new(&STATEMENT_COLUMNS);
        rows.into_iter().for_each(|row| table.row(row));
        out.table(&table)?;
    }
    out.paragraph(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Style;
    use prony_store::Latency;

    fn statement(name: &str, statements: u32, p99_ns: Option<u64>, share: f64) -> StatementLatency {
        StatementLatency {
            name: name.to_owned(),
            statements,
            text: "SELECT 1".to_owned(),
            latency: Latency {
                samples: 1_200,
                mean_ns: 150_000.0,
                max_ns: 2_000_000,
                p50_ns: Some(140_000),
                p95_ns: Some(190_000),
                p99_ns,
                ..Latency::default()
            },
            service_time_share: Some(share),
        }
    }

    fn written(run: &Run) -> String {
        let (mut bytes, style) = (Vec::new(), Style::plain());
        write_statements(&mut Printer::new(&mut bytes, &style), run).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn each_statement_has_its_row_and_a_missing_percentile_a_dash() {
        let run = Run {
            statements: Some(vec![
                statement("begin", 1, Some(200_000), 0.3),
                statement("update-account", 6, None, 0.45),
            ]),
            ..Run::default()
        };
        let text = written(&run);
        for part in [
            "Latency of statements",
            "begin                    1,200",
            "update-account + 5 more  1,200",
            "30.0 %",
            "25.0 % of the service time",
            "round trip are measured together",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let grouped = text.lines().find(|line| line.contains("+ 5 more")).unwrap();
        assert_eq!(grouped.matches('–').count(), 1, "{grouped}");
    }

    #[test]
    fn runs_that_measured_no_statements_say_so_only_if_they_were_asked_to() {
        assert_eq!(written(&Run::default()), "");
        let run = Run {
            statements: Some(Vec::new()),
            ..Run::default()
        };
        let text = written(&run);
        assert!(text.contains("None was measured"), "{text}");
    }
}
