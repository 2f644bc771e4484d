//! The files in the folder of runs.
//!
//! Finds documents and journals by id, and converts journals of killed runs to documents. Never changes the
//! journal of a run in progress, or a foreign file. Other processes may write files at the same time.

use crate::document::{read_document, read_file, read_open_file, write_document};
use crate::error::{StoreError, io_error};
use crate::files;
use crate::id::is_id;
use crate::journal::{JournalContent, read_journal};
use crate::run::Run;
use crate::store::RunStore;
use prony_document::RunState;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(crate) enum JournalState {
    /// Its run is in progress; the run was read from this file.
    Live(Box<Run>, PathBuf),
    /// Its run has ended, but the document could not be written.
    Dead(Box<Run>, PathBuf),
    /// It is still empty, or its document has replaced it.
    Gone,
}

/// The error for a journal without a run.
const INCOMPLETE_HEADER: &str =
    "its first line is incomplete: it was cut off before anything was measured; remove it";

impl RunStore {
    /// The runs that are in progress, and those whose journal could not be converted to a document.
    pub(crate) fn read_journals(
        &self,
        unreadable: &mut Vec<(PathBuf, String)>,
    ) -> Result<Vec<(String, Run)>, StoreError> {
        let mut runs = Vec::new();
        for (id, path) in self.files_with_extension("jsonl")? {
            match self.load_journal(&id) {
                Ok(JournalState::Live(run, _) | JournalState::Dead(run, _)) => {
                    runs.push((id, *run))
                }
                Ok(JournalState::Gone) => {}
                Err(error) => unreadable.push((path, error.to_string())),
            }
        }
        Ok(runs)
    }

    /// Reads a journal. The journal of a killed run is converted to a document, if possible.
    pub(crate) fn load_journal(&self, id: &str) -> Result<JournalState, StoreError> {
        let path = self.journal_path(id);
        let Some(file) = open_journal(&path)? else {
            return Ok(JournalState::Gone);
        };
        // The lock is free only if no process writes the journal any more.
        let is_dead = files::try_lock(&file).map_err(io_error("lock", &path))?;
        let is_removed = file.metadata().map_err(io_error("read", &path))?.nlink() == 0;
        if is_removed {
            return Ok(JournalState::Gone);
        }
        let document = self.document_path(id);
        if document.is_file() {
            if is_dead {
                // Prony was killed after it wrote the document and before it removed the journal.
                let _ = fs::remove_file(&path);
            }
            return Ok(JournalState::Gone);
        }
        // Reads the open file, not its path: the run may end at this moment and remove the journal.
        let bytes = read_open_file(&file, &path)?;
        let Some(mut content) = read_journal(&path, &bytes)? else {
            return if is_dead && !bytes.is_empty() {
                Err(StoreError::not_a_run(&path, INCOMPLETE_HEADER))
            } else {
                Ok(JournalState::Gone)
            };
        };
        content.run.id = id.to_owned();
        if !is_dead {
            return Ok(JournalState::Live(Box::new(content.run), path));
        }
        let run = partial_run(content);
        if write_document(&document, &run).is_err() {
            return Ok(JournalState::Dead(Box::new(run), path));
        }
        let _ = fs::remove_file(path);
        Ok(JournalState::Gone)
    }

    /// The ids of all runs, those in progress included.
    pub fn ids(&self) -> Result<BTreeSet<String>, StoreError> {
        let mut ids: BTreeSet<String> = self.files_with_extension("json")?.into_keys().collect();
        for (id, journal) in self.files_with_extension("jsonl")? {
            if has_bytes(&journal) {
                ids.insert(id);
            }
        }
        Ok(ids)
    }

    /// Whether a document or journal has exactly this id. Reads no folder, however many runs are stored.
    pub(crate) fn has_id(&self, id: &str) -> bool {
        is_id(id) && (self.document_path(id).exists() || has_bytes(&self.journal_path(id)))
    }

    pub(crate) fn files_with_extension(
        &self,
        extension: &str,
    ) -> Result<BTreeMap<String, PathBuf>, StoreError> {
        let folder = self.runs_folder();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(io_error("read the folder", &folder)(error)),
        };
        let mut files = BTreeMap::new();
        for entry in entries {
            let path = entry.map_err(io_error("read the folder", &folder))?.path();
            let id = path.file_stem().and_then(|stem| stem.to_str());
            if path.extension().is_some_and(|actual| actual == extension)
                && let Some(id) = id.filter(|id| is_id(id))
            {
                files.insert(id.to_owned(), path);
            }
        }
        Ok(files)
    }
}

/// Whether a journal has been begun: it is created empty.
fn has_bytes(journal: &Path) -> bool {
    fs::metadata(journal).is_ok_and(|meta| meta.len() > 0)
}

/// Opens a journal; `None` if there is none. Anything but a regular file is an error: opening a pipe would wait for its
/// writer.
pub(crate) fn open_journal(path: &Path) -> Result<Option<File>, StoreError> {
    let opened = fs::metadata(path).and_then(|meta| {
        if meta.is_file() { File::open(path).map(Some) } else { Ok(None) }
    });
    match opened {
        Ok(Some(file)) => Ok(Some(file)),
        Ok(None) => Err(StoreError::not_a_run(path, "it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("read", path)(error)),
    }
}

/// Loads the run of a document or journal by its path, in the store or not.
pub(crate) fn load_path(path: &Path) -> Result<Run, StoreError> {
    if path
        .extension()
        .is_none_or(|extension| extension != "jsonl")
    {
        return read_document(path);
    }
    let Some(content) = read_journal(path, &read_file(path)?)? else {
        return Err(StoreError::not_a_run(path, INCOMPLETE_HEADER));
    };
    Ok(partial_run(content))
}

fn partial_run(content: JournalContent) -> Run {
    let mut reason = "interrupted: Prony was killed, the machine went down or the disk was full; the figures end with the last \
                      stored second"
        .to_owned();
    if content.broken_lines > 0 {
        let lines = if content.broken_lines == 1 { "line" } else { "lines" };
        reason.push_str(&format!(
            "; {} {lines} of the journal could not be read",
            content.broken_lines
        ));
    }
    Run {
        state: RunState::Partial,
        ended_because: Some(reason),
        ..content.run
    }
}
