//! What an agent measures, on its own disk until its coordinator has it all.
//!
//! In: rows. Out: a file of JSON lines: a header, the rows, and the end. It is removed when the coordinator says that
//! nothing is left to do, and stays if that is lost. Must never: stop a load because a disk is full, or hand out the
//! file of a load that is in progress.

use crate::message::RowCounts;
use prony_measure::SerializedRow;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

/// The first line of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeptHeader {
    /// The number of the run, which all its agents have in common.
    pub run: String,
    /// Name of the agent's machine.
    pub machine: String,
    pub workload: String,
    /// Names of the kinds of transaction, in the order of the rows' figures.
    pub kinds: Vec<String>,
    pub clients: u32,
    /// The workers of the whole run that the agent drove, from the first to before the last.
    pub first_worker: u32,
    pub end_worker: u32,
}

/// The last line of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeptEnd {
    pub rows: u64,
    /// Committed, rolled back, failed and skipped transactions.
    pub counts: RowCounts,
    pub failure: Option<String>,
}

/// Whole lines of a file that an agent kept, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeptPiece {
    /// Name of the file.
    pub name: String,
    pub lines: String,
    /// Whether the file ends with them, or cannot be read any further.
    pub is_last: bool,
    /// Why it cannot be read: it stays where it is.
    pub failed: Option<String>,
}

impl KeptPiece {
    /// The header, if these are the first lines.
    ///
    /// # Errors
    /// If they are not, or are not those of an agent.
    pub fn header(&self) -> io::Result<KeptHeader> {
        let first = self.lines.lines().next().unwrap_or_default();
        Ok(serde_json::from_str(first)?)
    }

    /// The end, if these are the last lines; `None` if the agent ended at once.
    pub fn end(&self) -> Option<KeptEnd> {
        serde_json::from_str(self.lines.lines().next_back()?).ok()
    }
}

/// A file that is being written, or none.
#[derive(Default)]
pub(crate) struct Keeping(Option<(File, PathBuf)>);

impl Keeping {
    pub fn begin(folder: Option<&Path>, header: &KeptHeader) -> Keeping {
        let begin = |folder: &Path| {
            std::fs::create_dir_all(folder)?;
            let path = folder.join(format!("{}-{}.jsonl", header.run, header.first_worker));
            let file = OpenOptions::new()
                .create_new(true)
                .append(true)
                .open(&path)?;
            // Until it is closed; see `kept`.
            file.lock()?;
            io::Result::Ok((file, path))
        };
        let mut keeping = Keeping(folder.and_then(|folder| begin(folder).ok()));
        keeping.add(header);
        keeping
    }

    pub fn add_row(&mut self, row: &SerializedRow) {
        self.add(row);
    }

    pub fn end(&mut self, end: &KeptEnd) {
        self.add(end);
    }

    fn add(&mut self, line: &impl Serialize) {
        let Some((file, _)) = &mut self.0 else { return };
        let written = serde_json::to_vec(line).map_err(io::Error::from);
        let written = written.and_then(|mut bytes| {
            bytes.push(b'\n');
            file.write_all(&bytes)
        });
        if written.is_err() {
            // What was written stays.
            self.0 = None;
        }
    }

    pub fn discard(&mut self) {
        if let Some((_, path)) = self.0.take() {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A piece is sent when it has so many bytes: a frame has room for its text as JSON, with another line.
const PIECE_BYTES: usize = 4 << 20;

/// The files of loads that have ended without their coordinator, by name.
fn kept(folder: &Path) -> impl Iterator<Item = (String, File)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let file = File::open(entry.path()).ok()?;
        let is_over = name.ends_with(".jsonl") && file.try_lock().is_ok();
        is_over.then_some((name, file))
    })
}

/// Reads the lines of the next piece; returns whether the file ends with them.
fn read_lines(input: &mut impl BufRead, lines: &mut String) -> io::Result<bool> {
    while lines.len() < PIECE_BYTES && input.read_line(lines)? > 0 {}
    Ok(input.fill_buf()?.is_empty())
}

/// Hands out the files of loads that have ended without their coordinator, piece by piece.
///
/// # Errors
/// Those of `send`; a file that cannot be read ends with the reason.
pub(crate) fn send_kept(
    folder: &Path,
    send: &mut dyn FnMut(KeptPiece) -> io::Result<()>,
) -> io::Result<()> {
    for (name, file) in kept(folder) {
        let mut input = BufReader::new(file);
        loop {
            let mut lines = String::new();
            let read = read_lines(&mut input, &mut lines);
            let failed = read.as_ref().err().map(io::Error::to_string);
            let is_last = read.unwrap_or(true);
            send(KeptPiece {
                name: name.clone(),
                lines,
                is_last,
                failed,
            })?;
            if is_last {
                break;
            }
        }
    }
    Ok(())
}

/// Removes a file that was handed out.
pub(crate) fn remove(folder: &Path, name: &str) {
    if kept(folder).any(|(kept, _)| kept == name) {
        let _ = std::fs::remove_file(folder.join(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TestFolder;

    fn pieces(folder: &Path) -> Vec<KeptPiece> {
        let mut pieces = Vec::new();
        let sent = send_kept(folder, &mut |piece| {
            pieces.push(piece);
            Ok(())
        });
        sent.expect("memory");
        pieces
    }

    #[test]
    fn a_file_is_handed_out_when_its_load_is_over_and_removed_by_name() {
        let folder = TestFolder::create();
        let header = KeptHeader {
            run: "7".to_owned(),
            machine: "vm1".to_owned(),
            workload: "tpcb".to_owned(),
            kinds: vec!["tpcb".to_owned()],
            clients: 3,
            first_worker: 2,
            end_worker: 4,
        };
        let mut keeping = Keeping::begin(Some(&folder), &header);
        assert!(pieces(&folder).is_empty(), "it is being written");
        keeping.end(&KeptEnd {
            rows: 5,
            counts: [1, 2, 3, 4],
            failure: None,
        });
        drop(keeping);
        let files = pieces(&folder);
        let (header, end) = (files[0].header().expect("one"), files[0].end());
        assert_eq!((header.clients, end.expect("an end").rows), (3, 5));
        // A name is that of a file in the folder, and no path.
        remove(
            &folder,
            &format!("../{}/{}", folder.display(), files[0].name),
        );
        assert_eq!(pieces(&folder).len(), 1);
        remove(&folder, &files[0].name);
        assert!(pieces(&folder).is_empty());
        let mut keeping = Keeping::begin(Some(&folder), &header);
        keeping.discard();
        assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 0);
    }

    /// A frame has at most 64 MiB, and a load of hours keeps more.
    #[test]
    fn a_long_file_is_handed_out_in_pieces_of_whole_lines() {
        let folder = TestFolder::create();
        let text = format!("{}\n", "x".repeat(999_999)).repeat(10) + "an end without a line";
        folder.write("7-0.jsonl", &text);
        let pieces = pieces(&folder);
        assert!(pieces.len() > 1);
        let (last, first) = pieces.split_last().expect("pieces");
        assert!(last.is_last && first.iter().all(|piece| !piece.is_last));
        for piece in &pieces {
            assert!(piece.lines.len() < PIECE_BYTES + 1_000_001 && piece.name == "7-0.jsonl");
        }
        assert!(first.iter().all(|piece| piece.lines.ends_with('\n')));
        let lines: String = pieces.iter().map(|piece| &*piece.lines).collect();
        assert!(lines == text && last.failed.is_none());
    }

    /// Whoever stores what was read must not remove the rest.
    #[test]
    fn a_file_that_cannot_be_read_to_its_end_says_so() {
        let folder = TestFolder::create();
        folder.write("7-0.jsonl", b"{}\n\xff\n{}\n");
        std::fs::create_dir(folder.join("7-1.jsonl")).expect("a folder");
        folder.write("7-2.jsonl", "{}\n");
        let mut pieces = pieces(&folder);
        pieces.sort_by(|a, b| a.name.cmp(&b.name));
        let failed = pieces.iter().map(|piece| piece.failed.is_some());
        assert_eq!(failed.collect::<Vec<_>>(), [true, true, false]);
        assert!(pieces.iter().all(|piece| piece.is_last));
    }
}
