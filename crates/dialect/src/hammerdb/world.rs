//! What lies outside of a session: the server, the jobs and the settings' store.
//!
//! In: requests. Out: how they ended. Must never: hold logic.

use super::request::{BuildRequest, RunRequest, SchemaRequest};
use super::settings::Settings;
use super::tcl;

/// How virtual users ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// The numbers of those that failed.
    pub failed: Vec<u32>,
}

/// What a session needs. The methods that build, check, delete and run block until all virtual users
/// have ended; they print and log their lines ([`super::text`]), from the first `RUNNING` to the last
/// `FINISHED`. Their error is why virtual user 1 could not go on; the session prints it, with its
/// `FINISHED FAILED`.
pub trait World: tcl::Host {
    /// Builds the schema.
    ///
    /// # Errors
    /// Why it could not be built.
    fn build(&mut self, request: &BuildRequest) -> Result<Ended, String>;

    /// Checks the schema.
    ///
    /// # Errors
    /// Why it could not be checked, or what is wrong with it.
    fn check(&mut self, request: &SchemaRequest) -> Result<Ended, String>;

    /// Deletes the schema and its role.
    ///
    /// # Errors
    /// Why it could not be deleted.
    fn delete(&mut self, request: &SchemaRequest) -> Result<Ended, String>;

    /// Runs the workload.
    ///
    /// # Errors
    /// Why it could not run.
    fn run(&mut self, request: &RunRequest) -> Result<Ended, String>;

    /// Keeps the settings for the next call.
    ///
    /// # Errors
    /// Why they cannot be kept.
    fn save(&mut self, settings: &Settings) -> Result<(), String>;

    /// A new job's identifier: 24 hexadecimal digits.
    fn job_id(&mut self) -> String;

    /// What `jobs` with these words prints.
    ///
    /// # Errors
    /// HammerDB's complaint.
    fn jobs(&mut self, args: &[String]) -> Result<String, String>;

    /// Processors of this machine (`numberOfCPUs`).
    fn processors(&self) -> usize;
}
