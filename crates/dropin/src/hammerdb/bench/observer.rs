//! Connects the monitor with a run.
//!
//! In: the runner's events. Out: the monitor's start and end. Must never: leave the monitor waiting for a
//! load that does not start.

use super::super::warn;
use super::monitor::MonitorResult;
use prony_dialect::hammerdb::plan::GRACE;
use prony_drive::{DriveResult, LoadStart};
use prony_measure::RunSchedule;
use prony_runner::RunObserver;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::ScopedJoinHandle;

/// Starts the monitor with the load, and ends it with the load.
pub struct HammerdbObserver<'a, 'scope> {
    start_sender: Option<Sender<RunSchedule>>,
    run_ended: &'a AtomicBool,
    monitor: Option<ScopedJoinHandle<'scope, Result<MonitorResult, String>>>,
    result: Result<MonitorResult, String>,
}

impl<'a, 'scope> HammerdbObserver<'a, 'scope> {
    /// `start_sender` tells the monitor that the load starts, `run_ended` that it has ended.
    pub fn new(
        start_sender: Sender<RunSchedule>,
        run_ended: &'a AtomicBool,
        monitor: ScopedJoinHandle<'scope, Result<MonitorResult, String>>,
    ) -> Self {
        HammerdbObserver {
            start_sender: Some(start_sender),
            run_ended,
            monitor: Some(monitor),
            result: Ok(MonitorResult::default()),
        }
    }

    /// Ends the monitor, if it still runs, and returns its result. Call this after the run, or if the run
    /// failed to start.
    pub fn end(mut self) -> Result<MonitorResult, String> {
        self.end_monitor();
        self.result
    }

    fn end_monitor(&mut self) {
        self.start_sender = None;
        self.run_ended.store(true, Ordering::Relaxed);
        if let Some(monitor) = self.monitor.take() {
            let failed = |_| Err("the monitor failed".to_owned());
            self.result = monitor.join().unwrap_or_else(failed);
        }
    }
}

impl RunObserver for HammerdbObserver<'_, '_> {
    fn started(&mut self, start: &LoadStart) {
        if let Some(sender) = self.start_sender.take() {
            let _ = sender.send(start.schedule);
        }
    }

    fn ended(&mut self, _: &DriveResult) -> Option<f64> {
        self.end_monitor();
        let figures = self.result.as_ref().ok()?.figures?;
        figures.tpm.map(|tpm| tpm as f64)
    }

    fn draining(&mut self) {
        let limit = GRACE.as_secs();
        warn(&format!(
            "waiting up to {limit} s for transactions that have not ended"
        ));
    }
}
