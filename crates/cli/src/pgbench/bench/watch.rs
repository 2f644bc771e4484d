//! What happens at each second: it is stored, and every so often a line of progress appears.
//!
//! In: rows of the loop. Out: the kept document, lines on stderr. Must never: let a line cover less
//! than its interval.

use super::super::call::Call;
use crate::run::keep::Keeper;
use prony_dialect::pgbench::{At, Level, RunOptions, progress, progress_line};
use prony_drive::clock::Clock;
use prony_drive::{Observer, Start};
use prony_measure::{Row, Schedule, Shape, Totals};
use prony_store::{Run, RunWriter};
use std::io::{Write, stderr};

/// Watches one run.
pub struct Watch<'a> {
    level: &'a Level,
    options: &'a RunOptions,
    keeper: Keeper,
    /// Since the last line.
    sums: Option<(Shape, Totals)>,
}

impl<'a> Watch<'a> {
    /// A watch that adds to what is kept.
    pub fn new(call: &'a Call, options: &'a RunOptions, keeper: Keeper) -> Self {
        Watch {
            level: &call.level,
            options,
            keeper,
            sums: None,
        }
    }

    /// Gives back what is kept.
    pub fn end(self) -> (Run, Option<RunWriter>) {
        self.keeper.end()
    }

    fn line(&mut self, row: &Row, schedule: &Schedule, every_s: u32) {
        let Some((shape, sums)) = &mut self.sums else {
            return;
        };
        sums.add(row);
        let end_ns = row.interval.span.end_ns;
        let every_ns = u64::from(every_s) * 1_000_000_000;
        let since_ns = end_ns.saturating_sub(schedule.start_ns);
        if !since_ns.is_multiple_of(every_ns) {
            return;
        }
        let at = if self.options.progress_timestamp {
            let unix_ns = i128::from(end_ns) + i128::from(Clock::System.stamp_offset_ns());
            At::Unix(unix_ns as f64 / 1e9)
        } else {
            At::Elapsed(since_ns as f64 / 1e9)
        };
        let line = progress_line(self.level, &progress(self.options, at, sums));
        *sums = Totals::new(end_ns, *shape);
        let _ = stderr().lock().write_all(line.as_bytes());
    }
}

impl Observer for Watch<'_> {
    fn started(&mut self, start: &Start) {
        // A run is not spoilt by a store that is full; the end says so.
        let _ = self.keeper.started(start);
        let sums = Totals::new(start.schedule.start_ns, start.shape);
        self.sums = Some((start.shape, sums));
    }

    fn row(&mut self, row: &Row, schedule: &Schedule) {
        let _ = self.keeper.row(row, schedule);
        if let Some(every_s) = self.options.progress_s {
            self.line(row, schedule, every_s);
        }
    }
}
