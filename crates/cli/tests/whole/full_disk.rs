//! A store whose disk fills up during a run. A file size limit takes the place of the disk: the parent can set it
//! on a running process.

use crate::common::{Bench, any_committed, files, last, ok, signal, start_run, stderr_text, until};
use prony_store::RunState;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::Child;

/// From now on no file of that process grows beyond `bytes`.
fn limit_files(child: &Child, bytes: u64) {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    let pid = libc::pid_t::try_from(child.id()).expect("a pid");
    // SAFETY: the limit is a live struct, and nothing is written back.
    let failed = unsafe {
        libc::prlimit(
            pid,
            libc::RLIMIT_FSIZE,
            &raw const limit,
            std::ptr::null_mut(),
        )
    };
    assert_eq!(failed, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn a_full_disk_is_reported_at_once_and_not_as_a_kill() {
    let bench = Bench::new("full_disk");
    ok(&bench.prony("load tpcb --scale 1"));
    let mut command = bench.command("run tpcb --clients 2 --duration 5m");
    command.args(["--url", &bench.url]);
    // SAFETY: only ignores a signal, which then does not kill the program.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            Ok(())
        });
    }
    let (mut child, _) = start_run(command);
    until(&bench.home, any_committed);
    let runs = files(&bench.home.join("runs"));
    let journal = std::fs::read(&runs[0]).expect("the journal");
    let header = journal.iter().position(|&byte| byte == b'\n');
    limit_files(&child, header.expect("a first line") as u64 + 1);

    let (mut messages, mut byte) = (Vec::new(), [0]);
    let stderr = child.stderr.as_mut().expect("piped");
    let is_reported =
        |messages: &[u8]| String::from_utf8_lossy(messages).contains("until it ends\n");
    while !is_reported(&messages) {
        let read = stderr.read(&mut byte).expect("a pipe");
        assert!(read > 0, "it ended: {}", String::from_utf8_lossy(&messages));
        messages.push(byte[0]);
    }
    let messages = String::from_utf8_lossy(&messages);
    assert!(
        messages.contains("prony: cannot write ") && messages.contains("the run continues"),
        "{messages}"
    );
    assert!(child.try_wait().expect("its state").is_none());
    signal(&child, "-INT");
    let output = bench.assert_no_password(child.wait_with_output().expect("it ends"));
    // The user ended the run; the message says that it is not stored completely.
    assert_eq!(output.status.code(), Some(130), "{}", stderr_text(&output));
    let messages = stderr_text(&output);
    assert!(messages.contains("its journal has "), "{messages}");
    assert!(!messages.contains("all there is"), "{messages}");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("transactions/s committed"), "{shown}");

    assert!(ok(&bench.local("runs")).contains("partial"));
    let run = last(&bench);
    assert_eq!(run.state, RunState::Partial);
    assert!(any_committed(&run));
    let why = run.ended_because.expect("a reason");
    assert!(
        why.starts_with("not stored completely") && !why.contains("killed"),
        "{why}"
    );
}
