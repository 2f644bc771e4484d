//! Observes a run second by second: prints progress lines and reports when they are due.
//!
//! In: the runner's events. Out: lines on stdout, the result of the run. Must never: print a line before its
//! interval is complete, or average a percentile.

use super::super::call::CommandError;
use super::fairness::{EventCounts, fairness_between};
use super::{Bench, check_drive_result};
use prony_dialect::sysbench::{
    ALL_THREADS_ENDED, Command, Counters, EVENT_LIMIT_REACHED, EXIT_STATUS_FORCED_SHUTDOWN,
    FORCED_SHUTDOWN, Histogram, Latency, LogLevel, Progress, QUEUE_FULL, QueueState, Report,
    THREADS_STARTED, TIME_LIMIT_REACHED, debug_line, failing_function, fatal_line, function_failed,
    repetitions_line, warming_up,
};
use prony_drive::{DriveResult, LoadStart, RunEventKind};
use prony_measure::{Distribution, QueryCounts, RecorderLayout, RunPhase, Totals};
use prony_plan::{DrivePlan, Stop};
use prony_runner::{Recording, RunObserver, RunSecond};
use prony_store::Run;
use std::sync::Arc;

const SECOND_NS: u64 = 1_000_000_000;

/// What was counted since a line or a report.
struct Period {
    totals: Totals,
    /// Queries made outside of threads.
    outside: QueryCounts,
}

impl Period {
    fn starting_at(start_ns: u64, layout: RecorderLayout) -> Period {
        Period {
            totals: Totals::new(start_ns, layout),
            outside: QueryCounts::default(),
        }
    }

    fn counters(&self) -> Counters {
        let mut queries = self.totals.queries;
        queries.add(&self.outside);
        Counters {
            events: self.totals.all_kinds().committed,
            queries,
        }
    }
}

/// Observes one run.
pub struct SysbenchObserver<'a> {
    bench: &'a Bench<'a>,
    drive: &'a DrivePlan,
    event_counts: Arc<EventCounts>,
    pub result: Result<(), CommandError>,
    layout: RecorderLayout,
    /// Since the last progress line.
    since_line: Period,
    /// Since the last checkpoint, or since the start.
    since_checkpoint: Period,
    /// Latencies since the last line or checkpoint.
    latencies: Distribution<u64>,
    /// The users' counts at the last checkpoint.
    counts_at_checkpoint: Vec<(u64, u64)>,
    events: u64,
}

impl<'a> SysbenchObserver<'a> {
    /// An observer for a run that has not started.
    pub fn new(bench: &'a Bench<'a>, drive: &'a DrivePlan, event_counts: Arc<EventCounts>) -> Self {
        let layout = RecorderLayout::closed_loop(1);
        SysbenchObserver {
            bench,
            drive,
            event_counts,
            result: Ok(()),
            layout,
            since_line: Period::starting_at(0, layout),
            since_checkpoint: Period::starting_at(0, layout),
            latencies: Distribution::default(),
            counts_at_checkpoint: Vec::new(),
            events: 0,
        }
    }

    fn log(&self, level: LogLevel, text: &str) {
        self.bench.call.log(level, text);
    }

    fn debug(&self, text: &str) {
        self.log(LogLevel::Debug, &debug_line(text));
    }

    /// Prints the lines of `--verbosity=5` about threads before they connect.
    fn log_thread_starts(&self) {
        let settings = self.bench.settings;
        for thread in 0..settings.threads {
            self.debug(&format!("Worker thread (#{thread}) started"));
        }
        for (is_enabled, name) in [
            (settings.rate_tps.is_some(), "Event generating"),
            (settings.report_interval_s.is_some(), "Reporting"),
            (!settings.checkpoints_s.is_empty(), "Checkpoints report"),
        ] {
            if is_enabled {
                self.debug(&format!("{name} thread started"));
            }
        }
    }

    /// Prints the lines after the load and the report, or the error that ended the run. Returns the result of the run.
    fn print_end(&mut self, drive_result: &DriveResult) -> Result<(), CommandError> {
        let (call, settings) = (self.bench.call, self.bench.settings);
        if (self.bench.error_printed)() {
            return Err(CommandError(1));
        }
        let mut events = drive_result.events.iter();
        if events.any(|event| event.kind == RunEventKind::QueueFull) {
            return Err(call.fail_with_text(QUEUE_FULL));
        }
        let function = failing_function(Command::Run, true);
        check_drive_result(call, drive_result, |reason| {
            function_failed(function, reason)
        })?;
        let measured = &drive_result.collected.measured;
        let unfinished = measured.excluded.unfinished;
        let is_forced = settings.forced_shutdown_s.is_some() && unfinished > 0;
        if is_forced {
            self.log(LogLevel::Fatal, &fatal_line(FORCED_SHUTDOWN));
        } else {
            let time_is_up = match self.drive.stop {
                Stop::SharedTransactions { transactions, .. } => {
                    self.events < transactions && settings.time_s.is_some()
                }
                _ => true,
            };
            let line = if time_is_up { TIME_LIMIT_REACHED } else { EVENT_LIMIT_REACHED };
            self.log(LogLevel::Info, line);
            if settings.threads > 1 {
                let other_threads = u64::from(settings.threads) - 1;
                self.log(LogLevel::Info, &repetitions_line(other_threads));
            }
            self.log(LogLevel::Info, ALL_THREADS_ENDED);
        }
        self.add_outside_queries();
        let unfinished = is_forced.then_some(unfinished);
        self.print_report_with(measured.seconds(), unfinished, true, |report| {
            self.bench.texts.report(report, settings.compat)
        });
        if is_forced {
            return Err(CommandError(EXIT_STATUS_FORCED_SHUTDOWN));
        }
        Ok(())
    }

    /// Prints the figures since the last checkpoint, with the histogram at the end of the run.
    fn print_report_with(
        &self,
        total_s: f64,
        unfinished: Option<u64>,
        is_last: bool,
        format_report: impl FnOnce(&Report<'_>) -> String,
    ) {
        let settings = self.bench.settings;
        let totals = &self.since_checkpoint.totals;
        let sums = totals.all_kinds();
        let histogram = Histogram::from_distribution(&sums.response);
        let ms = |ns: f64| ns / 1e6;
        let report = Report {
            uses_database: self.bench.texts.uses_database(),
            counters: self.since_checkpoint.counters(),
            interval_s: totals.seconds(),
            total_s,
            latency: Latency {
                min_ms: ms(sums.response.min_ns as f64),
                avg_ms: ms(sums.response.mean_ns()),
                max_ms: ms(sums.response.max_ns as f64),
                sum_ms: ms(sums.response.sum_ns as f64),
            },
            percentile: settings.percentile,
            percentile_ms: histogram.percentile_ms(settings.percentile),
            histogram: (settings.histogram && is_last).then_some(&histogram),
            fairness: fairness_between(&self.counts_at_checkpoint, &self.event_counts.snapshot()),
            unfinished,
        };
        self.log(LogLevel::Notice, &format_report(&report));
    }

    /// Adds queries made outside of threads to the counts.
    fn add_outside_queries(&mut self) {
        let queries = self.bench.texts.take_outside_queries();
        self.since_line.outside.add(&queries);
        self.since_checkpoint.outside.add(&queries);
    }

    fn print_checkpoint(&mut self, at_s: u64, end_ns: u64, start_ns: u64) {
        let total_s = end_ns.saturating_sub(start_ns) as f64 / 1e9;
        let compat = self.bench.settings.compat;
        self.print_report_with(total_s, None, false, |report| {
            self.bench.texts.checkpoint(at_s, report, compat)
        });
        self.since_checkpoint = Period::starting_at(end_ns, self.layout);
        self.latencies = Distribution::default();
        self.counts_at_checkpoint = self.event_counts.snapshot();
    }

    fn print_progress(&mut self, at_s: u64, end_ns: u64) {
        let settings = self.bench.settings;
        let health = self.since_line.totals.health;
        let figures = Progress {
            at_s,
            threads: settings.threads,
            uses_database: self.bench.texts.uses_database(),
            counters: self.since_line.counters(),
            interval_s: self.since_line.totals.seconds(),
            percentile: settings.percentile,
            latency_ms: Histogram::from_distribution(&self.latencies)
                .percentile_ms(settings.percentile),
            queue: settings.rate_tps.map(|_| QueueState {
                length: health.starts_waiting,
                concurrency: u64::from(health.in_progress),
            }),
        };
        let text = self.bench.texts.progress(&figures);
        self.log(LogLevel::Notice, &text);
        self.since_line = Period::starting_at(end_ns, self.layout);
        self.latencies = Distribution::default();
    }
}

impl RunObserver for SysbenchObserver<'_> {
    fn begun(&mut self, _: &Run, recording: &Recording) {
        self.bench.texts.set_recording(recording);
        self.log_thread_starts();
    }

    fn ready(&mut self) {
        for thread in 0..self.bench.settings.threads {
            self.debug(&format!("Worker thread (#{thread}) initialized"));
        }
        self.log(LogLevel::Notice, THREADS_STARTED);
        let warmup_s = self.bench.settings.warmup_s;
        if warmup_s > 0 {
            self.log(LogLevel::Notice, &warming_up(warmup_s));
        }
        self.bench.texts.threads_started();
    }

    fn started(&mut self, start: &LoadStart) {
        self.layout = start.layout;
        let start_ns = start.schedule.window_start_ns();
        self.since_line = Period::starting_at(start_ns, start.layout);
        self.since_checkpoint = Period::starting_at(start_ns, start.layout);
    }

    fn second_ended(&mut self, second: &RunSecond<'_>) {
        let row = second.row;
        let span = row.interval.span;
        if span.phase == RunPhase::Warmup {
            // Reports exclude the warm-up, so drop its counts.
            self.counts_at_checkpoint = self.event_counts.snapshot();
            self.bench.texts.take_outside_queries();
            return;
        }
        self.add_outside_queries();
        self.since_line.totals.add(row);
        self.since_checkpoint.totals.add(row);
        for tally in &row.interval.kinds {
            self.latencies.add(&tally.response);
            self.events += tally.committed;
        }
        let start_ns = second.schedule.window_start_ns();
        let elapsed_ns = span.end_ns.saturating_sub(start_ns);
        if !elapsed_ns.is_multiple_of(SECOND_NS) {
            return;
        }
        let at_s = elapsed_ns / SECOND_NS;
        let is_due = |due_s: &u32| u64::from(*due_s) == at_s;
        if self.bench.settings.checkpoints_s.iter().any(is_due) {
            self.print_checkpoint(at_s, span.end_ns, start_ns);
        }
        let interval_s = self.bench.settings.report_interval_s;
        if interval_s.is_some_and(|interval_s| at_s.is_multiple_of(u64::from(interval_s))) {
            self.print_progress(at_s, span.end_ns);
        }
    }

    fn ended(&mut self, drive_result: &DriveResult) -> Option<f64> {
        self.result = self.print_end(drive_result);
        None
    }
}
