//! Merges the seconds of a long run.
//!
//! Ten rows in order become one with their counts, sums and histograms. Seconds of different phases of a run
//! are never merged, and those of the first hour never change.

use prony_measure::IntervalRow;

/// Age of the load up to which each second has its own line, nanoseconds.
const GROUP_AFTER_NS: u64 = 3_600_000_000_000;
/// Seconds in one line after that.
const SECONDS_PER_GROUP: u32 = 10;

/// Seconds that become one line once there are ten of them.
#[derive(Debug)]
pub(crate) struct SecondGroup {
    /// Offset of the first second in the journal.
    pub(crate) start_offset: u64,
    /// The sum of the seconds.
    pub(crate) row: IntervalRow,
    /// Other lines written since the first second; they stay unchanged.
    pub(crate) other_lines: Vec<Vec<u8>>,
    second_count: u32,
}

impl SecondGroup {
    /// A group that begins with this row at this offset; `None` in the first hour.
    pub(crate) fn begin(
        row: &IntervalRow,
        load_start_ns: u64,
        start_offset: u64,
    ) -> Option<SecondGroup> {
        let load_age_ns = row.interval.span.start_ns.saturating_sub(load_start_ns);
        (load_age_ns >= GROUP_AFTER_NS).then(|| SecondGroup {
            start_offset,
            row: row.clone(),
            other_lines: Vec::new(),
            second_count: 1,
        })
    }

    /// Whether the row may be added: no group has seconds of two phases.
    pub(crate) fn accepts(&self, row: &IntervalRow) -> bool {
        row.interval.span.phase == self.row.interval.span.phase
    }

    pub(crate) fn add(&mut self, row: &IntervalRow) {
        self.second_count += 1;
        add_row(&mut self.row, row);
    }

    /// Whether the group has all its seconds, so that its line can replace the lines of these seconds.
    pub(crate) fn is_full(&self) -> bool {
        self.second_count >= SECONDS_PER_GROUP
    }
}

/// Adds a later row. Values that are snapshots at the end of a second, such as connections, are taken from
/// the later row.
fn add_row(sum: &mut IntervalRow, later: &IntervalRow) {
    // `Interval::add` adds the health of workers in the same second, which would add up the snapshots.
    let mut health = sum.interval.health;
    health.add_later(&later.interval.health);
    sum.interval.add(&later.interval);
    sum.interval.health = health;
    let workers = sum.worker_cpu_ns.len().max(later.worker_cpu_ns.len());
    sum.worker_cpu_ns.resize(workers, None);
    for (sum_ns, later_ns) in sum.worker_cpu_ns.iter_mut().zip(&later.worker_cpu_ns) {
        if let Some(later_ns) = later_ns {
            *sum_ns = Some(sum_ns.unwrap_or(0).saturating_add(*later_ns));
        }
    }
    sum.process.add_later(&later.process);
}
