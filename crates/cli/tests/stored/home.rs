//! A separate store for one test, on which it runs `prony`.

use prony_assertions::TestFolder;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// A store and a folder for files of the test, removed at the end.
pub struct Home(pub TestFolder);

impl Home {
    pub fn new() -> Home {
        let folder = TestFolder::create();
        std::fs::create_dir(folder.join("runs")).expect("a folder");
        Home(folder)
    }

    /// Writes a file; returns its path.
    pub fn write_file(&self, name: &str, text: &str) -> String {
        self.0.write(name, text).display().to_string()
    }

    pub fn store(&self, run: &Value) {
        let id = run["id"].as_str().expect("an id");
        self.write_file(&format!("runs/{id}.json"), &run.to_string());
    }

    /// Runs the program to its end.
    pub fn prony(&self, arguments: &[&str]) -> Output {
        Command::new(Path::new(env!("CARGO_BIN_EXE_prony")))
            .args(arguments)
            .env("PRONY_HOME", &self.0)
            .env("NO_COLOR", "1")
            .output()
            .expect("it starts")
    }

    /// Runs the program, asserts its exit code and returns its standard output.
    pub fn run(&self, arguments: &[&str], code: i32) -> String {
        let output = self.prony(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}:\n{text}\n{errors}"
        );
        text
    }
}
