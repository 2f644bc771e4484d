//! The journal on disk while its run is in progress.
//!
//! In: lines. Out: a file of complete lines. Must never: keep half a line. The first write that fails, such as one on a
//! full disk, ends the journal: the run continues in memory, and its document is written from there.

use crate::error::{StoreError, io_error};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::Builder;

#[derive(Debug)]
pub(crate) struct JournalFile {
    path: PathBuf,
    /// Stays open because the lock lives as long as the open file.
    file: File,
    /// Length of the complete lines, bytes.
    complete_bytes: u64,
    has_ended: bool,
    /// Requests to have the disk store what was written, for the thread that does it; absent until the first request.
    syncer: Option<SyncSender<()>>,
    /// Whether the disk has refused to store what was written.
    sync_failed: Arc<AtomicBool>,
}

impl JournalFile {
    pub(crate) fn new(path: PathBuf, file: File) -> JournalFile {
        JournalFile {
            path,
            file,
            complete_bytes: 0,
            has_ended: false,
            syncer: None,
            sync_failed: Arc::default(),
        }
    }

    /// Has the disk store what was written so far, without waiting for it. A disk that is slower than the calls stores it
    /// less often; one that fails ends the journal at the next write.
    pub(crate) fn sync_behind(&mut self) {
        if self.syncer.is_none()
            && let Ok(file) = self.file.try_clone()
        {
            let (sender, requests) = sync_channel(1);
            let thread = Builder::new().name("journal".to_owned());
            let failed = Arc::clone(&self.sync_failed);
            let sync = move || {
                for () in requests {
                    if file.sync_data().is_err() {
                        failed.store(true, Ordering::Relaxed);
                    }
                }
            };
            self.syncer = thread.spawn(sync).is_ok().then_some(sender);
        }
        if let Some(syncer) = &self.syncer {
            let _ = syncer.try_send(());
        }
    }

    /// Appends a line in one write, unless the journal has ended.
    ///
    /// # Errors
    /// If the write fails. That ends the journal, so there is one error at most.
    pub(crate) fn append(&mut self, mut line: Vec<u8>) -> Result<(), StoreError> {
        if self.has_ended {
            return Ok(());
        }
        line.push(b'\n');
        let written = if self.sync_failed.load(Ordering::Relaxed) {
            Err(io::Error::other("the disk did not store earlier lines"))
        } else {
            self.file.write_all(&line)
        };
        written.map_err(|error| {
            self.has_ended = true;
            // If this fails too, readers skip the broken line.
            let _ = self.file.set_len(self.complete_bytes);
            io_error("write", &self.path)(error)
        })?;
        self.complete_bytes += line.len() as u64;
        Ok(())
    }

    /// Offset of the next line; `None` if the journal has ended.
    pub(crate) fn next_line_offset(&self) -> Option<u64> {
        (!self.has_ended).then_some(self.complete_bytes)
    }

    /// Replaces all lines from `position` on with these; if that fails, the old lines stay.
    pub(crate) fn replace_from(&mut self, position: u64, lines: &[Vec<u8>]) {
        if !self.has_ended
            && let Some(end) = self.overwrite(position, lines)
            // This truncates empty lines, so nothing is lost if it fails.
            && self.file.set_len(end).is_ok()
        {
            self.complete_bytes = end;
        }
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
        self.write_at(position, &bytes).ok()?;
        Some(end)
    }

    /// Writes at an offset. Opens the file again: the open one is in append mode, in which Linux ignores the
    /// offset.
    fn write_at(&self, position: u64, bytes: &[u8]) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(&self.path)?;
        file.write_all_at(bytes, position)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the journal: a document has replaced it, or the run never began.
    pub(crate) fn remove(self) {
        // If this fails, the next listing removes the journal.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TestFolder;

    #[test]
    fn merged_lines_survive_a_kill_at_any_time() {
        let folder = TestFolder::create();
        let path = folder.join("journal.jsonl");
        let file = crate::files::create_new(&path).unwrap();
        let mut journal = JournalFile::new(path.clone(), file);
        journal.append(b"before".to_vec()).unwrap();
        let position = journal.next_line_offset().unwrap();
        for line in ["second 1", "event", "second 2"] {
            journal.append(line.as_bytes().to_vec()).unwrap();
        }
        let before = fs::read(&path).unwrap();
        let too_long = [vec![b'x'; 200]];
        assert_eq!(journal.overwrite(position, &too_long), None, "too long");
        assert_eq!(fs::read(&path).unwrap(), before);
        let lines = [b"both".to_vec(), b"event".to_vec()];
        let end = journal.overwrite(position, &lines).unwrap();
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
    }
}
