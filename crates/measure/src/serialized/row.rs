//! Rows that one machine sends to another, and their sums.

use super::times::SparseTimes;
use super::{InvalidInterval, SerializedInterval, SparseInterval};
use crate::collector::IntervalRow;
use crate::health::{Health, ProcessHealth, sum_known};
use crate::schedule::{RunPhase, RunSchedule};
use crate::tally::RecorderLayout;
use serde::{Deserialize, Serialize};

/// The serialised form of an [`IntervalRow`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SerializedRow {
    pub interval: SerializedInterval,
    worker_cpu_ns: Vec<Option<u64>>,
    process: ProcessHealth,
}

impl SerializedRow {
    /// Serialises a row; `load_start_ns` is the start of the load on the clock of the row.
    pub fn new(row: &IntervalRow, load_start_ns: u64) -> SerializedRow {
        SerializedRow {
            interval: SerializedInterval::new(&row.interval, load_start_ns),
            worker_cpu_ns: row.worker_cpu_ns.clone(),
            process: row.process,
        }
    }

    /// Decodes a row of a run with this schedule and layout, at the time `now_ns`.
    pub fn into_row_of_run(
        self,
        schedule: &RunSchedule,
        layout: RecorderLayout,
        now_ns: u64,
    ) -> Result<ReceivedRow, InvalidInterval> {
        let interval = self
            .interval
            .into_interval_of_run(schedule, layout, now_ns)?;
        Ok(ReceivedRow {
            interval,
            worker_cpu_ns: self.worker_cpu_ns,
            process: self.process,
        })
    }
}

/// A row of another machine, decoded and checked.
#[derive(Clone, Debug)]
pub struct ReceivedRow {
    pub interval: SparseInterval,
    /// CPU time of each worker of that machine, nanoseconds.
    pub worker_cpu_ns: Vec<Option<u64>>,
    pub process: ProcessHealth,
}

/// What one of several machines measured in the window, without distributions: those of all machines are in
/// [`crate::Totals`].
#[derive(Clone, Debug, Default)]
pub struct PartTotals {
    pub start_ns: u64,
    pub end_ns: u64,
    pub committed: u64,
    response: TimeSum,
    /// The server's part of the service times.
    server: TimeSum,
    pub health: Health,
    pub worker_cpu_ns: Vec<Option<u64>>,
    pub process: ProcessHealth,
}

impl PartTotals {
    /// Empty totals of a window that starts at this time.
    pub fn new(start_ns: u64) -> PartTotals {
        PartTotals {
            start_ns,
            end_ns: start_ns,
            ..PartTotals::default()
        }
    }

    pub fn add(&mut self, row: &ReceivedRow) {
        let (others, span) = (&row.interval.others, row.interval.span());
        if span.phase != RunPhase::Measured {
            return;
        }
        self.end_ns = self.end_ns.max(span.end_ns);
        for tally in &row.interval.kinds {
            let [committed, ..] = tally.counts;
            self.committed = self.committed.saturating_add(committed);
            self.response.add(&tally.response);
            if let Some([_, server, _]) = &tally.parts {
                self.server.add(server);
            }
        }
        self.health.add_later(&others.health);
        self.process.add_later(&row.process);
        add_worker_cpu(&mut self.worker_cpu_ns, &row.worker_cpu_ns);
    }

    /// Length of the window so far, seconds.
    pub fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }

    /// Mean response time, nanoseconds; `None` without samples.
    pub fn response_mean_ns(&self) -> Option<f64> {
        self.response.mean_ns()
    }

    /// Mean time of the server, nanoseconds; `None` without samples.
    pub fn server_mean_ns(&self) -> Option<f64> {
        self.server.mean_ns()
    }
}

#[derive(Clone, Debug, Default)]
struct TimeSum {
    samples: u64,
    sum_ns: u128,
}

impl TimeSum {
    fn add(&mut self, times: &SparseTimes<u32>) {
        self.samples = self.samples.saturating_add(times.samples);
        self.sum_ns = self.sum_ns.saturating_add(times.sum_ns);
    }

    fn mean_ns(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.sum_ns as f64 / self.samples as f64)
    }
}

/// Adds CPU times by worker; the sums get as many workers as either has.
pub(crate) fn add_worker_cpu(sums_ns: &mut Vec<Option<u64>>, worker_cpu_ns: &[Option<u64>]) {
    let workers = sums_ns.len().max(worker_cpu_ns.len());
    sums_ns.resize(workers, None);
    for (sum_ns, &cpu_ns) in sums_ns.iter_mut().zip(worker_cpu_ns) {
        *sum_ns = sum_known(*sum_ns, cpu_ns);
    }
}
