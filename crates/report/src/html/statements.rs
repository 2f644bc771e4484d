//! Latencies of the workload's statements, and figures of each of several servers, and of several machines.

use super::table::write_table;
use crate::html::markup::{Html, writeln_markup};
use crate::text::TableSection;
use std::fmt;

/// Writes a section, if the run has it.
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
    use crate::text::endpoints::endpoints;
    use crate::text::machines::machines;
    use crate::text::statements::statements;
    use prony_store::{
        ClientMachine, EndpointFigures, Host, MachinePart, Run, Spread, StatementLatency,
    };

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
        assert!(out.contains("a&lt;b + 2 more"), "{out}");
        assert!(out.contains("<td>25.1 %</td>"), "{out}");
        assert!(out.contains("The remaining 74.9 %"), "{out}");
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
        assert!(out.contains("1 &lt;vm1&gt;"), "{out}");
    }

    #[test]
    fn a_page_has_the_servers_if_there_were_several() {
        let mut out = Html::default();
        write(&mut out, endpoints(&Run::default())).unwrap();
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
        write(&mut out, endpoints(&run)).unwrap();
        for part in [
            "tcp:&lt;a&gt;:1",
            "75 %",
            "round-robin",
            "b was not observed after the load: refused.",
        ] {
            assert!(out.contains(part), "{part}: {out}");
        }
    }
}
