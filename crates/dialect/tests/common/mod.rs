//! A host for the parser of pgbench's arguments, with a fixed environment.

use prony_dialect::pgbench::{Host, Invocation, Level, Messages, parse_args};
use std::ffi::OsString;
use std::path::Path;

pub struct TestHost {
    /// Whether scripts are real files; otherwise all exist.
    pub reads_scripts: bool,
    pub variables: Vec<(&'static str, &'static str)>,
    pub stderr: String,
    pub open_files: (u64, u64),
    pub messages: Messages,
}

impl TestHost {
    pub fn new(argv0: &str, level: &Level) -> Self {
        Self {
            reads_scripts: true,
            variables: Vec::new(),
            stderr: String::new(),
            open_files: (1024, 4096),
            messages: Messages::new(argv0, level),
        }
    }
}

/// Parses a command line with a space between its arguments.
#[allow(dead_code, reason = "not every test parses lines")]
pub fn parse_line(line: &str, level: &Level, host: &mut TestHost) -> Result<Invocation, String> {
    let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
    parse_args("pgbench", &arguments, level, host)
}

impl Host for TestHost {
    fn env_var(&self, name: &str) -> Option<String> {
        let mut variables = self.variables.iter();
        let variable = variables.find(|(variable, _)| *variable == name);
        variable.map(|(_, value)| (*value).to_owned())
    }

    fn print_stderr(&mut self, text: &str) {
        self.stderr += text;
    }

    fn load_script(&mut self, path: &Path) -> Result<(), String> {
        // Empty scripts cause the script parser's message; standard input is empty in these tests.
        let name = path.display();
        if !self.reads_scripts {
            return Ok(());
        }
        match std::fs::read(path) {
            Ok(script) if !script.is_empty() => Ok(()),
            Err(_) if path != Path::new("-") => {
                let problem = format!("could not open file \"{name}\": No such file or directory");
                Err(self.messages.fatal(&problem))
            }
            _ => {
                let problem = format!("empty command list for script \"{name}\"");
                Err(self.messages.fatal(&problem))
            }
        }
    }

    fn open_file_limits(&self) -> Option<(u64, u64)> {
        Some(self.open_files)
    }

    fn raise_open_file_limit(&mut self, _limit: u64) -> Result<(), String> {
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
