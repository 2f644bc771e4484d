//! The folder of stored runs.
//!
//! In: a folder. Out: its runs, listed or whole. Must never: fail because of one broken file, or
//! touch a run that is still going on.
//!
//! ```text
//! PRONY_HOME/runs/<id>.json     the document of a run that has ended
//! PRONY_HOME/runs/<id>.jsonl    the journal of one that is going on, or was killed
//! PRONY_HOME/index.sqlite       an index of the documents, made again when lost
//! ```

use crate::document::read_document;
use crate::error::{StoreError, io_error};
use crate::index::{Index, Print, Summary, is_broken};
use crate::lock;
use crate::run::{Run, State};
use crate::scan::{Journal, load_path, open_journal};
use crate::writer::RunWriter;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A folder of stored runs. Several processes may use it at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunStore {
    folder: PathBuf,
}

/// Which runs to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this workload only.
    pub workload: Option<String>,
    /// The newest so many only.
    pub last: Option<usize>,
}

/// What is stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// The runs, newest first.
    pub runs: Vec<Summary>,
    /// Files in the store that could not be read, and why.
    pub unreadable: Vec<(PathBuf, String)>,
}

impl RunStore {
    /// The store in that folder, or in the usual one: `$PRONY_HOME`, else
    /// `$XDG_DATA_HOME/prony`, else `~/.local/share/prony`. Nothing is created yet.
    ///
    /// # Errors
    /// If no folder is given and none of the variables is set.
    pub fn open(folder: Option<&Path>) -> Result<RunStore, StoreError> {
        let folder = match folder {
            Some(folder) => folder.to_owned(),
            None => usual_folder(|name| std::env::var_os(name).map(PathBuf::from))
                .ok_or(StoreError::NoFolder)?,
        };
        Ok(RunStore { folder })
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Begins to write a run: gives it an id, and creates the folder where needed.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn begin(&self, run: &mut Run) -> Result<RunWriter, StoreError> {
        RunWriter::begin(self, run)
    }

    /// Lists the stored runs, newest first, and those going on. Journals of killed runs become
    /// documents here.
    ///
    /// # Errors
    /// If the folder cannot be read. A folder that does not exist is empty.
    pub fn list(&self, filter: &Filter) -> Result<Listing, StoreError> {
        let mut listing = Listing::default();
        let journals = self.journals(&mut listing.unreadable)?;
        let mut index = self.open_index()?;
        let indexed = self.update(&mut index, &mut listing.unreadable)?;
        let mut newest = indexed;
        for (id, run) in journals {
            newest.retain(|summary| summary.id != id);
            newest.push(Summary::of(&id, &run));
        }
        newest.sort_by(|a, b| (b.epoch_ns(), &b.id).cmp(&(a.epoch_ns(), &a.id)));
        if let Some(workload) = &filter.workload {
            newest.retain(|summary| summary.workload == *workload);
        }
        newest.truncate(filter.last.unwrap_or(usize::MAX));
        listing.runs = newest;
        Ok(listing)
    }

    /// Loads a run by its id, the beginning of one, `last` (the newest that has ended, or else
    /// the newest), or the path of a document or journal.
    ///
    /// # Errors
    /// If there is none, or more than one, or it cannot be read.
    pub fn load(&self, asked: &str) -> Result<Run, StoreError> {
        Ok(self.load_from(asked)?.0)
    }

    /// The same, with the file that it was read from.
    ///
    /// # Errors
    /// Those of [`RunStore::load`].
    pub fn load_from(&self, asked: &str) -> Result<(Run, PathBuf), StoreError> {
        let file = || {
            let path = PathBuf::from(asked);
            Ok((load_path(&path)?, path))
        };
        if asked.contains('/') {
            return file();
        }
        if asked == "last" {
            let runs = self.list(&Filter::default())?.runs;
            let ended = runs.iter().find(|run| run.state != State::Running);
            let newest = ended.or(runs.first()).ok_or_else(|| StoreError::Empty {
                path: self.folder.clone(),
            })?;
            return self.load_id(&newest.id);
        }
        match self.find(asked) {
            Ok(id) => self.load_id(&id),
            Err(StoreError::NotFound { .. }) if Path::new(asked).is_file() => file(),
            Err(error) => Err(error),
        }
    }

    /// The whole id of a run, from it or its beginning.
    ///
    /// # Errors
    /// If there is none, or more than one.
    pub fn find(&self, asked: &str) -> Result<String, StoreError> {
        let ids = self.ids()?;
        if ids.contains(asked) {
            return Ok(asked.to_owned());
        }
        let mut matches = ids.iter().filter(|id| id.starts_with(asked));
        match (matches.next(), matches.next()) {
            (Some(id), None) if !asked.is_empty() => Ok(id.clone()),
            (Some(first), Some(second)) if !asked.is_empty() => Err(StoreError::Ambiguous {
                asked: asked.to_owned(),
                count: 2 + matches.count(),
                first: first.clone(),
                second: second.clone(),
            }),
            _ => Err(StoreError::NotFound {
                asked: crate::error::printable(asked),
            }),
        }
    }

    /// Deletes a run, by its whole id.
    ///
    /// # Errors
    /// If there is no such run, it is still going on, or cannot be removed.
    pub fn delete(&self, id: &str) -> Result<(), StoreError> {
        if !self.ids()?.contains(id) {
            return Err(StoreError::NotFound {
                asked: crate::error::printable(id),
            });
        }
        let journal = self.journal_path(id);
        if let Some(file) = open_journal(&journal)? {
            if !lock::try_hold(&file).map_err(io_error("lock", &journal))? {
                return Err(StoreError::Live { id: id.to_owned() });
            }
            fs::remove_file(&journal).map_err(io_error("delete", &journal))?;
        }
        let path = self.document_path(id);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error("delete", &path)(error));
            }
            _ => {}
        }
        // A row that stays is removed when the runs are listed.
        if let Ok(mut index) = self.open_index() {
            let _ = index.change(&[], &[id.to_owned()]);
        }
        Ok(())
    }

    /// Makes the index anew from the documents; says how many there are.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn reindex(&self) -> Result<usize, StoreError> {
        let mut index = match self.folder.is_dir() {
            true => Index::replace(&self.index_path())?,
            false => Index::in_memory()?,
        };
        Ok(self.update(&mut index, &mut Vec::new())?.len())
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

    /// Adds one document to the index, as far as that can be used: it mends itself later.
    pub(crate) fn index_one(&self, id: &str, run: &Run) {
        let print = fs::metadata(self.document_path(id)).map(|meta| print(&meta));
        if let (Ok(print), Ok(mut index)) = (print, self.open_index()) {
            let _ = index.change(&[(Summary::of(id, run), print)], &[]);
        }
    }

    fn open_index(&self) -> Result<Index, StoreError> {
        if !self.folder.is_dir() {
            return Index::in_memory();
        }
        Index::open(&self.index_path())
    }

    fn index_path(&self) -> PathBuf {
        self.folder.join("index.sqlite")
    }

    /// Brings the index up to the documents that are there. An index that breaks under it, or
    /// cannot be written, is replaced by one in memory.
    fn update(
        &self,
        index: &mut Index,
        unreadable: &mut Vec<(PathBuf, String)>,
    ) -> Result<Vec<Summary>, StoreError> {
        match self.update_from(index, unreadable) {
            Err(StoreError::Index(error)) => {
                *index = match is_broken(&error) {
                    true => Index::replace(&self.index_path())?,
                    false => Index::in_memory()?,
                };
                self.update_from(index, unreadable)
            }
            done => done,
        }
    }

    /// Looks at the index before the documents: a row that another Prony adds between the two has
    /// its document by then, and is not taken for that of a deleted one.
    fn update_from(
        &self,
        index: &mut Index,
        unreadable: &mut Vec<(PathBuf, String)>,
    ) -> Result<Vec<Summary>, StoreError> {
        let mut known = index.prints()?;
        let mut put = Vec::new();
        let mut broken = Vec::new();
        for (id, (path, meta)) in self.files("json")? {
            let print = print(&meta);
            if known.remove(&id) == Some(print) {
                continue;
            }
            match read_document(&path) {
                Ok(run) => put.push((Summary::of(&id, &run), print)),
                Err(error) => {
                    broken.push(id);
                    unreadable.push((path, error.to_string()));
                }
            }
        }
        broken.extend(known.into_keys());
        if !put.is_empty() || !broken.is_empty() {
            index.change(&put, &broken)?;
        }
        index.summaries()
    }

    fn load_id(&self, id: &str) -> Result<(Run, PathBuf), StoreError> {
        // A journal may become a document between two looks.
        for _ in 0..2 {
            if let Journal::Live(run) | Journal::Dead(run) = self.journal(id)? {
                return Ok((*run, self.journal_path(id)));
            }
            let path = self.document_path(id);
            match read_document(&path) {
                Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                done => return Ok((done?, path)),
            }
        }
        Err(StoreError::NotFound {
            asked: id.to_owned(),
        })
    }
}

fn print(meta: &Metadata) -> Print {
    let bytes = i64::try_from(meta.len()).unwrap_or(i64::MAX);
    let changed_ns = meta.mtime().saturating_mul(1_000_000_000);
    (bytes, changed_ns.saturating_add(meta.mtime_nsec()))
}

/// The usual folder, by the variables of the environment. As the XDG base directory specification
/// says, a relative `XDG_DATA_HOME` is ignored.
fn usual_folder(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|path| !path.as_os_str().is_empty());
    if let Some(folder) = set("PRONY_HOME") {
        return Some(folder);
    }
    if let Some(data) = set("XDG_DATA_HOME").filter(|path| path.is_absolute()) {
        return Some(data.join("prony"));
    }
    Some(set("HOME")?.join(".local/share/prony"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_folder_follows_the_environment() {
        let folder = |set: &[(&str, &str)]| {
            usual_folder(|name| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| PathBuf::from(value))
            })
        };
        let home = ("HOME", "/home/a");
        let expect = |path: &str| Some(PathBuf::from(path));
        assert_eq!(folder(&[]), None);
        assert_eq!(folder(&[home]), expect("/home/a/.local/share/prony"));
        let relative = [home, ("XDG_DATA_HOME", "data"), ("PRONY_HOME", "")];
        assert_eq!(folder(&relative), expect("/home/a/.local/share/prony"));
        assert_eq!(folder(&[home, ("XDG_DATA_HOME", "/d")]), expect("/d/prony"));
        assert_eq!(folder(&[home, ("PRONY_HOME", "/p")]), expect("/p"));
    }
}
