//! A script that comes by standard input, or is typed.
//!
//! In: lines of standard input. Out: each handed to the console, a prompt on a terminal, the exit
//! status. Must never: keep a signal waiting for a line.

use super::machine::Machine;
use crate::signals::Signals;
use prony_dialect::hammerdb::Console;
use std::io::{BufRead, stdin};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// How often a signal is looked for while there is no line.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Lines that are read ahead.
const AHEAD: usize = 64;

/// Runs all lines; gives the exit status.
pub fn run(mut console: Console, machine: &mut Machine, signals: &Signals) -> u8 {
    let lines = lines();
    loop {
        super::print(console.prompt());
        match next(&lines, signals) {
            Next::Line(line) => {
                if let Some(status) = console.line(machine, &line) {
                    return status;
                }
            }
            Next::Signal(status) => return status,
            Next::End => return console.end(machine),
        }
    }
}

enum Next {
    Line(String),
    /// A signal asked for the end; with the exit status.
    Signal(u8),
    End,
}

fn next(lines: &Receiver<String>, signals: &Signals) -> Next {
    loop {
        if let Some((exit, _)) = signals.asked() {
            return Next::Signal(exit as u8);
        }
        match lines.recv_timeout(LOOK_EVERY) {
            Ok(line) => return Next::Line(line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Next::End,
        }
    }
}

/// Reads on a thread of its own, which a read that waits for a terminal does not keep from ending.
fn lines() -> Receiver<String> {
    let (send, receive) = sync_channel(AHEAD);
    std::thread::spawn(move || {
        let mut input = stdin().lock();
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            match input.read_until(b'\n', &mut bytes) {
                Ok(1..) => {}
                Ok(0) | Err(_) => return,
            }
            if bytes.last() == Some(&b'\n') {
                bytes.pop();
            }
            let line = String::from_utf8_lossy(&bytes).into_owned();
            if send.send(line).is_err() {
                return;
            }
        }
    });
    receive
}
