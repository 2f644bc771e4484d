//! This process: its program name, arguments and environment, which the tools read in the same way.

use crate::{hammerdb, pgbench, sysbench};
use prony_server::secrets;
use std::ffi::OsString;
use std::process::ExitCode;

/// A replaced tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Pgbench,
    Sysbench,
    Hammerdbcli,
}

impl Tool {
    /// The tool with whose name the program's name begins, as that of a link to Prony does.
    pub fn of_program(argv0: &str) -> Option<Tool> {
        let name = argv0.rsplit('/').next()?;
        let tools = [
            ("pgbench", Tool::Pgbench),
            ("sysbench", Tool::Sysbench),
            ("hammerdbcli", Tool::Hammerdbcli),
        ];
        let (_, tool) = tools.into_iter().find(|(tool, _)| name.starts_with(tool))?;
        Some(tool)
    }

    /// Runs as the tool. `argv0`: the name by which it was called.
    pub fn run(self, argv0: &str, arguments: &[OsString]) -> ExitCode {
        match self {
            Tool::Pgbench => pgbench::main(argv0, arguments),
            Tool::Sysbench => sysbench::main(arguments),
            Tool::Hammerdbcli => hammerdb::main(arguments),
        }
    }
}

/// An environment variable, with replacement characters for bytes that are not UTF-8.
pub(crate) fn env_var(name: &str) -> Option<String> {
    Some(std::env::var_os(name)?.to_string_lossy().into_owned())
}

/// The arguments without passwords, for the Run document.
pub(crate) fn redacted(arguments: &[OsString]) -> Vec<String> {
    let redact = |argument: &OsString| secrets::redact_argument(&argument.to_string_lossy());
    arguments.iter().map(redact).collect()
}

#[cfg(test)]
mod tests {
    use super::Tool;

    #[test]
    fn links_are_recognized_by_name() {
        for name in ["hammerdbcli", "./hammerdbcli", "/usr/bin/hammerdbcli-4.6"] {
            assert_eq!(Tool::of_program(name), Some(Tool::Hammerdbcli), "{name}");
        }
        assert_eq!(Tool::of_program("bin/pgbench-15"), Some(Tool::Pgbench));
        assert_eq!(Tool::of_program("/usr/bin/sysbench"), Some(Tool::Sysbench));
        for name in ["prony", "/hammerdbcli/prony", "hammerdb", ""] {
            assert_eq!(Tool::of_program(name), None, "{name}");
        }
    }
}
