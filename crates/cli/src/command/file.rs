//! Reads and writes files at paths that the user gives.
//!
//! A file of a different kind is never replaced, and a failed write never leaves an incomplete file.

use crate::exit::{Exit, Failure};
use prony_plan::system_error;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The number of bytes at the start of a file by which its kind is recognised.
const PREFIX_BYTES: u64 = 256;

/// Refuses to replace a file of a different kind; `is_expected_kind` checks the start of the file.
pub fn check_replaceable(
    path: &Path,
    kind: &str,
    is_expected_kind: impl FnOnce(&[u8]) -> bool,
) -> Result<(), Failure> {
    let mut prefix = Vec::new();
    let Ok(file) = File::open(path) else {
        return Ok(());
    };
    let is_regular = file.metadata().is_ok_and(|meta| meta.is_file());
    // A pipe or a device is not replaced but written to.
    if !is_regular || file.take(PREFIX_BYTES).read_to_end(&mut prefix).is_err() {
        return Ok(());
    }
    if prefix.is_empty() || is_expected_kind(&prefix) {
        return Ok(());
    }
    let message = format!("the file exists, and its content is not {kind}");
    let failure = Failure::usage(message, "use another name, or remove the file first");
    Err(failure.at(path.display().to_string()))
}

/// Refuses a file that exists, whatever is in it.
pub fn check_absent(path: &Path) -> Result<(), Failure> {
    if fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    let failure = Failure::usage(
        "the file exists, and is not replaced",
        "use another name with --out, or remove the file first",
    );
    Err(failure.at(path.display().to_string()))
}

/// Writes a file that must not exist yet; `kind` names it in messages.
pub fn write_new(path: &Path, kind: &str, text: &str) -> Result<(), Failure> {
    check_absent(path)?;
    write_result(path, kind, |out| out.write_all(text.as_bytes()))
}

/// Writes a result file; `kind` names it in messages.
pub fn write_result(
    path: &Path,
    kind: &str,
    write_content: impl Fn(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    write(path, write_content).map_err(|error| write_failure(path, kind, &error))
}

/// Writes a confidential result file, which may be larger than the memory, while its content is made. Only its owner may
/// read it. A signal leaves the temporary file, which is as confidential.
///
/// # Errors
/// The file cannot be written, or that of `write_content`.
pub fn write_confidential<T, E: From<io::Error>>(
    path: &Path,
    write_content: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    replace(path, 0o600, |file| {
        let mut out = BufWriter::new(file);
        let written = write_content(&mut out)?;
        out.flush()?;
        Ok(written)
    })
}

/// The failure of a result file that cannot be written; `kind` names it in messages.
pub fn write_failure(path: &Path, kind: &str, error: &io::Error) -> Failure {
    let message = format!("cannot write the {kind}: {}", system_error(error));
    Failure::new(Exit::Unexpected, message, write_hint(error)).at(path.display().to_string())
}

/// The text of an input file. `kind` names it in messages; the hints are for a file that is missing, and for one that is
/// no such file.
pub fn read_text(path: &Path, kind: &str, missing: &str, form: &str) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::NotFound => missing,
            io::ErrorKind::PermissionDenied => "let this user read it",
            _ => form,
        };
        let message = format!("cannot read the {kind}: {}", system_error(&error));
        Failure::usage(message, hint).at(path.display().to_string())
    })
}

/// What to do about a file that cannot be written.
fn write_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room, or use a file on another disk"
        }
        io::ErrorKind::FileTooLarge => "raise the limit of the size of files (`ulimit -f`)",
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            "create the folder first, or use a file in another one"
        }
        io::ErrorKind::IsADirectory => "name a file in this folder",
        _ => "use a file in a folder that you may write to",
    }
}

/// Writes a file atomically: its name always has either the old or the complete new content. The content is complete
/// before the file exists, because a signal ends the program without removing a temporary file.
fn write(path: &Path, write_content: impl Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut content = Vec::new();
    write_content(&mut content)?;
    replace(path, 0o666, |mut file| file.write_all(&content))
}

/// Writes a file under another name and renames it; writes directly to what is not a regular file, such as a pipe.
/// `mode`: the permissions of a new file.
fn replace<T, E: From<io::Error>>(
    path: &Path,
    mode: u32,
    write: impl FnOnce(File) -> Result<T, E>,
) -> Result<T, E> {
    let create = |path: &Path| {
        let mut options = File::options();
        options.write(true).create(true).truncate(true).mode(mode);
        options.open(path)
    };
    let is_special = fs::metadata(path).is_ok_and(|meta| !meta.is_file());
    let is_link = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
    if is_special || is_link {
        return write(create(path)?);
    }
    let temporary_path = temporary_path(path)?;
    let write_and_rename = || {
        let written = write(create(&temporary_path)?)?;
        fs::rename(&temporary_path, path)?;
        Ok(written)
    };
    let result = write_and_rename();
    if result.is_err() {
        // Report the error of the write, not that of the removal.
        let _ = fs::remove_file(&temporary_path);
    }
    result
}

fn temporary_path(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name();
    let name = name.ok_or_else(|| io::Error::other("it has no file name"))?;
    Ok(path.with_file_name(format!(
        ".{}.{}.tmp",
        name.to_string_lossy(),
        std::process::id()
    )))
}
