//! Files that only their owner can read.
//!
//! They have mode 0600 whatever the umask. A link that another user created is never followed, and the mode
//! of an existing file is never widened.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
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
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    create_new(path)
}

/// Opens a file for appending; creates it if it is missing.
pub(crate) fn open_for_appending(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .append(true)
        .create(true)
        .mode(PRIVATE_MODE)
        .open(path)
}

/// Restricts a file that an older Prony created as readable by others.
pub(crate) fn make_private(path: &Path) {
    let Ok(meta) = fs::metadata(path) else { return };
    if meta.mode() & 0o077 != 0 && is_own(&meta) {
        // Fails on file systems without modes; then nothing changes.
        let _ = fs::set_permissions(path, Permissions::from_mode(PRIVATE_MODE));
    }
}

/// Whether a file outside the store can be read as part of it: a regular file and not a link, of the same
/// user, and writable by nobody else. Anybody can create files in a temporary folder.
pub(crate) fn is_trusted(path: &Path) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|meta| meta.is_file() && is_own(&meta) && meta.mode() & 0o022 == 0)
}

fn is_own(meta: &fs::Metadata) -> bool {
    // SAFETY: geteuid takes nothing and cannot fail.
    meta.uid() == unsafe { libc::geteuid() }
}
