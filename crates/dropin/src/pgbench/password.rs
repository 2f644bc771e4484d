//! Prompts for a password on the terminal.
//!
//! Must never: echo the password.

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;

/// Prompts on the terminal, or else on standard error and standard input, as pgbench does. The password is
/// empty if it cannot be read.
pub fn prompt() -> String {
    let terminal = File::options().read(true).write(true).open("/dev/tty");
    match terminal {
        Ok(terminal) => prompt_on(&terminal, &terminal, terminal.as_fd()),
        Err(_) => prompt_on(io::stdin(), io::stderr(), io::stdin().as_fd()),
    }
    .unwrap_or_default()
}

fn prompt_on(input: impl Read, mut output: impl Write, terminal: impl AsFd) -> io::Result<String> {
    // Standard input may be a pipe, which does not echo.
    let saved = tcgetattr(&terminal).ok();
    if let Some(mut silent) = saved.clone() {
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
    }
    let password = output
        .write_all(b"Password: ")
        .and_then(|()| output.flush())
        .and_then(|()| {
            let mut line = String::new();
            BufReader::new(input).read_line(&mut line)?;
            Ok(line.trim_end_matches(['\n', '\r']).to_owned())
        });
    if let Some(saved) = saved {
        tcsetattr(&terminal, OptionalActions::Flush, &saved)?;
    }
    // Like libpq, end the prompt's line: the terminal does not echo the user's line feed, nor does a pipe.
    output.write_all(b"\n")?;
    password
}

#[cfg(test)]
mod tests {
    use super::prompt_on;

    #[test]
    fn the_prompt_line_ends_without_a_terminal() {
        let (mut printed, no_terminal) = (
            Vec::new(),
            std::fs::File::open("/dev/null").expect("a file"),
        );
        let password =
            prompt_on(&b"sesame\r\nnext"[..], &mut printed, &no_terminal).expect("a line");
        assert_eq!(
            (password.as_str(), &printed[..]),
            ("sesame", &b"Password: \n"[..])
        );
    }
}
