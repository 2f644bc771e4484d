//! Finds the PostgreSQL programs of this machine.
//!
//! In: the environment and the distributions' usual folders. Out: installations that the server's
//! user can run, newest first. Must never: download.

use super::privileges::{ServerUser, server_user};
use super::{Error, cache_dir, process};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Oldest major version that Prony starts: version 10 introduced the `ready` line of postmaster.pid,
/// and the configuration file needs 12. Version 11 is long out of support.
const OLDEST_MAJOR: u32 = 12;

/// PostgreSQL programs on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// Folder of `postgres` and `initdb`.
    pub bin_dir: PathBuf,
    /// Version that `postgres --version` prints.
    pub version: Version,
    pub source: InstallationSource,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallationSource {
    /// PRONY_PG_BINDIR.
    EnvVariable,
    /// A folder of PATH.
    Path,
    /// `pg_config --bindir`.
    PgConfig,
    /// A folder in which distributions install PostgreSQL.
    KnownFolder,
    /// Downloaded by Prony, now or earlier.
    Downloaded,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Major version, such as 18.
    pub major: u32,
    /// Minor version, such as 4; 0 for a beta.
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Version {
    /// Parses `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`, `... 19beta1`, `... 16devel`.
    fn parse(line: &str) -> Option<Version> {
        let text = line.split("(PostgreSQL)").nth(1)?.trim_start();
        let digit_count = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
        let major_length = digit_count(text);
        let major = text[..major_length].parse().ok()?;
        let after_major = text[major_length..].strip_prefix('.').unwrap_or("");
        let minor = after_major[..digit_count(after_major)].parse().unwrap_or(0);
        Some(Version { major, minor })
    }
}

/// The preferred PostgreSQL of this machine: the newest in PATH, in `pg_config --bindir` or in the
/// distributions' usual folders; else the newest that Prony downloaded earlier. If PRONY_PG_BINDIR is
/// set, only that folder is used.
pub fn find() -> Result<Installation, Error> {
    find_all()?.into_iter().next().ok_or(Error::NotFound {
        folders: Vec::new(),
    })
}

/// All installations in the order of preference of [`find`]; never empty.
pub fn find_all() -> Result<Vec<Installation>, Error> {
    let user = server_user()?;
    if let Some(folder) = std::env::var_os("PRONY_PG_BINDIR").filter(|v| !v.is_empty()) {
        let bin_dir = PathBuf::from(folder);
        return inspect(&bin_dir, InstallationSource::EnvVariable, user.as_ref())
            .map(|installation| vec![installation])
            .map_err(|reason| Error::EnvVariable { bin_dir, reason });
    }
    let mut unusable = Vec::new();
    let mut installations = inspect_all(candidate_folders(), user.as_ref(), &mut unusable);
    installations.extend(inspect_all(
        cached_folders(&cache_dir()),
        user.as_ref(),
        &mut unusable,
    ));
    if installations.is_empty() {
        return Err(Error::NotFound { folders: unusable });
    }
    Ok(installations)
}

/// Inspects folders. Returns the usable installations, newest first, and adds the unusable folders to
/// `unusable` with the reason.
pub(super) fn inspect_all(
    folders: Vec<(PathBuf, InstallationSource)>,
    user: Option<&ServerUser>,
    unusable: &mut Vec<String>,
) -> Vec<Installation> {
    let mut inspected = Vec::new();
    let mut installations: Vec<Installation> = Vec::new();
    for (folder, source) in folders {
        // PATH often has symbolic links to the programs: use the folder that they point to.
        let Ok(program) = folder.join("postgres").canonicalize() else {
            continue;
        };
        let Some(bin_dir) = program.parent().map(Path::to_path_buf) else {
            continue;
        };
        if inspected.contains(&bin_dir) {
            continue;
        }
        match inspect(&bin_dir, source, user) {
            Ok(installation) => installations.push(installation),
            Err(reason) => unusable.push(format!("{}: {reason}", bin_dir.display())),
        }
        inspected.push(bin_dir);
    }
    // The sort is stable: equal versions stay in the order of their folders.
    installations.sort_by_key(|installation| std::cmp::Reverse(installation.version));
    installations
}

/// Checks the programs in a folder and reads their version by running them as the server's user. The error is
/// the reason why they cannot be used.
pub(super) fn inspect(
    bin_dir: &Path,
    source: InstallationSource,
    user: Option<&ServerUser>,
) -> Result<Installation, String> {
    for name in ["postgres", "initdb"] {
        let program = bin_dir.join(name);
        // `exists` would treat a folder that we may not enter as empty.
        match program.try_exists() {
            Ok(true) => {}
            Ok(false) => return Err(format!("it does not contain {name}")),
            Err(problem) => {
                return Err(format!(
                    "cannot check whether it contains {name}: {problem}"
                ));
            }
        }
    }
    let mut version = None;
    for name in ["initdb", "postgres"] {
        version = Some(read_version(&bin_dir.join(name), user)?);
    }
    let version = version.expect("the loop ran twice");
    if version.major < OLDEST_MAJOR {
        return Err(format!(
            "PostgreSQL {version} is too old: Prony starts {OLDEST_MAJOR} or newer"
        ));
    }
    Ok(Installation {
        bin_dir: bin_dir.to_path_buf(),
        version,
        source,
    })
}

fn read_version(program: &Path, user: Option<&ServerUser>) -> Result<Version, String> {
    let run = || {
        process::command(program, user, Path::new("/"))
            .arg("--version")
            .output()
    };
    let mut output = run();
    // A program that was just written is "busy" while a second thread is between fork and exec,
    // because that child still has the file open.
    for _ in 0..50 {
        match &output {
            Err(problem) if problem.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(std::time::Duration::from_millis(20));
                output = run();
            }
            _ => break,
        }
    }
    let output = output
        .map_err(|problem| match user {
            Some(user) if problem.kind() == std::io::ErrorKind::PermissionDenied => format!(
                "the user {} (root must not run a server) may not run {}: that user must be able to access every folder above it",
                user.name,
                program.display()
            ),
            _ => format!("{} cannot be run: {problem}", program.display()),
        })?;
    let printed = String::from_utf8_lossy(&output.stdout);
    Version::parse(&printed).ok_or_else(|| {
        let errors = String::from_utf8_lossy(&output.stderr);
        let line = errors
            .lines()
            .chain(printed.lines())
            .next()
            .unwrap_or("nothing");
        format!("{} --version prints: {line}", program.display())
    })
}

fn candidate_folders() -> Vec<(PathBuf, InstallationSource)> {
    let mut folders = Vec::new();
    if let Some(path) = std::env::var_os("PATH") {
        folders
            .extend(std::env::split_paths(&path).map(|folder| (folder, InstallationSource::Path)));
    }
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if !folder.is_empty() {
            folders.push((PathBuf::from(folder), InstallationSource::PgConfig));
        }
    }
    // The folders of Debian, PGDG packages on RHEL and derivatives, Homebrew, Postgres.app, SUSE, FreeBSD
    // and builds from source.
    for (parent, prefix, subfolder) in [
        ("/usr/lib/postgresql", "", "bin"),
        ("/usr", "pgsql-", "bin"),
        ("/opt/homebrew/opt", "postgresql", "bin"),
        ("/usr/local/opt", "postgresql", "bin"),
        ("/home/linuxbrew/.linuxbrew/opt", "postgresql", "bin"),
        ("/Applications/Postgres.app/Contents/Versions", "", "bin"),
        ("/usr/lib", "postgresql", "bin"),
        ("/usr/local", "pgsql", "bin"),
        ("/opt", "pgsql", "bin"),
        ("/usr/libexec", "postgresql", ""),
    ] {
        let folder = |entry: PathBuf| (entry.join(subfolder), InstallationSource::KnownFolder);
        folders.extend(
            subfolders(Path::new(parent), prefix)
                .into_iter()
                .map(folder),
        );
    }
    folders.push((
        PathBuf::from("/usr/local/bin"),
        InstallationSource::KnownFolder,
    ));
    folders
}

/// Folders of programs that Prony downloaded.
pub(super) fn cached_folders(cache: &Path) -> Vec<(PathBuf, InstallationSource)> {
    subfolders(cache, "")
        .into_iter()
        .map(|entry| (entry.join("bin"), InstallationSource::Downloaded))
        .collect()
}

/// The entries of a folder whose names begin with `prefix`, sorted; without hidden entries.
fn subfolders(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return Vec::new();
    };
    let mut folders: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with(prefix) && !name.starts_with('.')
        })
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_parsed_as_the_programs_print_them() {
        let read = |line| Version::parse(line).map(|v| (v.major, v.minor));
        assert_eq!(
            read("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"),
            Some((15, 18))
        );
        assert_eq!(read("initdb (PostgreSQL) 18.4"), Some((18, 4)));
        assert_eq!(read("postgres (PostgreSQL) 19beta1"), Some((19, 0)));
        assert_eq!(read("postgres (PostgreSQL) 16devel"), Some((16, 0)));
        assert_eq!(read("mysqld  Ver 8.0.36"), None);
        assert_eq!(read(""), None);
    }
}
