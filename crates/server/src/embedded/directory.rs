//! The private directory of one throw-away server: data, socket, log and a lock.
//!
//! In: a place. Out: a directory that is removed when dropped; and the removal of those that dead
//! processes left. Must never: remove a directory whose lock is held, that another user owns, or
//! that carries another name.
//!
//! A lock (flock) ends with the process that holds it, also by `kill -9`, and cannot be confused
//! by a process number that is used again: a directory whose lock can be taken is nobody's.

use super::privileges::{ServerUser, effective_uid, may_enter};
use super::{Error, process};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const PREFIX: &str = "prony-pg-";
const LOCK: &str = "owner.lock";

/// A socket's path is at most 107 bytes; `/prony-pg-12345678/s/.s.PGSQL.65535.lock` takes 40.
const LONGEST_PARENT: usize = 60;

/// A private directory, locked while this value lives.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    /// Held, never read: see the top of this file.
    _lock: File,
}

impl Directory {
    /// Makes one under `parent`, or in the first usual place that will do; removes what dead
    /// processes left there.
    pub(super) fn create(
        parent: Option<&Path>,
        user: Option<&ServerUser>,
    ) -> Result<Directory, Error> {
        let places = parent.map_or_else(usual_places, |parent| vec![parent.to_path_buf()]);
        let mut tried = Vec::new();
        for place in places {
            sweep(&place);
            match suits(&place, user).and_then(|()| Self::create_in(&place, user)) {
                Ok(directory) => return Ok(directory),
                Err(reason) => tried.push(format!("{}: {reason}", place.display())),
            }
        }
        Err(Error::NoPlace { tried })
    }

    fn create_in(place: &Path, user: Option<&ServerUser>) -> Result<Directory, String> {
        let text = |problem: io::Error| problem.to_string();
        let path = loop {
            let path = place.join(format!("{PREFIX}{}", random_hex(4).map_err(text)?));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => break path,
                Err(problem) if problem.kind() == io::ErrorKind::AlreadyExists => {}
                Err(problem) => return Err(text(problem)),
            }
        };
        // The lock gets its name when it is held: a sweep by another Prony that comes in between
        // sees no lock and leaves the directory alone.
        let fresh = path.join("owner.lock.new");
        let lock = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&fresh)
            .map_err(text)?;
        lock.try_lock().map_err(|problem| problem.to_string())?;
        fs::rename(&fresh, path.join(LOCK)).map_err(text)?;
        let directory = Directory { path, _lock: lock };
        if let Some(user) = user {
            // The server's user passes through to its own directories; nobody else gets in there.
            fs::set_permissions(&directory.path, Permissions::from_mode(0o711)).map_err(text)?;
            for dir in [directory.data(), directory.socket()] {
                DirBuilder::new().mode(0o700).create(&dir).map_err(text)?;
                user.give(&dir).map_err(|problem| problem.to_string())?;
            }
        } else {
            for dir in [directory.data(), directory.socket()] {
                DirBuilder::new().mode(0o700).create(&dir).map_err(text)?;
            }
        }
        Ok(directory)
    }

    /// The whole of it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// PostgreSQL's data directory.
    pub(super) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    /// Where the unix socket lies; one letter, because socket paths are short.
    pub(super) fn socket(&self) -> PathBuf {
        self.path.join("s")
    }

    /// The server's log.
    pub(super) fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    /// Removes it now.
    pub(super) fn remove(&self) {
        remove(&self.path);
    }

    /// Writes a file of the server's user, mode 0600.
    pub(super) fn write(
        &self,
        path: &Path,
        contents: &[u8],
        user: Option<&ServerUser>,
    ) -> Result<(), Error> {
        fs::write(path, contents)
            .and_then(|()| fs::set_permissions(path, Permissions::from_mode(0o600)))
            .map_err(Error::io("write", path))?;
        user.map_or(Ok(()), |user| user.give(path))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes a tree that backends of a killed server may still write to for a moment.
fn remove(path: &Path) {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        match fs::remove_dir_all(path) {
            Ok(()) => return,
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => return,
            // Nothing more can be done, and the next start sweeps it.
            Err(_) if Instant::now() > end => return,
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn usual_places() -> Vec<PathBuf> {
    let asked = std::env::var_os("TMPDIR").filter(|dir| !dir.is_empty());
    let usual = ["/var/tmp", "/tmp"].map(PathBuf::from);
    asked.map(PathBuf::from).into_iter().chain(usual).collect()
}

/// Why a place will not do, if so.
fn suits(place: &Path, user: Option<&ServerUser>) -> Result<(), String> {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"/._-".contains(b);
    let bytes = place.as_os_str().as_bytes();
    if !place.is_absolute() {
        return Err("it is not an absolute path".to_owned());
    }
    if bytes.len() > LONGEST_PARENT {
        return Err("its path is too long for a unix socket".to_owned());
    }
    if !bytes.iter().all(plain) {
        return Err("its path has unusual letters".to_owned());
    }
    match user {
        Some(user) if !may_enter(place, user) => {
            Err(format!("the user {} may not enter it", user.name))
        }
        _ => Ok(()),
    }
}

/// Removes the private directories that dead processes left in `place`. Silent: a leftover that
/// cannot be removed is no reason to refuse a start.
pub(super) fn sweep(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.file_name().as_bytes().starts_with(PREFIX.as_bytes()) {
            sweep_one(&entry.path());
        }
    }
}

fn sweep_one(path: &Path) {
    let ours = |meta: &fs::Metadata| meta.uid() == effective_uid();
    let is_dir = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir() && ours(&meta));
    if !is_dir {
        return;
    }
    let lock = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path.join(LOCK));
    // No lock: being made at this moment, or not ours. Held: its owner lives.
    let Ok(lock) = lock else { return };
    if lock.try_lock().is_err() {
        return;
    }
    if let Some(pid) = orphan(&path.join("data")) {
        // The kernel has told it to end (process.rs); a stopped one cannot hear.
        let _ = process::signal(pid, libc::SIGQUIT);
        let _ = process::signal(pid, libc::SIGCONT);
        return;
    }
    let _ = fs::remove_dir_all(path);
}

/// The server that still runs in a data directory: the process that postmaster.pid names, if it
/// really works in that directory (a process number may have been used again).
fn orphan(data: &Path) -> Option<u32> {
    let mut text = String::new();
    File::open(data.join("postmaster.pid"))
        .ok()?
        .take(4096)
        .read_to_string(&mut text)
        .ok()?;
    let pid: u32 = text.lines().next()?.trim().parse().ok()?;
    let cwd = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
    (cwd == data.canonicalize().ok()?).then_some(pid)
}

/// `bytes` random bytes in hexadecimal, from the system's generator.
pub(super) fn random_hex(bytes: usize) -> io::Result<String> {
    let mut raw = vec![0_u8; bytes];
    File::open("/dev/urandom")?.read_exact(&mut raw)?;
    Ok(raw.iter().map(|byte| format!("{byte:02x}")).collect())
}
