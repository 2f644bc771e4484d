//! Passwords in URLs do not appear in process titles and messages.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PASSWORD: &str = "gehe1m-aus-Paris";

/// Runs `prony check` against a server that accepts the connection and closes it; returns the process title
/// during the wait, stderr and the exit code.
fn check_with_url(url: impl Fn(u16) -> String) -> (String, String, Option<i32>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let mut child = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["check", "tpcb", "--url", &url(port)])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("prony starts");
    // The command waits while this connection is open and unanswered.
    let connection = accept(&listener, &mut child);
    let title = std::fs::read(format!("/proc/{}/cmdline", child.id())).expect("its title");
    // Close the listener too, so that a second attempt fails at once.
    drop(listener);
    drop(connection);
    let output = child.wait_with_output().expect("it ends");
    (
        String::from_utf8_lossy(&title).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
        output.status.code(),
    )
}

/// Accepts the first connection; fails if the command ends without connecting.
fn accept(listener: &TcpListener, child: &mut Child) -> TcpStream {
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
    let conninfo =
        |port| format!("host=127.0.0.1 port={port} user=u password='{PASSWORD}' dbname=d");
    for (title, stderr, code) in [check_with_url(uri), check_with_url(conninfo)] {
        assert!(!title.contains(PASSWORD), "in the title: {title}");
        assert!(
            title.contains("check\0tpcb\0--url\0"),
            "other parts are unchanged: {title}"
        );
        assert!(
            title.contains("127.0.0.1"),
            "other parts are unchanged: {title}"
        );
        assert!(!stderr.contains(PASSWORD), "in a message: {stderr}");
        assert_eq!(code, Some(3), "{stderr}");
    }
}

#[test]
fn a_url_in_the_wrong_place_is_quoted_without_its_password() {
    let url = format!("postgres://bench:{PASSWORD}{PASSWORD}{PASSWORD}@h/d");
    for arguments in [
        &["run"][..],
        &["load"],
        &["check"],
        &["show"],
        &["plan", "check"],
        &["run", "tpcb", "--duration"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_prony"))
            .args(arguments)
            .arg(&url)
            .output()
            .expect("prony starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        // Long arguments are truncated in messages, so search for the start of the password.
        assert!(!stderr.contains(&PASSWORD[..4]), "{arguments:?}: {stderr}");
        assert_ne!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
    }
}
