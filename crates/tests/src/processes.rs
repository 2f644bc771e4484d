//! Finds, signals and suspends the processes of a server.

use std::fs;

/// The processes that a process has started.
pub fn children(parent: u32) -> Vec<u32> {
    // /proc/PID/stat is `pid (name) state ppid ...`, where the name may contain spaces.
    let is_child = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after_name = stat.rsplit(") ").next().unwrap_or_default();
        after_name.split(' ').nth(1) == Some(parent.to_string().as_str())
    };
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(is_child).collect()
}

pub fn signal(pid: u32, signal: i32) {
    // SAFETY: kill(2) takes two integers and touches no memory.
    assert_eq!(unsafe { libc::kill(pid.cast_signed(), signal) }, 0, "{pid}");
}

/// The suspended processes of a server; resumed when dropped.
pub struct FrozenServer(Vec<u32>);

impl FrozenServer {
    /// Suspends a postmaster and its children with SIGSTOP: connections stay open but get no replies.
    pub fn new(postmaster: u32) -> FrozenServer {
        // The postmaster first, so that it starts no more backends.
        signal(postmaster, libc::SIGSTOP);
        let mut processes = vec![postmaster];
        for child in children(postmaster) {
            signal(child, libc::SIGSTOP);
            processes.push(child);
        }
        FrozenServer(processes)
    }
}

impl Drop for FrozenServer {
    fn drop(&mut self) {
        // The postmaster last: otherwise it would see that its children are stopped.
        for &pid in self.0.iter().rev() {
            // SAFETY: as in `signal`. The test may have ended the processes meanwhile.
            let _ = unsafe { libc::kill(pid.cast_signed(), libc::SIGCONT) };
        }
    }
}
