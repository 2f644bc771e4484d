//! Latencies of the workload's statements, and figures of each of several servers, and of several machines.

use super::table::write_table;
use crate::html::markup::{Html, writeln_markup};
use crate::text::endpoints::{ENDPOINTS, endpoint_table, endpoints_text};
use crate::text::machines::{MACHINES, machine_table, machines_text};
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

/// Writes what happened at each of several servers.
pub fn write_endpoints(out: &mut Html, run: &Run) -> fmt::Result {
    let (Some(table), Some(text)) = (endpoint_table(run), endpoints_text(run)) else {
        return Ok(());
    };
    write_table(out, ENDPOINTS, &table)?;
    writeln_markup!(out, "<p>{}. {}</p>", ENDPOINTS, text)
}

/// Writes what each of several machines did that drove the load.
pub fn write_machines(out: &mut Html, run: &Run) -> fmt::Result {
    let (Some(table), Some(text)) = (machine_table(run), machines_text(run)) else {
        return Ok(());
    };
    write_table(out, MACHINES, &table)?;
    writeln_markup!(out, "<p>{}. {}</p>", MACHINES, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_store::{
        ClientMachine, EndpointFigures, Host, MachinePart, Spread, StatementLatency,
    };

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
        out.assert_contains("a&lt;b + 2 more");
        out.assert_contains("<td>25.1 %</td>");
        out.assert_contains("The remaining 74.9 %");
    }

    #[test]
    fn a_page_has_the_machines_that_drove_the_load() {
        let mut out = Html::default();
        write_machines(&mut out, &Run::default()).unwrap();
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
        write_machines(&mut out, &run).unwrap();
        out.assert_contains("1 &lt;vm1&gt;");
    }

    #[test]
    fn a_page_has_the_servers_if_there_were_several() {
        let mut out = Html::default();
        write_endpoints(&mut out, &Run::default()).unwrap();
        assert_eq!(out, "");
        let endpoint = |address: &str, tps, lost| EndpointFigures {
            address: address.to_owned(),
            tps,
            lost,
            ..EndpointFigures::default()
        };
        let mut run = Run {
            endpoints: vec![endpoint("tcp:<a>:1", 300.0, 0), endpoint("b", 100.0, 4)],
            ..Run::default()
        };
        run.drive.spread = Some(Spread::RoundRobin);
        run.endpoints[1].not_observed = Some("after the load: refused".to_owned());
        write_endpoints(&mut out, &run).unwrap();
        for part in [
            "tcp:&lt;a&gt;:1",
            "75 %",
            "round-robin",
            "b was not observed after the load: refused.",
        ] {
            out.assert_contains(part);
        }
    }
}
