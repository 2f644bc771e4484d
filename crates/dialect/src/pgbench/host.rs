//! The argument parser's access to the system.

use std::path::Path;

/// The argument parser's access to the system.
pub trait Host {
    /// An environment variable; `None` if it is not set.
    fn env_var(&self, name: &str) -> Option<String>;

    /// Prints text to standard error immediately.
    fn print_stderr(&mut self, text: &str);

    /// Reads, parses and stores the script of an option `-f`; `-` is standard input. Scripts and builtin
    /// scripts are numbered together, in the order of the options.
    ///
    /// # Errors
    /// The complete text for standard error; pgbench then exits with 1.
    fn load_script(&mut self, path: &Path) -> Result<(), String>;

    /// The soft limit and the hard limit of open files; `None` if there are no limits.
    fn open_file_limits(&self) -> Option<(u64, u64)>;

    /// Raises the soft limit of open files.
    ///
    /// # Errors
    /// The system's error message.
    fn raise_open_file_limit(&mut self, limit: u64) -> Result<(), String>;

    /// A seed from the current time.
    fn time_seed(&self) -> u64;

    /// A seed from the system's random number generator; `None` if there is no generator.
    fn strong_seed(&self) -> Option<u64>;

    /// The name of the operating system's user.
    ///
    /// # Errors
    /// The message that pgbench prints.
    fn user_name(&self) -> Result<String, String>;
}
