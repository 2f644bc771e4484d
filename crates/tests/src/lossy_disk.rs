//! A disk of which a test can cut the power: what a server has written and not flushed is then gone. It can also lie, and
//! flush nothing.
//!
//! In: a C compiler. Out: the environment of a server. Must never: undo what was flushed, or touch a file outside of the
//! folder of data.

use prony_server::embedded::Installation;
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

const SOURCE: &str = include_str!("lossy_disk.c");

/// A disk, by the library that is preloaded into its server. One of them serves one server.
#[derive(Debug)]
pub struct LossyDisk {
    folder: PathBuf,
}

struct Write {
    offset: u64,
    old_size: u64,
    replaced: Vec<u8>,
}

impl LossyDisk {
    /// Builds the library; `None` without a C compiler, or not on Linux.
    ///
    /// # Panics
    /// If there is a compiler, and it fails.
    pub fn new() -> Option<LossyDisk> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if !cfg!(target_os = "linux") || Command::new("cc").arg("--version").output().is_err() {
            return None;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("prony-lossy-disk-{}-{number}", std::process::id());
        let disk = LossyDisk {
            folder: std::env::temp_dir().join(name),
        };
        fs::create_dir_all(&disk.folder).expect("a folder");
        // The server's user uses it too.
        fs::set_permissions(&disk.folder, Permissions::from_mode(0o755)).expect("its owner");
        let source = disk.folder.join("lossy_disk.c");
        fs::write(&source, SOURCE).expect("a file");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]);
        compiler.arg(disk.library()).arg(source).arg("-ldl");
        let output = compiler.output().expect("it starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        File::create(disk.journal()).expect("a file");
        fs::set_permissions(disk.journal(), Permissions::from_mode(0o666)).expect("its owner");
        Some(disk)
    }

    fn library(&self) -> PathBuf {
        self.folder.join("lossy_disk.so")
    }

    fn journal(&self) -> PathBuf {
        self.folder.join("journal")
    }

    fn lie(&self) -> PathBuf {
        self.folder.join("lie")
    }

    /// The variables with which its server starts.
    pub fn environment(&self) -> Vec<(String, String)> {
        let variables = [
            ("LD_PRELOAD", self.library()),
            ("LOSSY_DISK_JOURNAL", self.journal()),
            ("LOSSY_DISK_LIE", self.lie()),
        ];
        let text = |(name, path): (&str, PathBuf)| (name.to_owned(), path.display().to_string());
        variables.map(text).into()
    }

    /// The same programs of PostgreSQL, whose server uses the disk.
    pub fn programs(&self, installation: &Installation) -> Installation {
        let bin_dir = self.folder.join("bin");
        fs::create_dir_all(&bin_dir).expect("a folder");
        for entry in fs::read_dir(&installation.bin_dir).expect("a folder") {
            let entry = entry.expect("a program");
            if entry.file_name() != "postgres" {
                symlink(entry.path(), bin_dir.join(entry.file_name())).expect("a link");
            }
        }
        let variables = self.environment().into_iter();
        let variables = variables.map(|(name, value)| format!("export {name}='{value}'\n"));
        let server = installation.bin_dir.join("postgres");
        let script = format!(
            "#!/bin/sh\n{}exec '{}' \"$@\"\n",
            variables.collect::<String>(),
            server.display()
        );
        let program = bin_dir.join("postgres");
        fs::write(&program, script).expect("a file");
        for path in [&bin_dir, &program] {
            fs::set_permissions(path, Permissions::from_mode(0o755)).expect("its owner");
        }
        Installation {
            bin_dir,
            ..installation.clone()
        }
    }

    /// Whether the disk says from now on that it has flushed what it has not.
    pub fn set_lying(&self, is_lying: bool) {
        let changed =
            if is_lying { File::create(self.lie()).map(drop) } else { fs::remove_file(self.lie()) };
        changed.expect("its own file");
    }

    /// Undoes what the server, whose processes have ended, has not flushed of the files in this folder. Returns the number
    /// of writes.
    pub fn cut_power(&self, data_dir: &Path) -> usize {
        let journal = fs::read(self.journal()).expect("its own file");
        let mut writes: HashMap<(u64, u64), Vec<Write>> = HashMap::new();
        let mut rest = &journal[..];
        while let Some((head, bytes)) = rest.split_first_chunk::<48>() {
            let number = |index: usize| {
                let bytes = head[8 * index..].first_chunk().expect("six numbers");
                u64::from_ne_bytes(*bytes)
            };
            let [inode, birth_ns, is_flush, offset, old_size, length] =
                [0, 1, 2, 3, 4, 5].map(number);
            let of_file = writes.entry((inode, birth_ns)).or_default();
            // A process that was killed while it noted a write has not made it.
            let Some((replaced, after)) = bytes.split_at_checked(length as usize) else {
                break;
            };
            if is_flush == 1 {
                of_file.clear();
            } else {
                of_file.push(Write {
                    offset,
                    old_size,
                    replaced: replaced.to_vec(),
                });
            }
            rest = after;
        }
        let undone = undo_in(data_dir, &writes);
        File::create(self.journal()).expect("its own file");
        undone
    }
}

/// Undoes the writes to the files below a folder, the last one first.
fn undo_in(folder: &Path, writes: &HashMap<(u64, u64), Vec<Write>>) -> usize {
    let mut undone = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a file").path();
        let state = fs::symlink_metadata(&path).expect("its owner");
        if state.is_dir() {
            undone += undo_in(&path, writes);
        }
        let born = state.created().expect("the file system knows it");
        let born = born.duration_since(std::time::UNIX_EPOCH);
        let birth_ns = born.map_or(0, |since| since.as_nanos() as u64);
        let Some(of_file) = writes.get(&(state.ino(), birth_ns)) else {
            continue;
        };
        let file = OpenOptions::new().write(true).open(&path);
        let file = file.expect("its owner");
        for write in of_file.iter().rev() {
            let written = file.write_all_at(&write.replaced, write.offset);
            written
                .and_then(|()| file.set_len(write.old_size))
                .expect("space");
            undone += 1;
        }
    }
    undone
}

impl Drop for LossyDisk {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
