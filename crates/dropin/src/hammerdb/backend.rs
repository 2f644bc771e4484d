//! Executes the requests of scripts, on this machine and on servers.
//!
//! Must never: contain the code of a request: each request has a module.

use super::bench::{self, RunContext};
use super::job::Job;
use super::lines::VuserLines;
use super::storage::Storage;
use super::{build, clock, jobs, schema};
use prony_dialect::hammerdb::tcl::{Channel, Host, PathKind, TclResult};
use prony_dialect::hammerdb::{
    Backend, BuildRequest, OutputOptions, RunRequest, SchemaRequest, Settings, VuserOutcome,
};
use prony_plan::cpu_count;
use prony_runner::Signals;
use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Gives scripts access to this machine, the server and the stored jobs.
pub struct ScriptBackend {
    signals: Signals,
    storage: Storage,
    settings: Settings,
    profile: &'static str,
    minute_length: Duration,
    /// Environment variables that the script has set.
    env_overrides: HashMap<String, String>,
    /// The captured output, while the script captures it ([`Host::set_capture`]).
    captured: Option<Vec<String>>,
}

impl ScriptBackend {
    /// `profile`: the TPC-C profile; `minute_length`: how long a minute of the script takes.
    pub fn new(
        signals: Signals,
        storage: Storage,
        settings: Settings,
        profile: &'static str,
        minute_length: Duration,
    ) -> Self {
        ScriptBackend {
            signals,
            storage,
            settings,
            profile,
            minute_length,
            env_overrides: HashMap::new(),
            captured: None,
        }
    }

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
            job.lines
                .push(prony_dialect::hammerdb::text::failure_line(1, reason));
            job.lines
                .push(prony_dialect::hammerdb::text::finished_line(1, false));
        }
        if let Err(reason) = self.storage.save_job(&job) {
            super::eprint(&format!("hammerdbcli: cannot store the job: {reason}\n"));
        }
        outcome
    }
}

/// The system's error message as Tcl prints it: in lower case, without the error number.
fn tcl_error_text(error: &io::Error) -> String {
    prony_plan::system_error(error).to_lowercase()
}

impl Host for ScriptBackend {
    fn call_command(&mut self, _: &str, _: &[String]) -> Option<TclResult> {
        None
    }

    fn put(&mut self, channel: Channel, text: &str) {
        if let (Channel::Out, Some(captured)) = (channel, &mut self.captured) {
            captured.push(text.to_owned());
            return;
        }
        match channel {
            Channel::Out => super::print(text),
            Channel::Error => super::eprint(text),
        }
    }

    fn set_capture(&mut self, on: bool) -> Vec<String> {
        std::mem::replace(&mut self.captured, on.then(Vec::new)).unwrap_or_default()
    }

    fn set_env_var(&mut self, name: &str, value: &str) {
        self.env_overrides.insert(name.to_owned(), value.to_owned());
    }

    fn env_var(&self, name: &str) -> Option<String> {
        if let Some(value) = self.env_overrides.get(name) {
            return Some(value.clone());
        }
        Some(std::env::var_os(name)?.to_string_lossy().into_owned())
    }

    fn sleep(&mut self, ms: u64) {
        let (started, total) = (Instant::now(), Duration::from_millis(ms));
        while let Some(remaining) = total.checked_sub(started.elapsed())
            && !self.is_stopped()
        {
            std::thread::sleep(remaining.min(Duration::from_millis(50)));
        }
    }

    fn is_stopped(&self) -> bool {
        self.signals.received().is_some()
    }

    fn now_ms(&self) -> i64 {
        clock::now_ms()
    }

    fn now_us(&self) -> i64 {
        clock::now_us()
    }

    fn format_date(&self, seconds: i64, format: Option<&str>, utc: bool) -> Result<String, String> {
        clock::format_time(seconds, format, utc)
    }

    fn parse_date(&self, text: &str, format: Option<&str>, utc: bool) -> Result<i64, String> {
        clock::parse_time(text, format, utc)
    }

    fn read_file(&mut self, path: &str) -> Result<String, String> {
        let bytes = fs::read(path).map_err(|error| tcl_error_text(&error))?;
        String::from_utf8(bytes).map_err(|_| "it is not text in UTF-8".to_owned())
    }

    fn write_file(&mut self, path: &str, text: &str, append: bool) -> Result<(), String> {
        let write = || {
            let mut options = OpenOptions::new();
            options.create(true).append(append);
            if !append {
                options.write(true).truncate(true);
            }
            options.open(path)?.write_all(text.as_bytes())
        };
        write().map_err(|error: io::Error| tcl_error_text(&error))
    }

    fn path_kind(&self, path: &str) -> PathKind {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => PathKind::Directory,
            Ok(_) => PathKind::File,
            Err(_) => PathKind::Missing,
        }
    }

    fn list_directory(&self, path: &str) -> Result<Vec<String>, String> {
        let entries = fs::read_dir(path).map_err(|error| tcl_error_text(&error))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.collect())
    }

    fn create_directory(&mut self, path: &str) -> Result<(), String> {
        fs::create_dir_all(path).map_err(|error| tcl_error_text(&error))
    }

    fn delete_path(&mut self, path: &str, force: bool) -> Result<(), String> {
        let result = match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_dir() && force => fs::remove_dir_all(path),
            Ok(metadata) if metadata.is_dir() => fs::remove_dir(path),
            Ok(_) => fs::remove_file(path),
            Err(error) => Err(error),
        };
        match result {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(tcl_error_text(&error)),
            _ => Ok(()),
        }
    }

    fn working_directory(&self) -> String {
        let directory = std::env::current_dir();
        directory.map_or_else(
            |_| ".".to_owned(),
            |path| path.to_string_lossy().into_owned(),
        )
    }

    fn change_directory(&mut self, path: &str) -> Result<(), String> {
        std::env::set_current_dir(path).map_err(|error| tcl_error_text(&error))
    }

    fn process_id(&self) -> u32 {
        std::process::id()
    }

    fn host_name(&self) -> String {
        let name = fs::read_to_string("/proc/sys/kernel/hostname");
        name.map_or_else(|_| "localhost".to_owned(), |name| name.trim().to_owned())
    }
}

impl Backend for ScriptBackend {
    fn build_schema(&mut self, request: &BuildRequest) -> Result<VuserOutcome, String> {
        self.run_job(&request.job_id, &request.output, |lines, _| {
            build::build(request, lines, &self.signals)
        })
    }

    fn check_schema(&mut self, request: &SchemaRequest) -> Result<VuserOutcome, String> {
        self.run_job(&request.job_id, &request.output, |lines, _| {
            schema::check(request, lines, &self.signals)
        })
    }

    fn delete_schema(&mut self, request: &SchemaRequest) -> Result<VuserOutcome, String> {
        self.run_job(&request.job_id, &request.output, |lines, _| {
            schema::delete(request, lines, &self.signals)
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
                signals: &self.signals,
            };
            bench::run(&context, job)
        })
    }

    fn store_settings(&mut self, settings: &Settings) -> Result<(), String> {
        self.settings = settings.clone();
        self.storage.save_settings(settings)
    }

    fn new_job_id(&mut self) -> String {
        let seconds = clock::now_ms() / 1000;
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
