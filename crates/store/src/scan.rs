//! What lies in the folder of the runs.
//!
//! In: the files, as other processes write them. Out: documents and journals by id; dead journals
//! made documents. Must never: touch the journal of a run that is going on, or a foreign file.

use crate::document::{read_document, read_file, read_open, write_document};
use crate::error::{StoreError, io_error};
use crate::id::is_id;
use crate::journal::read_journal;
use crate::lock;
use crate::run::{Run, State};
use crate::store::RunStore;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a journal turned out to be.
pub(crate) enum Journal {
    /// Its run is going on.
    Live(Box<Run>),
    /// Its run was interrupted; the document could not be put in its place.
    Dead(Box<Run>),
    /// Nothing to see: nothing is in it yet, or it was replaced by its document.
    Gone,
}

/// Why a journal has no run.
const CUT: &str = "its first line is not whole: it was cut off before anything was measured, and holds \
                   nothing; remove it";

impl RunStore {
    /// The runs of journals that are going on, or that could not be made documents.
    pub(crate) fn journals(
        &self,
        unreadable: &mut Vec<(PathBuf, String)>,
    ) -> Result<Vec<(String, Run)>, StoreError> {
        let mut runs = Vec::new();
        for (id, (path, _)) in self.files("jsonl")? {
            match self.journal(&id) {
                Ok(Journal::Live(run) | Journal::Dead(run)) => runs.push((id, *run)),
                Ok(Journal::Gone) => {}
                Err(error) => unreadable.push((path, error.to_string())),
            }
        }
        Ok(runs)
    }

    /// Reads a journal; one of a run that was killed becomes a document, where that is possible.
    pub(crate) fn journal(&self, id: &str) -> Result<Journal, StoreError> {
        let path = self.journal_path(id);
        let Some(file) = open_journal(&path)? else {
            return Ok(Journal::Gone);
        };
        let dead = lock::try_hold(&file).map_err(io_error("lock", &path))?;
        let removed = file.metadata().map_err(io_error("read", &path))?.nlink() == 0;
        if removed {
            return Ok(Journal::Gone);
        }
        let document = self.document_path(id);
        if document.is_file() {
            if dead {
                // It was killed between the document and the removal of the journal.
                let _ = fs::remove_file(&path);
            }
            return Ok(Journal::Gone);
        }
        // Not by its path: the run may end meanwhile, and its journal go.
        let bytes = read_open(&file, &path)?;
        let Some(told) = read_journal(&path, &bytes)? else {
            return match dead && !bytes.is_empty() {
                true => Err(StoreError::not_a_run(&path, CUT)),
                false => Ok(Journal::Gone),
            };
        };
        let mut run = told.run;
        run.id = id.to_owned();
        if !dead {
            return Ok(Journal::Live(Box::new(run)));
        }
        run.state = State::Partial;
        run.ended_because = Some(interrupted(told.broken));
        if write_document(&document, &run).is_err() {
            return Ok(Journal::Dead(Box::new(run)));
        }
        let _ = fs::remove_file(&path);
        Ok(Journal::Gone)
    }

    /// The ids of all documents and journals.
    pub(crate) fn ids(&self) -> Result<BTreeSet<String>, StoreError> {
        let mut ids: BTreeSet<String> = self.files("json")?.into_keys().collect();
        let journals = self.files("jsonl")?.into_iter();
        ids.extend(
            journals
                .filter(|(_, (_, meta))| meta.len() > 0)
                .map(|(id, _)| id),
        );
        Ok(ids)
    }

    /// The files of one sort, by id.
    pub(crate) fn files(
        &self,
        ending: &str,
    ) -> Result<BTreeMap<String, (PathBuf, Metadata)>, StoreError> {
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
            if path.extension().is_some_and(|found| found == ending)
                && let Some(id) = id.filter(|id| is_id(id))
                && let Ok(meta) = fs::metadata(&path)
            {
                files.insert(id.to_owned(), (path, meta));
            }
        }
        Ok(files)
    }
}

/// Opens a journal, if it is there and a regular file: opening a pipe would wait for its writer.
pub(crate) fn open_journal(path: &Path) -> Result<Option<File>, StoreError> {
    let opened = fs::metadata(path).and_then(|meta| match meta.is_file() {
        true => File::open(path).map(Some),
        false => Ok(None),
    });
    match opened {
        Ok(Some(file)) => Ok(Some(file)),
        Ok(None) => Err(StoreError::not_a_run(path, "it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("read", path)(error)),
    }
}

/// The run of a document or a journal anywhere.
pub(crate) fn load_path(path: &Path) -> Result<Run, StoreError> {
    if path.extension().is_none_or(|ending| ending != "jsonl") {
        return read_document(path);
    }
    let Some(told) = read_journal(path, &read_file(path)?)? else {
        return Err(StoreError::not_a_run(path, CUT));
    };
    let mut run = told.run;
    run.state = State::Partial;
    run.ended_because = Some(interrupted(told.broken));
    Ok(run)
}

fn interrupted(broken: u64) -> String {
    let mut why = "interrupted: Prony was killed or the machine went down; the figures go up to \
                   the last second that was stored"
        .to_owned();
    if broken > 0 {
        let lines = if broken == 1 { "line" } else { "lines" };
        why.push_str(&format!(
            "; {broken} {lines} of the journal could not be read"
        ));
    }
    why
}
