//! What the front asks of a script that was read.
//!
//! In: nothing. Out: what a word means, why a script is refused. Must never: hold a password.

/// What the second word of a command line means to a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The load.
    Run,
    /// A command of the script, carried out once.
    Once,
    /// A command of the script, carried out by every thread.
    Parallel,
    /// A function of the script named like the command: `prepare`, `cleanup`; carried out once.
    Function,
    /// The script's help, on the front's own thread.
    Help,
    /// sysbench knows the command, and the script has none.
    Missing,
    /// Nobody knows it.
    Unknown,
}

/// Why a script cannot be read or run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The command line is wrong: for standard error, line end included.
    #[error("{0}")]
    Usage(String),
    /// The script is wrong.
    #[error("{0}")]
    Fatal(String),
    /// One of its functions gave up.
    #[error("`{function}' function failed: {reason}")]
    Function {
        /// What sysbench calls it.
        function: String,
        /// Why, with file and line where they are known.
        reason: String,
    },
}
