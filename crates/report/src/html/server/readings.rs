//! The lines of the charts of the server.
//!
//! In: readings of the server. Out: means over the readings of each point, and counts per second. Must never:
//! turn an unobserved value into zero.

use crate::html::timeline::ChartLine;
use crate::text::plain;
use crate::text::server::{by_wait_event, by_wait_type};
use crate::units;
use prony_store::{MachineSecond, ServerSecond};

/// Maximum number of wait events with separate lines.
const MAX_WAIT_EVENTS: usize = 4;

/// Whether a line of a chart counts the sessions that wait for an event with this name.
type IsCounted<'a> = &'a dyn Fn(&str) -> bool;

/// The readings of the server, some for each point of a line.
pub struct Readings<'a>(pub Vec<&'a [ServerSecond]>);

/// The mean of a value weighted by time; `None` if no reading has the value.
fn mean<'a>(
    rows: impl IntoIterator<Item = &'a ServerSecond>,
    value: impl Fn(&ServerSecond) -> Option<f64>,
) -> Option<f64> {
    let (mut sum, mut length_s) = (0.0, 0.0);
    for row in rows {
        if let Some(value) = value(row) {
            sum += value * row.length_s;
            length_s += row.length_s;
        }
    }
    (length_s > 0.0).then(|| sum / length_s)
}

/// An amount of a reading per second.
fn rate(row: &ServerSecond, amount: Option<f64>) -> Option<f64> {
    amount
        .filter(|_| row.length_s > 0.0)
        .map(|amount| amount / row.length_s)
}

/// The mean number of CPUs that the server's processes used; `None` if no reading has it.
pub fn mean_cpus<'a>(rows: impl IntoIterator<Item = &'a ServerSecond>) -> Option<f64> {
    mean(rows, |row| rate(row, row.machine.as_ref()?.server_cpu_s))
}

/// The sum of values. `Iterator::sum` returns -0 for no values; this returns 0.
fn sum(values: impl Iterator<Item = f64>) -> f64 {
    values.sum::<f64>() + 0.0
}

impl Readings<'_> {
    fn line(&self, name: &str, value: impl Fn(&[ServerSecond]) -> Option<f64>) -> ChartLine {
        ChartLine::new(name, self.0.iter().map(|rows| value(rows)))
    }

    /// A count per second.
    pub fn per_second(
        &self,
        name: &str,
        count: impl Fn(&ServerSecond) -> Option<u64>,
    ) -> ChartLine {
        let rate_of = |row: &ServerSecond| rate(row, count(row).map(|count| count as f64));
        self.line(name, |rows| mean(rows, rate_of))
    }

    pub fn machine(&self, name: &str, share: fn(&MachineSecond) -> Option<f64>) -> ChartLine {
        self.line(name, |rows| mean(rows, |row| share(row.machine.as_ref()?)))
    }

    pub fn client_busy(&self) -> ChartLine {
        let busy = |row: &ServerSecond| row.client.as_ref()?.busy_share;
        self.line("the client's machine, busy", |rows| mean(rows, busy))
    }

    /// The number of CPUs used by the server's processes.
    pub fn server_cpus(&self) -> ChartLine {
        self.line("CPUs of the server's processes", |rows| mean_cpus(rows))
    }

    pub fn sessions(&self, name: &str, count: fn(&ServerSecond) -> Option<u32>) -> ChartLine {
        self.line(name, |rows| mean(rows, |row| count(row).map(f64::from)))
    }

    /// The share of pages that were in the server's cache.
    pub fn pages_found(&self) -> ChartLine {
        self.line("pages found", |rows| {
            let known_sum = |pages: fn(&ServerSecond) -> Option<u64>| {
                rows.iter().filter_map(pages).reduce(u64::saturating_add)
            };
            let hits = known_sum(|row| row.cache_hits)?;
            let reads = known_sum(|row| row.cache_reads)?;
            let pages = hits.saturating_add(reads);
            (pages > 0).then(|| hits as f64 / pages as f64)
        })
    }

    /// Share of the time in which flow control stopped a cluster's commits.
    pub fn flow_control(&self) -> ChartLine {
        self.line("commits stopped", |rows| {
            mean(rows, |row| row.flow_control_share)
        })
    }

    /// The lag of the slowest replica, in seconds and in bytes of log: the longest of each point.
    pub fn replication_lag(&self) -> [ChartLine; 2] {
        [
            self.line("slowest replica", |rows| {
                let lags_s = rows.iter().filter_map(|row| row.replication_lag_s);
                lags_s.reduce(f64::max)
            }),
            self.line("slowest replica", |rows| {
                let lags_bytes = rows.iter().filter_map(|row| row.replication_lag_bytes);
                lags_bytes.max().map(|bytes| bytes as f64)
            }),
        ]
    }

    /// The active sessions by wait event: one line for each of the most frequent, and a line for all others.
    pub fn waits(&self) -> Vec<ChartLine> {
        let sums = by_wait_event(self.0.iter().copied().flatten());
        let events: Vec<&str> = sums.iter().map(|(event, _)| *event).collect();
        self.lines_of_largest(&events, |row, is_counted| {
            let sessions = row.waits.iter().filter(|(event, _)| is_counted(event));
            let sessions = sum(sessions.map(|(_, count)| f64::from(*count)));
            has_wait_events(row).then_some(sessions)
        })
    }

    /// The sessions that waited on average, by wait type, as the server counts their time: one line for each of the
    /// longest, and a line for all others. No lines if no reading has these times.
    pub fn wait_times(&self) -> Vec<ChartLine> {
        let sums = by_wait_type(self.0.iter().copied().flatten());
        let types: Vec<&str> = sums.iter().map(|(name, _)| *name).collect();
        self.lines_of_largest(&types, |row, is_counted| {
            let waits = row.wait_s.as_ref()?.iter();
            let waits = waits.filter(|(name, _)| is_counted(name));
            rate(row, Some(sum(waits.map(|(_, time_s)| *time_s))))
        })
    }

    /// One line for each of the first [`MAX_WAIT_EVENTS`] names, and a line for all others. `sessions`: the number of
    /// sessions of a reading that wait for one of the names of a line.
    fn lines_of_largest(
        &self,
        names: &[&str],
        sessions: impl Fn(&ServerSecond, IsCounted<'_>) -> Option<f64>,
    ) -> Vec<ChartLine> {
        let (largest, others) = names.split_at(names.len().min(MAX_WAIT_EVENTS));
        let line = |name: &str, is_counted: IsCounted<'_>| {
            self.line(name, |rows| mean(rows, |row| sessions(row, is_counted)))
        };
        let lines = largest
            .iter()
            .map(|name| line(&plain(name), &|counted| counted == *name));
        let mut lines: Vec<ChartLine> = lines.collect();
        if !others.is_empty() {
            lines.push(line("all others", &|counted| !largest.contains(&counted)));
        }
        lines
    }

    /// The cells of the waits, one for each point.
    pub fn wait_cells(&self) -> Vec<String> {
        let texts = self.0.iter().map(|rows| {
            // A server counts the time of its waits, or only lists the sessions that wait now.
            wait_times_cell(rows).or_else(|| wait_events_cell(rows.first()?))
        });
        texts
            .map(|text| units::or_dash(text, |text| text))
            .collect()
    }
}

/// The sessions that waited on average over the readings of a point, by wait type; `None` if no reading has these times.
fn wait_times_cell(rows: &[ServerSecond]) -> Option<String> {
    let lines = Readings(vec![rows]).wait_times();
    let waits = lines.iter().filter_map(|line| {
        let sessions = line.values[0].filter(|sessions| *sessions > 0.0)?;
        Some(format!("{} {}", line.name, units::rate(sessions)))
    });
    (!lines.is_empty()).then(|| waits.collect::<Vec<_>>().join(", "))
}

/// The active sessions in a reading, by wait event; `None` if the events are not known.
fn wait_events_cell(row: &ServerSecond) -> Option<String> {
    let waits = row.waits.iter();
    let texts = waits.map(|(event, count)| format!("{} {count}", plain(event)));
    has_wait_events(row).then(|| texts.collect::<Vec<_>>().join(", "))
}

/// Whether a reading has the wait events of all active sessions. If it has no event, no session was active, or the events
/// were not observed.
fn has_wait_events(row: &ServerSecond) -> bool {
    !row.waits.is_empty() || row.active == Some(0)
}
