//! Commands of a script other than `run`: each thread carries one out once, on the loop.
//!
//! In: a program. Out: what the script prints, an exit status. Must never: report figures.

use super::super::call::{Call, Ended};
use super::ear::Ear;
use crate::run::host::processors;
use crate::signals::Signals;
use prony_dialect::sysbench::{Driver, Settings, drive_plan};
use prony_drive::{Incident, Job, Observer, Start};
use prony_measure::{Row, Schedule};
use prony_plan::{DrivePlan, Pace, Stop};
use prony_server::Target;
use prony_server::control::Failure;
use prony_workload::lua::LuaProgram;
use std::time::Duration;

/// A command that is to be carried out.
pub struct Order<'a> {
    pub call: &'a Call,
    pub settings: &'a Settings,
    pub ear: &'a Ear,
    pub signals: &'a Signals,
}

/// Nobody watches a command.
struct Nobody;

impl Observer for Nobody {
    fn started(&mut self, _: &Start) {}
    fn row(&mut self, _: &Row, _: &Schedule) {}
}

impl Order<'_> {
    /// Carries it out.
    ///
    /// # Errors
    /// All has been said.
    pub fn carry_out(
        &self,
        driver: Driver,
        target: &Target,
        program: &LuaProgram,
    ) -> Result<(), Ended> {
        let call = self.call;
        let plan = drive_plan(self.settings, processors()).map_err(|lines| call.fails(&lines))?;
        let clients = program.users();
        let plan = DrivePlan {
            clients,
            threads: plan.threads.min(clients),
            pace: Pace::Closed,
            stop: Stop::Transactions(1),
            warmup: Duration::ZERO,
            grace: Duration::MAX,
            ..plan
        };
        let interrupt = self.signals.flag();
        let refused = |failures: &[Failure]| self.ear.unreached(driver, failures);
        let job = Job {
            program,
            target,
            tcp_target: None,
            plan: &plan,
            seed: plan.seed.unwrap_or(0),
            interrupt: &interrupt,
            tap: None,
            refused: Some(&refused),
        };
        let driven = prony_drive::run(&job, &mut Nobody);
        let driven = driven.map_err(|error| call.fails_with(&error.to_string()))?;
        if self.ear.is_fatal() {
            return Err(Ended::Status(1));
        }
        if let Some(failure) = &driven.failure {
            return Err(call.fails_with(failure));
        }
        let mut events = driven.events.iter();
        if let Some(event) = events.find(|event| event.what == Incident::UserFailed) {
            return Err(call.fails_with(&event.detail));
        }
        match driven.interrupted {
            true => Err(Ended::Status(1)),
            false => Ok(()),
        }
    }
}
