//! Writes a run as it goes.
//!
//! In: what is known at the start, one row a second, the finished document. Out: a journal, and
//! in its place the document. Must never: lose what was written before because of what cannot be
//! written now.

use crate::document::write_document;
use crate::error::{StoreError, io_error};
use crate::id::new_id;
use crate::line::{Line, SecondLine};
use crate::lock;
use crate::observed::ServerSecond;
use crate::run::{Event, Run, State};
use crate::store::RunStore;
use prony_measure::Row;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// How many ids are tried before giving up: with 65,536 a second and workload, two are plenty.
const TRIES: u32 = 64;

/// A run that is being written. Its journal is locked as long as this lives: dropping it without
/// [`RunWriter::finish`] leaves an interrupted run.
#[derive(Debug)]
pub struct RunWriter {
    store: RunStore,
    id: String,
    path: PathBuf,
    file: File,
    /// Bytes of whole lines.
    good_bytes: u64,
}

impl RunWriter {
    /// Reserves an id, which it writes into the run, and writes the first line.
    pub(crate) fn begin(store: &RunStore, run: &mut Run) -> Result<RunWriter, StoreError> {
        let folder = store.runs_folder();
        // As the XDG base directory specification asks; files follow the user's umask.
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(io_error("create the folder", &folder))?;
        let (id, path, file) = reserve(&folder, &run.started_at, &run.workload.name)?;
        run.id.clone_from(&id);
        // An experiment has the name of its first run.
        if let Some(of) = run.experiment.as_mut().filter(|of| of.id.is_empty()) {
            of.id.clone_from(&id);
        }
        let mut writer = RunWriter {
            store: store.clone(),
            id,
            path,
            file,
            good_bytes: 0,
        };
        match writer.header(run) {
            Ok(()) => Ok(writer),
            Err(error) => {
                writer.discard();
                Err(error)
            }
        }
    }

    /// The run's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Writes all that is known but figures again, when more has become known.
    ///
    /// # Errors
    /// If it cannot be written. What was written before stays, and so for the other methods.
    pub fn header(&mut self, run: &Run) -> Result<(), StoreError> {
        let mut run = run.clone();
        run.id.clone_from(&self.id);
        self.line(&Line::Run(Box::new(run)))
    }

    /// Writes one row of figures. `load_start_ns` is the start of the load on the run's clock.
    ///
    /// # Errors
    /// If it cannot be written; the next row may be tried again.
    pub fn second(&mut self, row: &Row, load_start_ns: u64) -> Result<(), StoreError> {
        self.line(&Line::Second(Box::new(SecondLine::of(row, load_start_ns))))
    }

    /// Writes something that happened.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn event(&mut self, event: &Event) -> Result<(), StoreError> {
        self.line(&Line::Event(event.clone()))
    }

    /// Writes what the server showed from one reading to the next.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn server_second(&mut self, second: &ServerSecond) -> Result<(), StoreError> {
        self.line(&Line::Server(Box::new(second.clone())))
    }

    /// Writes something that happened in the server.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn server_event(&mut self, event: &Event) -> Result<(), StoreError> {
        self.line(&Line::ServerEvent(event.clone()))
    }

    /// Writes the finished document in place of the journal, and its row in the index. Gives the
    /// document's path. A run whose state is still `Running` is stored as partial.
    ///
    /// # Errors
    /// If the document cannot be written: then the journal stays, and is read as an interrupted
    /// run.
    pub fn finish(self, run: &Run) -> Result<PathBuf, StoreError> {
        let path = self.store.document_path(&self.id);
        let mut run = run.clone();
        run.id.clone_from(&self.id);
        if run.state == State::Running {
            run.state = State::Partial;
        }
        write_document(&path, &run)?;
        // A journal that stays is removed when the runs are listed, and so is the index mended.
        let _ = fs::remove_file(&self.path);
        self.store.index_one(&self.id, &run);
        Ok(path)
    }

    /// Forgets the run: it never began.
    pub fn discard(self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Appends a line in one write; takes back what was written of it if it does not fit.
    fn line(&mut self, line: &Line) -> Result<(), StoreError> {
        let mut bytes =
            serde_json::to_vec(line).map_err(|e| StoreError::not_a_run(&self.path, e))?;
        bytes.push(b'\n');
        match self.file.write_all(&bytes) {
            Ok(()) => {
                self.good_bytes += bytes.len() as u64;
                Ok(())
            }
            Err(error) => {
                // If even this fails, the reader skips the broken line.
                let _ = self.file.set_len(self.good_bytes);
                Err(io_error("write", &self.path)(error))
            }
        }
    }
}

/// Creates a journal that nobody else has, and locks it.
fn reserve(
    folder: &Path,
    started_at: &str,
    workload: &str,
) -> Result<(String, PathBuf, File), StoreError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let id = new_id(started_at, workload);
        let path = folder.join(format!("{id}.jsonl"));
        let mut options = OpenOptions::new();
        let file = match options.append(true).create_new(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::AlreadyExists && tries < TRIES => continue,
            Err(error) => return Err(io_error("create", &path)(error)),
        };
        let held = lock::hold(&file).map_err(io_error("lock", &path));
        let taken = folder.join(format!("{id}.json")).exists();
        if held.is_ok() && !taken {
            return Ok((id, path, file));
        }
        let _ = fs::remove_file(&path);
        held?;
        if tries >= TRIES {
            let error = ErrorKind::AlreadyExists.into();
            return Err(io_error("create", &path)(error));
        }
    }
}
