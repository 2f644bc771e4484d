//! Latencies of the workload's statements.

use super::table::write_table;
use crate::html::markup::{Html, writeln_markup};
use crate::text::statements::{STATEMENTS, statement_table, statements_text};
use prony_store::Run;
use std::fmt;

/// Writes the latency of each statement, if the run measured them.
pub fn write(out: &mut Html, run: &Run) -> fmt::Result {
    let Some(text) = statements_text(run) else {
        return Ok(());
    };
    if let Some(table) = statement_table(run) {
        write_table(out, STATEMENTS, &table)?;
    }
    writeln_markup!(out, "<p>{}. {}</p>", STATEMENTS, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_store::StatementLatency;

    #[test]
    fn a_page_has_the_statements_if_the_run_measured_them() {
        let mut out = Html::default();
        write(&mut out, &Run::default()).unwrap();
        assert_eq!(out, "");
        let run = Run {
            statements: Some(vec![StatementLatency {
                name: "a<b".to_owned(),
                statements: 3,
                service_time_share: Some(0.251),
                ..StatementLatency::default()
            }]),
            ..Run::default()
        };
        write(&mut out, &run).unwrap();
        assert!(out.contains("a&lt;b + 2 more"), "{out}");
        assert!(out.contains("<td>25.1 %</td>"), "{out}");
        assert!(out.contains("The remaining 74.9 %"), "{out}");
    }
}
