//! Latencies of the workload's statements, and figures of each of several machines.

use super::table::write_table;
use crate::html::markup::{Html, writeln_markup};
use crate::text::TableSection;
use std::fmt;

pub fn write(out: &mut Html, section: Option<TableSection>) -> fmt::Result {
    let Some(section) = section else {
        return Ok(());
    };
    if let Some(table) = &section.table {
        write_table(out, section.heading, table)?;
    }
    writeln_markup!(out, "<p>{}. {}</p>", section.heading, section.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::machines::machines;
    use crate::text::statements::statements;
    use prony_assertions::TextAssertions;
    use prony_store::{ClientMachine, Host, MachinePart, Run, StatementLatency};

    #[test]
    fn a_page_has_the_statements_if_the_run_measured_them() {
        let mut out = Html::default();
        write(&mut out, statements(&Run::default())).unwrap();
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
        write(&mut out, statements(&run)).unwrap();
        out.assert_contains("a&lt;b + 2 more");
        out.assert_contains("<td>25.1 %</td>");
        out.assert_contains("The remaining 74.9 %");
    }

    #[test]
    fn a_page_has_the_machines_that_drove_the_load() {
        let mut out = Html::default();
        write(&mut out, machines(&Run::default())).unwrap();
        assert_eq!(out, "");
        let machine = ClientMachine {
            host: Host {
                name: "<vm1>".to_owned(),
                ..Host::default()
            },
            part: Some(MachinePart::default()),
            ..ClientMachine::default()
        };
        let run = Run {
            machines: vec![machine],
            ..Run::default()
        };
        write(&mut out, machines(&run)).unwrap();
        out.assert_contains("1 &lt;vm1&gt;");
    }
}
