//! Passwords appear in no process title and no message.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PASSWORD: &str = "gehe1m-aus-Paris";

/// Runs `prony check` against a server that accepts the connection and hangs up; returns its title
/// while it waited, its output and its exit code.
fn check_with_url(url: impl Fn(u16) -> String) -> (String, String, Option<i32>) {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("bound").port();
    let mut child = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["check", "tpcb", "--url", &url(port)])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("prony starts");
    // While this connection is open and unanswered, the command waits.
    let connection = accepted(&silent, &mut child);
    let title = std::fs::read(format!("/proc/{}/cmdline", child.id())).expect("its title");
    // Close the listener too, so that a second try ends at once.
    drop(silent);
    drop(connection);
    let ended = child.wait_with_output().expect("it ends");
    (
        String::from_utf8_lossy(&title).into_owned(),
        String::from_utf8_lossy(&ended.stderr).into_owned(),
        ended.status.code(),
    )
}

/// The first connection; a command that ends without one fails the test instead of blocking it.
fn accepted(listener: &TcpListener, child: &mut Child) -> TcpStream {
    listener.set_nonblocking(true).expect("a mode");
    loop {
        if let Ok((connection, _)) = listener.accept() {
            return connection;
        }
        if let Some(status) = child.try_wait().expect("its state") {
            panic!("it ended without connecting: {status}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_process_title_does_not_show_a_password() {
    let uri = |port| format!("postgres://u:{PASSWORD}@127.0.0.1:{port}/d");
    let words = |port| format!("host=127.0.0.1 port={port} user=u password='{PASSWORD}' dbname=d");
    for (title, stderr, code) in [check_with_url(uri), check_with_url(words)] {
        assert!(!title.contains(PASSWORD), "in the title: {title}");
        assert!(
            title.contains("check\0tpcb\0--url\0"),
            "the rest stays: {title}"
        );
        assert!(title.contains("127.0.0.1"), "the rest stays: {title}");
        assert!(!stderr.contains(PASSWORD), "in a message: {stderr}");
        assert_eq!(code, Some(3), "{stderr}");
    }
}

#[test]
fn a_url_in_the_wrong_place_is_quoted_without_its_password() {
    let url = format!("postgres://bench:{PASSWORD}{PASSWORD}{PASSWORD}@h/d");
    for words in [
        &["run"][..],
        &["load"],
        &["check"],
        &["show"],
        &["plan", "check"],
        &["run", "tpcb", "--duration"],
    ] {
        let ended = Command::new(env!("CARGO_BIN_EXE_prony"))
            .args(words)
            .arg(&url)
            .output()
            .expect("prony starts");
        let stderr = String::from_utf8_lossy(&ended.stderr);
        // Only its beginning: a long argument is cut in a message.
        assert!(!stderr.contains(&PASSWORD[..4]), "{words:?}: {stderr}");
        assert_ne!(ended.status.code(), Some(0), "{words:?}: {stderr}");
    }
}
