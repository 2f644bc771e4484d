//! What an agent measures, on its own disk until its coordinator has it all.
//!
//! In: rows. Out: a file of JSON lines: a header, the rows, and the end. It is removed when the coordinator says that
//! nothing is left to do, and stays if that is lost. Must never: stop a load because a disk is full, or hand out the
//! file of a load that is in progress.

use crate::message::{PartRow, RowCounts};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
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

/// A file that an agent kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeptFile {
    pub name: String,
    pub text: String,
}

impl KeptFile {
    /// The first and the last line; without a last one, the agent ended at once.
    ///
    /// # Errors
    /// If it has no header.
    pub fn ends(&self) -> io::Result<(KeptHeader, Option<KeptEnd>)> {
        let mut lines = self.text.lines();
        let header = serde_json::from_str(lines.next().unwrap_or_default())?;
        let end = lines.next_back();
        Ok((header, end.and_then(|line| serde_json::from_str(line).ok())))
    }
}

/// A file that is being written, or none.
#[derive(Default)]
pub(crate) struct Keeping(Option<(File, PathBuf)>);

impl Keeping {
    /// Begins a file in a folder, which is created.
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

    pub fn add_row(&mut self, row: &PartRow) {
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

    /// The coordinator has all.
    pub fn discard(&mut self) {
        if let Some((_, path)) = self.0.take() {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The files of loads that have ended without their coordinator.
pub(crate) fn kept(folder: &Path) -> Vec<KeptFile> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let file = File::open(entry.path()).ok()?;
        let is_over = name.ends_with(".jsonl") && file.try_lock().is_ok();
        let text = is_over.then(|| std::fs::read_to_string(entry.path()).ok())??;
        Some(KeptFile { name, text })
    });
    files.collect()
}

/// Removes a file that was handed out.
pub(crate) fn remove(folder: &Path, name: &str) {
    if kept(folder).iter().any(|file| file.name == name) {
        let _ = std::fs::remove_file(folder.join(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_handed_out_when_its_load_is_over_and_removed_by_name() {
        let folder = std::env::temp_dir().join(format!("prony-kept-{}", std::process::id()));
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
        assert!(kept(&folder).is_empty(), "it is being written");
        keeping.end(&KeptEnd {
            rows: 5,
            counts: [1, 2, 3, 4],
            failure: None,
        });
        drop(keeping);
        let files = kept(&folder);
        let (header, end) = files[0].ends().expect("whole");
        assert_eq!((header.clients, end.expect("an end").rows), (3, 5));
        // A name is that of a file in the folder, and no path.
        remove(
            &folder,
            &format!("../{}/{}", folder.display(), files[0].name),
        );
        assert_eq!(kept(&folder).len(), 1);
        remove(&folder, &files[0].name);
        assert!(kept(&folder).is_empty());
        let mut keeping = Keeping::begin(Some(&folder), &header);
        keeping.discard();
        assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 0);
        std::fs::remove_dir(&folder).expect("a folder");
    }
}
