//! What can go wrong around a workload, in the user's words.
//!
//! In: facts. Out: a line that says what, and a line that says what to do. Must never: hold a
//! password.

/// Why a workload cannot be loaded, checked, cleaned or run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No workload has this name.
    #[error("there is no workload named \"{name}\"\n  hint: {hint}")]
    UnknownWorkload {
        /// As asked.
        name: String,
        /// The nearest name, and all names.
        hint: String,
    },
    /// A scale, number of loaders or option that this workload does not take.
    #[error("{problem}\n  hint: {hint}")]
    Asked {
        /// What is wrong.
        problem: String,
        /// What to ask instead.
        hint: String,
    },
    /// The tables are missing, incomplete, of another scale, or not this workload's.
    #[error("{problem}\n  hint: {hint}")]
    Data {
        /// What was found.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// The server could not be reached, refused a statement or went away.
    #[error("{doing}: {source}")]
    Server {
        /// What was being done.
        doing: String,
        /// What the server or the connection said.
        source: prony_server::control::Error,
    },
    /// A load did not come to its end.
    #[error("{problem}\n  left behind: {remains}\n  hint: {hint}")]
    LoadFailed {
        /// What failed, and why.
        problem: String,
        /// What stands in the database now.
        remains: String,
        /// What to do.
        hint: String,
    },
    /// The user stopped a load.
    #[error("the load was stopped\n  left behind: {remains}")]
    Stopped {
        /// What stands in the database now.
        remains: String,
    },
}

impl Error {
    /// Whether this is the user's own stop, not a failure.
    pub fn is_stop(&self) -> bool {
        matches!(self, Error::Stopped { .. })
    }
}
