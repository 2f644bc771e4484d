//! An in-memory backend that records requests and prints lines for them.

use prony_dialect::hammerdb::tcl::{Channel, Host, PathKind, TclResult};
use prony_dialect::hammerdb::text::{finished_line, running_line, terminal_line, vuser_line};
use prony_dialect::hammerdb::{
    Backend, BuildLine, BuildRequest, Driver, RunLine, RunRequest, SchemaRequest, Settings,
    VuserOutcome,
};
use prony_document::SqlDialect;

use super::MemoryHost;

#[derive(Default)]
pub struct FakeBackend {
    pub memory: MemoryHost,
    pub builds: Vec<BuildRequest>,
    pub runs: Vec<RunRequest>,
    pub delete_requests: Vec<SchemaRequest>,
    pub saved_settings: Settings,
    pub build_error: Option<String>,
    pub is_stopped: bool,
}

impl FakeBackend {
    pub fn print_line(&mut self, line: &str) {
        self.memory.out.push_str(&terminal_line(line));
    }

    pub fn vuser_line(&mut self, number: u32, line: impl std::fmt::Display) {
        self.print_line(&vuser_line(number, line));
    }
}

impl Host for FakeBackend {
    fn call_command(&mut self, _name: &str, _args: &[String]) -> Option<TclResult> {
        None
    }
    fn put(&mut self, channel: Channel, text: &str) {
        self.memory.put(channel, text);
    }
    fn env_var(&self, name: &str) -> Option<String> {
        (name == "PGHOST").then(|| "10.0.0.5".to_owned())
    }
    fn sleep(&mut self, ms: u64) {
        self.memory.sleep(ms);
    }
    fn is_stopped(&self) -> bool {
        self.is_stopped
    }
    fn now_ms(&self) -> i64 {
        self.memory.now_ms()
    }
    fn format_date(&self, seconds: i64, format: Option<&str>, utc: bool) -> Result<String, String> {
        self.memory.format_date(seconds, format, utc)
    }
    fn read_file(&mut self, path: &str) -> Result<String, String> {
        self.memory.read_file(path)
    }
    fn write_file(&mut self, path: &str, text: &str, append: bool) -> Result<(), String> {
        self.memory.write_file(path, text, append)
    }
    fn path_kind(&self, path: &str) -> PathKind {
        self.memory.path_kind(path)
    }
}

impl Backend for FakeBackend {
    fn build_schema(&mut self, request: &BuildRequest) -> Result<VuserOutcome, String> {
        self.builds.push(request.clone());
        self.print_line(&running_line(1));
        if let Some(build_error) = self.build_error.take() {
            return Err(build_error);
        }
        let (database, owner) = (request.owner.database.clone(), request.owner.user.clone());
        let owner = match request.owner.product.dialect {
            SqlDialect::PostgreSql => Some(owner),
            SqlDialect::MySql | SqlDialect::TransactSql => None,
        };
        let schema = request.schema_name();
        self.vuser_line(
            1,
            BuildLine::CreatingSchema {
                schema: schema.clone(),
            },
        );
        self.vuser_line(1, BuildLine::CreatingDatabase { database, owner });
        self.vuser_line(1, BuildLine::Complete { schema });
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
            self.vuser_line(
                1,
                RunLine::Rampup {
                    minutes: rampup_min,
                },
            );
        }
        let result = RunLine::Result {
            nopm: 252_970,
            tpm: Some(582_385),
            database: request.login.product.name.to_owned(),
            tpm_first: request.tpm_first,
        };
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
