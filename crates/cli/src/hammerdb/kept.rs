//! What outlives a call: settings and jobs, in a folder of Prony's store.
//!
//! In: settings, jobs. Out: the same, later. Must never: hold a password, or leave half a file.
//!
//! ```text
//! PRONY_HOME/hammerdb/settings.json
//! PRONY_HOME/hammerdb/jobs/<id>.json
//! ```

use super::job::Job;
use prony_dialect::hammerdb::Settings;
use prony_store::RunStore;
use serde::Serialize;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The folder; or why there is none.
pub struct Kept {
    folder: Result<PathBuf, String>,
}

impl Kept {
    /// The folder in the usual store. Nothing is created yet.
    pub fn open() -> Kept {
        let folder = RunStore::open(None).map(|store| store.folder().join("hammerdb"));
        Kept {
            folder: folder.map_err(|error| error.to_string()),
        }
    }

    /// A folder of a test's own.
    #[cfg(test)]
    pub fn at(folder: PathBuf) -> Kept {
        Kept { folder: Ok(folder) }
    }

    /// The settings of earlier calls; those that are shipped where there were none.
    ///
    /// # Errors
    /// Why they cannot be read.
    pub fn settings(&self) -> Result<Settings, String> {
        let Ok(folder) = &self.folder else {
            return Ok(Settings::default());
        };
        let path = folder.join("settings.json");
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(at(&path)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Settings::default()),
            Err(error) => Err(at(&path)(error)),
        }
    }

    /// Keeps the settings.
    ///
    /// # Errors
    /// Why they cannot be kept.
    pub fn keep_settings(&self, settings: &Settings) -> Result<(), String> {
        self.write("settings.json", settings)
    }

    /// Keeps a job.
    ///
    /// # Errors
    /// Why it cannot be kept.
    pub fn keep_job(&self, job: &Job) -> Result<(), String> {
        self.write(&format!("jobs/{}.json", job.id), job)
    }

    /// The identifiers of all jobs, the oldest first.
    ///
    /// # Errors
    /// Why they cannot be listed.
    pub fn job_ids(&self) -> Result<Vec<String>, String> {
        let jobs = self.folder.clone()?.join("jobs");
        let entries = match fs::read_dir(&jobs) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(at(&jobs))?,
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        let mut ids: Vec<String> = names
            .filter_map(|name| Some(name.to_str()?.strip_suffix(".json")?.to_owned()))
            .filter(|id| is_id(id))
            .collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// A job; none if there is no such one.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn job(&self, id: &str) -> Result<Option<Job>, String> {
        let Some(path) = self.job_path(id)? else {
            return Ok(None);
        };
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(at(&path)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(at(&path)(error)),
        }
    }

    /// Forgets a job. Its run stays in the store.
    ///
    /// # Errors
    /// Why it cannot be forgotten.
    pub fn delete_job(&self, id: &str) -> Result<(), String> {
        match self.job_path(id)? {
            Some(path) => fs::remove_file(&path).map_err(at(&path)),
            None => Ok(()),
        }
    }

    fn job_path(&self, id: &str) -> Result<Option<PathBuf>, String> {
        let folder = self.folder.clone()?;
        Ok(is_id(id).then(|| folder.join(format!("jobs/{id}.json"))))
    }

    /// Writes beside the file and puts it in place: another call may be reading.
    fn write(&self, name: &str, document: &impl Serialize) -> Result<(), String> {
        let path = self.folder.clone()?.join(name);
        let beside = path.with_extension(format!("{}.new", std::process::id()));
        let written = || -> io::Result<()> {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(&beside, serde_json::to_vec_pretty(document)?)?;
            fs::rename(&beside, &path)
        };
        written().map_err(at(&path))
    }
}

/// Whether a text can be a job's identifier, and so a part of a path.
fn is_id(text: &str) -> bool {
    text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn at<E: std::fmt::Display>(path: &Path) -> impl Fn(E) -> String {
    move |error| format!("{}: {error}", path.display())
}
