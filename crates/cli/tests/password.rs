//! Passwords appear in no process title and no message.

use std::net::TcpListener;
use std::process::{Command, Stdio};

const PASSWORD: &str = "gehe1m-aus-Paris";

/// The end of `prony check` against a server that takes the connection and hangs up: its title
/// while it waited, what it said, its exit code.
fn asked_with(url: impl Fn(u16) -> String) -> (String, String, Option<i32>) {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("bound").port();
    let child = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["check", "tpcb", "--url", &url(port)])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("prony starts");
    // While this connection is open and unanswered, the command waits.
    let (connection, _) = silent.accept().expect("it connects");
    let title = std::fs::read(format!("/proc/{}/cmdline", child.id())).expect("its title");
    // Nobody listens any more either, so that a second try ends at once.
    drop(silent);
    drop(connection);
    let ended = child.wait_with_output().expect("it ends");
    (
        String::from_utf8_lossy(&title).into_owned(),
        String::from_utf8_lossy(&ended.stderr).into_owned(),
        ended.status.code(),
    )
}

#[test]
fn the_process_title_does_not_show_a_password() {
    let uri = |port| format!("postgres://u:{PASSWORD}@127.0.0.1:{port}/d");
    let words = |port| format!("host=127.0.0.1 port={port} user=u password='{PASSWORD}' dbname=d");
    for (title, said, code) in [asked_with(uri), asked_with(words)] {
        assert!(!title.contains(PASSWORD), "in the title: {title}");
        assert!(
            title.contains("check\0tpcb\0--url\0"),
            "the rest stays: {title}"
        );
        assert!(title.contains("127.0.0.1"), "the rest stays: {title}");
        assert!(!said.contains(PASSWORD), "in a message: {said}");
        assert_eq!(code, Some(3), "{said}");
    }
}
