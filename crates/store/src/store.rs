//! The folder of stored runs.
//!
//! One broken file never makes the store fail, and a run that is in progress is never changed.
//!
//! ```text
//! PRONY_HOME/runs/<id>.json     the document of a run that has ended
//! PRONY_HOME/runs/<id>.jsonl    the journal of a run that is in progress, or was killed
//! PRONY_HOME/runs/<id>.about    a user's label and note
//! PRONY_HOME/index.jsonl        an index of the documents, rebuilt when lost
//! ```

use crate::annotation;
use crate::document::{read_document, write_document};
use crate::error::{StoreError, io_error};
use crate::files;
use crate::filter::RunFilter;
use crate::id::is_id;
use crate::index::{self, FileStamp, IndexRow, RunSummary};
use crate::run::Run;
use crate::scan::{JournalState, load_path, open_journal};
use crate::writer::RunWriter;
use prony_document::RunState;
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A folder of stored runs. Several processes may use it at once.
#[derive(Clone, Debug)]
pub struct RunStore {
    folder: PathBuf,
    rules: Option<Rules>,
    /// The documents that need not be judged again, by their id; read from the index when first needed.
    verified: Arc<OnceLock<HashMap<String, FileStamp>>>,
}

/// The rules by which a store judges the documents that it lists, because anybody can edit the findings in them.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub version: u32,
    pub judge: fn(&mut Run),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// The runs, newest first.
    pub runs: Vec<RunSummary>,
    /// The number of runs that match, also of those that [`RunFilter::last`] leaves out.
    pub matching: usize,
    /// Files in the store that could not be read, and why.
    pub unreadable: Vec<(PathBuf, String)>,
}

impl RunStore {
    /// Opens the store in `folder`, or in the default folder: `$PRONY_HOME`, otherwise
    /// `$XDG_DATA_HOME/prony`, otherwise `~/.local/share/prony`. Creates nothing yet.
    ///
    /// # Errors
    /// If no folder is given and none of the variables is set.
    pub fn open(folder: Option<&Path>) -> Result<RunStore, StoreError> {
        let folder = match folder {
            Some(folder) => folder.to_owned(),
            None => default_folder(|name| std::env::var_os(name).map(PathBuf::from))
                .ok_or(StoreError::NoFolder)?,
        };
        Ok(RunStore {
            folder,
            rules: None,
            verified: Arc::default(),
        })
    }

    #[must_use]
    pub fn with_rules(self, rules: Rules) -> RunStore {
        RunStore {
            rules: Some(rules),
            ..self
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts to write a run: assigns its id, and creates the folder if needed.
    pub fn begin(&self, run: &mut Run) -> Result<RunWriter, StoreError> {
        RunWriter::begin(self, run)
    }

    /// Lists the stored runs and those in progress, newest first. Converts journals of killed runs to
    /// documents.
    ///
    /// # Errors
    /// If the folder cannot be read. A folder that does not exist is empty.
    pub fn list(&self, filter: &RunFilter) -> Result<Listing, StoreError> {
        let mut listing = Listing::default();
        let journals = self.read_journals(&mut listing.unreadable)?;
        let mut runs = self.summaries(&mut listing.unreadable)?;
        for (id, run) in journals {
            runs.retain(|summary| summary.id != id);
            runs.push(self.judged_summary(&id, run).summary);
        }
        runs.sort_by(|a, b| (b.epoch_ns(), &b.id).cmp(&(a.epoch_ns(), &a.id)));
        let annotated = self.files_with_extension(annotation::EXTENSION)?;
        for run in &mut runs {
            if annotated.contains_key(&run.id) {
                run.annotation = self.annotation(&run.id);
            }
        }
        runs.retain(|run| filter.matches(run));
        listing.matching = runs.len();
        runs.truncate(filter.last.unwrap_or(usize::MAX));
        listing.runs = runs;
        Ok(listing)
    }

    /// Loads a run by its id, a prefix of its id, `last` (the newest run that has ended, otherwise the
    /// newest), its label, or the path of a document or journal.
    pub fn load(&self, name: &str) -> Result<Run, StoreError> {
        Ok(self.load_from(name)?.0)
    }

    /// Like [`RunStore::load`], and judges the run by the store's rules, unless the index says that its document has their
    /// findings.
    pub fn load_judged(&self, name: &str) -> Result<Run, StoreError> {
        let (mut run, path) = self.load_from(name)?;
        if let Some(rules) = self.rules
            && !self.is_verified(&path, rules)
        {
            (rules.judge)(&mut run);
        }
        Ok(run)
    }

    /// Whether a document has the findings of the rules, by the index; false if it was changed since it was indexed.
    fn is_verified(&self, document: &Path, rules: Rules) -> bool {
        let verified = self
            .verified
            .get_or_init(|| index::read_verified(&self.index_path(), rules.version));
        let id = document.file_stem().and_then(|id| id.to_str());
        let Some(stamp) = id.and_then(|id| verified.get(id)) else {
            return false;
        };
        document.parent() == Some(&*self.runs_folder())
            && fs::metadata(document).is_ok_and(|meta| file_stamp(&meta) == *stamp)
    }

    /// Like [`RunStore::load`], and also returns the file from which the run was read.
    pub fn load_from(&self, name: &str) -> Result<(Run, PathBuf), StoreError> {
        let load_file = || {
            let path = PathBuf::from(name);
            Ok((load_path(&path)?, path))
        };
        let is_path = name.contains('/');
        if is_path && Path::new(name).exists() {
            return load_file();
        }
        match self.find(name) {
            Ok(id) => self.load_id(&id),
            Err(StoreError::NotFound { .. }) if Path::new(name).is_file() => load_file(),
            Err(StoreError::NotFound { .. }) => match self.load_labelled(name) {
                // The error of the file says more than that no run has this name.
                Err(StoreError::NotFound { .. }) if is_path => load_file(),
                loaded => loaded,
            },
            Err(error) => Err(error),
        }
    }

    /// Loads a run by its full id. Opens no file outside of the store, whatever the text is.
    pub fn load_stored(&self, id: &str) -> Result<Run, StoreError> {
        if !self.has_id(id) {
            return Err(self.not_found(id));
        }
        Ok(self.load_id(id)?.0)
    }

    /// What changes with each second of a run in progress: size and time of its journal. `None` if the run has ended.
    pub fn journal_stamp(&self, id: &str) -> Option<FileStamp> {
        let journal = is_id(id).then(|| self.journal_path(id))?;
        Some(file_stamp(&fs::metadata(journal).ok()?))
    }

    fn load_labelled(&self, label: &str) -> Result<(Run, PathBuf), StoreError> {
        let filter = RunFilter {
            label: Some(label.to_owned()),
            ..RunFilter::default()
        };
        let runs = self.list(&filter)?.runs;
        match &runs[..] {
            [] => Err(self.not_found(label)),
            [run] => self.load_id(&run.id),
            [first, second, ..] => Err(StoreError::Ambiguous {
                name: crate::error::printable(label),
                count: runs.len(),
                first: first.id.clone(),
                second: second.id.clone(),
            }),
        }
    }

    /// The full id of a run, from the id, a prefix of it, or `last`.
    pub fn find(&self, name: &str) -> Result<String, StoreError> {
        if name == "last" {
            let runs = self.list(&RunFilter::default())?.runs;
            let newest_ended = runs.iter().find(|run| run.state != RunState::Running);
            let newest = newest_ended.or(runs.first());
            let id = newest.map(|run| run.id.clone());
            return id.ok_or_else(|| StoreError::Empty {
                path: self.folder.clone(),
            });
        }
        if self.has_id(name) {
            return Ok(name.to_owned());
        }
        self.find_among(&self.ids()?, name)
    }

    /// As [`RunStore::find`], for many names except `last`; `ids` are those of the store.
    pub fn find_among(&self, ids: &BTreeSet<String>, name: &str) -> Result<String, StoreError> {
        if ids.contains(name) {
            return Ok(name.to_owned());
        }
        if name.is_empty() {
            return Err(self.not_found(name));
        }
        let mut matches = ids
            .range(name.to_owned()..)
            .take_while(|id| id.starts_with(name));
        match (matches.next(), matches.next()) {
            (None, _) => Err(self.not_found(name)),
            (Some(id), None) => Ok(id.clone()),
            (Some(first), Some(second)) => Err(StoreError::Ambiguous {
                name: name.to_owned(),
                count: 2 + matches.count(),
                first: first.clone(),
                second: second.clone(),
            }),
        }
    }

    /// Deletes a run by its full id.
    ///
    /// # Errors
    /// If there is no such run, if it is still in progress, or if it cannot be removed.
    pub fn delete(&self, id: &str) -> Result<(), StoreError> {
        if !self.has_id(id) {
            return Err(self.not_found(id));
        }
        let journal = self.journal_path(id);
        if let Some(file) = open_journal(&journal)? {
            if !files::try_lock(&file).map_err(io_error("lock", &journal))? {
                return Err(StoreError::Live { id: id.to_owned() });
            }
            fs::remove_file(&journal).map_err(io_error("delete", &journal))?;
        }
        self.remove_annotation(id)?;
        let path = self.document_path(id);
        files::remove_if_exists(&path).map_err(io_error("delete", &path))
    }

    /// Replaces the findings in a document, and the version of the rules by which they were made, by those of
    /// `run`. All else stays as it is stored.
    pub fn replace_findings(&self, document: &Path, run: &Run) -> Result<(), StoreError> {
        let mut stored = read_document(document)?;
        if stored.id != run.id {
            return Err(StoreError::not_a_run(document, "it is another run's"));
        }
        stored.checks.clone_from(&run.checks);
        stored.rules_version = run.rules_version;
        write_document(document, &stored)
    }

    pub(crate) fn runs_folder(&self) -> PathBuf {
        self.folder.join("runs")
    }

    pub(crate) fn document_path(&self, id: &str) -> PathBuf {
        self.runs_folder().join(format!("{id}.json"))
    }

    pub(crate) fn journal_path(&self, id: &str) -> PathBuf {
        self.runs_folder().join(format!("{id}.jsonl"))
    }

    fn index_path(&self) -> PathBuf {
        self.folder.join("index.jsonl")
    }

    /// The summaries of all documents. Reads those that the index lacks or that have changed, and updates the index.
    fn summaries(
        &self,
        unreadable: &mut Vec<(PathBuf, String)>,
    ) -> Result<Vec<RunSummary>, StoreError> {
        let mut indexed = index::read(&self.index_path());
        let rules_version = self.rules.map(|rules| rules.version);
        let mut rows = Vec::new();
        let mut has_changed = false;
        for (id, path) in self.files_with_extension("json")? {
            let Ok(stamp) = fs::metadata(&path).map(|meta| file_stamp(&meta)) else {
                continue;
            };
            if let Some(row) = indexed.remove(&id)
                && row.stamp == stamp
                && row.rules_version == rules_version
            {
                rows.push(row);
                continue;
            }
            has_changed = true;
            match read_document(&path) {
                Ok(run) => {
                    let judged = self.judged_summary(&id, run);
                    rows.push(IndexRow {
                        stamp,
                        rules_version,
                        is_verified: judged.is_verified,
                        summary: judged.summary,
                    })
                }
                Err(error) => unreadable.push((path, error.to_string())),
            }
        }
        // What is left of the index are rows of documents that were deleted.
        if has_changed || !indexed.is_empty() {
            // Without an index, the next listing reads the documents again.
            let _ = index::write(&self.index_path(), &rows);
        }
        Ok(rows.into_iter().map(|row| row.summary).collect())
    }

    /// Judges a run by the rules of the store, if it has any, and summarises it.
    fn judged_summary(&self, id: &str, mut run: Run) -> JudgedSummary {
        let Some(rules) = self.rules else {
            return JudgedSummary {
                summary: RunSummary::new(id, &run),
                is_verified: false,
            };
        };
        let stored = (run.rules_version, run.checks.clone(), run.answer.clone());
        (rules.judge)(&mut run);
        let is_judged = run.rules_version == Some(rules.version);
        let summary = RunSummary {
            is_judged,
            ..RunSummary::new(id, &run)
        };
        let is_verified = is_judged && stored == (run.rules_version, run.checks, run.answer);
        JudgedSummary {
            summary,
            is_verified,
        }
    }

    fn load_id(&self, id: &str) -> Result<(Run, PathBuf), StoreError> {
        // A journal may become a document between the two checks.
        for _ in 0..2 {
            if let JournalState::Live(run, path) | JournalState::Dead(run, path) =
                self.load_journal(id)?
            {
                return Ok((*run, path));
            }
            let path = self.document_path(id);
            match read_document(&path) {
                Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                result => return Ok((result?, path)),
            }
        }
        Err(StoreError::NotFound {
            name: id.to_owned(),
            similar: None,
        })
    }
}

struct JudgedSummary {
    summary: RunSummary,
    /// Whether the document already had the findings and the answer of the rules.
    is_verified: bool,
}

fn file_stamp(meta: &Metadata) -> FileStamp {
    let changed_ns = meta.ctime().saturating_mul(1_000_000_000);
    FileStamp {
        bytes: meta.len(),
        changed_ns: changed_ns.saturating_add(meta.ctime_nsec()),
    }
}

/// The default folder, from environment variables. The XDG base directory specification requires
/// that a relative `XDG_DATA_HOME` is ignored.
fn default_folder(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let non_empty = |name| variable(name).filter(|path| !path.as_os_str().is_empty());
    if let Some(folder) = non_empty("PRONY_HOME") {
        return Some(folder);
    }
    if let Some(data) = non_empty("XDG_DATA_HOME").filter(|path| path.is_absolute()) {
        return Some(data.join("prony"));
    }
    Some(non_empty("HOME")?.join(".local/share/prony"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_folder_follows_the_environment() {
        let folder = |variables: &[(&str, &str)]| {
            default_folder(|name| {
                let entry = variables.iter().find(|(variable, _)| *variable == name);
                entry.map(|(_, value)| PathBuf::from(value))
            })
        };
        let home = ("HOME", "/home/a");
        let expected = |path: &str| Some(PathBuf::from(path));
        assert_eq!(folder(&[]), None);
        assert_eq!(folder(&[home]), expected("/home/a/.local/share/prony"));
        let relative = [home, ("XDG_DATA_HOME", "data"), ("PRONY_HOME", "")];
        assert_eq!(folder(&relative), expected("/home/a/.local/share/prony"));
        assert_eq!(
            folder(&[home, ("XDG_DATA_HOME", "/d")]),
            expected("/d/prony")
        );
        assert_eq!(folder(&[home, ("PRONY_HOME", "/p")]), expected("/p"));
    }
}
