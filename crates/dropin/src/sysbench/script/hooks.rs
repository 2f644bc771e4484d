//! Prints reports by functions that the script defines.
//!
//! In: figures of a run. Out: the script's output; sysbench's texts for reports that the script does not
//! define. Must never: end a run because a report failed.

use super::super::bench::ReportTexts;
use super::super::call::SysbenchCall;
use super::logger::ScriptLogger;
use prony_dialect::sysbench::{
    Compat, Counters, GeneralOptions, LogLevel, Progress, Report, checkpoint_header,
    checkpoint_text, progress_text, report_text,
};
use prony_measure::QueryCounts;
use prony_runner::Recording;
use prony_workload::lua::{
    CUMULATIVE_HOOK, INTERMEDIATE_HOOK, LuaScript, LuaScriptError, ReportFigures, Reporter,
};

/// The reports of a script.
pub struct ReportHooks<'a> {
    call: &'a SysbenchCall,
    script: &'a LuaScript,
    logger: &'a ScriptLogger,
    /// The Lua state for intermediate reports, if the script defines a function for them.
    intermediate_reporter: Option<Reporter>,
    /// The Lua state for checkpoint reports, if the script defines a function for them.
    checkpoint_reporter: Option<Reporter>,
    /// Whether the script prints the final report.
    has_final_report: bool,
    threads: u32,
}

impl<'a> ReportHooks<'a> {
    /// Loads the script once more for intermediate reports and once more for checkpoint reports, if the
    /// settings request these.
    pub fn new(
        call: &'a SysbenchCall,
        script: &'a LuaScript,
        settings: &GeneralOptions,
        logger: &'a ScriptLogger,
    ) -> Result<Self, LuaScriptError> {
        let reporter = |is_requested: bool, hook| {
            if is_requested { script.create_reporter(hook) } else { Ok(None) }
        };
        Ok(ReportHooks {
            call,
            script,
            logger,
            intermediate_reporter: reporter(
                settings.report_interval_s.is_some(),
                INTERMEDIATE_HOOK,
            )?,
            checkpoint_reporter: reporter(!settings.checkpoints_s.is_empty(), CUMULATIVE_HOOK)?,
            has_final_report: script.has_final_report()?,
            threads: settings.threads,
        })
    }

    /// Ends all reports of the script.
    pub fn end_reports(&self) {
        self.end_reports_during_run();
        self.log_failure(self.script.end_reports());
    }

    fn end_reports_during_run(&self) {
        let (intermediate, checkpoint) = (&self.intermediate_reporter, &self.checkpoint_reporter);
        for reporter in intermediate.iter().chain(checkpoint) {
            self.log_failure(reporter.end_reports());
        }
    }

    fn log_failure(&self, result: Result<(), LuaScriptError>) {
        if let Err(error) = result {
            self.logger.log_hook_failure(&error);
        }
    }
}

/// The figures of the whole run.
fn report_figures(figures: &Report<'_>, threads: u32) -> ReportFigures {
    let latency = figures.latency;
    let [min_s, max_s, mean_s, sum_s] = [
        latency.min_ms,
        latency.max_ms,
        latency.avg_ms,
        latency.sum_ms,
    ]
    .map(|ms| ms / 1e3);
    ReportFigures {
        threads_running: threads,
        time_interval_s: figures.interval_s,
        time_total_s: figures.total_s,
        latency_percentile_s: figures.percentile_ms / 1e3,
        latency_min_max_mean_sum_s: Some([min_s, max_s, mean_s, sum_s]),
        ..counter_figures(&figures.counters)
    }
}

fn counter_figures(counters: &Counters) -> ReportFigures {
    let queries = &counters.queries;
    ReportFigures {
        events: counters.events,
        reads: queries.reads,
        writes: queries.writes,
        others: queries.others,
        errors: queries.ignored_errors,
        reconnects: queries.reconnects,
        ..ReportFigures::default()
    }
}

impl ReportTexts for ReportHooks<'_> {
    fn uses_database(&self) -> bool {
        self.script.has_connected()
    }

    fn set_recording(&self, recording: &Recording) {
        self.logger.set_recording(recording);
        self.logger.set_starting(true);
    }

    fn threads_started(&self) {
        self.logger.set_starting(false);
    }

    fn take_outside_queries(&self) -> QueryCounts {
        self.script.take_outside_queries()
    }

    fn progress(&self, figures: &Progress) -> String {
        let Some(reporter) = &self.intermediate_reporter else {
            return progress_text(figures);
        };
        let queue = figures.queue;
        let queue = queue.map_or((0, 0), |queue| (queue.length, queue.concurrency));
        self.log_failure(reporter.print(&ReportFigures {
            threads_running: figures.threads,
            time_interval_s: figures.interval_s,
            time_total_s: figures.at_s as f64,
            latency_percentile_s: figures.latency_ms / 1e3,
            waiting_and_running: Some(queue),
            ..counter_figures(&figures.counters)
        }));
        String::new()
    }

    fn checkpoint(&self, at_s: u64, figures: &Report<'_>, compat: Compat) -> String {
        let Some(reporter) = &self.checkpoint_reporter else {
            return checkpoint_text(at_s, figures, compat);
        };
        self.call.log(LogLevel::Notice, &checkpoint_header(at_s));
        self.log_failure(reporter.print(&report_figures(figures, self.threads)));
        String::new()
    }

    fn report(&self, figures: &Report<'_>, compat: Compat) -> String {
        // A script's intermediate reports may form a list, which it must close before the final report.
        self.end_reports_during_run();
        if !self.has_final_report {
            return report_text(figures, compat);
        }
        self.log_failure(self.script.print_final_report(&report_figures(figures, 0)));
        String::new()
    }
}
