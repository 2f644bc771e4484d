//! The control connection against servers that misbehave: each a thread on the loopback address
//! that plays a script.

use prony_server::control::{Cause, Control, Error, Talk};
use prony_server::{Environment, Target, resolve};
use prony_wire::QueryMode;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;

const SSL_REQUEST: &[u8] = b"\0\0\0\x08\x04\xd2\x16\x2f";
const LOGGED_IN: &[u8] =
    b"R\0\0\0\x08\0\0\0\0S\0\0\0\x18server_version\x0015.0\0K\0\0\0\x0c\0\0\0\x07abcdZ\0\0\0\x05I";
const WRONG_PASSWORD: &[u8] = b"E\0\0\0\x23SFATAL\0C28P01\0Mwrong password\0\0";
const STARTING: &[u8] = b"E\0\0\0\x1dSFATAL\0C57P03\0Mstarting\0\0";

/// What a scripted server does in one connection, one step after another.
#[derive(Clone)]
enum Do {
    /// Reads a start-up packet (any length) and checks that it is this kind.
    TakeStartUp,
    TakeSslRequest,
    /// Reads one message with a tag.
    Take(u8),
    Send(Vec<u8>),
    /// Reads what has come.
    TakeSome,
    /// Waits until the client closes.
    Linger,
}
use Do::{Linger, Send, Take, TakeSome, TakeSslRequest, TakeStartUp};

struct Scripted {
    port: u16,
    thread: JoinHandle<()>,
}

/// Serves one connection for each script, then no more.
fn serve(scripts: Vec<Vec<Do>>) -> Scripted {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        for script in scripts {
            let (mut stream, _) = listener.accept().unwrap();
            for step in script {
                play(&mut stream, step);
            }
        }
    });
    Scripted { port, thread }
}

fn play(stream: &mut TcpStream, step: Do) {
    match step {
        TakeSslRequest => assert_eq!(take(stream, 8), SSL_REQUEST),
        TakeStartUp => {
            let length = u32::from_be_bytes(take(stream, 4).try_into().unwrap());
            let body = take(stream, length as usize - 4);
            assert_eq!(&body[..4], b"\0\x03\0\0");
        }
        Take(tag) => {
            let header = take(stream, 5);
            assert_eq!(header[0], tag);
            let length = u32::from_be_bytes(header[1..].try_into().unwrap());
            take(stream, length as usize - 4);
        }
        TakeSome => drop(stream.read(&mut [0; 4096]).unwrap()),
        // The client may have given up in the middle.
        Send(bytes) => drop(stream.write_all(&bytes)),
        Linger => while matches!(stream.read(&mut [0; 4096]), Ok(1..)) {},
    }
}

fn take(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

fn target(ports: &[u16], options: &str) -> Target {
    let hosts = vec!["127.0.0.1"; ports.len()].join(",");
    let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
    let conninfo = format!("host={hosts} port={} user=x {options}", ports.join(","));
    resolve(
        &conninfo,
        &Environment::new("tester", Path::new("/nonexistent")),
    )
    .unwrap()
}

/// Connects to a server that plays these scripts; they must all have been played at the end.
fn connect(options: &str, scripts: Vec<Vec<Do>>) -> Result<Control, Error> {
    let server = serve(scripts);
    let result = Control::connect(&target(&[server.port], options));
    server.thread.join().unwrap();
    result
}

fn failure(options: &str, scripts: Vec<Vec<Do>>) -> String {
    match connect(options, scripts) {
        Ok(_) => panic!("connected"),
        Err(error) => error.to_string(),
    }
}

fn send(bytes: &[u8]) -> Do {
    Send(bytes.to_vec())
}

#[test]
fn nonsense_instead_of_a_log_in() {
    let plain = "sslmode=disable";
    for (bytes, words) in [
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
        let text = failure(plain, vec![vec![TakeStartUp, send(bytes)]]);
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn nonsense_instead_of_tls() {
    let must = "sslmode=require";
    for (bytes, words) in [
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
        let text = failure(must, vec![vec![TakeSslRequest, send(bytes)]]);
        assert!(text.contains(words), "{text}");
        assert!(
            !text.contains("wrong password"),
            "words that nobody vouches for: {text}"
        );
    }
    let script = vec![TakeSslRequest, send(b"S"), TakeSome, send(&[b'x'; 100])];
    let text = failure(must, vec![script]);
    assert!(
        text.contains("SSL error") && text.contains("Does the server speak TLS"),
        "{text}"
    );
}

#[test]
fn prefer_goes_on_without_tls_where_libpq_does() {
    let plain = vec![TakeStartUp, send(LOGGED_IN), Linger];
    for first in [
        vec![TakeSslRequest, send(b"S"), TakeSome, send(&[b'x'; 100])],
        vec![TakeSslRequest, send(WRONG_PASSWORD)],
    ] {
        let server = serve(vec![first, plain.clone()]);
        let control = Control::connect(&target(&[server.port], "sslmode=prefer")).unwrap();
        assert_eq!(control.tls(), None);
        assert_eq!(control.server_version(), 150_000);
        drop(control);
        server.thread.join().unwrap();
    }
    // Said in the clear, a wrong password is final.
    let script = vec![
        TakeSslRequest,
        send(b"N"),
        TakeStartUp,
        send(WRONG_PASSWORD),
    ];
    let text = failure("sslmode=prefer", vec![script]);
    assert_eq!(text.matches("wrong password").count(), 1, "{text}");
}

#[test]
fn only_a_server_that_is_away_leads_to_the_next() {
    let plain = "sslmode=disable";
    let next = serve(vec![vec![TakeStartUp, send(LOGGED_IN), Linger]]);
    let starting = serve(vec![vec![TakeStartUp, send(STARTING)]]);
    let control = Control::connect(&target(&[starting.port, next.port], plain)).unwrap();
    assert_eq!(control.endpoint().port, next.port);
    drop(control);

    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let refusing = serve(vec![vec![TakeStartUp, send(WRONG_PASSWORD)]]);
    let ports = [refusing.port, other.local_addr().unwrap().port()];
    let error = Control::connect(&target(&ports, plain)).err().unwrap();
    assert_eq!(error.sqlstate(), Some("28P01"));
    assert!(
        other.accept().is_err(),
        "the wrong password went to the next server"
    );
    for server in [next, starting, refusing] {
        server.thread.join().unwrap();
    }
}

/// A log-in to a server that reports what kind it is.
fn logged_in_to(standby: bool) -> Vec<u8> {
    let value: &[u8] = if standby { b"on" } else { b"off" };
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

/// A reply of one row and column.
fn one_value(value: &[u8]) -> Vec<u8> {
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

fn no_talk(ports: &[u16], options: &str) -> String {
    let target = target(ports, &format!("sslmode=disable {options}"));
    match Talk::connect(&target, QueryMode::Extended) {
        Ok(_) => panic!("connected"),
        Err(error) => error.to_string(),
    }
}

/// What a script does before and after its threads run goes where they go.
#[test]
fn a_talk_heeds_what_kind_of_session_is_asked_for() {
    let standby = serve(vec![vec![TakeStartUp, send(&logged_in_to(true)), Linger]]);
    let next = serve(vec![vec![TakeStartUp, send(WRONG_PASSWORD)]]);
    let ports = [standby.port, next.port];
    let text = no_talk(&ports, "target_session_attrs=read-write");
    assert!(text.contains("session is read-only"), "{text}");
    assert!(
        text.contains("wrong password"),
        "the next was tried: {text}"
    );
    for server in [standby, next] {
        server.thread.join().unwrap();
    }
    let primary = serve(vec![vec![TakeStartUp, send(&logged_in_to(false)), Linger]]);
    let target = target(
        &[primary.port],
        "sslmode=disable target_session_attrs=read-write",
    );
    drop(Talk::connect(&target, QueryMode::Extended).unwrap());
    primary.thread.join().unwrap();
}

/// Servers before 14 do not report it.
#[test]
fn a_talk_asks_where_the_log_in_says_nothing() {
    let begin = [TakeStartUp, send(LOGGED_IN), Take(b'Q')];
    let script = |rest: &[Do]| [&begin[..], rest].concat();
    for (wanted, answers, words) in [
        ("primary", &["t"][..], "server is in hot standby mode"),
        ("standby", &["f"], "server is not in hot standby mode"),
        ("read-write", &["f", "on"], "session is read-only"),
    ] {
        let mut rest = vec![send(&one_value(answers[0].as_bytes()))];
        for answer in &answers[1..] {
            rest.extend([Take(b'Q'), send(&one_value(answer.as_bytes()))]);
        }
        rest.push(Linger);
        let server = serve(vec![script(&rest)]);
        let text = no_talk(&[server.port], &format!("target_session_attrs={wanted}"));
        assert!(text.contains(words), "{text}");
        server.thread.join().unwrap();
    }
    let silent = serve(vec![script(&[Linger])]);
    let options = "target_session_attrs=primary connect_timeout=2";
    let text = no_talk(&[silent.port], options);
    assert!(text.contains("failed: "), "{text}");
    silent.thread.join().unwrap();
}

#[test]
fn silence_ends_with_connect_timeout() {
    let server = serve(vec![vec![TakeStartUp, Linger]]);
    let error = Control::connect(&target(&[server.port], "sslmode=disable connect_timeout=2"))
        .err()
        .unwrap();
    assert!(error.to_string().contains("timeout expired"), "{error}");
    let Error::Connect(failures) = error else {
        panic!()
    };
    assert!(matches!(failures[0].cause, Cause::Timeout));
    server.thread.join().unwrap();
}

#[test]
fn answers_that_break_the_protocol() {
    for (answer, words) in [
        (&b"D\xff\xff\xff\xff"[..], "a message of 4294967295 bytes"),
        (b"D\0\0\0\x02", "a message of 2 bytes"),
        (b"D\0\0\0\x08\0\x01\x7f\xff", "malformed row"),
        (b"?\0\0\0\x04", "unexpected message '?'"),
        (
            b"C\0\0\0\x20half of it",
            "server closed the connection unexpectedly",
        ),
        (b"", "server closed the connection unexpectedly"),
        (b"E\0\0\0\x1aSFATAL\0C57P01\0Mgone.\0\0", "FATAL:  gone."),
    ] {
        let server = serve(vec![vec![
            TakeStartUp,
            send(LOGGED_IN),
            Take(b'Q'),
            send(answer),
        ]]);
        let mut control = Control::connect(&target(&[server.port], "sslmode=disable")).unwrap();
        let error = control.query("SELECT 1").unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert!(error.is_lost());
        assert!(matches!(control.query("SELECT 1"), Err(Error::Dead)));
        server.thread.join().unwrap();
    }
}

#[test]
fn a_copy_into_a_server_that_vanishes() {
    let script = vec![
        TakeStartUp,
        send(LOGGED_IN),
        Take(b'Q'),
        send(b"G\0\0\0\x07\0\0\0"),
        Take(b'd'),
        send(b"E\0\0\0\x1aSFATAL\0C57P01\0Mgone.\0\0"),
    ];
    let server = serve(vec![script]);
    let mut control = Control::connect(&target(&[server.port], "sslmode=disable")).unwrap();
    let mut copy = control.copy_in("COPY t FROM STDIN").unwrap();
    let data = vec![b'x'; 1 << 20];
    let error = (0..10_000)
        .find_map(|_| copy.write(&data).err())
        .expect("an error");
    // A reset connection may swallow the last words; it is lost either way.
    assert!(error.is_lost(), "{error}");
    drop(copy);
    assert!(matches!(control.execute("SELECT 1"), Err(Error::Dead)));
    server.thread.join().unwrap();
}
