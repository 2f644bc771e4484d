//! What lies outside of a script: this machine, the server, what is kept.
//!
//! In: requests of a session, questions of its interpreter. Out: what was done. Must never: hold
//! logic of a request: that has a file of its own.

use super::bench::{self, Means};
use super::job::Job;
use super::kept::Kept;
use super::lines::Lines;
use super::{build, clock, jobs, schema};
use crate::run::host::processors;
use crate::signals::Signals;
use prony_dialect::hammerdb::tcl::{Channel, Host, Outcome, PathKind};
use prony_dialect::hammerdb::{
    BuildRequest, Ended, Output, RunRequest, SchemaRequest, Settings, World,
};
use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The outside.
pub struct Machine {
    signals: Signals,
    kept: Kept,
    settings: Settings,
    profile: &'static str,
    minute: Duration,
}

impl Machine {
    /// `profile`: whose transactions; `minute`: how long a minute of a script lasts.
    pub fn new(
        signals: Signals,
        kept: Kept,
        settings: Settings,
        profile: &'static str,
        minute: Duration,
    ) -> Self {
        Machine {
            signals,
            kept,
            settings,
            profile,
            minute,
        }
    }

    /// Does a piece of work and keeps it as a job.
    fn work(
        &self,
        id: &str,
        output: &Output,
        act: impl FnOnce(&Arc<Lines>, &mut Job) -> Result<Ended, String>,
    ) -> Result<Ended, String> {
        let lines = Arc::new(Lines::open(output)?);
        let mut job = Job::begin(id, &self.settings);
        lines.running(1);
        let ended = act(&lines, &mut job);
        job.lines = lines.said();
        if let Err(reason) = &ended {
            // The session prints them.
            job.lines
                .push(prony_dialect::hammerdb::text::failure(1, reason));
            job.lines
                .push(prony_dialect::hammerdb::text::finished(1, false));
        }
        if let Err(reason) = self.kept.keep_job(&job) {
            super::complain(&format!("hammerdbcli: the job is not kept: {reason}\n"));
        }
        ended
    }
}

/// The system's reason as Tcl has it: in lower case, without a number.
fn reason(error: &io::Error) -> String {
    prony_report::text::system_error(error).to_lowercase()
}

impl Host for Machine {
    fn call(&mut self, _: &str, _: &[String]) -> Option<Outcome> {
        None
    }

    fn put(&mut self, channel: Channel, text: &str) {
        match channel {
            Channel::Out => super::print(text),
            Channel::Error => super::complain(text),
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        Some(std::env::var_os(name)?.to_string_lossy().into_owned())
    }

    fn sleep(&mut self, ms: u64) {
        let (begun, all) = (Instant::now(), Duration::from_millis(ms));
        while let Some(left) = all.checked_sub(begun.elapsed())
            && !self.is_stopped()
        {
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }

    fn is_stopped(&self) -> bool {
        self.signals.asked().is_some()
    }

    fn now_ms(&self) -> i64 {
        clock::now_ms()
    }

    fn date(&self, seconds: i64, format: Option<&str>) -> Result<String, String> {
        clock::written(seconds, format)
    }

    fn read_file(&mut self, path: &str) -> Result<String, String> {
        let bytes = fs::read(path).map_err(|error| reason(&error))?;
        String::from_utf8(bytes).map_err(|_| "it is not text in UTF-8".to_owned())
    }

    fn write_file(&mut self, path: &str, text: &str, at_end: bool) -> Result<(), String> {
        let written = || {
            let mut options = OpenOptions::new();
            options.create(true).append(at_end);
            if !at_end {
                options.write(true).truncate(true);
            }
            options.open(path)?.write_all(text.as_bytes())
        };
        written().map_err(|error: io::Error| reason(&error))
    }

    fn path_kind(&self, path: &str) -> PathKind {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => PathKind::Folder,
            Ok(_) => PathKind::File,
            Err(_) => PathKind::Missing,
        }
    }
}

impl World for Machine {
    fn build(&mut self, request: &BuildRequest) -> Result<Ended, String> {
        self.work(&request.job, &request.output, |lines, _| {
            build::build(request, lines, &self.signals)
        })
    }

    fn check(&mut self, request: &SchemaRequest) -> Result<Ended, String> {
        self.work(&request.job, &request.output, |lines, _| {
            schema::check(request, lines, &self.signals)
        })
    }

    fn delete(&mut self, request: &SchemaRequest) -> Result<Ended, String> {
        self.work(&request.job, &request.output, |lines, _| {
            schema::delete(request, lines, &self.signals)
        })
    }

    fn run(&mut self, request: &RunRequest) -> Result<Ended, String> {
        self.work(&request.job, &request.output, |lines, job| {
            let means = Means {
                request,
                profile: self.profile,
                minute: self.minute,
                processors: self.processors(),
                lines,
                signals: &self.signals,
            };
            bench::run(&means, job)
        })
    }

    fn save(&mut self, settings: &Settings) -> Result<(), String> {
        self.settings = settings.clone();
        self.kept.keep_settings(settings)
    }

    fn job_id(&mut self) -> String {
        let seconds = clock::now_ms() / 1000;
        // A RandomState is keyed anew by the system's random numbers.
        let random = RandomState::new().build_hasher().finish();
        format!("{:08X}{random:016X}", seconds & 0xffff_ffff)
    }

    fn jobs(&mut self, args: &[String]) -> Result<String, String> {
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        jobs::tell(&self.kept, &words)
    }

    fn processors(&self) -> usize {
        processors()
    }
}
