//! The control connection against misbehaving servers; each server is a thread that executes a script.

use prony_assertions::TextAssertions;
use prony_server::control::{BlockingConnection, Control, Error, FailureCause};
use prony_server::{Environment, Target, resolve};
use prony_wire::QueryMode;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

const SSL_REQUEST: &[u8] = b"\0\0\0\x08\x04\xd2\x16\x2f";
const LOGGED_IN: &[u8] =
    b"R\0\0\0\x08\0\0\0\0S\0\0\0\x18server_version\x0015.0\0K\0\0\0\x0c\0\0\0\x07abcdZ\0\0\0\x05I";
const WRONG_PASSWORD: &[u8] = b"E\0\0\0\x23SFATAL\0C28P01\0Mwrong password\0\0";
const SERVER_STARTING: &[u8] = b"E\0\0\0\x1dSFATAL\0C57P03\0Mstarting\0\0";

#[derive(Clone)]
enum ScriptStep {
    /// Reads a startup packet of any length and checks its kind.
    ReadStartup,
    ReadSslRequest,
    /// Reads one message with a tag.
    ReadMessage(u8),
    Send(Vec<u8>),
    /// Reads the bytes that have arrived.
    ReadAvailable,
    /// Waits until the client closes.
    WaitForClose,
}
use ScriptStep::{ReadAvailable, ReadMessage, ReadSslRequest, ReadStartup, Send, WaitForClose};

struct ScriptedServer {
    port: u16,
    thread: JoinHandle<()>,
}

/// Serves one connection per script, then closes the listener.
fn serve(scripts: Vec<Vec<ScriptStep>>) -> ScriptedServer {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        for script in scripts {
            let (mut stream, _) = listener.accept().unwrap();
            for step in script {
                execute(&mut stream, step);
            }
        }
    });
    ScriptedServer { port, thread }
}

fn execute(stream: &mut TcpStream, step: ScriptStep) {
    match step {
        ReadSslRequest => assert_eq!(read_exact(stream, 8), SSL_REQUEST),
        ReadStartup => {
            let length = u32::from_be_bytes(read_exact(stream, 4).try_into().unwrap());
            let body = read_exact(stream, length as usize - 4);
            assert_eq!(&body[..4], b"\0\x03\0\0");
        }
        ReadMessage(tag) => {
            let header = read_exact(stream, 5);
            assert_eq!(header[0], tag);
            let length = u32::from_be_bytes(header[1..].try_into().unwrap());
            read_exact(stream, length as usize - 4);
        }
        ReadAvailable => drop(stream.read(&mut [0; 4096]).unwrap()),
        // The client may have disconnected already.
        Send(bytes) => drop(stream.write_all(&bytes)),
        WaitForClose => while matches!(stream.read(&mut [0; 4096]), Ok(1..)) {},
    }
}

fn read_exact(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

fn target(ports: &[u16], options: &str) -> Target {
    let hosts = vec!["127.0.0.1"; ports.len()].join(",");
    let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
    let conninfo = format!("host={hosts} port={} user=x {options}", ports.join(","));
    resolve(&conninfo, &Environment::without_home("tester")).unwrap()
}

/// Connects to a server that executes these scripts, and checks that it executed all of them.
fn connect(options: &str, scripts: Vec<Vec<ScriptStep>>) -> Result<Control, Error> {
    let server = serve(scripts);
    let result = Control::connect(&target(&[server.port], options));
    server.thread.join().unwrap();
    result
}

fn connect_error(options: &str, scripts: Vec<Vec<ScriptStep>>) -> String {
    match connect(options, scripts) {
        Ok(_) => panic!("connected"),
        Err(error) => error.to_string(),
    }
}

fn send(bytes: &[u8]) -> ScriptStep {
    Send(bytes.to_vec())
}

#[test]
fn invalid_replies_to_a_log_in_are_errors() {
    let no_tls = "sslmode=disable";
    for (bytes, expected) in [
        (
            &b"SSH-2.0-OpenSSH_9.2p1\r\n"[..],
            "does not speak the PostgreSQL protocol",
        ),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "got 'H'"),
        (b"R\xff\xff\xff\xf0", "4294967280 bytes"),
        (b"", "server closed the connection unexpectedly"),
        (
            b"R\0\0\0\x08\0\0",
            "server closed the connection unexpectedly",
        ),
        (b"E\0\0\0\x06S\0", "failed: "),
    ] {
        let text = connect_error(no_tls, vec![vec![ReadStartup, send(bytes)]]);
        text.assert_contains(expected);
    }
}

#[test]
fn invalid_replies_to_an_ssl_request_are_errors() {
    let require_tls = "sslmode=require";
    for (bytes, expected) in [
        (
            &b"SE\0\0\0\x10injected"[..],
            "received unencrypted data after SSL response",
        ),
        (b"N", "server does not support SSL"),
        (b"X", "invalid response to SSL negotiation"),
        (b"", "server closed the connection unexpectedly"),
        (
            WRONG_PASSWORD,
            "server sent an error response during SSL exchange",
        ),
    ] {
        let text = connect_error(require_tls, vec![vec![ReadSslRequest, send(bytes)]]);
        text.assert_contains(expected);
        assert!(
            !text.contains("wrong password"),
            "an unauthenticated message is shown: {text}"
        );
    }
    let script = vec![
        ReadSslRequest,
        send(b"S"),
        ReadAvailable,
        send(&[b'x'; 100]),
    ];
    let text = connect_error(require_tls, vec![script]);
    text.assert_contains("SSL error");
    text.assert_contains("Does the server speak TLS");
}

#[test]
fn prefer_falls_back_to_no_tls_in_the_same_cases_as_libpq() {
    let without_tls = vec![ReadStartup, send(LOGGED_IN), WaitForClose];
    for failing_tls in [
        vec![
            ReadSslRequest,
            send(b"S"),
            ReadAvailable,
            send(&[b'x'; 100]),
        ],
        vec![ReadSslRequest, send(WRONG_PASSWORD)],
    ] {
        let server = serve(vec![failing_tls, without_tls.clone()]);
        let control = Control::connect(&target(&[server.port], "sslmode=prefer")).unwrap();
        assert_eq!(control.tls(), None);
        assert_eq!(control.server_version(), 150_000);
        drop(control);
        server.thread.join().unwrap();
    }
    // A wrong password without TLS is final.
    let script = vec![
        ReadSslRequest,
        send(b"N"),
        ReadStartup,
        send(WRONG_PASSWORD),
    ];
    let text = connect_error("sslmode=prefer", vec![script]);
    assert_eq!(text.matches("wrong password").count(), 1, "{text}");
}

#[test]
fn the_next_host_is_tried_only_if_a_server_is_unreachable() {
    let no_tls = "sslmode=disable";
    let next_server = serve(vec![vec![ReadStartup, send(LOGGED_IN), WaitForClose]]);
    let starting = serve(vec![vec![ReadStartup, send(SERVER_STARTING)]]);
    let control = Control::connect(&target(&[starting.port, next_server.port], no_tls)).unwrap();
    assert_eq!(control.endpoint().port, next_server.port);
    drop(control);

    let second_listener = TcpListener::bind("127.0.0.1:0").unwrap();
    second_listener.set_nonblocking(true).unwrap();
    let refusing = serve(vec![vec![ReadStartup, send(WRONG_PASSWORD)]]);
    let ports = [refusing.port, second_listener.local_addr().unwrap().port()];
    let error = Control::connect(&target(&ports, no_tls)).err().unwrap();
    assert_eq!(error.sqlstate(), Some("28P01"));
    assert!(
        second_listener.accept().is_err(),
        "the wrong password was sent to the next server"
    );
    for server in [next_server, starting, refusing] {
        server.thread.join().unwrap();
    }
}

/// The reply to a login by a server that reports whether it is a standby.
fn login_reply(is_standby: bool) -> Vec<u8> {
    let value: &[u8] = if is_standby { b"on" } else { b"off" };
    let mut bytes = b"R\0\0\0\x08\0\0\0\0".to_vec();
    for (name, value) in [
        (&b"in_hot_standby"[..], value),
        (b"default_transaction_read_only", b"off"),
    ] {
        let length = 4 + name.len() + 1 + value.len() + 1;
        bytes.push(b'S');
        bytes.extend(u32::try_from(length).unwrap().to_be_bytes());
        bytes.extend([name, b"\0", value, b"\0"].concat());
    }
    bytes.extend(b"K\0\0\0\x0c\0\0\0\x07abcdZ\0\0\0\x05I");
    bytes
}

/// A result of one row and one column.
fn one_value_reply(value: &[u8]) -> Vec<u8> {
    let mut bytes =
        b"T\0\0\0\x1a\0\x01x\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0".to_vec();
    let length = u32::try_from(value.len()).unwrap();
    bytes.push(b'D');
    bytes.extend((10 + length).to_be_bytes());
    bytes.extend(b"\0\x01");
    bytes.extend(length.to_be_bytes());
    bytes.extend(value);
    bytes.extend(b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I");
    bytes
}

fn script_connection_error(ports: &[u16], options: &str) -> String {
    let target = target(ports, &format!("sslmode=disable {options}"));
    match BlockingConnection::connect(&target, QueryMode::Extended) {
        Ok(_) => panic!("connected"),
        Err(error) => error.to_string(),
    }
}

/// The connection for a script's queries outside its threads selects the same host as its clients.
#[test]
fn a_script_connection_respects_target_session_attrs() {
    let standby = serve(vec![vec![
        ReadStartup,
        send(&login_reply(true)),
        WaitForClose,
    ]]);
    let next_server = serve(vec![vec![ReadStartup, send(WRONG_PASSWORD)]]);
    let ports = [standby.port, next_server.port];
    let text = script_connection_error(&ports, "target_session_attrs=read-write");
    text.assert_contains("session is read-only");
    assert!(
        text.contains("wrong password"),
        "the next host was not tried: {text}"
    );
    for server in [standby, next_server] {
        server.thread.join().unwrap();
    }
    let primary = serve(vec![vec![
        ReadStartup,
        send(&login_reply(false)),
        WaitForClose,
    ]]);
    let target = target(
        &[primary.port],
        "sslmode=disable target_session_attrs=read-write",
    );
    drop(BlockingConnection::connect(&target, QueryMode::Extended).unwrap());
    primary.thread.join().unwrap();
}

/// Servers before version 14 do not report the kind of session.
#[test]
fn a_script_connection_queries_properties_that_the_log_in_does_not_report() {
    let start = [ReadStartup, send(LOGGED_IN), ReadMessage(b'Q')];
    let script = |steps: &[ScriptStep]| [&start[..], steps].concat();
    for (attribute, answers, expected) in [
        ("primary", &["t"][..], "server is in hot standby mode"),
        ("standby", &["f"], "server is not in hot standby mode"),
        ("read-write", &["f", "on"], "session is read-only"),
    ] {
        let mut steps = vec![send(&one_value_reply(answers[0].as_bytes()))];
        for answer in &answers[1..] {
            steps.extend([ReadMessage(b'Q'), send(&one_value_reply(answer.as_bytes()))]);
        }
        steps.push(WaitForClose);
        let server = serve(vec![script(&steps)]);
        let text =
            script_connection_error(&[server.port], &format!("target_session_attrs={attribute}"));
        text.assert_contains(expected);
        server.thread.join().unwrap();
    }
    let silent = serve(vec![script(&[WaitForClose])]);
    let options = "target_session_attrs=primary connect_timeout=2";
    let text = script_connection_error(&[silent.port], options);
    text.assert_contains("failed: ");
    silent.thread.join().unwrap();
}

#[test]
fn connecting_to_a_silent_server_ends_at_connect_timeout() {
    let server = serve(vec![vec![ReadStartup, WaitForClose]]);
    let error = Control::connect(&target(&[server.port], "sslmode=disable connect_timeout=2"))
        .err()
        .unwrap();
    error.to_string().assert_contains("timeout expired");
    let Error::Connect(failures) = error else {
        panic!()
    };
    assert!(matches!(failures[0].cause, FailureCause::Timeout));
    server.thread.join().unwrap();
}

#[test]
fn replies_that_violate_the_protocol_are_errors() {
    for (answer, expected) in [
        (
            &b"D\xff\xff\xff\xff"[..],
            "a message of type 'D' with an invalid length of 4294967295 bytes",
        ),
        (
            b"D\0\0\0\x02",
            "a message of type 'D' with an invalid length of 2 bytes",
        ),
        (
            b"T\0\0\0\x1a\0\x01x\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0\
              D\0\0\0\x08\0\x01\x7f\xffC\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I",
            "the lengths of a row's values are wrong",
        ),
        (b"?\0\0\0\x04", "an unexpected message of type '?'"),
        (
            b"C\0\0\0\x20half of it",
            "server closed the connection unexpectedly",
        ),
        (b"", "server closed the connection unexpectedly"),
        (b"E\0\0\0\x1aSFATAL\0C57P01\0Mgone.\0\0", "FATAL:  gone."),
    ] {
        let server = serve(vec![vec![
            ReadStartup,
            send(LOGGED_IN),
            ReadMessage(b'Q'),
            send(answer),
        ]]);
        let mut control = Control::connect(&target(&[server.port], "sslmode=disable")).unwrap();
        let error = control.query("SELECT 1").unwrap_err();
        error.to_string().assert_contains(expected);
        assert!(error.is_lost());
        assert!(matches!(control.query("SELECT 1"), Err(Error::Dead)));
        server.thread.join().unwrap();
    }
}

#[test]
fn a_copy_into_a_server_that_disconnects_is_an_error() {
    let script = vec![
        ReadStartup,
        send(LOGGED_IN),
        ReadMessage(b'Q'),
        send(b"G\0\0\0\x07\0\0\0"),
        ReadMessage(b'd'),
        send(b"E\0\0\0\x1aSFATAL\0C57P01\0Mgone.\0\0"),
    ];
    let server = serve(vec![script]);
    let mut control = Control::connect(&target(&[server.port], "sslmode=disable")).unwrap();
    let mut copy = control.copy_in("COPY t FROM STDIN").unwrap();
    let data = vec![b'x'; 1 << 20];
    let error = (0..10_000)
        .find_map(|_| copy.write(&data).err())
        .expect("an error");
    // A reset may discard the server's last message; the connection is lost either way.
    assert!(error.is_lost(), "{error}");
    drop(copy);
    assert!(matches!(control.execute("SELECT 1"), Err(Error::Dead)));
    server.thread.join().unwrap();
}
