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
    /// A value that an option of this workload does not take.
    #[error("{key} = {value} is not {what}\n  hint: {hint}")]
    Value {
        /// The option.
        key: String,
        /// Its value as the plan has it.
        value: String,
        /// What it should be, with its article.
        what: &'static str,
        /// Values that it takes.
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
    #[error("{doing}: {source}{}", source.hint().map_or(String::new(), |hint| format!("\n  hint: {hint}")))]
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
    /// What is wrong, without what is left behind and what to do.
    pub fn problem(&self) -> String {
        match self {
            Error::UnknownWorkload { name, .. } => format!("there is no workload named \"{name}\""),
            Error::Asked { problem, .. }
            | Error::Data { problem, .. }
            | Error::LoadFailed { problem, .. } => problem.clone(),
            Error::Value {
                key, value, what, ..
            } => format!("{key} = {value} is not {what}"),
            Error::Server { doing, source } => format!("{doing}: {source}"),
            Error::Stopped { .. } => "the load was stopped".to_owned(),
        }
    }

    /// What is left behind and what to do, each a line that begins with its label.
    pub fn advice(&self) -> Vec<String> {
        let whole = self.to_string();
        let rest = whole.strip_prefix(&self.problem()).unwrap_or_default();
        let lines = rest.lines().map(str::trim_start);
        lines
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// Whether this is the user's own stop, not a failure.
    pub fn is_stop(&self) -> bool {
        matches!(self, Error::Stopped { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_and_advice_are_the_whole_text() {
        let stopped = Error::Stopped {
            remains: "nothing".to_owned(),
        };
        assert_eq!(stopped.problem(), "the load was stopped");
        assert_eq!(stopped.advice(), ["left behind: nothing"]);
        let failed = Error::LoadFailed {
            problem: "a: b".to_owned(),
            remains: "c".to_owned(),
            hint: "d".to_owned(),
        };
        assert_eq!(failed.problem(), "a: b");
        assert_eq!(failed.advice(), ["left behind: c", "hint: d"]);
        let unknown = Error::UnknownWorkload {
            name: "x".to_owned(),
            hint: "y".to_owned(),
        };
        assert_eq!(unknown.advice(), ["hint: y"]);
    }
}
