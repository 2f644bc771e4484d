//! An in-memory host for tests of Tcl.

pub mod backend;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use prony_dialect::hammerdb::tcl::{Channel, Host, PathKind, System, TclResult};

#[derive(Default)]
pub struct MemoryHost {
    pub out: String,
    pub error: String,
    pub slept_ms: u64,
    pub files: BTreeMap<String, String>,
    pub folders: BTreeSet<String>,
    pub current_folder: String,
    pub is_stopped: bool,
    /// After how many steps of scripts they are stopped; 0: never.
    max_steps: u64,
    steps: Cell<u64>,
    captured: Option<Vec<String>>,
}

impl MemoryHost {
    pub fn stopping_after(max_steps: u64) -> MemoryHost {
        MemoryHost {
            max_steps,
            ..MemoryHost::default()
        }
    }
}

impl Host for MemoryHost {
    fn call_command(&mut self, name: &str, args: &[String]) -> Option<TclResult> {
        if name == "say" {
            self.put(Channel::Out, &format!("\r{}\n", args.join(" ")));
            return Some(Ok(String::new()));
        }
        (name == "ask").then(|| Ok(format!("asked {}", args.join(","))))
    }
    fn has_command(&self, name: &str) -> bool {
        ["ask", "say"].contains(&name)
    }
    fn system(&self) -> &dyn System {
        self
    }
    fn system_mut(&mut self) -> &mut dyn System {
        self
    }
}

impl System for MemoryHost {
    fn put(&mut self, channel: Channel, text: &str) {
        if let (Channel::Out, Some(captured)) = (channel, &mut self.captured) {
            captured.push(text.to_owned());
            return;
        }
        match channel {
            Channel::Out => self.out.push_str(text),
            Channel::Error => self.error.push_str(text),
        }
    }
    fn start_capture(&mut self) {
        self.captured = Some(Vec::new());
    }
    fn end_capture(&mut self) -> Vec<String> {
        self.captured.take().unwrap_or_default()
    }
    fn is_stopped(&self) -> bool {
        self.steps.set(self.steps.get() + 1);
        self.is_stopped || (self.max_steps > 0 && self.steps.get() > self.max_steps)
    }
    fn list_directory(&self, path: &str) -> Result<Vec<String>, String> {
        let name_in_path = |file: &String| {
            let name =
                if path == "." { file } else { file.strip_prefix(path)?.strip_prefix('/')? };
            (!name.contains('/')).then(|| name.to_owned())
        };
        Ok(self
            .files
            .keys()
            .chain(&self.folders)
            .filter_map(name_in_path)
            .collect())
    }
    fn create_directory(&mut self, path: &str) -> Result<(), String> {
        self.folders.insert(path.to_owned());
        Ok(())
    }
    fn delete_path(&mut self, path: &str, force: bool) -> Result<(), String> {
        let prefix = format!("{path}/");
        if !force && self.files.keys().any(|file| file.starts_with(&prefix)) {
            return Err("directory not empty".to_owned());
        }
        self.files
            .retain(|file, _| file != path && !file.starts_with(&prefix));
        self.folders.remove(path);
        Ok(())
    }
    fn working_directory(&self) -> String {
        format!("/{}", self.current_folder)
    }
    fn change_directory(&mut self, path: &str) -> Result<(), String> {
        self.current_folder = path.trim_start_matches('/').to_owned();
        Ok(())
    }
    fn process_id(&self) -> u32 {
        4242
    }
    fn env_var(&self, name: &str) -> Option<String> {
        let value = match name {
            "FOLDER" => "/t",
            "PGHOST" => "10.0.0.5",
            _ => return None,
        };
        Some(value.to_owned())
    }
    fn sleep(&mut self, ms: u64) {
        self.slept_ms += ms;
    }
    fn now_ms(&self) -> i64 {
        1_795_213_304_500
    }
    fn format_date(&self, seconds: i64, format: Option<&str>, utc: bool) -> Result<String, String> {
        let zone = if utc { " in UTC" } else { "" };
        Ok(format!("{seconds} as {}{zone}", format.unwrap_or("usual")))
    }
    fn read_file(&mut self, path: &str) -> Result<String, String> {
        let text = self.files.get(path).cloned();
        text.ok_or_else(|| "no such file or directory".to_owned())
    }
    fn write_file(&mut self, path: &str, text: &str, append: bool) -> Result<(), String> {
        let file = self.files.entry(path.to_owned()).or_default();
        if !append {
            file.clear();
        }
        file.push_str(text);
        Ok(())
    }
    fn path_kind(&self, path: &str) -> PathKind {
        let prefix = format!("{}/", path.trim_end_matches('/'));
        let mut paths = self.files.keys().chain(&self.folders);
        if self.folders.contains(path) || paths.any(|existing| existing.starts_with(&prefix)) {
            PathKind::Directory
        } else if self.files.contains_key(path) {
            PathKind::File
        } else {
            PathKind::Missing
        }
    }
}
