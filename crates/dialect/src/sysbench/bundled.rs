//! The database tests that sysbench bundles: commands, options and help.
//!
//! The statements of a test belong to its workload (`prony_workload`).

use super::compat::Compat;
use super::spec::{self, OptionSpec};

/// The section of `tests.txt` with the options that all tests except `bulk_insert` share.
const SHARED_GROUP: &str = "all but bulk_insert";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Creates and fills the tables.
    Prepare,
    /// Reads the tables into the server's memory; on MySQL only.
    Prewarm,
    Run,
    /// Drops the tables.
    Cleanup,
    /// Lists the options.
    Help,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundledTest {
    /// The name of the test and of Prony's workload.
    pub name: &'static str,
    /// Whether the test declares options. `bulk_insert` does not, and therefore accepts and ignores any
    /// option.
    pub declares_options: bool,
}

const fn test(name: &'static str) -> BundledTest {
    BundledTest {
        name,
        declares_options: true,
    }
}

pub const BUNDLED_TESTS: &[BundledTest] = &[
    test("oltp_read_write"),
    test("oltp_read_only"),
    test("oltp_write_only"),
    test("oltp_point_select"),
    test("oltp_insert"),
    test("oltp_delete"),
    test("oltp_update_index"),
    test("oltp_update_non_index"),
    test("select_random_points"),
    test("select_random_ranges"),
    BundledTest {
        name: "bulk_insert",
        declares_options: false,
    },
];

/// Tests of sysbench that measure no database; Prony does not implement them.
pub const NON_DATABASE_TESTS: &[&str] = &["fileio", "cpu", "memory", "threads", "mutex"];

impl BundledTest {
    /// The test with this name, or the one whose script a path names.
    pub fn of_name(name_or_path: &str) -> Option<&'static BundledTest> {
        let file = name_or_path.rsplit('/').next().unwrap_or(name_or_path);
        let name = match file.strip_suffix(".lua") {
            Some(stem) => stem,
            // A path without `.lua` is not a script.
            None if file != name_or_path => return None,
            None => file,
        };
        BUNDLED_TESTS.iter().find(|test| test.name == name)
    }

    /// The options in the order of their names.
    pub fn options(&self, compat: Compat) -> Vec<&'static OptionSpec> {
        if !self.declares_options {
            return Vec::new();
        }
        let belongs_to_test =
            |spec: &&OptionSpec| spec.group == self.name || spec.group == SHARED_GROUP;
        let mut options: Vec<_> = spec::test_options(compat).filter(belongs_to_test).collect();
        options.sort_by_key(|spec| spec.name);
        options
    }

    /// The command with this name; `None` if the test does not have it.
    pub fn command(&self, name: &str, compat: Compat) -> Option<Command> {
        Some(match name {
            "prepare" => Command::Prepare,
            "prewarm" if self.declares_options => Command::Prewarm,
            "warmup" if self.declares_options && compat == Compat::V1_1 => Command::Prewarm,
            "run" => Command::Run,
            "cleanup" => Command::Cleanup,
            "help" => Command::Help,
            _ => return None,
        })
    }

    /// The text of `help` after the banner, if the test was called by `name`.
    ///
    /// # Errors
    /// sysbench's error about a test without help.
    pub fn help(&self, name: &str, compat: Compat) -> Result<String, String> {
        if !self.declares_options {
            return Err(format!(
                "'{name}' test does not implement the 'help' command."
            ));
        }
        let lines = spec::help_lines(&self.options(compat));
        Ok(format!("{name} options:\n{lines}\n"))
    }

    /// The option with this name; `-` and `_` are equivalent.
    pub fn option(&self, name: &str, compat: Compat) -> Option<&'static OptionSpec> {
        let name = spec::option_key(name);
        let mut options = self.options(compat).into_iter();
        options.find(|spec| spec.name == name)
    }
}
