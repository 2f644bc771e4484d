//! One call of pgbench: how it speaks.
//!
//! In: the name it was called by, the arguments. Out: text on stdout and stderr. Must never: keep a
//! text back: what is printed first must appear first.

use prony_dialect::pgbench::{Level, Voice};
use std::io::{Write, stderr, stdout};

/// What all parts of a call need.
pub struct Call {
    /// Which pgbench is spoken.
    pub level: Level,
    /// How messages begin.
    pub voice: Voice,
    /// The arguments without passwords, for the store.
    pub shown: Vec<String>,
}

impl Call {
    /// Text for stderr.
    pub fn tell(&self, text: &str) {
        say(text);
    }

    /// Text for stdout. A reader that has gone away ends nothing: the run is still stored.
    pub fn print(&self, text: &str) {
        let mut out = stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// Text for stderr. Where that is closed nobody is told.
pub fn say(text: &str) {
    let _ = stderr().lock().write_all(text.as_bytes());
}
