//! Stores settings and jobs between calls, in a folder of Prony's store.
//!
//! Must never: store a password, or leave an incomplete file.
//!
//! ```text
//! PRONY_HOME/hammerdb/settings.json
//! PRONY_HOME/hammerdb/jobs/<id>.json
//! ```

use super::job::Job;
use prony_dialect::hammerdb::Settings;
use prony_store::RunStore;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Stored settings and jobs.
pub struct Storage {
    folder: Result<PathBuf, String>,
}

impl Storage {
    /// Storage in the default store. Creates no folder.
    pub fn open() -> Storage {
        // An absolute path, because a script may change the working directory.
        let folder = RunStore::open(None).map(|store| {
            let folder = store.folder().join("hammerdb");
            std::path::absolute(&folder).unwrap_or(folder)
        });
        Storage {
            folder: folder.map_err(|error| error.to_string()),
        }
    }

    /// The folder of Prony's store of runs, if there is one.
    pub fn run_store_folder(&self) -> Option<&Path> {
        self.folder.as_ref().ok()?.parent()
    }

    /// Storage in the given folder, for tests.
    #[cfg(test)]
    pub fn in_folder(folder: PathBuf) -> Storage {
        Storage { folder: Ok(folder) }
    }

    /// Reads the stored settings; the defaults if there are none.
    pub fn read_settings(&self) -> Result<Settings, String> {
        let Ok(folder) = &self.folder else {
            return Ok(Settings::default());
        };
        Ok(read(&folder.join("settings.json"))?.unwrap_or_default())
    }

    pub fn save_settings(&self, settings: &Settings) -> Result<(), String> {
        self.write("settings.json", settings)
    }

    pub fn save_job(&self, job: &Job) -> Result<(), String> {
        self.write(&format!("jobs/{}.json", job.id), job)
    }

    /// The identifiers of all jobs, the oldest first.
    pub fn job_ids(&self) -> Result<Vec<String>, String> {
        let jobs = self.folder.clone()?.join("jobs");
        let entries = match fs::read_dir(&jobs) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(error_at(&jobs))?,
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        let mut ids: Vec<String> = names
            .filter_map(|name| Some(name.to_str()?.strip_suffix(".json")?.to_owned()))
            .filter(|id| is_job_id(id))
            .collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// Reads a job; `None` if it does not exist.
    pub fn read_job(&self, id: &str) -> Result<Option<Job>, String> {
        let path = self.job_path(id)?;
        path.map_or(Ok(None), |path| read(&path))
    }

    /// Deletes a job. Its run stays in the store.
    pub fn delete_job(&self, id: &str) -> Result<(), String> {
        match self.job_path(id)? {
            Some(path) => fs::remove_file(&path).map_err(error_at(&path)),
            None => Ok(()),
        }
    }

    fn job_path(&self, id: &str) -> Result<Option<PathBuf>, String> {
        let folder = self.folder.clone()?;
        Ok(is_job_id(id).then(|| folder.join(format!("jobs/{id}.json"))))
    }

    /// Writes a document: to a temporary file, which is renamed, because another process may be reading.
    fn write(&self, name: &str, document: &impl Serialize) -> Result<(), String> {
        let path = self.folder.clone()?.join(name);
        let temporary = path.with_extension(format!("{}.new", std::process::id()));
        let write = || -> io::Result<()> {
            if let Some(folder) = path.parent() {
                DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(folder)?;
            }
            // Readable only by its owner, as stored runs are.
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            let mut file = options.open(&temporary)?;
            file.write_all(&serde_json::to_vec_pretty(document)?)?;
            fs::rename(&temporary, &path)
        };
        write().map_err(error_at(&path))
    }
}

/// Reads a document; `None` if there is no such file.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, String> {
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(error_at(path)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error_at(path)(error)),
    }
}

/// Whether a text is a valid job identifier, and therefore safe in a path.
fn is_job_id(text: &str) -> bool {
    text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn error_at<E: std::fmt::Display>(path: &Path) -> impl Fn(E) -> String {
    move |error| format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn stored_files_are_readable_only_by_their_owner() {
        let home = std::env::temp_dir().join(format!("prony-storage-{}", std::process::id()));
        let storage = Storage::in_folder(home.join("hammerdb"));
        storage
            .write("jobs/a.json", &"text")
            .expect("a writable folder");
        let mode = |path: &str| {
            let meta = fs::metadata(home.join(path)).expect("an existing path");
            meta.permissions().mode() & 0o777
        };
        assert_eq!(mode("hammerdb/jobs/a.json"), 0o600);
        for folder in ["", "hammerdb", "hammerdb/jobs"] {
            assert_eq!(mode(folder), 0o700, "{folder}");
        }
        fs::remove_dir_all(home).expect("the folder is deleted");
    }
}
