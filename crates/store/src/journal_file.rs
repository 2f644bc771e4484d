//! The journal on disk while its run is in progress.
//!
//! If the disk is full or broken, the lines go to another file, or stay in memory until there is room again.
//! The journal never keeps half a line, and a full disk never ends a run.

use crate::error::{StoreError, io_error};
use crate::files;
use crate::line::{Diversion, JournalLine};
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes of padding after the first line. A full file system usually still lets existing bytes be
/// overwritten, so the line that says where the run continues is written here. Copy-on-write file systems
/// (btrfs, ZFS) may refuse.
const RESERVED_BYTES: usize = 1024;
/// Maximum bytes of lines that are buffered in memory: some hours of them.
const MAX_BUFFERED_BYTES: usize = 64 << 20;

/// A journal that is being written.
#[derive(Debug)]
pub(crate) struct JournalFile {
    /// The run's id, for the name of a file in the temporary folder.
    id: String,
    /// The file in the store; it stays open because the lock lives as long as the open file.
    store_file: AppendFile,
    /// The file that takes the lines after a write to the store failed.
    diverted_file: Option<AppendFile>,
    /// Offset of the reserved bytes; absent before the first line.
    reserved_offset: Option<u64>,
    /// Lines that have not been written yet.
    buffered_lines: VecDeque<Vec<u8>>,
    buffered_bytes: usize,
    /// The system's message of the latest failed write; absent once all lines are in the store.
    write_failure: Option<String>,
    /// Whether the failure of the store has been reported.
    has_reported_failure: bool,
    /// Whether lines were dropped because the buffer in memory was full.
    has_dropped: bool,
    /// Lines dropped since the last buffered line.
    dropped_lines: u64,
    /// Maximum bytes of `buffered_lines`.
    max_buffered_bytes: usize,
}

/// An open file to which whole lines are appended.
#[derive(Debug)]
struct AppendFile {
    path: PathBuf,
    file: File,
    /// Length of the complete lines, bytes.
    complete_bytes: u64,
}

impl AppendFile {
    /// Appends in one write; removes a partial write.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.file.write_all(bytes);
        match written {
            Ok(()) => self.complete_bytes += bytes.len() as u64,
            // If this fails too, the reader skips the broken line.
            Err(_) => drop(self.file.set_len(self.complete_bytes)),
        }
        written
    }

    /// Overwrites the file from `position` on with these lines, and the remaining bytes with empty lines.
    /// Whenever Prony is killed, readers find either the old or the new lines. Returns the end of the new
    /// lines; `None` if they do not fit or the write failed.
    fn overwrite(&self, position: u64, lines: &[Vec<u8>]) -> Option<u64> {
        let capacity = usize::try_from(self.complete_bytes.checked_sub(position)?).ok()?;
        let mut bytes = Vec::with_capacity(capacity);
        for line in lines {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
        let end = position + bytes.len() as u64;
        if bytes.len() > capacity {
            return None;
        }
        bytes.resize(capacity, b'\n');
        self.write_over(position, &bytes).ok()?;
        Some(end)
    }

    /// Writes at an offset. Opens the file again: the open one is in append mode, in which Linux ignores the
    /// offset.
    fn write_over(&self, position: u64, bytes: &[u8]) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(&self.path)?;
        file.write_all_at(bytes, position)
    }
}

impl JournalFile {
    /// A journal in an empty file.
    pub(crate) fn new(id: &str, path: PathBuf, file: File) -> JournalFile {
        JournalFile {
            id: id.to_owned(),
            store_file: AppendFile {
                path,
                file,
                complete_bytes: 0,
            },
            diverted_file: None,
            reserved_offset: None,
            buffered_lines: VecDeque::new(),
            buffered_bytes: 0,
            write_failure: None,
            has_reported_failure: false,
            has_dropped: false,
            dropped_lines: 0,
            max_buffered_bytes: MAX_BUFFERED_BYTES,
        }
    }

    /// Writes the first line and the reserved bytes after it.
    pub(crate) fn write_header(&mut self, mut line: Vec<u8>) -> Result<(), StoreError> {
        let length = line.len() as u64;
        line.resize(line.len() + RESERVED_BYTES, b' ');
        line.push(b'\n');
        self.store_file
            .append(&line)
            .map_err(io_error("write", &self.store_file.path))?;
        self.reserved_offset = Some(length);
        Ok(())
    }

    /// Writes a line.
    ///
    /// # Errors
    /// The first time that a write to the store fails; after that, lines go to another file or are buffered
    /// in memory.
    pub(crate) fn append(&mut self, mut line: Vec<u8>) -> Result<(), StoreError> {
        line.push(b'\n');
        self.buffer_line(line);
        let error = match self.flush() {
            Ok(()) => {
                self.clear_failure();
                return Ok(());
            }
            Err(_) if self.write_failure.is_some() => return Ok(()),
            Err(error) => error,
        };
        self.write_failure = Some(crate::error::system_message(&error));
        let fallback = self.divert();
        self.record_diversion(&Diversion {
            because: self.failure_message(),
            journal: fallback.clone(),
            ..Diversion::default()
        });
        match std::mem::replace(&mut self.has_reported_failure, true) {
            true => Ok(()),
            false => Err(StoreError::Diverted {
                source: Box::new(io_error("write", &self.store_file.path)(error)),
                fallback,
            }),
        }
    }

    /// Clears the failure and its note, if all lines are in the store again.
    fn clear_failure(&mut self) {
        let is_complete = self.diverted_file.is_none() && !self.has_dropped;
        if is_complete && self.write_failure.take().is_some() {
            self.blank_reserved_bytes();
        }
    }

    fn buffer_line(&mut self, line: Vec<u8>) {
        // The document at the end needs none of these lines; they only matter if the run is killed.
        if self.buffered_bytes + line.len() > self.max_buffered_bytes {
            self.has_dropped = true;
            self.dropped_lines += 1;
            return;
        }
        let dropped_lines = std::mem::take(&mut self.dropped_lines);
        if dropped_lines > 0
            && let Ok(mut gap) = serde_json::to_vec(&JournalLine::Dropped(dropped_lines))
        {
            gap.push(b'\n');
            self.buffered_bytes += gap.len();
            self.buffered_lines.push_back(gap);
        }
        self.buffered_bytes += line.len();
        self.buffered_lines.push_back(line);
    }

    /// Writes the buffered lines.
    fn flush(&mut self) -> io::Result<()> {
        let file = self.diverted_file.as_mut().unwrap_or(&mut self.store_file);
        while let Some(line) = self.buffered_lines.front() {
            file.append(line)?;
            self.buffered_bytes -= line.len();
            self.buffered_lines.pop_front();
        }
        Ok(())
    }

    /// Copies the journal to the temporary folder and continues there. Returns the file's path, if there is
    /// room.
    fn divert(&mut self) -> Option<PathBuf> {
        let path = fallback_path(&self.id, "jsonl");
        let mut bytes = fs::read(&self.store_file.path).ok()?;
        bytes.truncate(usize::try_from(self.store_file.complete_bytes).ok()?);
        let mut file = AppendFile {
            file: files::create_new(&path).ok()?,
            path: path.clone(),
            complete_bytes: 0,
        };
        let written = file.append(&bytes);
        self.diverted_file = Some(file);
        if written.and_then(|()| self.flush()).is_err() {
            self.diverted_file = None;
            let _ = fs::remove_file(&path);
            return None;
        }
        Some(path)
    }

    /// Writes the diversion into the reserved bytes of the journal in the store, for its readers. Returns
    /// whether it fits completely; if the path is long, only the cause does.
    pub(crate) fn record_diversion(&self, diversion: &Diversion) -> bool {
        let Some(position) = self.reserved_offset else {
            return false;
        };
        let line = |diversion: &Diversion| {
            serde_json::to_vec(&JournalLine::Diverted(diversion.clone())).ok()
        };
        let cause_only = Diversion {
            journal: None,
            document: None,
            ..diversion.clone()
        };
        let fits = |line: &Vec<u8>| line.len() < RESERVED_BYTES;
        let full = line(diversion).filter(fits);
        let is_full = full.is_some();
        let Some(line) = full.or_else(|| line(&cause_only).filter(fits)) else {
            return false;
        };
        let mut bytes = vec![b'\n'];
        bytes.extend(line);
        bytes.resize(RESERVED_BYTES, b' ');
        self.store_file.write_over(position, &bytes).is_ok() && is_full
    }

    /// Clears the note in the reserved bytes, so that they can hold another one.
    fn blank_reserved_bytes(&self) {
        if let Some(position) = self.reserved_offset {
            let _ = self
                .store_file
                .write_over(position, &[b' '; RESERVED_BYTES]);
        }
    }

    /// Offset of the next line, if all lines before it are written.
    pub(crate) fn next_line_offset(&self) -> Option<u64> {
        let file = self.diverted_file.as_ref().unwrap_or(&self.store_file);
        self.buffered_lines
            .is_empty()
            .then_some(file.complete_bytes)
    }

    /// Replaces all lines from `position` on with these; if that fails, the old lines stay.
    pub(crate) fn replace_from(&mut self, position: u64, lines: &[Vec<u8>]) {
        let file = self.diverted_file.as_mut().unwrap_or(&mut self.store_file);
        if !self.buffered_lines.is_empty() {
            return;
        }
        if let Some(end) = file.overwrite(position, lines) {
            // This truncates empty lines, so nothing is lost if it fails.
            if file.file.set_len(end).is_ok() {
                file.complete_bytes = end;
            }
        }
    }

    /// The system's message of the latest failed write.
    pub(crate) fn failure_message(&self) -> String {
        self.write_failure.clone().unwrap_or_default()
    }

    /// Its path in the store.
    pub(crate) fn path(&self) -> &Path {
        &self.store_file.path
    }

    /// The file outside the store that takes the lines, if any.
    pub(crate) fn diverted_path(&self) -> Option<&Path> {
        self.diverted_file.as_ref().map(|file| file.path.as_path())
    }

    /// Tries again to write the buffered lines.
    pub(crate) fn retry_flush(&mut self) {
        let _ = self.flush();
    }

    /// Removes the journal: a document has replaced it, or the run never began.
    pub(crate) fn remove(self) {
        // If this fails, the next listing removes the journal.
        let _ = fs::remove_file(&self.store_file.path);
        if let Some(diverted) = &self.diverted_file {
            let _ = fs::remove_file(&diverted.path);
        }
    }
}

/// The path for a run that does not fit into the store: in `$TMPDIR`, otherwise in `/tmp`.
pub(crate) fn fallback_path(id: &str, ending: &str) -> PathBuf {
    std::env::temp_dir().join(format!("prony-{id}.{ending}"))
}

#[cfg(test)]
impl JournalFile {
    /// Simulates a full disk of the store. Returns the real file, whose lock lives as long as it is open.
    pub(crate) fn fill_disk(&mut self) -> File {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        std::mem::replace(&mut self.store_file.file, full)
    }

    /// Ends the simulation of a full disk.
    pub(crate) fn free_disk(&mut self, file: File) {
        self.store_file.file = file;
    }

    /// Makes overwriting fail, as on a full copy-on-write file system.
    pub(crate) fn refuse_overwrites(&mut self) {
        self.reserved_offset = None;
    }

    /// Limits the buffer in memory to this many bytes.
    pub(crate) fn limit_memory(&mut self, max_buffered_bytes: usize) {
        self.max_buffered_bytes = max_buffered_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_lines_survive_a_kill_at_any_time() {
        let folder = std::env::temp_dir().join(format!("prony-over-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("journal.jsonl");
        let file = files::create_new(&path).unwrap();
        let mut journal = JournalFile::new("over", path.clone(), file);
        journal.append(b"before".to_vec()).unwrap();
        let position = journal.next_line_offset().unwrap();
        for line in ["second 1", "event", "second 2"] {
            journal.append(line.as_bytes().to_vec()).unwrap();
        }
        let before = fs::read(&path).unwrap();
        let too_long = [vec![b'x'; 200]];
        assert_eq!(
            journal.store_file.overwrite(position, &too_long),
            None,
            "too long"
        );
        assert_eq!(fs::read(&path).unwrap(), before);
        let lines = [b"both".to_vec(), b"event".to_vec()];
        let end = journal.store_file.overwrite(position, &lines).unwrap();
        // The content if Prony is killed before the truncation.
        let before_truncation = fs::read_to_string(&path).unwrap();
        assert_eq!(before_truncation.len(), before.len());
        assert_eq!(
            before_truncation.trim_end_matches('\n'),
            "before\nboth\nevent"
        );
        assert_eq!(end, "before\nboth\nevent\n".len() as u64);
        journal.replace_from(position, &lines);
        journal.append(b"after".to_vec()).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, "before\nboth\nevent\nafter\n");
        fs::remove_dir_all(folder).unwrap();
    }
}
