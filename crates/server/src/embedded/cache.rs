//! The folder of downloaded programs.
//!
//! Must never: name a folder that the server's user cannot enter.

use super::privileges::{may_enter, server_user};
use std::path::{Path, PathBuf};

/// Folder of downloaded PostgreSQL programs, which may not exist yet.
///
/// `$XDG_CACHE_HOME/prony/postgres` or `~/.cache/prony/postgres`. If Prony runs as root, the server
/// runs as a different user, who usually cannot enter root's home; the folder is then
/// `/var/cache/prony/postgres`.
pub fn cache_dir() -> PathBuf {
    let shared = Path::new("/var/cache").to_path_buf();
    let base = match (user_cache(), server_user()) {
        (Some(folder), Ok(None)) => folder,
        (Some(folder), Ok(Some(user)))
            if deepest_existing(&folder).is_some_and(|dir| may_enter(dir, &user)) =>
        {
            folder
        }
        _ => shared,
    };
    base.join("prony").join("postgres")
}

fn user_cache() -> Option<PathBuf> {
    // The XDG specification requires that relative paths are ignored.
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))
}

/// The deepest ancestor that exists.
fn deepest_existing(path: &Path) -> Option<&Path> {
    path.ancestors().find(|dir| dir.exists())
}
