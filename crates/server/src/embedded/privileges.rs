//! The user that the server runs as: PostgreSQL refuses to run as root.
//!
//! Must never: change the user of Prony itself.

use super::Error;
use std::ffi::{CStr, CString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The ordinary user that the server runs as when Prony runs as root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUser {
    pub name: String,
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

impl ServerUser {
    /// Makes `command` run as this user, without root's supplementary groups.
    pub(crate) fn apply_to(&self, command: &mut Command) {
        // The standard library calls setgroups(0), setgid and setuid in this order in the child,
        // before any `pre_exec` closure.
        command.uid(self.uid).gid(self.gid);
    }

    /// Makes this user the owner of a file or directory.
    pub(crate) fn chown(&self, path: &Path) -> Result<(), Error> {
        std::os::unix::fs::lchown(path, Some(self.uid), Some(self.gid))
            .map_err(Error::io("change the owner of", path))
    }
}

/// Effective user id of this process.
pub(crate) fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The user that the server must run as; `None`: this process's own user, which is not root.
///
/// Prefers `postgres`, which owns only a server's files; else `nobody`.
///
/// # Errors
/// [`Error::NoServerUser`] if this process runs as root and neither user exists.
pub fn server_user() -> Result<Option<ServerUser>, Error> {
    if effective_uid() != 0 {
        return Ok(None);
    }
    ["postgres", "nobody"]
        .into_iter()
        .filter_map(look_up_user)
        .find(|user| user.uid != 0)
        .map(Some)
        .ok_or_else(|| Error::NoServerUser {
            reason: "neither the user postgres nor nobody exists".to_owned(),
        })
}

fn look_up_user(name: &str) -> Option<ServerUser> {
    let c_name = CString::new(name).ok()?;
    let mut buffer = vec![0_u8; 16 * 1024];
    // SAFETY: passwd is plain data for which all zeroes is a valid value.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut result: *mut libc::passwd = std::ptr::null_mut();
    // SAFETY: all pointers are valid for the call; `entry` points into `buffer`, which outlives it.
    let code = unsafe {
        libc::getpwnam_r(
            c_name.as_ptr(),
            &mut entry,
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            &mut result,
        )
    };
    if code != 0 || result.is_null() {
        return None;
    }
    // SAFETY: on success pw_name points to a terminated string in `buffer`.
    let name = unsafe { CStr::from_ptr(entry.pw_name) };
    Some(ServerUser {
        name: name.to_string_lossy().into_owned(),
        uid: entry.pw_uid,
        gid: entry.pw_gid,
    })
}

/// Whether the permission bits let `user` enter `dir` and all directories above it.
pub(crate) fn may_enter(dir: &Path, user: &ServerUser) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(dir) = dir.canonicalize() else {
        return false;
    };
    dir.ancestors().all(|ancestor| {
        let Ok(meta) = ancestor.metadata() else {
            return false;
        };
        let bit = if meta.uid() == user.uid {
            0o100
        } else if meta.gid() == user.gid {
            0o010
        } else {
            0o001
        };
        meta.mode() & bit != 0
    })
}
