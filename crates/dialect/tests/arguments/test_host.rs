//! The host of the argument parser: everything is fixed except the files.

use prony_dialect::pgbench::{Host, Level, Messages};
use std::path::Path;

/// A fixed environment, real files, the limits of this process.
pub struct TestHost {
    pub variables: Vec<(&'static str, &'static str)>,
    pub stderr: String,
    pub open_files: (u64, u64),
    pub messages: Messages,
}

impl TestHost {
    pub fn new(argv0: &str, level: &Level) -> Self {
        Self {
            variables: Vec::new(),
            stderr: String::new(),
            open_files: (1024, 4096),
            messages: Messages::new(argv0, level),
        }
    }
}

impl Host for TestHost {
    fn env_var(&self, name: &str) -> Option<String> {
        let found = self.variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    }

    fn print_stderr(&mut self, text: &str) {
        self.stderr += text;
    }

    fn load_script(&mut self, path: &Path) -> Result<(), String> {
        // The script parser's message about an empty script; standard input is empty in these tests.
        let name = path.display();
        match std::fs::read(path) {
            Ok(script) if !script.is_empty() => Ok(()),
            Err(_) if path != Path::new("-") => Err(self.messages.fatal(&format!(
                "could not open file \"{name}\": No such file or directory"
            ))),
            _ => Err(self
                .messages
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
