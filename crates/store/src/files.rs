//! Files that only their owner can read.
//!
//! They have mode 0600 whatever the umask. A link that another user created is never followed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Runs contain host names, statements and settings, so they are private.
const PRIVATE_MODE: u32 = 0o600;

/// Creates a file that does not exist yet, for appending.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create_new(true).mode(PRIVATE_MODE);
    options.open(path)
}

/// Creates a file, after removing a file of that name that a failed attempt may have left behind.
pub(crate) fn create_replacing(path: &Path) -> io::Result<File> {
    remove_if_exists(path)?;
    create_new(path)
}

pub(crate) fn remove_if_exists(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Locks an open file if no process holds its lock, and returns whether it did. A lock never outlives its process: the
/// kernel releases it when the file is closed, even by kill -9.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
