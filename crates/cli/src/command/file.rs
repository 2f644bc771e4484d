//! A result file that the user names.
//!
//! A file of another kind is never replaced, and an incomplete file is never left under the name.

use crate::exit::{Exit, Failure};
use prony_report::text::system_error;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Maximum bytes at the start of a file that identify its kind.
const PREFIX_BYTES: u64 = 256;

/// Refuses to replace a file of another kind; `is_own` recognises the right kind by the start of the file.
///
/// # Errors
/// If there is a file of another kind.
pub fn check_replaceable(
    path: &Path,
    kind: &str,
    is_own: impl FnOnce(&[u8]) -> bool,
) -> Result<(), Failure> {
    let mut prefix = Vec::new();
    let Ok(file) = File::open(path) else {
        return Ok(());
    };
    let regular = file.metadata().is_ok_and(|meta| meta.is_file());
    // A pipe or a device is not replaced but written to.
    if !regular || file.take(PREFIX_BYTES).read_to_end(&mut prefix).is_err() {
        return Ok(());
    }
    if prefix.is_empty() || is_own(&prefix) {
        return Ok(());
    }
    let what = format!("the file exists, and its content is not {kind}");
    let failure = Failure::new(
        Exit::Usage,
        what,
        "use another name, or remove the file first",
    );
    Err(failure.at(path.display().to_string()))
}

/// Writes a file; the error names it.
///
/// # Errors
/// If it cannot be written.
pub fn write_result(
    path: &Path,
    kind: &str,
    fill: impl Fn(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    write(path, fill).map_err(|error| {
        let what = format!("cannot write the {kind}: {}", system_error(&error));
        let hint = "use a file in a folder that you may write to";
        Failure::new(Exit::Unexpected, what, hint).at(path.display().to_string())
    })
}

/// Writes a file atomically: its name always has either the old or the complete new content.
///
/// # Errors
/// If it cannot be written.
fn write(path: &Path, fill: impl Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let filled = |mut file: File| fill(&mut file).and_then(|()| file.flush());
    let special = fs::metadata(path).is_ok_and(|meta| !meta.is_file());
    let linked = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
    if special || linked {
        return filled(File::create(path)?);
    }
    let hidden = hidden(path)?;
    let written = File::create(&hidden)
        .and_then(filled)
        .and_then(|()| fs::rename(&hidden, path));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&hidden);
    }
    written
}

fn hidden(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name();
    let name = name.ok_or_else(|| io::Error::other("it has no file name"))?;
    Ok(path.with_file_name(format!(
        ".{}.{}.tmp",
        name.to_string_lossy(),
        std::process::id()
    )))
}
