//! The commands of a script, and the errors of reading or running it. Messages never contain a password.

/// The command that the second word of a command line selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Run,
    /// Run a command or function of the script once.
    Once,
    /// Run a command of the script in every thread.
    Parallel,
    /// Print the script's help.
    Help,
    /// A command that sysbench knows, but the script does not define.
    Missing,
    /// A command that neither sysbench nor the script knows.
    Unknown,
}

/// An error that prevents a script from being read or run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LuaScriptError {
    /// The command line is invalid; the text is for standard error and ends in a newline.
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Fatal(String),
    /// A function of the script failed.
    #[error("`{function}' function failed: {reason}")]
    Function {
        function: String,
        /// The reason, with file and line if they are known.
        reason: String,
    },
}
