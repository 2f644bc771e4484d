//! Reads a script from standard input or a terminal.
//!
//! In: lines of standard input. Out: executed lines, a prompt on a terminal, the exit status. Must never:
//! delay a signal until the next line.

use super::backend::ScriptBackend;
use prony_dialect::hammerdb::Console;
use prony_runner::Signals;
use std::io::{BufRead, stdin};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// How often to check for a signal while waiting for a line.
const SIGNAL_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The maximum number of lines read ahead.
const MAX_QUEUED_LINES: usize = 64;

/// Runs all lines and returns the exit status.
pub fn run(mut console: Console, backend: &mut ScriptBackend, signals: &Signals) -> u8 {
    let lines = read_lines();
    loop {
        super::print(console.prompt());
        match next_event(&lines, signals) {
            InputEvent::Line(line) => {
                if let Some(status) = console.run_line(backend, &line) {
                    return status;
                }
            }
            InputEvent::Signal(status) => return status,
            InputEvent::EndOfInput => return console.end_input(backend),
        }
    }
}

/// What the console has to handle next.
enum InputEvent {
    /// A line of the script, without its line feed.
    Line(String),
    /// A signal ended the session; its exit status.
    Signal(u8),
    EndOfInput,
}

fn next_event(lines: &Receiver<String>, signals: &Signals) -> InputEvent {
    loop {
        if let Some(signal) = signals.received() {
            return InputEvent::Signal(signal.exit_status());
        }
        match lines.recv_timeout(SIGNAL_POLL_INTERVAL) {
            Ok(line) => return InputEvent::Line(line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return InputEvent::EndOfInput,
        }
    }
}

/// Reads on a separate thread, so that a read from a terminal does not delay the end of the process.
fn read_lines() -> Receiver<String> {
    let (sender, receiver) = sync_channel(MAX_QUEUED_LINES);
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
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
