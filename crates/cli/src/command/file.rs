//! A file that the user named for a result.
//!
//! In: its path, what is to be in it. Out: the file. Must never: replace a file of another sort, or leave
//! half of the new one under its name.

use crate::exit::{Exit, Failure};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes by which a file shows of what sort it is, at the most.
const BEGIN: u64 = 256;

/// Refuses to replace a file that is not of the sort that is written, which `is_own` tells by how it begins.
///
/// # Errors
/// There is another one.
pub fn spare_others(
    path: &Path,
    sort: &str,
    is_own: impl FnOnce(&[u8]) -> bool,
) -> Result<(), Failure> {
    let mut begin = Vec::new();
    let Ok(file) = File::open(path) else {
        return Ok(());
    };
    let regular = file.metadata().is_ok_and(|meta| meta.is_file());
    // A pipe or a device takes what is written to it.
    if !regular || file.take(BEGIN).read_to_end(&mut begin).is_err() {
        return Ok(());
    }
    if begin.is_empty() || is_own(&begin) {
        return Ok(());
    }
    let what = format!("there is a file of that name, and it is no {sort}");
    let failure = Failure::new(Exit::Usage, what, "give another name, or remove it first");
    Err(failure.at(path.display().to_string()))
}

/// Writes a file so that its name holds all of it or what it held before.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, fill: impl Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
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
        // The error to tell is the first one.
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
