use super::*;
use std::fs::File;
use std::os::fd::AsRawFd;

/// Whether any process, including this one, has locked a part of the file.
fn is_locked(path: &Path) -> bool {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut lock = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    // SAFETY: passing a live struct by pointer.
    let failed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
    assert_eq!(failed, 0);
    lock.l_type != libc::F_UNLCK as libc::c_short
}

#[test]
fn a_second_connection_keeps_the_locks_of_the_first() {
    let folder = std::env::temp_dir().join(format!("prony-locks-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("index.sqlite");
    let first = Index::open(&path).unwrap();
    let second = Index::open(&path).unwrap();
    // In WAL mode each connection keeps a shared lock on the file.
    assert!(is_locked(&path));
    drop((first, second));
    std::fs::remove_dir_all(folder).unwrap();
}
