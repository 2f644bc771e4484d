//! One call of sysbench: how it speaks, and how it ends.
//!
//! In: texts and their weight. Out: text on stdout and stderr. Must never: keep a text back: what is
//! printed first must appear first.

use prony_dialect::sysbench::{Level, Printed, Refused, Settings, fatal};
use std::io::{Write, stderr, stdout};
use std::sync::{Mutex, PoisonError};

/// What all parts of a call need.
pub struct Call {
    /// `--verbosity`.
    verbosity: u8,
    /// The arguments without passwords, for the store.
    pub shown: Vec<String>,
}

/// What to do about an error that is about to be told.
struct Advice {
    due: Option<&'static str>,
    /// Threads meet the same error: each text is told once.
    told: Vec<&'static str>,
}

static ADVICE: Mutex<Advice> = Mutex::new(Advice {
    due: None,
    told: Vec::new(),
});

/// Says what to do about an error, on standard error behind the lines of the log that tell it.
pub fn advise(text: Option<&'static str>) {
    let mut advice = ADVICE.lock().unwrap_or_else(PoisonError::into_inner);
    advice.due = text.filter(|text| !advice.told.contains(text));
}

fn give_advice() {
    let mut advice = ADVICE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(text) = advice.due.take() {
        tell(&format!("prony: hint: {text}\n"));
        advice.told.push(text);
    }
}

/// A call that did not do what it was asked.
pub enum Ended {
    /// All has been said; the exit status.
    Status(u8),
    /// The command line is refused.
    Refused(Refused),
}

impl Call {
    /// A call with these settings.
    pub fn new(settings: &Settings, shown: Vec<String>) -> Call {
        Call {
            verbosity: settings.verbosity,
            shown,
        }
    }

    /// Text of the log, which goes to stdout, if it is of weight enough.
    pub fn log(&self, level: Level, text: &str) {
        if level.shows_at(self.verbosity) {
            out(text);
        }
        if level == Level::Fatal {
            give_advice();
        }
    }

    /// Why it ends: the lines of the log. The exit status is 1.
    pub fn fails(&self, lines: &str) -> Ended {
        self.log(Level::Fatal, lines);
        Ended::Status(1)
    }

    /// The same, in words that have no prefix yet.
    pub fn fails_with(&self, text: &str) -> Ended {
        self.fails(&fatal(text))
    }
}

/// Prints what reading a command line has brought forth.
pub fn print(printed: &Printed) {
    out(&printed.stdout);
    tell(&printed.stderr);
}

/// Prints bytes in whatever encoding.
pub fn show(bytes: &[u8]) {
    put(bytes);
}

/// What Prony has to say for itself. Where stderr is closed nobody is told.
pub fn tell(text: &str) {
    let _ = stderr().lock().write_all(text.as_bytes());
}

/// A reader that has gone away ends nothing: the run is still stored.
fn out(text: &str) {
    put(text.as_bytes());
}

fn put(bytes: &[u8]) {
    let mut out = stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}
