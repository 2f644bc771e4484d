//! The free space of the file system with a server's data.
//!
//! In: a connection to a server whose process runs on this machine. Out: free bytes, or why they are not known. Must
//! never: read the file system of this machine for a server that may run elsewhere or in a container.

use super::find_colocation;
use crate::control::Control;
use prony_document::SqlDialect;
use rustix::fs::statvfs;
use std::path::{Path, PathBuf};

/// Where new tables are stored by default: the tablespace of the session, else that of the database. Empty for the
/// data directory.
const TABLESPACE_QUERY: &str = "select pg_tablespace_location(t.oid) from pg_tablespace t where t.spcname = \
    coalesce(nullif(current_setting('default_tablespace'), ''), (select s.spcname from pg_database d \
    join pg_tablespace s on s.oid = d.dattablespace where d.datname = current_database()))";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeSpace {
    /// Bytes that are free for programs without privileges.
    pub bytes: u64,
    pub folder: String,
}

/// Finds the free space for new tables of a server that runs on this machine.
///
/// # Errors
/// Why it is not known, as the end of a sentence.
pub fn find_free_space(control: &mut Control) -> Result<FreeSpace, String> {
    let colocation = find_colocation(control);
    let process = match (colocation.processes, colocation.same_machine) {
        (Some(processes), _) => processes.root_pid,
        (None, Some(false)) => return Err("the server runs on another machine".to_owned()),
        (None, _) => return Err("the server's process was not found on this machine".to_owned()),
    };
    // The process has the number by which the server knows it unless it runs in a container.
    let shares_files = match colocation.serving {
        Some(task) => task.thread.is_some() || task.process == control.backend_pid(),
        None => false,
    };
    let folder = match control.dialect() {
        SqlDialect::PostgreSql => postgres_folder(control, process),
        SqlDialect::MySql => control.query_value("SELECT @@datadir").ok().flatten(),
        SqlDialect::TransactSql => None,
    };
    let folder = folder.ok_or("the server does not say where its data is")?;
    let seen_by_process = PathBuf::from(format!("/proc/{process}/root{folder}"));
    let seen_here = shares_files.then(|| PathBuf::from(&folder));
    let mut free = std::iter::once(seen_by_process)
        .chain(seen_here)
        .filter_map(|path| free_bytes(&path));
    match free.next() {
        Some(bytes) => Ok(FreeSpace { bytes, folder }),
        None => Err(format!("{folder} is not accessible")),
    }
}

/// The folder of PostgreSQL's new tables. The server's processes work in the data directory, which it names only to
/// roles with a privilege.
fn postgres_folder(control: &mut Control, process: u32) -> Option<String> {
    let tablespace = control.query_value(TABLESPACE_QUERY).ok()??;
    if !tablespace.is_empty() {
        return Some(tablespace);
    }
    let named = control.query_value("show data_directory").ok().flatten();
    named.or_else(|| {
        let folder = std::fs::read_link(format!("/proc/{process}/cwd")).ok()?;
        folder.into_os_string().into_string().ok()
    })
}

fn free_bytes(folder: &Path) -> Option<u64> {
    let status = statvfs(folder).ok()?;
    Some(status.f_bavail.saturating_mul(status.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_free_space_if_it_exists() {
        assert!(free_bytes(&std::env::temp_dir()) > Some(0));
        assert_eq!(free_bytes(Path::new("/none/of/these")), None);
    }
}
