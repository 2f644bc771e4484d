//! Documented command lines of pgbench and sysbench are parsed by the code that parses them in Prony.
//!
//! Must never: read a file; every script that a command line names counts as readable.

use prony_dialect::{pgbench, sysbench};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A system without environment variables, on which every file exists.
struct DocumentationHost;

impl pgbench::Host for DocumentationHost {
    fn env_var(&self, _: &str) -> Option<String> {
        None
    }

    fn print_stderr(&mut self, _: &str) {}

    fn load_script(&mut self, _: &Path) -> Result<(), String> {
        Ok(())
    }

    fn open_file_limits(&self) -> Option<(u64, u64)> {
        None
    }

    fn raise_open_file_limit(&mut self, _: u64) -> Result<(), String> {
        Ok(())
    }

    fn time_seed(&self) -> u64 {
        1
    }

    fn strong_seed(&self) -> Option<u64> {
        None
    }

    fn user_name(&self) -> Result<String, String> {
        Ok("bench".to_owned())
    }
}

impl sysbench::Host for DocumentationHost {
    fn find_script(&self, name: &str) -> Option<PathBuf> {
        Path::new(name)
            .extension()
            .is_some_and(|extension| extension == "lua")
            .then(|| PathBuf::from(name))
    }

    fn read_file(&self, _: &Path) -> Result<String, String> {
        Ok(String::new())
    }
}

/// The problem with the arguments of a replaced tool, if any; `None` too for other programs.
pub fn problem(program: &str, arguments: &[String]) -> Option<String> {
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    let mut host = DocumentationHost;
    match program {
        "pgbench" => {
            let parsed =
                pgbench::parse_args(program, &arguments, &pgbench::Level::default(), &mut host);
            parsed.err()
        }
        "sysbench" => {
            let parsed = sysbench::parse_args(&arguments, sysbench::Compat::V1_0, &host);
            let sysbench::UsageError(output) = parsed.err()?;
            Some(output.stderr + &output.stdout)
        }
        _ => None,
    }
}
