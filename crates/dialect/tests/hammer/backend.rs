//! An in-memory backend that records requests and prints lines for them.

use prony_dialect::hammerdb::tcl::System;
use prony_dialect::hammerdb::text::{self, finished_line, running_line};
use prony_dialect::hammerdb::{
    Backend, BuildRequest, Driver, RunRequest, SchemaRequest, Settings, VuserOutcome,
};

use super::MemoryHost;

#[derive(Default)]
pub struct FakeBackend {
    pub memory: MemoryHost,
    pub builds: Vec<BuildRequest>,
    pub runs: Vec<RunRequest>,
    pub delete_requests: Vec<SchemaRequest>,
    pub saved_settings: Settings,
    pub build_error: Option<String>,
}

impl FakeBackend {
    pub fn print_line(&mut self, line: &str) {
        self.memory.out.push_str(&text::terminal_line(line));
    }

    pub fn vuser_line(&mut self, number: u32, line: impl std::fmt::Display) {
        self.print_line(&text::vuser_line(number, line));
    }
}

impl Backend for FakeBackend {
    fn system(&self) -> &dyn System {
        &self.memory
    }
    fn system_mut(&mut self) -> &mut dyn System {
        &mut self.memory
    }
    fn build_schema(&mut self, request: &BuildRequest) -> Result<VuserOutcome, String> {
        self.builds.push(request.clone());
        self.print_line(&running_line(1));
        if let Some(build_error) = self.build_error.take() {
            return Err(build_error);
        }
        let schema = request.schema_name();
        self.vuser_line(1, text::creating_line(&schema));
        self.vuser_line(1, text::database_line(&request.owner));
        self.vuser_line(1, text::complete_line(&schema));
        self.print_line(&finished_line(1, true));
        Ok(VuserOutcome::default())
    }
    fn check_schema(&mut self, _request: &SchemaRequest) -> Result<VuserOutcome, String> {
        Err("TPROC-C Schema check failed".to_owned())
    }
    fn delete_schema(&mut self, request: &SchemaRequest) -> Result<VuserOutcome, String> {
        self.delete_requests.push(request.clone());
        Ok(VuserOutcome::default())
    }
    fn run_workload(&mut self, request: &RunRequest) -> Result<VuserOutcome, String> {
        self.runs.push(request.clone());
        self.print_line(&running_line(1));
        if let Driver::Timed { rampup_min, .. } = request.driver {
            let line = format!("Beginning rampup time of {rampup_min} minutes");
            self.vuser_line(1, line);
        }
        let product = request.login.product.name;
        let result = text::result_line(252_970, Some(582_385), product, request.tpm_first);
        self.vuser_line(1, result);
        self.print_line(&finished_line(3, false));
        Ok(VuserOutcome {
            failed_vusers: vec![3],
        })
    }
    fn store_settings(&mut self, settings: &Settings) -> Result<(), String> {
        self.saved_settings = settings.clone();
        Ok(())
    }
    fn new_job_id(&mut self) -> String {
        "6B00C84B660B03E283635333".to_owned()
    }
    fn jobs_output(&mut self, args: &[String]) -> Result<String, String> {
        Ok(format!("jobs {}", args.join(" ")))
    }
    fn processor_count(&self) -> usize {
        16
    }
}
