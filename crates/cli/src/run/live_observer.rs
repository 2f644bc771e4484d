//! Shows a run live.
//!
//! Called by the runner; updates the live view on stderr and the metrics for Prometheus. A failure to show a second
//! never ends the run.

use super::metrics::{MetricsServer, RunMetrics};
use super::warnings::RunWarnings;
use prony_drive::{DriveResult, LoadStart};
use prony_measure::RunSchedule;
use prony_report::{LiveView, units};
use prony_runner::{Recording, RunObserver, RunSecond};
use prony_store::{Run, StoreError, WarmupEnd};
use std::io::Stderr;
use std::time::Duration;

pub struct LiveObserver<'a> {
    view: LiveView<Stderr>,
    metrics_server: Option<&'a MetricsServer>,
    /// The metrics of this run, once it has started.
    run_metrics: Option<RunMetrics>,
    /// How long transactions in flight may take after the window.
    grace: Duration,
    warnings: RunWarnings,
    /// Whether connections last for the whole run, not only for one transaction.
    has_persistent_connections: bool,
}

impl<'a> LiveObserver<'a> {
    /// Shows a run in this view, and publishes its figures with `metrics_server`.
    pub fn new(
        view: LiveView<Stderr>,
        metrics_server: Option<&'a MetricsServer>,
        grace: Duration,
    ) -> LiveObserver<'a> {
        LiveObserver {
            view,
            metrics_server,
            run_metrics: None,
            grace,
            warnings: RunWarnings::default(),
            has_persistent_connections: true,
        }
    }

    pub fn remove_view(&mut self) {
        // If stderr is closed, there is no view to remove.
        let _ = self.view.finish();
    }

    fn print_line(&mut self, line: &str) {
        let _ = self.view.print_message(&format!("prony: {line}"));
    }
}

impl RunObserver for LiveObserver<'_> {
    fn begun(&mut self, run: &Run, _: &Recording) {
        self.run_metrics = self.metrics_server.map(|server| server.begin_run(run));
    }

    fn journal_failed(&mut self, error: &StoreError) {
        self.print_line(&error.to_string());
    }

    fn started(&mut self, start: &LoadStart) {
        self.has_persistent_connections = !start.layout.has_connect_time;
    }

    fn warmup_ends(&mut self, schedule: &RunSchedule, end: WarmupEnd) {
        let warmup_s = schedule.warmup_ns as f64 / 1e9;
        self.view.set_warmup(warmup_s);
        let reason = match end {
            WarmupEnd::Steady => "the load is steady",
            WarmupEnd::Limit => "the load is not steady yet, but that is the longest warm-up",
        };
        self.print_line(&format!(
            "the window begins after {} of warm-up: {reason}",
            units::span(warmup_s)
        ));
    }

    fn second_ended(&mut self, second: &RunSecond<'_>) {
        for line in self
            .warnings
            .lines_for_second(second.row, self.has_persistent_connections)
        {
            self.print_line(&line);
        }
        for server_second in second.server_seconds {
            self.view.add_server_second(server_second);
        }
        if let Some(figures) = second.second {
            let _ = self.view.show_second(figures);
            if let Some(run_metrics) = &mut self.run_metrics {
                run_metrics.add_second(second.row, figures, second.server_seconds);
            }
        }
    }

    fn draining(&mut self) {
        let limit = match self.grace {
            Duration::MAX => String::new(),
            grace => format!(", for at most {}", units::seconds(grace.as_secs_f64())),
        };
        self.print_line(&format!(
            "waiting for transactions that have not ended yet{limit}"
        ));
    }

    fn ended(&mut self, _: &DriveResult) -> Option<f64> {
        self.remove_view();
        None
    }
}
