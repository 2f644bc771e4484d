//! Errors in the parts that a user reads: the problem, its context, and a hint.
//!
//! Errors that reach a user implement [`UserError`], so that no caller has to extract the hint from a
//! message. `Display` joins the parts for logs, and for callers that print a single text.

use std::fmt;

/// The parts of an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorParts {
    /// The problem; may have several lines, as a server's message has.
    pub problem: String,
    /// What explains the problem: the folders that were tried, the end of a log, the tables that a load left
    /// behind. May have several lines.
    pub details: Option<String>,
    /// What to do; may have several lines.
    pub hint: Option<String>,
}

/// The system's error message, without the number that std appends, such as `(os error 2)`.
pub fn system_error(error: &(impl fmt::Display + ?Sized)) -> String {
    let text = error.to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// An error that is shown to a user.
pub trait UserError: std::error::Error {
    /// The parts of the error. None of them contains a password.
    fn parts(&self) -> ErrorParts;
}

impl ErrorParts {
    /// A problem without details and hint.
    pub fn new(problem: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn with_details(mut self, details: impl Into<String>) -> Self {
        add_lines(&mut self.details, details.into());
        self
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        add_lines(&mut self.hint, hint.into());
        self
    }

    #[must_use]
    pub fn with_optional_hint(self, hint: Option<impl Into<String>>) -> Self {
        match hint {
            Some(hint) => self.with_hint(hint),
            None => self,
        }
    }

    /// Puts text before the problem, such as what failed because of it.
    #[must_use]
    pub fn with_context(mut self, context: impl std::fmt::Display) -> Self {
        self.problem.insert_str(0, &context.to_string());
        self
    }

    /// The problem, and after a semicolon the hint.
    pub fn sentence(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}; {hint}", self.problem),
            None => self.problem.clone(),
        }
    }

    /// The problem, then each line of the details and the hint on indented lines.
    pub fn paragraph(&self) -> String {
        let mut text = self.problem.clone();
        for line in self.details.iter().flat_map(|details| details.lines()) {
            text += &format!("\n  {line}");
        }
        if let Some(hint) = &self.hint {
            text += &format!("\n  hint: {}", hint.replace('\n', "\n  "));
        }
        text
    }
}

/// Appends lines to a text, or makes them the text.
fn add_lines(text: &mut Option<String>, lines: String) {
    match text {
        Some(text) => {
            text.push('\n');
            text.push_str(&lines);
        }
        None => *text = Some(lines),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_into_a_sentence_or_a_paragraph() {
        let bare = ErrorParts::new("disk full");
        assert_eq!(bare.sentence(), "disk full");
        assert_eq!(bare.paragraph(), "disk full");
        let parts = bare
            .with_context("loading: ")
            .with_details("a\nb")
            .with_hint("make room")
            .with_hint("or stop");
        assert_eq!(parts.hint.as_deref(), Some("make room\nor stop"));
        assert_eq!(
            parts.paragraph(),
            "loading: disk full\n  a\n  b\n  hint: make room\n  or stop"
        );
    }
}
