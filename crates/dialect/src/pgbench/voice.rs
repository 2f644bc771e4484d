//! How pgbench speaks on standard error: program name, level word, text.
//!
//! In: a message. Out: the line or lines. Must never: print.

use super::level::Level;

/// Makes messages as pgbench of a level does.
#[derive(Clone, Debug)]
pub struct Voice {
    progname: String,
    argv0: String,
    /// Up to 14 messages that end the program say `fatal`, and hints and details carry no word.
    has_fatal: bool,
}

impl Voice {
    /// `argv0`: how the program was called; messages begin with its last component, as pgbench's do.
    pub fn new(argv0: &str, level: &Level) -> Self {
        let name = argv0.rsplit('/').next().unwrap_or(argv0);
        Self {
            progname: name.to_owned(),
            argv0: argv0.to_owned(),
            has_fatal: !level.at_least(15),
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

    fn line(&self, word: &str, text: &str) -> String {
        // Server messages come with a line end of their own; one is enough.
        let text = text.strip_suffix('\n').unwrap_or(text);
        format!("{}: {word}{text}\n", self.progname)
    }

    /// An error.
    pub fn error(&self, text: &str) -> String {
        self.line("error: ", text)
    }

    /// An error that ends the program: `fatal` in 13 and 14, `error` since.
    pub fn fatal(&self, text: &str) -> String {
        self.line(if self.has_fatal { "fatal: " } else { "error: " }, text)
    }

    /// A warning.
    pub fn warning(&self, text: &str) -> String {
        self.line("warning: ", text)
    }

    /// Information and debugging output, which carry no word.
    pub fn info(&self, text: &str) -> String {
        self.line("", text)
    }

    /// A further explanation of an error.
    pub fn detail(&self, text: &str) -> String {
        self.line(if self.has_fatal { "" } else { "detail: " }, text)
    }

    /// What to do about an error.
    pub fn hint(&self, text: &str) -> String {
        self.line(if self.has_fatal { "" } else { "hint: " }, text)
    }

    /// The hint after a complaint about options.
    pub fn try_help(&self) -> String {
        let text = format!("Try \"{} --help\" for more information.", self.progname);
        if self.has_fatal {
            return text + "\n";
        }
        self.hint(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_the_level() {
        let new = Voice::new("/x/pgbench", &Level::parse("15").unwrap());
        assert_eq!(new.fatal("no"), "pgbench: error: no\n");
        assert_eq!(new.detail("why"), "pgbench: detail: why\n");
        assert_eq!(new.error("ERROR:  x\n"), "pgbench: error: ERROR:  x\n");
        let old = Voice::new("pgbench", &Level::parse("14").unwrap());
        assert_eq!(old.fatal("no"), "pgbench: fatal: no\n");
        assert_eq!(old.hint("do"), "pgbench: do\n");
        assert_eq!(
            old.try_help(),
            "Try \"pgbench --help\" for more information.\n"
        );
    }
}
