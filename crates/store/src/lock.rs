//! Locks by which one Prony sees that another one is at work.
//!
//! In: an open file. Out: whether this process holds it. Must never: outlive the process: the
//! kernel lets go of a flock when its file is closed, even by kill -9.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Waits for the lock of a file that is made for it; it is let go when the file is dropped.
pub(crate) fn wait(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    hold(&file)?;
    Ok(file)
}

/// Waits for the lock of an open file.
pub(crate) fn hold(file: &File) -> io::Result<()> {
    loop {
        match flock(file, libc::LOCK_EX) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Takes the lock of an open file if nobody has it.
pub(crate) fn try_hold(file: &File) -> io::Result<bool> {
    match flock(file, libc::LOCK_EX | libc::LOCK_NB) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

fn flock(file: &File, operation: libc::c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open as long as the borrowed file is.
    match unsafe { libc::flock(file.as_raw_fd(), operation) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
