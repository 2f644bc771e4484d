//! Commands that run at an instant of a run, such as a failover.

use crate::duration::{format_duration, parse_duration};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A command that runs once during the load.
#[derive(Clone, PartialEq)]
pub struct Mark {
    /// When it starts, from the start of the load.
    pub at: Duration,
    /// What `sh` executes; may contain a password.
    pub command: String,
}

impl FromStr for Mark {
    type Err = String;

    /// Reads `60s COMMAND`.
    fn from_str(text: &str) -> Result<Mark, String> {
        let (at, command) = text
            .trim()
            .split_once(char::is_whitespace)
            .unwrap_or((text, ""));
        let at = parse_duration(at).map_err(|error| error.to_string())?;
        let command = command.trim().to_owned();
        if command.is_empty() || command.contains('\0') {
            return Err("needs a time and a command, such as \"60s ./failover.sh\"".to_owned());
        }
        Ok(Mark { at, command })
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", format_duration(self.at), self.command)
    }
}

impl fmt::Debug for Mark {
    /// Omits the command.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ...", format_duration(self.at))
    }
}
