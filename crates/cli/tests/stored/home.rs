//! A separate store for one test, on which it runs `prony`.

use prony_assertions::TestFolder;
use serde_json::Value;
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

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(arguments);
        command.env("PRONY_HOME", &self.0).env("NO_COLOR", "1");
        command
    }

    /// Runs the program to its end.
    pub fn prony(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("it starts")
    }

    /// Runs the program, asserts its exit code and returns its standard output.
    pub fn run(&self, arguments: &[&str], code: i32) -> String {
        self.texts(arguments, code).0
    }

    /// Like [`Home::run`], but returns what it wrote to standard error.
    pub fn messages(&self, arguments: &[&str], code: i32) -> String {
        self.texts(arguments, code).1
    }

    /// Runs a command that succeeds; returns the JSON that it prints.
    pub fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.run(arguments, 0)).expect("JSON")
    }

    pub fn texts(&self, arguments: &[&str], code: i32) -> (String, String) {
        let output = self.prony(arguments);
        let [text, errors] = [output.stdout, output.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let ended = output.status.code();
        assert_eq!(ended, Some(code), "{arguments:?}:\n{text}\n{errors}");
        (text, errors)
    }
}
