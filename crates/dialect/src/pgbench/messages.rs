//! Formats pgbench's messages on standard error: program name, severity, text.
//!
//! The caller prints them.

use super::level::Level;

/// Formats messages as one level of pgbench does.
#[derive(Clone, Debug)]
pub struct Messages {
    progname: String,
    argv0: String,
    /// Whether messages that end the program begin with `fatal`, as up to level 14. At these levels, hints
    /// and details have no prefix.
    uses_fatal_severity: bool,
}

impl Messages {
    /// `argv0`: the name by which the program was called; messages begin with its last component.
    pub fn new(argv0: &str, level: &Level) -> Self {
        let name = argv0.rsplit('/').next().unwrap_or(argv0);
        Self {
            progname: name.to_owned(),
            argv0: argv0.to_owned(),
            uses_fatal_severity: !level.at_least(15),
        }
    }

    /// The program's name without folders.
    pub fn progname(&self) -> &str {
        &self.progname
    }

    /// The program's name as typed.
    pub fn argv0(&self) -> &str {
        &self.argv0
    }

    fn line(&self, severity: &str, text: &str) -> String {
        // Server messages already end with a line feed.
        let text = text.strip_suffix('\n').unwrap_or(text);
        format!("{}: {severity}{text}\n", self.progname)
    }

    pub fn error(&self, text: &str) -> String {
        self.line("error: ", text)
    }

    /// An error that ends the program: `fatal` in 13 and 14, `error` since then.
    pub fn fatal(&self, text: &str) -> String {
        self.line(self.severity("fatal: ", "error: "), text)
    }

    /// The severity up to level 14, or since 15.
    fn severity(&self, before: &'static str, since_15: &'static str) -> &'static str {
        if self.uses_fatal_severity { before } else { since_15 }
    }

    pub fn warning(&self, text: &str) -> String {
        self.line("warning: ", text)
    }

    /// Information and debugging output, without a severity.
    pub fn info(&self, text: &str) -> String {
        self.line("", text)
    }

    pub fn detail(&self, text: &str) -> String {
        self.line(self.severity("", "detail: "), text)
    }

    pub fn hint(&self, text: &str) -> String {
        self.line(self.severity("", "hint: "), text)
    }

    /// The hint after an error in the options.
    pub fn try_help(&self) -> String {
        let text = format!("Try \"{} --help\" for more information.", self.progname);
        if self.uses_fatal_severity {
            return text + "\n";
        }
        self.hint(&text)
    }
}
