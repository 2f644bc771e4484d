//! The interface through which a session reaches the server, jobs and stored settings.

use super::request::{BuildRequest, RunRequest, SchemaRequest};
use super::settings::Settings;
use super::tcl::System;

/// How the virtual users of a command ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VuserOutcome {
    /// The numbers of the virtual users that failed.
    pub failed_vusers: Vec<u32>,
}

/// Executes a session's requests. The first four methods block until all virtual users have ended. They print
/// and log the users' lines ([`super::text`]), from the first `RUNNING` to the last `FINISHED`. If a method
/// returns an error, the session prints it as the reason why virtual user 1 could not continue, with the line
/// `FINISHED FAILED`.
pub trait Backend {
    fn system(&self) -> &dyn System;

    fn system_mut(&mut self) -> &mut dyn System;

    fn build_schema(&mut self, request: &BuildRequest) -> Result<VuserOutcome, String>;

    fn check_schema(&mut self, request: &SchemaRequest) -> Result<VuserOutcome, String>;

    fn delete_schema(&mut self, request: &SchemaRequest) -> Result<VuserOutcome, String>;

    fn run_workload(&mut self, request: &RunRequest) -> Result<VuserOutcome, String>;

    /// Stores the changed settings for the next call.
    ///
    /// # Errors
    /// Why they cannot be stored.
    fn store_settings(&mut self, settings: &Settings) -> Result<(), String>;

    /// A new job's identifier: 24 hexadecimal digits.
    fn new_job_id(&mut self) -> String;

    /// The output of `jobs` with these arguments.
    ///
    /// # Errors
    /// The message that HammerDB would print.
    fn jobs_output(&mut self, args: &[String]) -> Result<String, String>;

    /// The number of processors of this machine (`numberOfCPUs`).
    fn processor_count(&self) -> usize;
}
