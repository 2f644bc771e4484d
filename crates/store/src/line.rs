//! The lines of a journal.
//!
//! A row's line contains the serialised form of its interval, which `measure` defines and checks.

use crate::run::{LedgerAccount, Run};
use prony_document::{Event, ServerSecond};
use prony_measure::{
    IntervalRow, InvalidInterval, ProcessHealth, RecorderLayout, SerializedInterval,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JournalLine {
    /// The Run without figures; a later one replaces an earlier one.
    Run(Box<Run>),
    /// One row of figures.
    Second(Box<SecondLine>),
    /// An event of the run.
    Event(Event),
    /// What was observed of the server between two readings.
    Server(Box<ServerSecond>),
    ServerEvent(Event),
    /// What the clients know of their commits; a later one replaces an earlier one.
    Ledger(Box<LedgerAccount>),
}

/// A [`JournalLine::Run`] to write. Borrowed, because a script may have a million statements.
#[derive(Serialize)]
pub(crate) struct RunLine<'a> {
    pub(crate) run: &'a Run,
}

/// One row of figures: the interval, and what only the machine that collected it knows.
#[derive(Serialize, Deserialize)]
pub(crate) struct SecondLine {
    #[serde(flatten)]
    interval: SerializedInterval,
    worker_cpu_ns: Vec<Option<u64>>,
    memory_peak_bytes: Option<u64>,
    steal_ticks: Option<u64>,
    total_ticks: Option<u64>,
}

impl SecondLine {
    /// The line of a row; `load_start_ns` is the start of the load on the run's clock.
    pub(crate) fn new(row: &IntervalRow, load_start_ns: u64) -> SecondLine {
        SecondLine {
            interval: SerializedInterval::new(&row.interval, load_start_ns),
            worker_cpu_ns: row.worker_cpu_ns.clone(),
            memory_peak_bytes: row.process.memory_peak_bytes,
            steal_ticks: row.process.steal_ticks,
            total_ticks: row.process.total_ticks,
        }
    }

    /// Restores the row of a run with this number of kinds of transaction, on a clock on which the load
    /// starts at zero.
    pub(crate) fn into_row(self, kinds: usize) -> Result<IntervalRow, InvalidInterval> {
        let layout = RecorderLayout {
            kinds,
            ..self.interval.layout()
        };
        Ok(IntervalRow {
            interval: Box::new(self.interval.into_interval(0, layout)?),
            worker_cpu_ns: self.worker_cpu_ns,
            process: ProcessHealth {
                memory_peak_bytes: self.memory_peak_bytes,
                steal_ticks: self.steal_ticks,
                total_ticks: self.total_ticks,
            },
        })
    }
}
