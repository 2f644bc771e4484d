//! Asking for a password.
//!
//! In: the terminal. Out: the line that the user types there. Must never: show it.

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;

/// Asks on the terminal, else by standard error and standard input, as pgbench does. What cannot be
/// read is an empty password.
pub fn prompt() -> String {
    let terminal = File::options().read(true).write(true).open("/dev/tty");
    match terminal {
        Ok(terminal) => ask(&terminal, &terminal, terminal.as_fd()),
        Err(_) => ask(io::stdin(), io::stderr(), io::stdin().as_fd()),
    }
    .unwrap_or_default()
}

fn ask(from: impl Read, mut to: impl Write, terminal: impl AsFd) -> io::Result<String> {
    // Standard input may be a pipe: then nothing is echoed anyway.
    let before = tcgetattr(&terminal).ok();
    if let Some(mut silent) = before.clone() {
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
    }
    let asked = to
        .write_all(b"Password: ")
        .and_then(|()| to.flush())
        .and_then(|()| {
            let mut line = String::new();
            BufReader::new(from).read_line(&mut line)?;
            Ok(line.trim_end_matches(['\n', '\r']).to_owned())
        });
    if let Some(before) = before {
        tcsetattr(&terminal, OptionalActions::Flush, &before)?;
        // The line end that the user typed was not echoed.
        to.write_all(b"\n")?;
    }
    asked
}
