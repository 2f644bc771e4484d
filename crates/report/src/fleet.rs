//! The machines of a fleet, before a load, and what they kept of one whose coordinator was lost.
//!
//! In: what each agent answered. Out: tables. Must never: give a time without its bound where it has one.

use crate::style::Style;
use crate::table::Table;
use crate::text::plain;
use crate::units::{count, time};
use std::io::{self, Write};

/// A machine that will drive clients, as its agent answered.
pub struct FleetMachine {
    pub name: String,
    pub cpus: u32,
    /// How far its clock is ahead of this machine's, nanoseconds.
    pub clock_offset_ns: i64,
    /// How wrong that may be, nanoseconds.
    pub clock_bound_ns: u64,
    /// The shortest round trip to it, nanoseconds.
    pub round_trip_ns: u64,
    /// The median time of `SELECT 1` from there, nanoseconds.
    pub server_median_ns: u64,
    /// The shortest such time, nanoseconds.
    pub server_shortest_ns: u64,
    /// The server's version, as it sees it.
    pub server_version: String,
}

pub fn write(out: &mut dyn Write, style: &Style, machines: &[FleetMachine]) -> io::Result<()> {
    let titles = [
        "machine",
        "CPUs",
        "clock",
        "round trip",
        "SELECT 1",
        "shortest",
    ];
    let mut table = Table::new(&titles).with_texts(&["server"]);
    for machine in machines {
        let sign = if machine.clock_offset_ns < 0 { "-" } else { "" };
        let offset = time(machine.clock_offset_ns.unsigned_abs() as f64);
        let bound = time(machine.clock_bound_ns as f64);
        table.row([
            plain(&machine.name),
            count(machine.cpus.into()),
            format!("{sign}{offset} ± {bound}"),
            time(machine.round_trip_ns as f64),
            time(machine.server_median_ns as f64),
            time(machine.server_shortest_ns as f64),
            plain(&machine.server_version),
        ]);
    }
    table.write(out, style, 0)
}

/// What an agent kept of its part of a run whose coordinator was lost.
pub struct KeptPart {
    /// The number of the run, which all its agents have in common.
    pub run: String,
    pub machine: String,
    pub workload: String,
    pub clients: u32,
    /// How long it drove the load; this and the counts are absent if the agent ended at once.
    pub seconds: Option<u64>,
    /// Committed transactions.
    pub committed: Option<u64>,
    /// Failed transactions.
    pub failed: Option<u64>,
    /// The file on that machine.
    pub path: String,
}

pub fn write_kept(out: &mut dyn Write, style: &Style, parts: &[KeptPart]) -> io::Result<()> {
    if parts.is_empty() {
        return writeln!(out, "the agents kept nothing");
    }
    let titles = ["clients", "seconds", "committed", "failed"];
    let mut table = Table::new(&titles).with_texts(&["run", "machine", "workload", "file"]);
    let number = |number: Option<u64>| number.map_or_else(|| "?".to_owned(), count);
    for part in parts {
        table.row([
            count(part.clients.into()),
            number(part.seconds),
            number(part.committed),
            number(part.failed),
            plain(&part.run),
            plain(&part.machine),
            plain(&part.workload),
            plain(&part.path),
        ]);
    }
    table.write(out, style, 0)
}
