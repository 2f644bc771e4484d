//! Executes the requests of scripts, on this machine and on servers.
//!
//! Must never: contain the code of a request: each request has a module.

use super::bench::{self, RunContext};
use super::job::Job;
use super::lines::VuserLines;
use super::storage::Storage;
use super::system::ScriptSystem;
use super::{build, jobs, schema, warn};
use jiff::Timestamp;
use prony_dialect::hammerdb::tcl::System;
use prony_dialect::hammerdb::{
    Backend, BuildRequest, OutputOptions, RunRequest, SchemaRequest, Settings, VuserOutcome, text,
};
use prony_plan::cpu_count;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

/// Gives scripts access to this machine, the server and the stored jobs.
pub struct ScriptBackend {
    pub system: ScriptSystem,
    pub storage: Storage,
    pub settings: Settings,
    /// The TPC-C profile.
    pub profile: &'static str,
    /// How long a minute of the script takes.
    pub minute_length: Duration,
}

impl ScriptBackend {
    /// Runs a task as a job and stores the job.
    fn run_job(
        &self,
        id: &str,
        output: &OutputOptions,
        execute: impl FnOnce(&Arc<VuserLines>, &mut Job) -> Result<VuserOutcome, String>,
    ) -> Result<VuserOutcome, String> {
        let lines = Arc::new(VuserLines::open(output)?);
        let mut job = Job::begin(id, &self.settings);
        lines.print_running(1);
        let outcome = execute(&lines, &mut job);
        job.lines = lines.take_lines();
        if let Err(reason) = &outcome {
            // The session prints these two lines.
            let end_lines = [text::failure_line(1, reason), text::finished_line(1, false)];
            job.lines.extend(end_lines);
        }
        if let Err(reason) = self.storage.save_job(&job) {
            warn(&format!("cannot store the job: {reason}"));
        }
        outcome
    }
}

impl Backend for ScriptBackend {
    fn system(&self) -> &dyn System {
        &self.system
    }

    fn system_mut(&mut self) -> &mut dyn System {
        &mut self.system
    }

    fn build_schema(&mut self, request: &BuildRequest) -> Result<VuserOutcome, String> {
        self.run_job(&request.job_id, &request.output, |lines, _| {
            build::build(request, lines, &self.system.signals)
        })
    }

    fn check_schema(&mut self, request: &SchemaRequest) -> Result<VuserOutcome, String> {
        self.run_job(&request.job_id, &request.output, |lines, _| {
            schema::check(request, lines, &self.system.signals)
        })
    }

    fn delete_schema(&mut self, request: &SchemaRequest) -> Result<VuserOutcome, String> {
        self.run_job(&request.job_id, &request.output, |lines, _| {
            schema::delete(request, lines, &self.system.signals)
        })
    }

    fn run_workload(&mut self, request: &RunRequest) -> Result<VuserOutcome, String> {
        self.run_job(&request.job_id, &request.output, |lines, job| {
            let context = RunContext {
                store_folder: self.storage.run_store_folder(),
                request,
                profile: self.profile,
                minute_length: self.minute_length,
                processors: self.processor_count(),
                lines,
                signals: &self.system.signals,
            };
            bench::run(&context, job)
        })
    }

    fn store_settings(&mut self, settings: &Settings) -> Result<(), String> {
        self.settings = settings.clone();
        self.storage.save_settings(settings)
    }

    fn new_job_id(&mut self) -> String {
        let seconds = Timestamp::now().as_second();
        // The system's random numbers seed each new RandomState.
        let random = RandomState::new().build_hasher().finish();
        format!("{:08X}{random:016X}", seconds & 0xffff_ffff)
    }

    fn jobs_output(&mut self, args: &[String]) -> Result<String, String> {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        jobs::execute(&self.storage, &args)
    }

    fn processor_count(&self) -> usize {
        cpu_count()
    }
}
