//! A problem in a plan, with its location and a hint.
//!
//! A problem never quotes a connection URL, which may contain a password.

use std::fmt::{self, Write as _};

/// Maximum number of problems that are reported one by one: nobody reads more.
pub const MAX_PROBLEMS: usize = 100;

/// The location of a value in a plan file or on a command line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum InputLocation {
    /// A place in a TOML file.
    File {
        /// Name of the file as the user wrote it.
        file: String,
        /// Line and column, both from 1, the column in characters; absent for a missing key.
        line_and_column: Option<(usize, usize)>,
        /// Path of the key, such as `run.clients`; empty for the text as a whole.
        key: String,
    },
    /// A flag of the command line, such as `--clients`.
    Flag(String),
    /// The path of a key that is missing, or that a program set.
    Key(String),
}

impl Default for InputLocation {
    fn default() -> InputLocation {
        InputLocation::Key(String::new())
    }
}

impl InputLocation {
    /// Whether it is in `[sweep]`, or a flag `--sweep` or `--vary`.
    pub fn is_sweep(&self) -> bool {
        match self {
            Self::File { key, .. } => key.starts_with("sweep."),
            Self::Flag(name) => name.starts_with("--sweep ") || name.starts_with("--vary "),
            Self::Key(_) => false,
        }
    }

    /// Sort key: problems of a file first, in the order of its lines, then the others.
    fn sort_key(&self) -> (u8, Option<(usize, usize)>) {
        match self {
            // Missing keys have no line and come last.
            Self::File {
                line_and_column, ..
            } => (0, Some(line_and_column.unwrap_or((usize::MAX, 0)))),
            Self::Flag(_) => (1, None),
            Self::Key(_) => (2, None),
        }
    }
}

impl fmt::Display for InputLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File {
                file,
                line_and_column,
                key,
            } => {
                write_on_one_line(f, file)?;
                if let Some((line, column)) = line_and_column {
                    write!(f, ":{line}:{column}")?;
                }
                if !key.is_empty() {
                    f.write_str(" (")?;
                    write_on_one_line(f, key)?;
                    f.write_str(")")?;
                }
                Ok(())
            }
            Self::Flag(name) => f.write_str(name),
            Self::Key(key) => write_on_one_line(f, key),
        }
    }
}

/// Writes a name of the user's, such as that of a variant, whose line breaks would look like those of the message.
fn write_on_one_line(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    name.chars().try_for_each(|letter| {
        if letter.is_control() {
            write!(f, "{}", letter.escape_default())
        } else {
            f.write_char(letter)
        }
    })
}

/// What is wrong with a value of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub location: InputLocation,
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(location: InputLocation, message: impl Into<String>) -> Self {
        Self {
            location,
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

/// All problems of a plan, in the order of their locations; as an error never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    pub(crate) fn sorted(mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.location.sort_key());
        let omitted = problems.len().saturating_sub(MAX_PROBLEMS);
        if let Some(first) = problems.get(MAX_PROBLEMS).filter(|_| omitted > 1) {
            let message = format!("and {omitted} problems from here on");
            let summary = Problem::new(first.location.clone(), message);
            problems.truncate(MAX_PROBLEMS);
            problems.push(summary.with_hint("correct the others first"));
        }
        Self(problems)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn a_location_is_on_one_line() {
        let location = InputLocation::File {
            file: "plan.toml".to_owned(),
            line_and_column: Some((3, 1)),
            key: "variants.a\nb.run".to_owned(),
        };
        assert_eq!(location.to_string(), "plan.toml:3:1 (variants.a\\nb.run)");
    }

    #[test]
    fn each_problem_is_printed_with_its_hint() {
        let file = |line_and_column, key: &str| InputLocation::File {
            file: "p.toml".to_owned(),
            line_and_column,
            key: key.to_owned(),
        };
        let problems = Problems::sorted(vec![
            Problem::new(
                InputLocation::Flag("--rate".to_owned()),
                "must be more than 0",
            ),
            Problem::new(file(None, "workload.name"), "is missing"),
            Problem::new(file(Some((7, 3)), "run.rate"), "is odd").with_hint("make it even"),
        ]);
        assert_eq!(
            problems.to_string(),
            "p.toml:7:3 (run.rate): is odd\n  hint: make it even\n\
             p.toml (workload.name): is missing\n\
             --rate: must be more than 0"
        );
        let many = (0..100_000).map(|line| Problem::new(file(Some((line, 1)), "x"), "is odd"));
        let problems = Problems::sorted(many.collect());
        assert_eq!(problems.0.len(), MAX_PROBLEMS + 1);
        let last = problems.0[MAX_PROBLEMS].to_string();
        last.assert_starts_with("p.toml:100:1 (x): and 99900 problems");
    }
}
