//! Misbehaving servers; each server is a thread that executes a script.

use crate::support::connect;
use prony_assertions::TextAssertions;
use prony_server::control::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

/// A greeting of MySQL 8 that does not offer TLS.
const GREETING: &[u8] = b"\x4a\0\0\0\x0a8.0.99\0\x07\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08\0\xff\xf7\xff\x02\0\xff\xdf\x15\
    \0\0\0\0\0\0\0\0\0\0\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\0caching_sha2_password\0";
const OK: &[u8] = b"\0\0\0\x02\0\0\0";

/// Runs `script` for one client; the thread returns what the client sent.
fn serve(script: impl FnOnce(&mut TcpStream) + Send + 'static) -> (u16, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        script(&mut stream);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut received = Vec::new();
        let _ = stream.read_to_end(&mut received);
        received
    });
    (port, thread)
}

fn greeting() -> Vec<u8> {
    let mut bytes = GREETING.to_vec();
    bytes[0] = (bytes.len() - 4) as u8;
    bytes
}

fn send_packet(stream: &mut TcpStream, number: u8, payload: &[u8]) {
    let mut packet = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    packet.push(number);
    packet.extend_from_slice(payload);
    stream.write_all(&packet).unwrap();
}

fn read_packet(stream: &mut TcpStream) -> Vec<u8> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).unwrap();
    let mut body = vec![0; usize::from(header[0]) | usize::from(header[1]) << 8];
    stream.read_exact(&mut body).unwrap();
    body
}

fn log_client_in(stream: &mut TcpStream) {
    stream.write_all(&greeting()).unwrap();
    read_packet(stream);
    accept_login(stream);
}

/// Accepts the login, and refuses the query for the session's state.
fn accept_login(stream: &mut TcpStream) {
    send_packet(stream, 2, OK);
    read_packet(stream);
    send_packet(stream, 1, b"\xff\xa9\x04#HY000Unknown system variable");
}

fn url(port: u16, options: &str) -> String {
    format!("mysql://ann:secret@127.0.0.1:{port}/?ssl-mode=DISABLED&{options}")
}

fn login_error(port: u16, options: &str) -> String {
    connect(&url(port, options))
        .err()
        .expect("a refusal")
        .to_string()
}

fn contains_password(bytes: &[u8]) -> bool {
    bytes.windows(6).any(|window| window == b"secret")
}

#[test]
fn servers_of_other_protocols_are_recognized() {
    for greeting in [
        &b"SSH-2.0-OpenSSH_9.2\r\n"[..],
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x01\0\0\0\x09",
    ] {
        let (port, thread) = serve(|stream| stream.write_all(greeting).unwrap());
        let text = login_error(port, "");
        text.assert_contains("does not speak the MySQL protocol");
        text.assert_contains("Check host and port");
        assert!(thread.join().unwrap().is_empty());
    }
}

#[test]
fn connecting_to_a_silent_server_times_out() {
    let (port, thread) = serve(|stream| {
        // Waits until the client disconnects.
        let _ = stream.read(&mut [0; 16]);
    });
    let text = login_error(port, "connect-timeout=1");
    text.assert_contains("timeout expired");
    text.assert_contains("connect_timeout");
    thread.join().unwrap();
}

#[test]
fn a_password_is_not_sent_in_clear_text() {
    for (plugin, expected) in [
        ("mysql_clear_password", "is not enabled"),
        // On this machine, the server's RSA key is requested.
        ("sha256_password", "server closed the connection"),
        (
            "auth_gssapi_client",
            "\"auth_gssapi_client\" is not supported",
        ),
    ] {
        let (port, thread) = serve(move |stream| {
            stream.write_all(&greeting()).unwrap();
            read_packet(stream);
            let nonce = b"12345678901234567890\0";
            send_packet(
                stream,
                2,
                &[b"\xfe", plugin.as_bytes(), b"\0", nonce].concat(),
            );
        });
        let text = login_error(port, "");
        text.assert_contains(expected);
        assert!(!contains_password(&thread.join().unwrap()), "{plugin}");
    }
    // Even if clear text is allowed, it is not sent without TLS.
    let (port, thread) = serve(|stream| {
        stream.write_all(&greeting()).unwrap();
        read_packet(stream);
        send_packet(stream, 2, b"\xfemysql_clear_password\0");
    });
    let text = login_error(port, "enable-cleartext-plugin=1");
    text.assert_contains("requires a secure connection");
    assert!(!contains_password(&thread.join().unwrap()));
    // A request for the old plugin of MySQL 4.0 has no name.
    let (port, _) = serve(|stream| {
        stream.write_all(&greeting()).unwrap();
        read_packet(stream);
        send_packet(stream, 2, b"\xfe");
    });
    login_error(port, "").assert_contains("mysql_old_password");
}

#[test]
fn a_server_that_disconnects_during_a_query_is_lost() {
    let (port, _) = serve(|stream| {
        log_client_in(stream);
        read_packet(stream);
        send_packet(stream, 1, b"\x02");
    });
    let mut control = connect(&url(port, "")).unwrap();
    let error = control.query("SELECT 1, 2").unwrap_err();
    assert!(matches!(error, Error::Closed), "{error}");
    assert!(error.is_lost() && matches!(control.query("SELECT 1"), Err(Error::Dead)));
}

#[test]
fn the_last_message_of_a_server_that_disconnects_is_reported() {
    let reply = b"\xff\x1d\x04#08S01Server shutdown in progress";
    for before_query in [true, false] {
        let (port, _) = serve(move |stream| {
            log_client_in(stream);
            if !before_query {
                read_packet(stream);
            }
            send_packet(stream, 1, reply);
        });
        let mut control = connect(&url(port, "")).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let error = control.query("SELECT 1").unwrap_err();
        assert_eq!(
            error.server_error().map(|error| error.number),
            Some(1053),
            "{error}"
        );
        assert!(error.is_lost());
    }
}

#[test]
fn invalid_packets_after_the_log_in_end_the_connection() {
    for (number, payload) in [
        (1, &b""[..]),
        (1, b"\x02\x01"),
        (7, OK),
        (1, b"\xfb/etc/passwd"),
    ] {
        let (port, thread) = serve(move |stream| {
            log_client_in(stream);
            read_packet(stream);
            send_packet(stream, number, payload);
        });
        let mut control = connect(&url(port, "local-infile=1")).unwrap();
        let error = control.query("SELECT 1").unwrap_err();
        assert!(
            matches!(error, Error::Violation(_)) && error.is_lost(),
            "{error}"
        );
        drop(control);
        assert!(thread.join().unwrap().is_empty(), "{payload:?}");
    }
}

#[test]
fn failed_tls_is_an_error_if_required_and_skipped_if_preferred() {
    let greeting_with_tls = || {
        let mut bytes = greeting();
        let index = bytes
            .windows(2)
            .position(|flags| flags == b"\xff\xf7")
            .unwrap();
        bytes[index + 1] = 0xff;
        bytes
    };
    let (port, _) = serve(move |stream| {
        stream.write_all(&greeting_with_tls()).unwrap();
        assert_eq!(read_packet(stream).len(), 32);
        stream.write_all(b"this is not a TLS message").unwrap();
    });
    let error = connect(&format!(
        "mysql://ann:secret@127.0.0.1:{port}/?ssl-mode=REQUIRED"
    ));
    let text = error.err().expect("a refusal").to_string();
    text.assert_contains("SSL error");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&greeting_with_tls()).unwrap();
        read_packet(&mut stream);
        stream.write_all(b"this is not a TLS message").unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&greeting_with_tls()).unwrap();
        assert!(read_packet(&mut stream).len() > 32);
        accept_login(&mut stream);
    });
    let url = format!("mysql://ann:secret@127.0.0.1:{port}/?ssl-mode=PREFERRED");
    assert!(connect(&url).unwrap().tls().is_none());
    thread.join().unwrap();
}

#[test]
fn an_endless_log_in_is_an_error() {
    let (port, thread) = serve(|stream| {
        stream.write_all(&greeting()).unwrap();
        read_packet(stream);
        // "The password is cached", repeated forever.
        for number in 0..10_000_u32 {
            let packet = [2, 0, 0, (number + 2) as u8, 1, 3];
            if stream.write_all(&packet).is_err() {
                return;
            }
        }
    });
    let text = login_error(port, "");
    text.assert_contains("its login does not end");
    thread.join().unwrap();
}
