//! Documents on disk.
//!
//! Writes a [`Run`] to a file and reads it back. A file with a document's final name is always complete, and
//! no file is trusted.

use crate::error::{StoreError, io_error, printable};
use crate::files;
use crate::run::{Run, SCHEMA_VERSION};
use serde::Deserialize;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

/// Maximum size of a file to read, bytes. A day of one-second rows takes about 40 MB.
const MAX_DOCUMENT_BYTES: u64 = 1 << 30;

pub fn read_document(path: &Path) -> Result<Run, StoreError> {
    parse_document(&read_file(path)?).map_err(|error| error.with_path(path))
}

/// Reads a regular file of at most [`MAX_DOCUMENT_BYTES`].
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, StoreError> {
    let meta = fs::metadata(path).map_err(io_error("read", path))?;
    if !meta.is_file() {
        return Err(StoreError::not_a_run(path, "it is not a regular file"));
    }
    let file = File::open(path).map_err(io_error("read", path))?;
    read_open_file(&file, path)
}

/// Reads an open file of at most [`MAX_DOCUMENT_BYTES`]; `path` is for the message.
pub(crate) fn read_open_file(file: &File, path: &Path) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    file.take(MAX_DOCUMENT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(io_error("read", path))?;
    if bytes.len() as u64 > MAX_DOCUMENT_BYTES {
        return Err(StoreError::not_a_run(path, "it is larger than 1 GiB"));
    }
    Ok(bytes)
}

/// The error for a text that is not a Run document.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// It was written by a newer Prony, with this schema version.
    #[error("it has document version {0}, and this Prony reads up to {current}", current = SCHEMA_VERSION)]
    Newer(String),
    /// It is not a Run document, for this reason.
    #[error("{0}")]
    Invalid(String),
}

impl DocumentError {
    pub(crate) fn with_path(self, path: &Path) -> StoreError {
        match self {
            DocumentError::Newer(version) => StoreError::Newer {
                path: path.to_owned(),
                version: printable(&version),
            },
            DocumentError::Invalid(reason) => StoreError::not_a_run(path, reason),
        }
    }
}

/// Parses a document of this version, or of an earlier minor one.
pub fn parse_document(bytes: &[u8]) -> Result<Run, DocumentError> {
    readable_run(serde_json::from_slice(bytes), || {
        serde_json::from_slice(bytes)
    })
}

/// The parsed run, if its version is one that this program reads; otherwise the reason why it cannot be read.
/// `parse_version` parses nothing but the version, which tells a newer document from one that is broken.
pub(crate) fn readable_run(
    parsed: serde_json::Result<Run>,
    parse_version: impl FnOnce() -> serde_json::Result<VersionOnly>,
) -> Result<Run, DocumentError> {
    let invalid = |reason: String| Err(DocumentError::Invalid(reason));
    let not_json = |error| invalid(format!("not JSON: {error}"));
    // The error of JSON that is not a Run of this version; `None` if only the version is another.
    let data_error = match parsed {
        Ok(run) if is_readable(&run.schema_version.0) => return Ok(run),
        Err(error) if error.is_eof() => return invalid("it ends in the middle".to_owned()),
        Err(error) if error.is_syntax() => return not_json(error),
        Ok(_) => None,
        Err(error) => Some(error),
    };
    let version = match parse_version() {
        Ok(document) => document.schema_version,
        Err(error) if error.is_data() => return invalid("it has no schema_version".to_owned()),
        Err(error) => return not_json(error),
    };
    let Some(numbers) = version_numbers(&version) else {
        return invalid(format!(
            "its schema_version `{version}` is not of the form MAJOR.MINOR"
        ));
    };
    // A later minor version may have values that this one does not know.
    if Some(numbers) > version_numbers(SCHEMA_VERSION) {
        return Err(DocumentError::Newer(version));
    }
    match data_error {
        None => invalid(format!("its schema_version `{version}` is unknown")),
        Some(error) => invalid(error.to_string()),
    }
}

#[derive(Deserialize)]
pub(crate) struct VersionOnly {
    schema_version: String,
}

fn version_numbers(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Whether a version differs from this one at most in its minor number.
fn is_readable(version: &str) -> bool {
    let major = |version| version_numbers(version).map(|(major, _)| major);
    major(version) == major(SCHEMA_VERSION)
}

/// Writes a document atomically: to a hidden file in the same folder, which is synced and then renamed. The
/// caller ensures that nothing else writes this id at the same time.
pub(crate) fn write_document(path: &Path, run: &Run) -> Result<(), StoreError> {
    let bytes = serde_json::to_vec(run).map_err(|e| StoreError::not_a_run(path, e))?;
    // JSON has no NaN: it would be written as null, and the document could not be read again.
    parse_document(&bytes).map_err(|error| error.with_path(path))?;
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(StoreError::not_a_run(path, "it has no file name"));
    };
    let hidden = folder.join(format!(".{}.tmp", name.to_string_lossy()));
    let written = write_synced(&hidden, &bytes)
        .and_then(|()| fs::rename(&hidden, path))
        .map_err(io_error("write", path));
    if written.is_err() {
        // Report the error of the write, not that of the removal.
        let _ = fs::remove_file(&hidden);
        return written;
    }
    // The document is complete. Syncing the folder protects its name from a crash of the machine; an error
    // here is no reason to report the run as not stored.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

fn write_synced(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = files::create_replacing(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
