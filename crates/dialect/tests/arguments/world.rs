//! The outside world of a reader: all of it fixed but the files.

use prony_dialect::pgbench::{Host, Level, Voice};
use std::path::Path;

/// A fixed environment, real files, the limits of this process.
pub struct World {
    pub variables: Vec<(&'static str, &'static str)>,
    pub said: String,
    pub open_files: (u64, u64),
    pub voice: Voice,
}

impl World {
    pub fn new(argv0: &str, level: &Level) -> Self {
        Self {
            variables: Vec::new(),
            said: String::new(),
            open_files: (1024, 4096),
            voice: Voice::new(argv0, level),
        }
    }
}

impl Host for World {
    fn variable(&self, name: &str) -> Option<String> {
        let found = self.variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    }

    fn say(&mut self, text: &str) {
        self.said += text;
    }

    fn load_script(&mut self, path: &Path) -> Result<(), String> {
        // What a parser of scripts says of no script at all; standard input is empty in these tests.
        let name = path.display();
        match std::fs::read(path) {
            Ok(script) if !script.is_empty() => Ok(()),
            Err(_) if path != Path::new("-") => Err(self.voice.fatal(&format!(
                "could not open file \"{name}\": No such file or directory"
            ))),
            _ => Err(self
                .voice
                .fatal(&format!("empty command list for script \"{name}\""))),
        }
    }

    fn open_files(&self) -> Option<(u64, u64)> {
        Some(self.open_files)
    }

    fn raise_open_files(&mut self, _to: u64) -> Result<(), String> {
        Ok(())
    }

    fn time_seed(&self) -> u64 {
        1
    }

    fn strong_seed(&self) -> Option<u64> {
        Some(2)
    }

    fn user_name(&self) -> Result<String, String> {
        Ok("somebody".to_owned())
    }
}
