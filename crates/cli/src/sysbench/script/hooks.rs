//! Reports by a script's own functions, where it has any.
//!
//! In: figures of a run. Out: what the script prints; sysbench's own words for the rest. Must never: end
//! a run because a report failed.

use super::super::bench::{Kept, Texts};
use super::super::call::Call;
use super::ear::Ear;
use super::says;
use prony_dialect::sysbench::{
    Compat, Counters, Progress, Report, Settings, checkpoint, progress, report,
};
use prony_workload::lua::{Figures, Outside, Refused, Reporter, Script};
use std::cell::Cell;

/// A script's reports.
pub struct Hooks<'a> {
    call: &'a Call,
    script: &'a Script,
    ear: &'a Ear,
    reporter: Option<Reporter>,
    threads: u32,
    /// Wrong once: told once.
    complained: Cell<bool>,
}

impl<'a> Hooks<'a> {
    /// Those of a script.
    pub fn new(
        call: &'a Call,
        script: &'a Script,
        settings: &Settings,
        ear: &'a Ear,
    ) -> Result<Self, Refused> {
        Ok(Hooks {
            call,
            script,
            ear,
            reporter: script.reporter()?,
            threads: settings.threads,
            complained: Cell::new(false),
        })
    }

    /// No report follows.
    pub fn end(&self) {
        if let Some(reporter) = &self.reporter {
            self.told(reporter.end());
        }
    }

    fn told(&self, result: Result<(), Refused>) {
        if let Err(refused) = result
            && !self.complained.replace(true)
        {
            let _ = says(self.call, &refused);
        }
    }

    /// Whether the script reports the whole itself, and has done so.
    fn cumulative(&self, figures: &Report<'_>, threads: u32) -> bool {
        let Some(reporter) = &self.reporter else {
            return false;
        };
        if !reporter.has_cumulative() {
            return false;
        }
        let latency = figures.latency;
        let [least, most, mean, sum] = [
            latency.min_ms,
            latency.max_ms,
            latency.avg_ms,
            latency.sum_ms,
        ]
        .map(|ms| ms / 1e3);
        self.told(reporter.cumulative(&Figures {
            threads_running: threads,
            time_interval_s: figures.interval_s,
            time_total_s: figures.total_s,
            latency_pct_s: figures.percentile_ms / 1e3,
            latency_s: Some([least, most, mean, sum]),
            ..counted(&figures.counters)
        }));
        true
    }
}

fn counted(counters: &Counters) -> Figures {
    Figures {
        events: counters.events,
        reads: counters.reads,
        writes: counters.writes,
        other: counters.others,
        errors: counters.errors,
        reconnects: counters.reconnects,
        ..Figures::default()
    }
}

impl Texts for Hooks<'_> {
    fn sql(&self) -> bool {
        self.script.has_connected()
    }

    fn keeps(&self, kept: &Kept) {
        self.ear.keeps(kept);
        self.ear.begins(true);
    }

    fn begun(&self) {
        self.ear.begins(false);
    }

    fn outside(&self) -> Counters {
        let Outside {
            reads,
            writes,
            others,
            errors,
            reconnects,
        } = self.script.outside();
        Counters {
            events: 0,
            reads,
            writes,
            others,
            errors,
            reconnects,
        }
    }

    fn progress(&self, figures: &Progress) -> String {
        match &self.reporter {
            Some(reporter) if reporter.has_intermediate() => {
                self.told(
                    reporter.intermediate(&Figures {
                        threads_running: figures.threads,
                        time_interval_s: figures.interval_s,
                        time_total_s: figures.at_s as f64,
                        latency_pct_s: figures.latency_ms / 1e3,
                        queue: Some(
                            figures
                                .queue
                                .map_or((0, 0), |queue| (queue.length, queue.concurrency)),
                        ),
                        ..counted(&figures.counters)
                    }),
                );
                String::new()
            }
            _ => progress(figures),
        }
    }

    fn checkpoint(&self, at_s: u64, figures: &Report<'_>, compat: Compat) -> String {
        match self.cumulative(figures, self.threads) {
            true => String::new(),
            false => checkpoint(at_s, figures, compat),
        }
    }

    fn report(&self, figures: &Report<'_>, compat: Compat) -> String {
        // A list of intermediate reports is closed before the last one.
        self.end();
        match self.cumulative(figures, 0) {
            true => String::new(),
            false => report(figures, compat),
        }
    }
}
