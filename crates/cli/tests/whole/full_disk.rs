//! A store whose disk fills up during a run. The full disk is simulated by a file size limit, which the parent
//! can set on a running process.

use crate::common::*;
use std::io::Read;

/// Limits the size of all files that a process writes to `bytes`.
fn limit_file_sizes(child: &Child, bytes: u64) {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    let pid = libc::pid_t::try_from(child.id()).expect("a pid");
    // SAFETY: the limit is a live struct, and the pointer for the old limit may be null.
    let status = unsafe {
        libc::prlimit(
            pid,
            libc::RLIMIT_FSIZE,
            &raw const limit,
            std::ptr::null_mut(),
        )
    };
    assert_eq!(status, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn a_full_disk_is_reported_during_the_run() {
    let bench = TestBench::loaded("full_disk", 1);
    let mut child = bench.start("run tpcb --clients 2 --duration 5m --warmup 0s");
    wait_until(&bench.home, any_committed);
    let runs = files_below(&bench.home.join("runs"));
    let journal = std::fs::read(&runs[0]).expect("the journal");
    let header = journal.iter().position(|&byte| byte == b'\n');
    limit_file_sizes(&child, header.expect("a first line") as u64 + 1);

    let (mut messages, mut byte) = (Vec::new(), [0]);
    let stderr = child.stderr.as_mut().expect("piped");
    let is_reported =
        |messages: &[u8]| String::from_utf8_lossy(messages).contains("if there is room\n");
    while !is_reported(&messages) {
        let read = stderr.read(&mut byte).expect("a pipe");
        assert!(read > 0, "it ended: {}", String::from_utf8_lossy(&messages));
        messages.push(byte[0]);
    }
    let messages = String::from_utf8_lossy(&messages);
    messages.assert_contains("prony: cannot write ");
    messages.assert_contains("the run continues");
    assert!(child.try_wait().expect("its state").is_none());
    send_signal(&child, "-INT");
    let output = bench.finish(child);
    // The exit code is that of the interrupt; a message reports that the run is not stored completely.
    let messages = assert_code(&output, 130);
    messages.assert_contains("its journal has ");
    messages.assert_lacks("all there is");
    let stdout = stdout_text(&output);
    stdout.assert_contains("transactions/s committed");

    bench.ok_without_server("runs").assert_contains("partial");
    let run = last_run(&bench);
    assert_eq!(run.state, RunState::Partial);
    assert!(any_committed(&run));
    let reason = run.ended_because.expect("a reason");
    reason.assert_contains("or the disk was full");
}
