//! The files in the folder of runs.
//!
//! Finds documents and journals by id, and converts journals of killed runs to documents. Never changes the
//! journal of a run in progress, or a foreign file. Other processes may write files at the same time.

use crate::document::{read_document, read_file, read_open_file, write_document};
use crate::error::{StoreError, io_error};
use crate::files;
use crate::id::is_id;
use crate::journal::{JournalContent, read_journal};
use crate::journal_file::fallback_path;
use crate::line::Diversion;
use crate::lock;
use crate::run::{Run, RunState};
use crate::store::RunStore;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The state of a journal.
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
        for (id, (path, _)) in self.files_with_extension("jsonl")? {
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
        let is_dead = lock::try_lock(&file).map_err(io_error("lock", &path))?;
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
        let Some(content) = read_journal(&path, &bytes)? else {
            return match is_dead && !bytes.is_empty() {
                true => Err(StoreError::not_a_run(&path, INCOMPLETE_HEADER)),
                false => Ok(JournalState::Gone),
            };
        };
        let diversion = content.diversion.clone().unwrap_or_default();
        let mut complete = follow_diversion(content, path);
        complete.run.id = id.to_owned();
        if !is_dead {
            complete.run.state = RunState::Running;
            complete.run.ended_because = None;
            return Ok(JournalState::Live(Box::new(complete.run), complete.path));
        }
        // The missing part may become readable later, or for another user. The shorter run must therefore not
        // become the document.
        if complete.is_missing_part || write_document(&document, &complete.run).is_err() {
            return Ok(JournalState::Dead(Box::new(complete.run), complete.path));
        }
        remove_diverted(&diversion, id);
        let _ = fs::remove_file(self.journal_path(id));
        Ok(JournalState::Gone)
    }

    /// The ids of all documents and journals.
    pub(crate) fn ids(&self) -> Result<BTreeSet<String>, StoreError> {
        let mut ids: BTreeSet<String> = self.files_with_extension("json")?.into_keys().collect();
        let journals = self.files_with_extension("jsonl")?.into_iter();
        ids.extend(
            journals
                .filter(|(_, (_, meta))| meta.len() > 0)
                .map(|(id, _)| id),
        );
        Ok(ids)
    }

    /// The files with this extension, by id.
    pub(crate) fn files_with_extension(
        &self,
        extension: &str,
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
            if path.extension().is_some_and(|actual| actual == extension)
                && let Some(id) = id.filter(|id| is_id(id))
                && let Ok(meta) = fs::metadata(&path)
            {
                files.insert(id.to_owned(), (path, meta));
            }
        }
        Ok(files)
    }
}

/// Opens a journal if it exists and is a regular file: opening a pipe would wait for its writer.
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
    Ok(follow_diversion(content, path.to_owned()).run)
}

/// The run of a journal, including the part in another file, if there is one.
struct CompleteRun {
    run: Run,
    /// The file with the longer part of the run.
    path: PathBuf,
    /// The journal names a file with the missing part that cannot be read or trusted.
    is_missing_part: bool,
}

/// Reads the part of a journal's run that is in another file: the file that the journal names or, if there
/// was no space to name it, the file that this process would have used.
fn follow_diversion(content: JournalContent, path: PathBuf) -> CompleteRun {
    let diversion = content.diversion.clone().unwrap_or_default();
    let id = content.run.id.clone();
    let is_named = diversion.document.is_some() || diversion.journal.is_some();
    let document = diversion.document.clone();
    let document = document.or_else(|| (!is_named).then(|| fallback_path(&id, "json")));
    if let Some(document) = trusted_path(document.as_deref(), &id)
        && let Ok(run) = read_document(document)
        && run.id == id
    {
        return CompleteRun {
            run,
            path: document.to_owned(),
            is_missing_part: false,
        };
    }
    let journal = diversion.journal.clone();
    let journal = journal.or_else(|| (!is_named).then(|| fallback_path(&id, "jsonl")));
    let diverted = trusted_path(journal.as_deref(), &id).and_then(|diverted| {
        let content = read_journal(diverted, &read_file(diverted).ok()?).ok()??;
        (content.run.id == id).then(|| (content, diverted.to_owned()))
    });
    let is_missing_part = is_named && diverted.is_none();
    let (content, path) = diverted.unwrap_or((content, path));
    let mut reason =
        reason_of_incompleteness(content.broken_lines, content.dropped_lines, &diversion);
    if let (true, Some(missing_path)) = (is_missing_part, diversion.document.or(diversion.journal))
    {
        let missing_path = crate::error::printable(&missing_path.display().to_string());
        reason.push_str(&format!(
            "; the rest is in {missing_path}, which does not exist or belongs to another user"
        ));
    }
    let mut run = content.run;
    run.state = RunState::Partial;
    run.ended_because = Some(reason);
    CompleteRun {
        run,
        path,
        is_missing_part,
    }
}

/// Returns a path that a journal names if it is a file that Prony created for that run.
fn trusted_path<'a>(path: Option<&'a Path>, id: &str) -> Option<&'a Path> {
    let has_run_name = |path: &&Path| {
        let name = path.file_stem().and_then(|stem| stem.to_str());
        name.is_some_and(|name| name.strip_prefix("prony-") == Some(id))
    };
    path.filter(has_run_name)
        .filter(|path| files::is_trusted(path))
}

/// Removes a run's files outside the store, once the store has the run or it is deleted.
pub(crate) fn remove_diverted(diversion: &Diversion, id: &str) {
    let named_files = [diversion.journal.clone(), diversion.document.clone()];
    let default_files = ["jsonl", "json"].map(|extension| fallback_path(id, extension));
    for path in named_files.into_iter().flatten().chain(default_files) {
        if let Some(path) = trusted_path(Some(&path), id) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Why a run is incomplete, as a sentence.
fn reason_of_incompleteness(
    broken_lines: u64,
    dropped_lines: u64,
    diversion: &Diversion,
) -> String {
    let because = crate::error::printable(&diversion.because);
    let mut text = match (because.is_empty(), diversion.ended) {
        (true, _) => {
            "interrupted: Prony was killed or the machine went down; the figures end with the last stored second"
                .to_owned()
        }
        (false, true) => format!(
            "not stored completely: the store could no longer be written ({because}), and the figures end with the \
             last stored second; the run itself continued to its end"
        ),
        (false, false) => format!(
            "interrupted: Prony was killed or the machine went down; before that the store could no longer be \
             written ({because}), and the figures end with the last stored second"
        ),
    };
    let lines = |count| if count == 1 { "line" } else { "lines" };
    if dropped_lines > 0 {
        let lines = lines(dropped_lines);
        text.push_str(&format!(
            "; {dropped_lines} {lines} before that are missing, because neither disk nor memory had room \
             for them"
        ));
    }
    if broken_lines > 0 {
        let lines = lines(broken_lines);
        text.push_str(&format!(
            "; {broken_lines} {lines} of the journal could not be read"
        ));
    }
    text
}
