//! What the argument parser needs from its caller, and its error.

use std::path::Path;

/// Access to the system that the argument parser needs.
pub trait Host {
    /// An environment variable; none if it is not set.
    fn env_var(&self, name: &str) -> Option<String>;

    /// Prints text to standard error now, before anything that follows.
    fn print_stderr(&mut self, text: &str);

    /// Reads, parses and stores the script of an `-f` (`-` is standard input). Scripts and builtins share one
    /// numbering, in order.
    ///
    /// # Errors
    /// The complete text for standard error; pgbench then exits with 1.
    fn load_script(&mut self, path: &Path) -> Result<(), String>;

    /// The soft and hard limit of open files; none if there are no limits.
    fn open_files(&self) -> Option<(u64, u64)>;

    /// Raises the soft limit of open files.
    ///
    /// # Errors
    /// The system's reason.
    fn raise_open_files(&mut self, to: u64) -> Result<(), String>;

    /// A seed from the clock.
    fn time_seed(&self) -> u64;

    /// A seed from the system's random number generator; none if it has none.
    fn strong_seed(&self) -> Option<u64>;

    /// The name of the operating-system user.
    ///
    /// # Errors
    /// The text of pgbench's error.
    fn user_name(&self) -> Result<String, String>;
}

/// pgbench's error about a command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{stderr}")]
pub struct UsageError {
    /// The complete text for standard error, line feeds included.
    pub stderr: String,
    /// The exit status.
    pub exit_status: u8,
}

impl UsageError {
    pub(crate) fn new(stderr: String) -> Self {
        Self {
            stderr,
            exit_status: 1,
        }
    }
}
