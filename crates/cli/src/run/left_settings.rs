//! The settings that a run has changed on a server, beside the stored runs: if Prony is killed, the next run would take
//! them for what the server had before.
//!
//! In: what a run changes. Out: a file for each server, which exists while a run has changed it. Must never: fail a run
//! because the file cannot be written, or put back what a run that still goes on has changed.

use crate::command::{output, stored};
use prony_server::settings::{Reach, SettingChange, SettingsLock, lock_settings, undo};
use prony_server::{Control, ProtocolOptions, Target};
use serde::{Deserialize, Serialize};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

#[derive(Serialize, Deserialize)]
struct LeftSetting {
    name: String,
    before: String,
    /// The statements that put it back.
    undo: Vec<String>,
    needs_restart: bool,
}

/// What a run has changed.
#[derive(Serialize, Deserialize)]
struct LeftSettings {
    /// The run's process.
    pid: u32,
    settings: Vec<LeftSetting>,
}

/// The file of a server; on SQL Server, where settings are those of a database, of that.
fn path_of(target: &Target) -> Option<PathBuf> {
    let mut hasher = DefaultHasher::new();
    target.describe().hash(&mut hasher);
    if matches!(target.protocol, ProtocolOptions::SqlServer(_)) {
        target.database.hash(&mut hasher);
    }
    let folder = stored::open_store().ok()?.folder().join("changed-settings");
    Some(folder.join(format!("{:016x}.json", hasher.finish())))
}

/// Writes what was changed on the server so far.
pub fn record(target: &Target, changes: &[SettingChange]) {
    let settings = changes.iter().map(|change| LeftSetting {
        name: change.name.clone(),
        before: change.before.clone(),
        undo: change.undo().to_vec(),
        needs_restart: change.reach == Reach::Restart,
    });
    let left = LeftSettings {
        pid: std::process::id(),
        settings: settings.collect(),
    };
    let is_written = path_of(target).is_some_and(|path| write(&path, &left).is_ok());
    if !is_written {
        output::notice(
            "prony: warning: if this run is killed, nothing will tell the next one which settings of the server it has \
             changed: the folder of results cannot be written",
        );
    }
}

fn write(path: &Path, left: &LeftSettings) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    // A value may be a secret, as in `primary_conninfo`.
    let mut file = options.mode(0o600).open(path)?;
    file.write_all(&serde_json::to_vec(left)?)
}

/// Removes the file, because everything is put back.
pub fn forget(target: &Target) {
    if let Some(path) = path_of(target) {
        // If it stays, the next run tries again to put the settings back.
        let _ = fs::remove_file(path);
    }
}

/// Puts back what a killed run has left on the server, and says so, also if the user has to restart the server for it.
pub fn put_back(target: &Target) {
    let Some(path) = path_of(target) else { return };
    let text = fs::read(&path).unwrap_or_default();
    let Ok(LeftSettings { pid, settings }) = serde_json::from_slice(&text) else {
        return;
    };
    // The run goes on if its process does, or if it still holds the lock.
    if settings.is_empty() || Path::new(&format!("/proc/{pid}")).exists() {
        return;
    }
    let lock = match lock_settings(target) {
        Ok(SettingsLock::Held(lock)) => Some(lock),
        Ok(SettingsLock::Absent) => None,
        Ok(SettingsLock::HeldByOther(_)) | Err(_) => return,
    };
    let values: Vec<String> = settings
        .iter()
        .map(|setting| format!("{} = {}", setting.name, setting.before))
        .collect();
    let values = values.join(", ");
    let result = Control::connect(target).and_then(|mut control| {
        let mut latest_first = settings.iter().rev();
        latest_first.try_for_each(|setting| undo(&mut control, &setting.undo))
    });
    drop(lock);
    match result {
        Ok(()) => {
            forget(target);
            let restart = if settings.iter().any(|setting| setting.needs_restart) {
                "; restart it, so that it reads them"
            } else {
                ""
            };
            output::notice(&format!(
                "prony: an earlier run has left settings on the server; they are put back now: {values}{restart}"
            ));
        }
        Err(error) => output::notice(&format!(
            "prony: warning: an earlier run has left settings on the server, which could not be put back: {}; \
             before, they were {values}",
            prony_plan::UserError::parts(&error).sentence()
        )),
    }
}
