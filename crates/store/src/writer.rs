//! Writes a run while it is in progress: a journal of its seconds, which the document replaces at the end. A failed write
//! ends the journal, not the run, and never loses earlier lines.
//!
//! A journal has one line per second, so that a killed run keeps what it measured; after the first hour,
//! every ten seconds are merged into one line with the sums and histograms of the ten. A line grows with the
//! spread of the response times and the kinds of transaction: 3 KB at 150 transactions per second, 27 KB at
//! 5,000 of one kind with a split. The first hour takes 10 to 100 MB, and each later hour a fifth of that or
//! less; the 0.5 KB per second of server observations are not merged.

use crate::document::write_document;
use crate::error::{StoreError, io_error};
use crate::files;
use crate::group::SecondGroup;
use crate::id::new_id;
use crate::journal_file::JournalFile;
use crate::line::{JournalLine, RunLine, SecondLine};
use crate::run::{LedgerAccount, Run};
use crate::store::RunStore;
use prony_document::{Event, RunState, ServerSecond};
use prony_measure::IntervalRow;
use serde::Serialize;
use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Number of ids to try before giving up. There are 65,536 for each second and workload, so that even a
/// second try is rare.
const MAX_ID_TRIES: u32 = 64;

/// A run that is being written. Its journal is locked as long as this lives: dropping it without
/// [`RunWriter::finish`] leaves an interrupted run.
#[derive(Debug)]
pub struct RunWriter {
    store: RunStore,
    id: String,
    journal: JournalFile,
    /// Seconds to merge, once the run is longer than an hour.
    group: Option<SecondGroup>,
    /// Total length of the rows that were passed to the journal, seconds.
    written_s: f64,
}

impl RunWriter {
    /// Reserves an id, sets it in the run, and writes the first line.
    pub(crate) fn begin(store: &RunStore, run: &mut Run) -> Result<RunWriter, StoreError> {
        let folder = store.runs_folder();
        // The XDG base directory specification requires this mode.
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(io_error("create the folder", &folder))?;
        let journal = create_journal(&folder, &run.started_at, run.workload.display_name())?;
        run.id.clone_from(&journal.id);
        // The id of an experiment is the id of its first run.
        if let Some(experiment) = &mut run.experiment
            && experiment.id.is_empty()
        {
            experiment.id.clone_from(&journal.id);
        }
        let mut writer = RunWriter {
            store: store.clone(),
            journal: JournalFile::new(journal.path, journal.file),
            id: journal.id,
            group: None,
            written_s: 0.0,
        };
        let first = writer.serialize(&RunLine { run });
        match first.and_then(|line| writer.journal.append(line)) {
            Ok(()) => Ok(writer),
            Err(error) => {
                writer.discard();
                Err(error)
            }
        }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// Writes the Run without figures again, for example when the server's version is known. It has the id that
    /// [`RunStore::begin`] set.
    ///
    /// # Errors
    /// The first time that a write of this or another method fails. Earlier lines stay; the journal has no later ones.
    pub fn write_header(&mut self, run: &Run) -> Result<(), StoreError> {
        self.append_line(&RunLine { run })
    }

    /// Writes one row of figures. `load_start_ns` is the start of the load on the run's clock.
    pub fn write_second(
        &mut self,
        row: &IntervalRow,
        load_start_ns: u64,
    ) -> Result<(), StoreError> {
        self.written_s += row.interval.span.length_ns() as f64 / 1e9;
        if self.group.as_ref().is_some_and(|group| !group.accepts(row)) {
            self.group = None;
        }
        match &mut self.group {
            Some(group) => group.add(row),
            // A group replaces the lines from that of its first row on, so it begins before that line is written.
            None => {
                let offset = self.journal.next_line_offset();
                self.group =
                    offset.and_then(|offset| SecondGroup::begin(row, load_start_ns, offset));
            }
        }
        let second = SecondLine::new(row, load_start_ns);
        let line = self.serialize(&JournalLine::Second(Box::new(second)))?;
        let written = self.append(line);
        let Some(group) = self.group.take_if(|group| group.is_full()) else {
            return written;
        };
        let ten_seconds = SecondLine::new(&group.row, load_start_ns);
        let mut lines = vec![self.serialize(&JournalLine::Second(Box::new(ten_seconds)))?];
        lines.extend(group.other_lines);
        self.journal.replace_from(group.start_offset, &lines);
        written
    }

    pub fn write_event(&mut self, event: &Event) -> Result<(), StoreError> {
        self.append_line(&JournalLine::Event(event.clone()))
    }

    /// Writes the observations of the server between two readings.
    pub fn write_server_second(&mut self, second: &ServerSecond) -> Result<(), StoreError> {
        self.append_line(&JournalLine::Server(Box::new(second.clone())))
    }

    pub fn write_server_event(&mut self, event: &Event) -> Result<(), StoreError> {
        self.append_line(&JournalLine::ServerEvent(event.clone()))
    }

    /// Writes what the clients know of their commits. It survives the client at once, and the machine after a second or so:
    /// another thread has the disk store it.
    pub fn write_ledger(&mut self, account: &LedgerAccount) -> Result<(), StoreError> {
        self.append_line(&JournalLine::Ledger(Box::new(account.clone())))?;
        self.journal.sync_behind();
        Ok(())
    }

    /// Replaces the journal with the finished document. Returns the document's path. A run whose state is still
    /// `Running` is stored as partial.
    ///
    /// # Errors
    /// If the document cannot be written. Then the journal stays, and is read as a run whose later seconds are missing.
    pub fn finish(self, run: &Run) -> Result<PathBuf, StoreError> {
        let path = self.store.document_path(&self.id);
        let mut run = run.clone();
        run.id.clone_from(&self.id);
        if run.state == RunState::Running {
            run.state = RunState::Partial;
        }
        if let Err(error) = write_document(&path, &run) {
            let stored_s = self.store.load(&self.id).map_or(0.0, |stored| {
                stored.series.iter().map(|second| second.length_s).sum()
            });
            return Err(StoreError::NotStored {
                source: Box::new(error),
                id: self.id,
                stored_s,
                measured_s: self.written_s,
            });
        }
        self.journal.remove();
        Ok(path)
    }

    /// Removes the journal of a run that never began.
    pub fn discard(self) {
        self.journal.remove();
    }

    /// Appends a line that is not a second of figures.
    fn append_line(&mut self, line: &impl Serialize) -> Result<(), StoreError> {
        let bytes = self.serialize(line)?;
        if let Some(group) = &mut self.group {
            group.other_lines.push(bytes.clone());
        }
        self.append(bytes)
    }

    fn append(&mut self, line: Vec<u8>) -> Result<(), StoreError> {
        self.journal
            .append(line)
            .map_err(|error| StoreError::JournalEnded(Box::new(error)))
    }

    fn serialize(&self, line: &impl Serialize) -> Result<Vec<u8>, StoreError> {
        serde_json::to_vec(line).map_err(|e| StoreError::not_a_run(self.journal.path(), e))
    }
}

/// An empty journal, which this process has locked.
struct NewJournal {
    id: String,
    path: PathBuf,
    file: File,
}

/// Creates a journal with an unused id, and locks it.
fn create_journal(
    folder: &Path,
    started_at: &str,
    workload: &str,
) -> Result<NewJournal, StoreError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let id = new_id(started_at, workload);
        let path = folder.join(format!("{id}.jsonl"));
        let file = match files::create_new(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::AlreadyExists && tries < MAX_ID_TRIES => {
                continue;
            }
            Err(error) => return Err(io_error("create", &path)(error)),
        };
        let locked = file.lock().map_err(io_error("lock", &path));
        let has_document = folder.join(format!("{id}.json")).exists();
        if locked.is_ok() && !has_document {
            return Ok(NewJournal { id, path, file });
        }
        let _ = fs::remove_file(&path);
        locked?;
        if tries >= MAX_ID_TRIES {
            let error = ErrorKind::AlreadyExists.into();
            return Err(io_error("create", &path)(error));
        }
    }
}

#[cfg(test)]
mod tests;
