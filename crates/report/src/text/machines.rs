//! The figures of each client machine, if several machines drove one load.
//!
//! In: a Run. Out: a table, and sentences below. Must never: average the percentiles of machines.

use crate::table::Table;
use crate::text::{TableSection, plain};
use crate::units::{self, count, or_dash, percent, time};
use prony_store::{ClientMachine, Run};

/// The machines whose agents drove the load; `None` if the machine of the run did.
pub(crate) fn machines(run: &Run) -> Option<TableSection> {
    let titles = [
        "machine", "CPUs", "clients", "threads", "TPS", "share", "mean", "server", "busiest",
        "clock", "start",
    ];
    let mut table = Table::new(&titles);
    let parts = || {
        run.machines
            .iter()
            .filter_map(|machine| machine.part.as_ref())
    };
    let all = parts().fold(0_u64, |sum, part| sum.saturating_add(part.committed));
    for (number, machine) in (1..).zip(&run.machines) {
        let Some(part) = &machine.part else { continue };
        let ahead = match part.clock_offset_ns {
            ns if ns < 0 => format!("-{}", time(ns.unsigned_abs() as f64)),
            ns => time(ns as f64),
        };
        table.row([
            numbered_name(number, machine),
            count(machine.host.cpus.into()),
            count(part.clients.into()),
            count(part.threads.into()),
            units::rate(part.tps),
            percent(part.committed as f64 / all.max(1) as f64),
            or_dash(part.response_mean_ns, time),
            or_dash(part.server_mean_ns, time),
            or_dash(machine.health.busiest_thread_share, percent),
            ahead,
            or_dash(part.start_skew_max_ns(), |ns| {
                format!("≤ {}", time(ns as f64))
            }),
        ]);
    }
    let table = Some(table).filter(|table| !table.is_empty())?;
    let mut text = "All figures above are of all machines together, and their histograms were added, not averaged. \
                    Busiest: the busiest thread's share of a CPU. Clock: how far it is ahead of the coordinator's. \
                    Start: how far from the common start the machine may have begun."
        .to_owned();
    for (number, machine) in (1..).zip(&run.machines) {
        let lost = machine.part.as_ref().and_then(|part| part.lost.as_ref());
        if let Some(reason) = lost {
            text += &format!(" Machine {number} was lost: {}.", plain(reason));
        }
    }
    Some(TableSection {
        heading: "Machines",
        table: Some(table),
        text,
    })
}

/// The name of a machine, with its number in the document.
pub(crate) fn numbered_name(number: usize, machine: &ClientMachine) -> String {
    plain(&format!("{number} {}", machine.host.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_store::{Host, MachinePart};

    #[test]
    fn each_machine_has_a_row_and_a_lost_one_its_reason() {
        assert!(machines(&Run::default()).is_none());
        let machine = |name: &str, part: MachinePart| ClientMachine {
            host: Host {
                name: name.to_owned(),
                cpus: 16,
                ..Host::default()
            },
            part: Some(part),
            ..ClientMachine::default()
        };
        let whole = MachinePart {
            committed: 300,
            clients: 7,
            clock_offset_ns: -1_500_000,
            round_trip_ns: 200_000,
            clock_drift_ns: Some(0),
            start_delay_ns: Some(50_000),
            ..MachinePart::default()
        };
        let lost = MachinePart {
            committed: 100,
            lost: Some("its command was ended by signal 9".to_owned()),
            ..MachinePart::default()
        };
        let run = Run {
            machines: vec![machine("vm1", whole), machine("vm2", lost)],
            ..Run::default()
        };
        let section = machines(&run).expect("two machines");
        let table = section.table.expect("rows");
        let rows: Vec<String> = table.rows().iter().map(|row| row.join(" ")).collect();
        rows[0].assert_contains("1 vm1 16 7");
        rows[0].assert_contains("75 %");
        rows[0].assert_contains("-1.50 ms ≤ 150 µs");
        assert!(rows[1].ends_with('–'), "{rows:?}");
        let text = section.text;
        text.assert_contains("Machine 2 was lost: its command was ended by signal 9.");
    }
}
