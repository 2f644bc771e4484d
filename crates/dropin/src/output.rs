//! Prints the tools' output. Control characters become visible, so that a terminal does not execute them.
//!
//! Must never: end a run because the output cannot be written: the run is still stored.

use prony_report::visible::visible;
use std::io::{Write, stderr, stdout};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub fn print(text: &str) {
    print_bytes(visible(text).as_bytes());
}

/// Prints bytes on stdout without change.
pub fn print_bytes(bytes: &[u8]) {
    let mut out = stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// Prints on stderr.
pub fn eprint(text: &str) {
    let _ = stderr().lock().write_all(visible(text).as_bytes());
}

/// Locks a mutex, also after a panic: the output of the other threads continues.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
