//! Gives scripts access to this process and its files.

use super::clock;
use crate::output::{eprint, print};
use crate::process::env_var;
use jiff::Timestamp;
use prony_dialect::hammerdb::tcl::{Channel, PathKind, System};
use prony_runner::Signals;
use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// This process, as a script sees it.
pub struct ScriptSystem {
    /// The signals that end the script.
    pub signals: Signals,
    /// Environment variables that the script has set.
    env_overrides: HashMap<String, String>,
    /// The captured output, while the script captures it ([`System::start_capture`]).
    captured: Option<Vec<String>>,
}

impl ScriptSystem {
    /// The process before a script starts.
    pub fn new(signals: Signals) -> ScriptSystem {
        ScriptSystem {
            signals,
            env_overrides: HashMap::new(),
            captured: None,
        }
    }
}

/// The system's error message as Tcl prints it: in lower case, without the error number.
fn tcl_error_text(error: &io::Error) -> String {
    prony_plan::system_error(error).to_lowercase()
}

impl System for ScriptSystem {
    fn put(&mut self, channel: Channel, text: &str) {
        if let (Channel::Out, Some(captured)) = (channel, &mut self.captured) {
            captured.push(text.to_owned());
            return;
        }
        match channel {
            Channel::Out => print(text),
            Channel::Error => eprint(text),
        }
    }

    fn start_capture(&mut self) {
        self.captured = Some(Vec::new());
    }

    fn end_capture(&mut self) -> Vec<String> {
        self.captured.take().unwrap_or_default()
    }

    fn set_env_var(&mut self, name: &str, value: &str) {
        self.env_overrides.insert(name.to_owned(), value.to_owned());
    }

    fn env_var(&self, name: &str) -> Option<String> {
        let set_by_script = self.env_overrides.get(name).cloned();
        set_by_script.or_else(|| env_var(name))
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
        Timestamp::now().as_millisecond()
    }

    fn now_us(&self) -> i64 {
        Timestamp::now().as_microsecond()
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
        let mut options = OpenOptions::new();
        options.create(true).append(append);
        options.write(!append).truncate(!append);
        let opened = options.open(path);
        let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| tcl_error_text(&error))
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
            // As in Tcl, deleting what does not exist is not an error.
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
