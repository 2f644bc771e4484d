//! The private directory of one throw-away server: data, socket, log and a lock.
//!
//! It is removed on drop; a later start removes directories that dead processes left. Must never:
//! remove a directory whose lock is held, that a different user owns, or whose name has a different
//! prefix.
//!
//! A lock (flock) ends with the process that holds it, even on `kill -9`, and does not depend on process
//! ids, which may be reused: if the lock of a directory can be taken, its owner is dead.

use super::privileges::{ServerUser, effective_uid, may_enter};
use super::{Error, process};
use prony_document::hex;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const DIRECTORY_PREFIX: &str = "prony-pg-";
const LOCK_FILE: &str = "owner.lock";

/// Longest path of the parent folder, in bytes: a socket's path is at most 107 bytes, of which
/// `/prony-pg-12345678/s/.s.PGSQL.65535.lock` takes 40.
const PARENT_BYTES_MAX: usize = 60;

/// A private directory, locked while this value lives.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// Holds the lock; never read.
    _lock: File,
}

impl Directory {
    /// Creates a directory under `parent`, or in the first suitable default folder. Also removes the
    /// directories that dead processes left there.
    pub fn create(parent: Option<&Path>, user: Option<&ServerUser>) -> Result<Directory, Error> {
        let folders = parent.map_or_else(default_folders, |parent| vec![parent.to_path_buf()]);
        let mut rejected = Vec::new();
        for folder in folders {
            remove_stale_directories(&folder);
            match check_folder(&folder, user).and_then(|()| Self::create_in(&folder, user)) {
                Ok(directory) => return Ok(directory),
                Err(reason) => rejected.push(format!("{}: {reason}", folder.display())),
            }
        }
        Err(Error::NoFolder { folders: rejected })
    }

    fn create_in(folder: &Path, user: Option<&ServerUser>) -> Result<Directory, String> {
        let to_text = |problem: io::Error| problem.to_string();
        let path = loop {
            let path = folder.join(format!(
                "{DIRECTORY_PREFIX}{}",
                random_hex(4).map_err(to_text)?
            ));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => break path,
                Err(problem) if problem.kind() == io::ErrorKind::AlreadyExists => {}
                Err(problem) => return Err(to_text(problem)),
            }
        };
        let lock = create_lock(&path).map_err(|problem| {
            let _ = fs::remove_dir_all(&path);
            to_text(problem)
        })?;
        let directory = Directory { path, _lock: lock };
        for dir in [directory.data_dir(), directory.socket_dir()] {
            DirBuilder::new()
                .mode(0o700)
                .create(&dir)
                .map_err(to_text)?;
            if let Some(user) = user {
                user.chown(&dir).map_err(|problem| problem.to_string())?;
            }
        }
        if user.is_some() {
            // Lets the server's user pass through to the two directories in this one, which no other user
            // can enter.
            fs::set_permissions(&directory.path, Permissions::from_mode(0o711)).map_err(to_text)?;
        }
        Ok(directory)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn data_dir(&self) -> PathBuf {
        self.path.join("data")
    }

    /// Directory of the unix socket. Its name is one letter because the length of socket paths is
    /// limited.
    pub fn socket_dir(&self) -> PathBuf {
        self.path.join("s")
    }

    pub fn log_path(&self) -> PathBuf {
        self.path.join("log")
    }

    pub fn remove(&self) {
        remove(&self.path);
    }

    /// Writes a file that the server's user owns, mode 0600.
    pub fn write(
        &self,
        path: &Path,
        contents: &[u8],
        user: Option<&ServerUser>,
    ) -> Result<(), Error> {
        fs::write(path, contents)
            .and_then(|()| fs::set_permissions(path, Permissions::from_mode(0o600)))
            .map_err(Error::io("write", path))?;
        user.map_or(Ok(()), |user| user.chown(path))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Creates the lock file of a new directory and locks it. The file gets its final name only when it is
/// locked: until then, a start of a second Prony finds no lock file and skips the directory.
fn create_lock(directory: &Path) -> io::Result<File> {
    let new_path = directory.join("owner.lock.new");
    let lock = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new_path)?;
    lock.try_lock()?;
    fs::rename(&new_path, directory.join(LOCK_FILE))?;
    Ok(lock)
}

/// Removes a directory tree; retries, because backends of a killed server may still write to it for
/// a moment.
fn remove(path: &Path) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        match remove_lock_last(path) {
            Ok(()) => return,
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => return,
            // Give up: the next start of a server removes the directory.
            Err(_) if Instant::now() > deadline => return,
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Removes a directory tree, its lock file at the end: if this process is killed before, the next start finds the lock file,
/// and removes the rest.
fn remove_lock_last(path: &Path) -> io::Result<()> {
    remove_contents(path)?;
    fs::remove_dir_all(path)
}

/// Removes what is in a private directory, except its lock file.
pub(super) fn remove_contents(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_name() == LOCK_FILE {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn default_folders() -> Vec<PathBuf> {
    let tmpdir = std::env::var_os("TMPDIR").filter(|dir| !dir.is_empty());
    let fallbacks = ["/var/tmp", "/tmp"].map(PathBuf::from);
    tmpdir
        .map(PathBuf::from)
        .into_iter()
        .chain(fallbacks)
        .collect()
}

/// Checks that a folder can hold the private directory; the error is the reason why it cannot.
fn check_folder(folder: &Path, user: Option<&ServerUser>) -> Result<(), String> {
    let is_allowed = |b: &u8| b.is_ascii_alphanumeric() || b"/._-".contains(b);
    let bytes = folder.as_os_str().as_bytes();
    if !folder.is_absolute() {
        return Err("it is not an absolute path".to_owned());
    }
    if bytes.len() > PARENT_BYTES_MAX {
        return Err("its path is too long for a unix socket".to_owned());
    }
    if !bytes.iter().all(is_allowed) {
        return Err("its path has characters other than letters, digits and / . _ -".to_owned());
    }
    match user {
        Some(user) if !may_enter(folder, user) => {
            Err(format!("the user {} cannot access it", user.name))
        }
        _ => Ok(()),
    }
}

/// Removes the private directories that dead processes left in `folder`. Ignores errors: a directory
/// that cannot be removed must not prevent a start.
pub(super) fn remove_stale_directories(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if entry
            .file_name()
            .as_bytes()
            .starts_with(DIRECTORY_PREFIX.as_bytes())
        {
            remove_if_stale(&entry.path());
        }
    }
}

/// Removes a private directory if its owner is dead and its server has ended.
fn remove_if_stale(path: &Path) {
    let is_own = |meta: &fs::Metadata| meta.uid() == effective_uid();
    let is_dir = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir() && is_own(&meta));
    if !is_dir {
        return;
    }
    let lock = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path.join(LOCK_FILE));
    // A directory without a lock file is incomplete or not ours. One that is locked has a live owner.
    let Ok(lock) = lock else { return };
    if lock.try_lock().is_err() {
        return;
    }
    if let Some(pid) = running_server(&path.join("data")) {
        // When the owner died, the kernel sent the server a signal to end (process.rs). A suspended server
        // does not act on that signal: send one again and resume it.
        let _ = process::signal(pid, libc::SIGQUIT);
        let _ = process::signal(pid, libc::SIGCONT);
        return;
    }
    let _ = remove_lock_last(path);
}

/// The server that still runs in a data directory: the process in postmaster.pid, if that directory
/// is its working directory (a process id may have been reused).
fn running_server(data: &Path) -> Option<u32> {
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
pub fn random_hex(bytes: usize) -> io::Result<String> {
    let mut raw = vec![0_u8; bytes];
    File::open("/dev/urandom")?.read_exact(&mut raw)?;
    Ok(hex(&raw))
}
