//! An outside world of memory, for the tests of Tcl.

pub mod world;

use std::collections::BTreeMap;

use prony_dialect::hammerdb::tcl::{Channel, Host, Outcome, PathKind};

#[derive(Default)]
pub struct Memory {
    pub out: String,
    pub error: String,
    pub slept_ms: u64,
    pub files: BTreeMap<String, String>,
}

impl Host for Memory {
    fn call(&mut self, name: &str, args: &[String]) -> Option<Outcome> {
        (name == "ask").then(|| Ok(format!("asked {}", args.join(","))))
    }
    fn put(&mut self, channel: Channel, text: &str) {
        match channel {
            Channel::Out => self.out.push_str(text),
            Channel::Error => self.error.push_str(text),
        }
    }
    fn variable(&self, name: &str) -> Option<String> {
        (name == "TMP").then(|| "/t".to_owned())
    }
    fn sleep(&mut self, ms: u64) {
        self.slept_ms += ms;
    }
    fn now_ms(&self) -> i64 {
        1_795_213_304_500
    }
    fn date(&self, seconds: i64, format: Option<&str>) -> Result<String, String> {
        Ok(format!("{seconds} as {}", format.unwrap_or("usual")))
    }
    fn read_file(&mut self, path: &str) -> Result<String, String> {
        let found = self.files.get(path).cloned();
        found.ok_or_else(|| "no such file or directory".to_owned())
    }
    fn write_file(&mut self, path: &str, text: &str, at_end: bool) -> Result<(), String> {
        let file = self.files.entry(path.to_owned()).or_default();
        if !at_end {
            file.clear();
        }
        file.push_str(text);
        Ok(())
    }
    fn path_kind(&self, path: &str) -> PathKind {
        if self.files.contains_key(path) {
            PathKind::File
        } else {
            PathKind::Missing
        }
    }
}
