//! What happens at each second: it is stored, and lines and reports appear when they are due.
//!
//! In: rows of the loop. Out: the kept document, lines on stdout. Must never: let a line cover less
//! than its interval, or average a percentile.

use super::super::call::Call;
use super::fairness::{Shares, between};
use super::{Bench, Kept, complain};
use prony_dialect::sysbench::{
    Counters, Histogram, Latency, Level, Progress, Queue, Report, THREADS_STARTED, debug,
};
use prony_drive::{Observer, Start};
use prony_measure::{Distribution, Part, Queries, Row, Schedule, Shape, Totals};
use prony_store::{Run, RunWriter};
use std::sync::Arc;

const SECOND_NS: u64 = 1_000_000_000;

/// Watches one run.
pub struct Watch<'a> {
    call: &'a Call,
    bench: &'a Bench<'a>,
    shares: Arc<Shares>,
    kept: Kept,
    shape: Shape,
    /// Since the last line, and since the last checkpoint or the start.
    line: Totals,
    whole: Totals,
    /// What was asked outside of threads, since the same moments.
    line_outside: Counters,
    whole_outside: Counters,
    /// Latency since the last line or checkpoint: a checkpoint takes what the line would tell.
    times: Distribution<u64>,
    /// What users had done by the last checkpoint.
    done: Vec<(u64, u64)>,
    /// Events of all.
    events: u64,
}

impl<'a> Watch<'a> {
    /// A watch that adds to what is kept.
    pub fn new(call: &'a Call, bench: &'a Bench<'a>, shares: Arc<Shares>, kept: Kept) -> Self {
        let shape = Shape::closed(1);
        Watch {
            call,
            bench,
            shares,
            kept,
            shape,
            line: Totals::new(0, shape),
            whole: Totals::new(0, shape),
            line_outside: Counters::default(),
            whole_outside: Counters::default(),
            times: Distribution::default(),
            done: Vec::new(),
            events: 0,
        }
    }

    /// Gives back what is kept.
    pub fn end(self) -> (Run, Option<RunWriter>) {
        self.kept.end()
    }

    /// Events of all that ended well.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The report at the end of a run of so many seconds.
    pub fn report(&mut self, total_s: f64, unfinished: Option<u64>) {
        self.gather();
        let compat = self.bench.settings.compat;
        self.tell(total_s, unfinished, true, |report| {
            self.bench.texts.report(report, compat)
        });
    }

    /// Tells the figures since the last checkpoint; the histogram comes with the last of them.
    fn tell(
        &self,
        total_s: f64,
        unfinished: Option<u64>,
        is_last: bool,
        text: impl FnOnce(&Report<'_>) -> String,
    ) {
        let settings = self.bench.settings;
        let all = self.whole.all();
        let histogram = Histogram::of_distribution(&all.response);
        let ms = |ns: f64| ns / 1e6;
        let report = Report {
            sql: self.bench.texts.sql(),
            counters: counters(&self.whole.queries, all.committed) + self.whole_outside,
            interval_s: self.whole.seconds(),
            total_s,
            latency: Latency {
                min_ms: ms(all.response.min_ns as f64),
                avg_ms: ms(all.response.mean_ns()),
                max_ms: ms(all.response.max_ns as f64),
                sum_ms: ms(all.response.sum_ns as f64),
            },
            percentile: settings.percentile,
            percentile_ms: histogram.percentile_ms(settings.percentile),
            histogram: (settings.histogram && is_last).then_some(&histogram),
            fairness: between(&self.done, &self.shares.so_far()),
            unfinished,
        };
        self.call.log(Level::Notice, &text(&report));
    }

    /// Takes what was asked outside of threads.
    fn gather(&mut self) {
        let more = self.bench.texts.outside();
        self.line_outside = self.line_outside + more;
        self.whole_outside = self.whole_outside + more;
    }

    fn checkpoint(&mut self, at_s: u64, end_ns: u64, start_ns: u64) {
        let total_s = end_ns.saturating_sub(start_ns) as f64 / 1e9;
        let compat = self.bench.settings.compat;
        self.tell(total_s, None, false, |report| {
            self.bench.texts.checkpoint(at_s, report, compat)
        });
        self.whole = Totals::new(end_ns, self.shape);
        self.whole_outside = Counters::default();
        self.times = Distribution::default();
        self.done = self.shares.so_far();
    }

    fn progress(&mut self, at_s: u64, end_ns: u64) {
        let settings = self.bench.settings;
        let health = self.line.health;
        let figures = Progress {
            at_s,
            threads: settings.threads,
            sql: self.bench.texts.sql(),
            counters: counters(&self.line.queries, self.line.all().committed) + self.line_outside,
            interval_s: self.line.seconds(),
            percentile: settings.percentile,
            latency_ms: Histogram::of_distribution(&self.times).percentile_ms(settings.percentile),
            queue: settings.rate_tps.map(|_| Queue {
                length: health.waiting,
                concurrency: u64::from(health.under_way),
            }),
        };
        let text = self.bench.texts.progress(&figures);
        self.call.log(Level::Notice, &text);
        self.line = Totals::new(end_ns, self.shape);
        self.line_outside = Counters::default();
        self.times = Distribution::default();
    }
}

fn counters(queries: &Queries, events: u64) -> Counters {
    Counters {
        events,
        reads: queries.reads,
        writes: queries.writes,
        others: queries.others,
        errors: queries.errors,
        reconnects: queries.reconnects,
    }
}

impl Observer for Watch<'_> {
    fn started(&mut self, start: &Start) {
        for thread in 0..self.bench.settings.threads {
            let text = format!("Worker thread (#{thread}) initialized");
            self.call.log(Level::Debug, &debug(&text));
        }
        self.call.log(Level::Notice, THREADS_STARTED);
        self.bench.texts.begun();
        self.shape = start.shape;
        let start_ns = start.schedule.window_start_ns();
        self.line = Totals::new(start_ns, start.shape);
        self.whole = Totals::new(start_ns, start.shape);
        if let Some(complaint) = self.kept.tell(|keeper| keeper.started(start)) {
            complain(&complaint);
        }
    }

    fn row(&mut self, row: &Row, schedule: &Schedule) {
        if let Some(complaint) = self.kept.tell(|keeper| keeper.row(row, schedule)) {
            complain(&complaint);
        }
        let span = row.interval.span;
        if span.part == Part::Warmup {
            // What users did until now is no part of the report.
            self.done = self.shares.so_far();
            self.bench.texts.outside();
            return;
        }
        self.gather();
        self.line.add(row);
        self.whole.add(row);
        for tally in &row.interval.kinds {
            self.times.add(&tally.response);
            self.events += tally.committed;
        }
        let start_ns = schedule.window_start_ns();
        let since_ns = span.end_ns.saturating_sub(start_ns);
        if !since_ns.is_multiple_of(SECOND_NS) {
            return;
        }
        let at_s = since_ns / SECOND_NS;
        let due = |second: &u32| u64::from(*second) == at_s;
        if self.bench.settings.checkpoints_s.iter().any(due) {
            self.checkpoint(at_s, span.end_ns, start_ns);
        }
        let every_s = self.bench.settings.report_interval_s;
        if every_s.is_some_and(|every_s| at_s.is_multiple_of(u64::from(every_s))) {
            self.progress(at_s, span.end_ns);
        }
    }
}
