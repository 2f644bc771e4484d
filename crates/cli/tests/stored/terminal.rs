//! Control characters in text from servers, files and plans are never sent to a terminal.

use crate::document::new_run;
use crate::home::Home;
use prony_assertions::TextAssertions;
use prony_test_servers::canned::{Answer, CannedError, CannedProtocol, Conversation, start};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, Stdio};

/// Sets the title, clears the screen and changes the text direction, with C0, C1 and bidirectional control
/// characters.
const HOSTILE: &str = "go \x1b]0;owned\x07\x1b[2J\u{9b}2J\u{202e}\x7f\r away";

/// Starts a PostgreSQL or MySQL server that refuses each connection with a hostile message; returns its port.
fn hostile_server(mysql: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    // The thread ends with the process of the test.
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let refuse = if mysql { refuse_mysql } else { refuse_postgres };
            // A client may disconnect early.
            let _ = refuse(connection);
        }
    });
    port
}

fn refuse_postgres(mut connection: TcpStream) -> std::io::Result<()> {
    loop {
        let mut length = [0; 4];
        connection.read_exact(&mut length)?;
        let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
        connection.read_exact(&mut body)?;
        // Refuse TLS and GSSAPI; their request codes have 1234 in the upper half.
        if body.starts_with(&1234_u16.to_be_bytes()) {
            connection.write_all(b"N")?;
            continue;
        }
        let fields = format!("SFATAL\0VFATAL\0C28000\0M{HOSTILE}\0D{HOSTILE}\0H{HOSTILE}\0\0");
        let mut message = vec![b'E'];
        message.extend_from_slice(&(fields.len() as u32 + 4).to_be_bytes());
        message.extend_from_slice(fields.as_bytes());
        return connection.write_all(&message);
    }
}

fn refuse_mysql(mut connection: TcpStream) -> std::io::Result<()> {
    // Send error 1130 instead of a greeting.
    let body = format!("\u{7f}XX{HOSTILE}");
    let mut body = body.into_bytes();
    body.splice(0..3, [0xff, 0x6a, 0x04]);
    let mut packet = (body.len() as u32).to_le_bytes()[..3].to_vec();
    packet.push(0);
    packet.extend_from_slice(&body);
    connection.write_all(&packet)
}

/// Whether a character can control a terminal; line ends and tabs are allowed.
fn is_terminal_control(c: char) -> bool {
    let bidi_controls = '\u{202a}'..='\u{202e}';
    (c.is_control() && c != '\n' && c != '\t') || bidi_controls.contains(&c)
}

/// Runs a command; asserts that it fails and that its output contains `expected` and no control character.
fn assert_no_controls(home: &Home, arguments: &[&str], expected: &str) {
    let output = home.prony(arguments);
    let text = String::from_utf8(output.stdout).expect("UTF-8")
        + &String::from_utf8(output.stderr).expect("UTF-8");
    assert!(!output.status.success(), "{arguments:?}: {text:?}");
    assert!(
        !text.contains(is_terminal_control),
        "{arguments:?}: {text:?}"
    );
    assert!(text.contains(expected), "{arguments:?}: {text:?}");
}

#[test]
fn error_messages_of_servers_send_no_control_characters() {
    let home = Home::new();
    let port = hostile_server(false).to_string();
    let url = format!("postgres://u@127.0.0.1:{port}/d?sslmode=prefer");
    let escaped = "\\x1b]0;owned\\x07\\x1b[2J\\u009b2J\\u202e\\u007f";
    for arguments in [
        &["check", "tpcb", "--url", &url][..],
        &["run", "tpcb", "--url", &url],
        &["load", "tpcb", "--url", &url],
        &["pgbench", "-h", "127.0.0.1", "-p", &port, "-U", "u", "d"],
        &[
            "pgbench",
            "-i",
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            "-U",
            "u",
            "d",
        ],
    ] {
        assert_no_controls(&home, arguments, escaped);
    }
    let (host, db) = ("--pgsql-host=127.0.0.1", "--db-driver=pgsql");
    let port_option = format!("--pgsql-port={port}");
    assert_no_controls(
        &home,
        &["sysbench", "oltp_read_only", db, host, &port_option, "run"],
        escaped,
    );

    let port = hostile_server(true).to_string();
    let url = format!("mysql://u@127.0.0.1:{port}/d");
    assert_no_controls(&home, &["run", "oltp_read_only", "--url", &url], escaped);
    let (host, port_option) = ("--mysql-host=127.0.0.1", format!("--mysql-port={port}"));
    assert_no_controls(
        &home,
        &["sysbench", "oltp_read_only", host, &port_option, "run"],
        escaped,
    );
}

#[test]
fn names_of_files_and_variants_send_no_control_characters() {
    let home = Home::new();
    let escaped = "\\x1b[2J";
    let file = home.0.join("a\x1b[2J\u{9b}.sql");
    std::fs::write(&file, "\\nosuch\n").expect("a script");
    let name = file.to_str().expect("UTF-8");
    let url = "postgres://u@127.0.0.1:1/d";
    assert_no_controls(
        &home,
        &["run", "script", "--file", name, "--url", url],
        escaped,
    );
    assert_no_controls(&home, &["pgbench", "-f", name, "d"], escaped);
    assert_no_controls(&home, &["show", "no\x1b[2J"], "no");
    assert_no_controls(&home, &["audit", name], "");
    let plan = home.0.join("plan\x1b[2J.toml");
    let text = "workload = \"tpcb\"\n[variants.\"v\\u001b[2J\"]\nnosuch = 1\n";
    std::fs::write(&plan, text).expect("a plan");
    assert_no_controls(&home, &["run", plan.to_str().expect("UTF-8")], escaped);
    let lua = home.0.join("s\x1b[2J.lua");
    std::fs::write(&lua, "error(\"\\27]0;t\\7\")\n").expect("a script");
    assert_no_controls(
        &home,
        &["sysbench", lua.to_str().expect("UTF-8"), "run"],
        "\\x1b]0;t",
    );
}

#[test]
fn views_of_a_document_send_no_control_characters() {
    let home = Home::new();
    let mut run = new_run();
    run["id"] = "20261121-100000-tpcb-0001".into();
    run["state"] = "partial".into();
    run["workload"]["title"] = HOSTILE.into();
    run["server"]["version"] = HOSTILE.into();
    run["server"]["database"] = HOSTILE.into();
    home.store(&run);
    let text = home.run(&["show", "last", "--json"], 0);
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["workload"]["title"], HOSTILE);
    assert!(!text.contains(is_terminal_control), "{text:?}");
    // script(1) of util-linux runs the program on a pseudo-terminal.
    let mut script_command = Command::new("script");
    script_command
        .args([
            "-qec",
            concat!(env!("CARGO_BIN_EXE_prony"), " show last --full"),
        ])
        .arg("/dev/null")
        .env("PRONY_HOME", &home.0)
        .env("TERM", "xterm")
        .env_remove("NO_COLOR");
    let Ok(output) = script_command.output() else {
        eprintln!("skipped on a terminal: there is no program called script");
        return;
    };
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.assert_contains("\\x1b]0;owned\\x07\\x1b[2J");
    let colours = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[1;31m"];
    let colours = colours.iter();
    let without_colours = colours.fold(text, |text, code| text.replace(code, ""));
    let shown = without_colours.replace("\r\n", "\n");
    assert!(!shown.contains(is_terminal_control), "{shown:?}");
}

/// Opens a pseudo-terminal; returns the user's and the program's end.
fn open_terminal() -> (File, OwnedFd) {
    let (mut user, mut program) = (-1, -1);
    let (none, no_size) = (std::ptr::null_mut(), std::ptr::null());
    // SAFETY: both descriptors are valid for writing; the other pointers may be null (openpty(3)).
    let status = unsafe { libc::openpty(&mut user, &mut program, none, std::ptr::null(), no_size) };
    assert_eq!(status, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: both descriptors were just opened and have no other owner.
    unsafe { (File::from_raw_fd(user), OwnedFd::from_raw_fd(program)) }
}

/// Colour codes are allowed; other control characters may come from rows of a server.
#[test]
fn output_of_scripts_sends_no_control_characters() {
    let home = Home::new();
    let script = home.0.join("hostile.lua");
    let text = "print(\"\\27[1;31mred\\27[0m \\27]0;owned\\7 \\27[2J \\155\")";
    std::fs::write(&script, text).expect("a file");
    let (mut user, program) = open_terminal();
    let mut child = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["sysbench", &script.to_string_lossy(), "help"])
        .env("PRONY_HOME", &home.0)
        .stdout(program)
        .spawn()
        .expect("it starts");
    let mut terminal_output = Vec::new();
    // Reading the user's end fails when the program's end is closed.
    let _ = user.read_to_end(&mut terminal_output);
    child.wait().expect("it ends");
    let terminal_output = String::from_utf8(terminal_output).expect("UTF-8");
    let expected = "\x1b[1;31mred\x1b[0m \\x1b]0;owned\\x07 \\x1b[2J \\x9b";
    terminal_output.assert_contains(expected);
}

/// The command that loads 157 GB on a canned server, whose free space is not known.
fn large_load(home: &Home) -> Command {
    let refusal = CannedError {
        number: 0,
        sqlstate: "42501",
        message: "refused".to_owned(),
    };
    let answers = vec![("pg_".to_owned(), Answer::Error(refusal))];
    let server = start(
        CannedProtocol::PostgreSql,
        Conversation::new("16.4", answers),
    );
    let url = format!("postgres://u@127.0.0.1:{}/d", server.expect("a port"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["load", "tpcb", "--scale", "10000", "--url", &url]);
    command.env("PRONY_HOME", &home.0).env("NO_COLOR", "1");
    command
}

#[test]
fn a_large_load_is_confirmed_on_a_terminal_and_refused_without_one() {
    let home = Home::new();
    let output = large_load(&home)
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    let refused = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{refused}");
    for part in [
        "157 GB with indexes; about 1 h 5 min at an assumed 40 MB a second; free space not known: ",
        "prony: a load of 157 GB in about 1 h 5 min",
        "hint: add --yes, or use a smaller --scale",
    ] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    // Without an answer, the load is ended.
    let answered = |answer: &str| {
        let (mut user, program) = open_terminal();
        let mut command = large_load(&home);
        command.stdin(program.try_clone().expect("a descriptor"));
        let child = command.stderr(program).stdout(Stdio::null()).spawn();
        // The command holds the program's end too.
        drop(command);
        let mut child = child.expect("it starts");
        let mut shown = Vec::new();
        let mut byte = [0];
        while !shown.ends_with(b"[y/N] ") {
            user.read_exact(&mut byte).expect("a question");
            shown.push(byte[0]);
        }
        user.write_all(answer.as_bytes()).expect("an answer");
        if answer.is_empty() {
            // SAFETY: the process has not been waited for.
            unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
        }
        // Reading the user's end fails when the program's end is closed.
        let _ = user.read_to_end(&mut shown);
        let code = child.wait().expect("it ends").code();
        (code, String::from_utf8_lossy(&shown).into_owned())
    };
    let (code, shown) = answered("no\n");
    assert_eq!(code, Some(2), "{shown}");
    shown.assert_contains("prony: nothing was loaded");
    // The canned server does not know the catalog, so that the load begins and fails.
    let (code, shown) = answered("y\n");
    assert!(matches!(code, Some(3 | 6)), "{code:?}: {shown}");
    let (code, shown) = answered("");
    assert!(matches!(code, Some(143) | None), "{code:?}: {shown}");
    shown.assert_contains("ended by SIGTERM: nothing was loaded");
}
