//! Runs parallel commands of a script: once in each thread.
//!
//! Must never: print figures.

use super::super::call::{CommandError, SysbenchCall};
use super::logger::ScriptLogger;
use prony_dialect::sysbench::{Driver, GeneralOptions, ProgramCost, drive_plan};
use prony_drive::{DriveJob, LoadStart, Observer, RunEventKind};
use prony_measure::{IntervalRow, RunSchedule};
use prony_plan::{DrivePlan, Pace, Stop, cpu_count};
use prony_runner::Signals;
use prony_server::Target;
use prony_server::control::ConnectFailure;
use prony_workload::lua::LuaProgram;
use std::time::Duration;

/// A command to run in every thread.
pub struct ParallelCommand<'a> {
    pub call: &'a SysbenchCall,
    pub settings: &'a GeneralOptions,
    pub logger: &'a ScriptLogger,
    pub signals: &'a Signals,
    /// Whether each thread of sysbench is an OS thread.
    pub thread_per_user: bool,
}

/// An observer that does nothing.
struct NoObserver;

impl Observer for NoObserver {
    fn started(&mut self, _: &LoadStart) {}
    fn interval_ended(&mut self, _: &IntervalRow, _: &RunSchedule) {}
}

impl ParallelCommand<'_> {
    /// Runs the command.
    ///
    /// # Errors
    /// The exit status; the error is already printed.
    pub fn run(
        &self,
        driver: Driver,
        target: &Target,
        program: &LuaProgram,
    ) -> Result<(), CommandError> {
        let call = self.call;
        let plan = drive_plan(self.settings, cpu_count(), ProgramCost::High);
        let plan = plan.map_err(|lines| call.fail(&lines))?;
        let clients = program.user_count();
        let plan = DrivePlan {
            clients,
            threads: if self.thread_per_user {
                clients
            } else {
                plan.threads.min(clients)
            },
            pace: Pace::Closed,
            stop: Stop::Transactions(1),
            warmup: Duration::ZERO,
            grace: Duration::MAX,
            ..plan
        };
        let interrupt = self.signals.flag();
        let on_refused =
            |failures: &[ConnectFailure]| self.logger.log_connect_failure(driver, failures);
        let job = DriveJob {
            program,
            target,
            tcp_target: None,
            plan: &plan,
            seed: plan.seed.unwrap_or(0),
            interrupt: &interrupt,
            new_sample_listener: None,
            on_connect_refused: Some(&on_refused),
        };
        let drive_result = prony_drive::run(&job, &mut NoObserver);
        let drive_result = drive_result.map_err(|error| call.fail_with_text(&error.to_string()))?;
        if self.logger.has_failed() {
            return Err(CommandError::Status(1));
        }
        if let Some(failure) = &drive_result.failure {
            return Err(call.fail_with_text(failure));
        }
        let mut events = drive_result.events.iter();
        if let Some(event) = events.find(|event| event.kind == RunEventKind::UserFailed) {
            return Err(call.fail_with_text(&event.detail));
        }
        if drive_result.interrupted {
            Err(CommandError::Status(1))
        } else {
            Ok(())
        }
    }
}
