//! What lies outside of the reading of arguments, and how it ends badly.
//!
//! In: nothing. Out: the trait that a caller implements, and pgbench's refusal. Must never: hold logic.

use std::path::Path;

/// What reading arguments needs from outside.
pub trait Host {
    /// An environment variable; none if it is not set.
    fn variable(&self, name: &str) -> Option<String>;

    /// Text for standard error that must appear now, before anything that follows.
    fn say(&mut self, text: &str);

    /// Reads and parses the script of an `-f` (`-` is standard input) and keeps it; scripts are
    /// numbered together with builtins, in order.
    ///
    /// # Errors
    /// The whole text for standard error; pgbench then ends with 1.
    fn load_script(&mut self, path: &Path) -> Result<(), String>;

    /// The soft and the hard limit of open files; none where there are no limits.
    fn open_files(&self) -> Option<(u64, u64)>;

    /// Raises the soft limit of open files.
    ///
    /// # Errors
    /// The system's reason.
    fn raise_open_files(&mut self, to: u64) -> Result<(), String>;

    /// A seed from the clock.
    fn time_seed(&self) -> u64;

    /// A seed from the system's random numbers; none if it has none.
    fn strong_seed(&self) -> Option<u64>;

    /// The name of the operating system's user.
    ///
    /// # Errors
    /// The text of pgbench's error.
    fn user_name(&self) -> Result<String, String>;
}

/// pgbench's refusal of a command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{stderr}")]
pub struct Refused {
    /// The whole text for standard error, line ends included.
    pub stderr: String,
    /// The exit status.
    pub exit_status: u8,
}

impl Refused {
    pub(crate) fn new(stderr: String) -> Self {
        Self {
            stderr,
            exit_status: 1,
        }
    }
}
