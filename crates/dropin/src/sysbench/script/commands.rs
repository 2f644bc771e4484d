//! Runs a command of a script in parallel: once in each thread.
//!
//! Must never: print figures.

use super::super::bench::check_drive_result;
use super::super::call::CommandError;
use super::{ScriptRun, print_failure, target_or_placeholder};
use crate::sysbench::connection::ResolvedServer;
use prony_dialect::sysbench::{ProgramCost, drive_plan, fatal_line};
use prony_drive::DriveJob;
use prony_plan::{DrivePlan, Pace, Stop, cpu_count};
use prony_server::control::ConnectFailure;
use prony_workload::lua::{LuaScriptError, ThreadTask};
use std::time::Duration;

impl ScriptRun<'_> {
    /// Runs the task in all threads.
    ///
    /// # Errors
    /// The exit status; the error is already printed.
    pub fn run_in_threads(
        &self,
        server: ResolvedServer,
        task: ThreadTask,
    ) -> Result<(), CommandError> {
        let (call, settings) = (self.call, &self.command.settings);
        let fail = |error: LuaScriptError| print_failure(call, &error);
        let program = self.script.program(task).map_err(fail)?;
        let thread_per_user = self.script.may_block().map_err(fail)?;
        let (driver, target) = target_or_placeholder(settings, server);
        let plan = drive_plan(settings, cpu_count(), ProgramCost::High);
        let plan = plan.map_err(|lines| call.fail(&lines))?;
        let clients = program.user_count();
        let plan = DrivePlan {
            clients,
            threads: if thread_per_user { clients } else { plan.threads },
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
            seed: plan.seed.unwrap_or(0),
            on_connect_refused: Some(&on_refused),
            ..DriveJob::new(&program, &target, &plan, &interrupt)
        };
        let drive_result = prony_drive::run(&job, &mut ());
        let drive_result = drive_result.map_err(|error| call.fail_with_text(&error.to_string()))?;
        if self.logger.has_failed() {
            return Err(CommandError(1));
        }
        check_drive_result(call, &drive_result, fatal_line)
    }
}
