//! File locks, by which a process detects that another one is active.
//!
//! A lock never outlives its process: the kernel releases a flock when its file is closed, even by
//! kill -9.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// Waits for the lock of a file, which is created if needed. Dropping the file releases the lock.
pub(crate) fn lock_file(path: &Path) -> io::Result<File> {
    let file = crate::files::open_for_appending(path)?;
    file.lock()?;
    Ok(file)
}

/// Locks an open file if no process holds its lock.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
