//! A world that takes requests and plays their lines.

use prony_dialect::hammerdb::tcl::{Channel, Host, Outcome, PathKind};
use prony_dialect::hammerdb::text::{finished, running, terminal, vuser};
use prony_dialect::hammerdb::{
    BuildLine, BuildRequest, Driver, Ended, Product, RunLine, RunRequest, SchemaRequest, Settings,
    World,
};

use super::Memory;

#[derive(Default)]
pub struct Fake {
    pub memory: Memory,
    pub builds: Vec<BuildRequest>,
    pub runs: Vec<RunRequest>,
    pub deleted: Vec<SchemaRequest>,
    pub saved: Settings,
    pub refusal: Option<String>,
    pub stopped: bool,
}

impl Fake {
    pub fn say(&mut self, line: &str) {
        self.memory.out.push_str(&terminal(line));
    }

    pub fn told(&mut self, number: u32, line: impl std::fmt::Display) {
        self.say(&vuser(number, line));
    }
}

impl Host for Fake {
    fn call(&mut self, _name: &str, _args: &[String]) -> Option<Outcome> {
        None
    }
    fn put(&mut self, channel: Channel, text: &str) {
        self.memory.put(channel, text);
    }
    fn variable(&self, name: &str) -> Option<String> {
        (name == "PGHOST").then(|| "10.0.0.5".to_owned())
    }
    fn sleep(&mut self, ms: u64) {
        self.memory.sleep(ms);
    }
    fn is_stopped(&self) -> bool {
        self.stopped
    }
    fn now_ms(&self) -> i64 {
        self.memory.now_ms()
    }
    fn date(&self, seconds: i64, format: Option<&str>) -> Result<String, String> {
        self.memory.date(seconds, format)
    }
    fn read_file(&mut self, path: &str) -> Result<String, String> {
        self.memory.read_file(path)
    }
    fn write_file(&mut self, path: &str, text: &str, at_end: bool) -> Result<(), String> {
        self.memory.write_file(path, text, at_end)
    }
    fn path_kind(&self, path: &str) -> PathKind {
        self.memory.path_kind(path)
    }
}

impl World for Fake {
    fn build(&mut self, request: &BuildRequest) -> Result<Ended, String> {
        self.builds.push(request.clone());
        self.say(&running(1));
        if let Some(refusal) = self.refusal.take() {
            return Err(refusal);
        }
        let (database, owner) = (request.owner.database.clone(), request.owner.user.clone());
        let is_postgres = request.owner.product == Product::PostgreSql;
        let owner = is_postgres.then_some(owner);
        self.told(1, BuildLine::CreatingSchema);
        self.told(1, BuildLine::CreatingDatabase { database, owner });
        self.told(1, BuildLine::Complete);
        self.say(&finished(1, true));
        Ok(Ended::default())
    }
    fn check(&mut self, _request: &SchemaRequest) -> Result<Ended, String> {
        Err("TPROC-C Schema check failed".to_owned())
    }
    fn delete(&mut self, request: &SchemaRequest) -> Result<Ended, String> {
        self.deleted.push(request.clone());
        Ok(Ended::default())
    }
    fn run(&mut self, request: &RunRequest) -> Result<Ended, String> {
        self.runs.push(request.clone());
        self.say(&running(1));
        if let Driver::Timed { rampup_min, .. } = request.driver {
            self.told(
                1,
                RunLine::Rampup {
                    minutes: rampup_min,
                },
            );
        }
        let result = RunLine::Result {
            nopm: 252_970,
            tpm: 582_385,
            database: request.login.product.name().to_owned(),
            tpm_first: request.tpm_first,
        };
        self.told(1, result);
        self.say(&finished(3, false));
        Ok(Ended { failed: vec![3] })
    }
    fn save(&mut self, settings: &Settings) -> Result<(), String> {
        self.saved = settings.clone();
        Ok(())
    }
    fn job_id(&mut self) -> String {
        "6B00C84B660B03E283635333".to_owned()
    }
    fn jobs(&mut self, args: &[String]) -> Result<String, String> {
        Ok(format!("jobs {}", args.join(" ")))
    }
    fn processors(&self) -> usize {
        16
    }
}
