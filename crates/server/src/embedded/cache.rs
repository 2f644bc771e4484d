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
    let system_cache = Path::new("/var/cache").to_path_buf();
    let base = match (user_cache_dir(), server_user()) {
        (Some(folder), Ok(None)) => folder,
        (Some(folder), Ok(Some(user)))
            if deepest_existing_ancestor(&folder).is_some_and(|dir| may_enter(dir, &user)) =>
        {
            folder
        }
        _ => system_cache,
    };
    base.join("prony").join("postgres")
}

fn user_cache_dir() -> Option<PathBuf> {
    // The XDG specification requires that relative paths are ignored.
    let absolute_path_in = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute_path_in("XDG_CACHE_HOME").or_else(|| Some(absolute_path_in("HOME")?.join(".cache")))
}

fn deepest_existing_ancestor(path: &Path) -> Option<&Path> {
    path.ancestors().find(|dir| dir.exists())
}
