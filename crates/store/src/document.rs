//! Documents on disk.
//!
//! In: a [`Run`], or a file that claims to be one. Out: the other. Must never: leave half a
//! document under its final name, or trust a file.

use crate::error::{StoreError, io_error};
use crate::run::{Run, SCHEMA_VERSION};
use serde::Deserialize;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

/// Largest file that is read, bytes. A day of one-second rows takes about 40 MB.
const LARGEST_BYTES: u64 = 1 << 30;

/// Reads a document.
///
/// # Errors
/// If it cannot be read, is not a document of Prony's, or is one of a newer Prony.
pub fn read_document(path: &Path) -> Result<Run, StoreError> {
    parse_document(path, &read_file(path)?)
}

/// The bytes of a regular file of a sensible size.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, StoreError> {
    let meta = fs::metadata(path).map_err(io_error("read", path))?;
    if !meta.is_file() {
        return Err(StoreError::not_a_run(path, "it is not a regular file"));
    }
    let file = File::open(path).map_err(io_error("read", path))?;
    read_open(&file, path)
}

/// The bytes of an open file, of a sensible size; `path` is for the message.
pub(crate) fn read_open(file: &File, path: &Path) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    file.take(LARGEST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(io_error("read", path))?;
    if bytes.len() as u64 > LARGEST_BYTES {
        return Err(StoreError::not_a_run(path, "it is larger than 1 GiB"));
    }
    Ok(bytes)
}

/// The run of a document's bytes; `path` is for the message.
pub(crate) fn parse_document(path: &Path, bytes: &[u8]) -> Result<Run, StoreError> {
    let error = match serde_json::from_slice::<Run>(bytes) {
        Ok(run) => {
            check_version(path, &run.schema_version)?;
            return Ok(run);
        }
        Err(error) => error,
    };
    if error.is_eof() {
        return Err(StoreError::not_a_run(path, "it ends in the middle"));
    }
    if error.is_syntax() {
        return Err(StoreError::not_a_run(path, format!("not JSON: {error}")));
    }
    // JSON of another form: of a newer Prony, or of somebody else.
    let version = serde_json::from_slice::<Version>(bytes)
        .map_err(|_| StoreError::not_a_run(path, "it has no schema_version"))?;
    check_version(path, &version.schema_version)?;
    Err(StoreError::not_a_run(path, error))
}

/// All that is read of a document of unknown form.
#[derive(Deserialize)]
struct Version {
    schema_version: String,
}

fn check_version(path: &Path, version: &str) -> Result<(), StoreError> {
    let major = |version: &str| version.split('.').next()?.parse::<u32>().ok();
    let ours = major(SCHEMA_VERSION);
    match major(version) {
        None => Err(StoreError::not_a_run(
            path,
            format!("its schema_version is `{version}`"),
        )),
        theirs if theirs > ours => Err(StoreError::Newer {
            path: path.to_owned(),
            version: crate::error::printable(version),
        }),
        _ => Ok(()),
    }
}

/// Writes a document so that its name holds either nothing or all of it: a hidden file beside it,
/// synced, then renamed. The caller alone may write this id at the time.
///
/// # Errors
/// If it cannot be written, or if it holds a figure that is not a number.
pub(crate) fn write_document(path: &Path, run: &Run) -> Result<(), StoreError> {
    let bytes = serde_json::to_vec(run).map_err(|e| StoreError::not_a_run(path, e))?;
    // JSON has no NaN: it would be written as null and never be read again.
    parse_document(path, &bytes)?;
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(StoreError::not_a_run(path, "it has no file name"));
    };
    let hidden = folder.join(format!(".{}.tmp", name.to_string_lossy()));
    let written = write_synced(&hidden, &bytes)
        .and_then(|()| fs::rename(&hidden, path))
        .map_err(io_error("write", path));
    if written.is_err() {
        // The error to tell is the first one.
        let _ = fs::remove_file(&hidden);
        return written;
    }
    // The document is complete; only a crash of the machine could still lose its name.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

fn write_synced(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
