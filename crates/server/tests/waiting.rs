//! How long the control connection waits for a silent server: at most as long as the user's limit,
//! and without a limit as long as the server answers new connections.

use prony_assertions::TextAssertions;
use prony_server::control::{Control, Error, StopSignal};
use prony_server::{Environment, Target, resolve};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

const LOGGED_IN: &[u8] =
    b"R\0\0\0\x08\0\0\0\0S\0\0\0\x18server_version\x0015.0\0K\0\0\0\x0c\0\0\0\x07abcdZ\0\0\0\x05I";
const TOO_MANY_CONNECTIONS: &[u8] = b"E\0\0\0\x1dSFATAL\0C53300\0Mtoo many\0\0";
const DONE: &[u8] = b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
const ONE_COLUMN: &[u8] =
    b"T\0\0\0\x1e\0\x01count\0\0\0\0\0\0\0\0\0\0\x14\0\x08\xff\xff\xff\xff\0\0";
const SECOND: Duration = Duration::from_secs(1);

fn listen() -> (TcpListener, Target) {
    listen_for("")
}

/// Listens; returns a target that also has these options.
fn listen_for(options: &str) -> (TcpListener, Target) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let conninfo = format!("host=127.0.0.1 port={port} user=x dbname=x sslmode=disable {options}");
    let environment = Environment::new("tester", Path::new("/"));
    let mut target = resolve(&conninfo, &environment).unwrap();
    target.wait_options.io_timeout = Some(SECOND / 4);
    (listener, target)
}

/// Reads the bytes that have arrived, and replies.
fn receive_and_reply(stream: &mut TcpStream, bytes: &[u8]) {
    let count = stream.read(&mut [0; 4096]).unwrap();
    assert!(count > 0, "the client has disconnected");
    stream.write_all(bytes).unwrap();
}

/// Lets a client log in, reads its statement, and does not reply.
fn accept_login(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().unwrap();
    receive_and_reply(&mut stream, LOGGED_IN);
    receive_and_reply(&mut stream, b"");
    stream
}

/// Asserts that a statement has its result, whose server does this after it has read it, with a target that has these
/// options.
fn assert_answered<T: Send + 'static>(
    options: &str,
    serve: impl FnOnce(TcpListener, TcpStream) -> T + Send + 'static,
) {
    let (listener, target) = listen_for(options);
    let server = thread::spawn(move || {
        let busy = accept_login(&listener);
        serve(listener, busy)
    });
    let mut control = Control::connect(&target).unwrap();
    assert_eq!(control.execute("SELECT 1").unwrap(), 1);
    drop(server.join().unwrap());
}

#[test]
fn a_server_that_answers_no_connection_counts_as_lost() {
    let (listener, target) = listen_for("connect_timeout=2");
    let server = thread::spawn(move || (accept_login(&listener), listener));
    let mut control = Control::connect(&target).unwrap();
    let error = control.execute("SELECT 1").unwrap_err();
    assert!(matches!(error, Error::Silent(_)), "{error}");
    assert!(error.is_lost() && error.is_silent());
    let text = error.to_string();
    text.assert_contains("the server stopped answering");
    text.assert_contains("failed: timeout expired");
    assert!(matches!(control.execute("SELECT 1"), Err(Error::Dead)));
    drop(server.join().unwrap());
}

/// The server may be building an index, for example. "Too many connections" also counts as an answer,
/// and so does a proxy that closes the connection.
#[test]
fn the_client_waits_for_a_server_that_answers_new_connections() {
    assert_answered("", |listener, mut busy| {
        for reply in [LOGGED_IN, TOO_MANY_CONNECTIONS, b"", LOGGED_IN] {
            let (mut probe, _) = listener.accept().unwrap();
            receive_and_reply(&mut probe, reply);
        }
        busy.write_all(DONE).unwrap();
        (busy, listener)
    });
}

/// A proxy that dropped the other side of the connection leaves the server in this state.
#[test]
fn a_server_that_waits_for_its_client_counts_as_lost() {
    for (second_status, expected) in [
        (&b"waits"[..], "waits for this client"),
        (b"gone", "no longer has this connection"),
    ] {
        check_counts_as_lost(second_status, expected);
    }
}

/// The reply to the first probe does not show whether the session exists; that to the second is
/// `second_status`.
fn check_counts_as_lost(second_status: &'static [u8], expected: &str) {
    let (listener, target) = listen();
    let server = thread::spawn(move || {
        let busy = accept_login(&listener);
        for status in [&b"unknown"[..], second_status] {
            let (mut probe, _) = listener.accept().unwrap();
            receive_and_reply(&mut probe, LOGGED_IN);
            let length = status.len() as u8;
            let mut reply = ONE_COLUMN.to_vec();
            reply.extend_from_slice(&[b'D', 0, 0, 0, length + 10, 0, 1, 0, 0, 0, length]);
            reply.extend_from_slice(status);
            reply.extend_from_slice(DONE);
            receive_and_reply(&mut probe, &reply);
        }
        (busy, listener)
    });
    let mut control = Control::connect(&target).unwrap();
    let error = control.execute("SELECT 1").unwrap_err();
    assert!(error.is_silent() && error.is_lost(), "{error}");
    let text = error.to_string();
    text.assert_contains(expected);
    drop(server.join().unwrap());
}

/// As a statement that waits for another session's lock, while the server answers new connections.
#[test]
fn the_user_is_told_what_is_waited_for_and_the_wait_can_have_a_limit() {
    static NOTICES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let (listener, mut target) = listen();
    let endpoint = target.endpoints[0].to_string();
    target.wait_options.io_timeout = None;
    target.wait_options.notice = Some(|awaited| NOTICES.lock().unwrap().push(awaited.to_owned()));
    let server = thread::spawn(move || {
        let (mut busy, _) = listener.accept().unwrap();
        receive_and_reply(&mut busy, LOGGED_IN);
        receive_and_reply(&mut busy, DONE);
        receive_and_reply(&mut busy, b"");
        (busy, listener)
    });
    let mut control = Control::connect(&target).unwrap();
    control.set_reply_limit(Some(4 * SECOND));
    control.execute("SELECT 0").unwrap();
    let error = control.execute("SELECT\n 1").unwrap_err();
    assert!(matches!(error, Error::NoReply(_)), "{error}");
    assert!(error.is_lost());
    error.to_string().assert_contains("within 4 s");
    let expected = format!("the server {endpoint} to answer SELECT 1");
    assert_eq!(*NOTICES.lock().unwrap(), [expected]);
    drop(server.join().unwrap());
}

/// If the server had exited, its host would have closed the first connection.
#[test]
fn the_client_waits_while_the_host_refuses_connections() {
    assert_answered("", |listener, mut busy| {
        drop(listener);
        thread::sleep(SECOND);
        busy.write_all(DONE).unwrap();
        busy
    });
}

#[test]
fn a_reply_that_arrives_during_a_failing_probe_is_used() {
    assert_answered("connect_timeout=2", |listener, mut busy| {
        let probe = listener.accept().unwrap();
        busy.write_all(DONE).unwrap();
        (busy, probe, listener)
    });
}

/// A user's limit for connecting also applies to probes; the default limit is 10 s.
#[test]
fn a_probe_has_the_same_limit_as_any_connection() {
    assert_answered("connect_timeout=60", |listener, mut busy| {
        let (mut probe, _) = listener.accept().unwrap();
        thread::sleep(11 * SECOND);
        receive_and_reply(&mut probe, LOGGED_IN);
        receive_and_reply(&mut probe, DONE);
        busy.write_all(DONE).unwrap();
        (busy, probe, listener)
    });
}

/// The query for the kind of session is part of connecting.
#[test]
fn a_probe_does_not_outlast_the_limit_of_the_wait() {
    let (listener, target) = listen_for("target_session_attrs=read-write connect_timeout=2");
    let server = thread::spawn(move || (accept_login(&listener), listener));
    let error = Control::connect(&target).err().unwrap().to_string();
    error.assert_contains("timed out");
    drop(server.join().unwrap());
}

/// Makes the kernel drop packets for this connection, like a load balancer that no longer knows it.
fn drop_packets(stream: &TcpStream) {
    let mut drop_all = libc::sock_filter {
        code: (libc::BPF_RET | libc::BPF_K) as u16,
        jt: 0,
        jf: 0,
        k: 0,
    };
    let program = libc::sock_fprog {
        len: 1,
        filter: &mut drop_all,
    };
    // SAFETY: the descriptor is open; the pointer is to a program of the stated size, whose only
    // instruction lives until the kernel has copied it.
    let status = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            std::ptr::from_ref(&program).cast(),
            size_of_val(&program) as libc::socklen_t,
        )
    };
    assert_eq!(status, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn a_connection_dropped_by_the_network_counts_as_lost() {
    let (listener, mut target) = listen();
    let signal = Arc::new(AtomicUsize::new(0));
    target.wait_options.stop = StopSignal::watching(Arc::clone(&signal));
    let (ready_sender, ready_receiver) = mpsc::channel();
    thread::spawn(move || {
        let (mut lost, _) = listener.accept().unwrap();
        receive_and_reply(&mut lost, LOGGED_IN);
        drop_packets(&lost);
        ready_sender.send(()).unwrap();
        for mut probe in listener.incoming().flatten() {
            receive_and_reply(&mut probe, LOGGED_IN);
        }
    });
    let mut control = Control::connect(&target).unwrap();
    ready_receiver.recv().unwrap();
    // If the connection does not count as lost, end the test before the kernel's time-out.
    thread::spawn(move || {
        thread::sleep(60 * SECOND);
        signal.store(15, Ordering::Relaxed);
    });
    let error = control.execute("SELECT 1").unwrap_err();
    assert!(error.is_silent() && error.is_lost(), "{error}");
    error.to_string().assert_contains("not acknowledged");
}

/// The waits for a reply, for the server to read COPY data, and for the end of a login.
#[test]
fn a_signal_ends_every_wait() {
    for is_copy in [false, true] {
        let (listener, mut target) = listen();
        let signal = Arc::new(AtomicUsize::new(0));
        target.wait_options.io_timeout = None;
        target.wait_options.stop = StopSignal::watching(Arc::clone(&signal));
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            receive_and_reply(&mut stream, LOGGED_IN);
            receive_and_reply(
                &mut stream,
                if is_copy { b"G\0\0\0\x07\0\0\0" } else { b"" },
            );
            signal.store(15, Ordering::Relaxed);
            (stream, listener)
        });
        let mut control = Control::connect(&target).unwrap();
        let error = if is_copy {
            let mut copy = control.copy_in("COPY t FROM STDIN").unwrap();
            let data = vec![b'x'; 1 << 20];
            (0..10_000).find_map(|_| copy.write(&data).err()).unwrap()
        } else {
            control.execute("SELECT 1").unwrap_err()
        };
        assert!(error.is_interrupted(), "{error}");
        drop(control);
        // A new connection does not wait either.
        let error = Control::connect(&target).err().unwrap();
        assert!(error.is_interrupted(), "{error}");
        drop(server.join().unwrap());
    }
}

/// Endless notices do not extend the limit of a login.
#[test]
fn notices_before_the_end_of_a_log_in_are_bounded() {
    for (options, expected) in [
        ("", "the startup does not end"),
        ("connect_timeout=2", "timeout expired"),
    ] {
        let (listener, _) = listen();
        let port = listener.local_addr().unwrap().port();
        let pause = match options {
            "" => Duration::ZERO,
            _ => Duration::from_millis(50),
        };
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            receive_and_reply(&mut stream, b"R\0\0\0\x08\0\0\0\0");
            while stream.write_all(b"N\0\0\0\x14SNOTICE\0Mhello\0\0").is_ok() {
                thread::sleep(pause);
            }
        });
        let conninfo = format!("host=127.0.0.1 port={port} user=x sslmode=disable {options}");
        let environment = Environment::new("tester", Path::new("/"));
        let target = resolve(&conninfo, &environment).unwrap();
        let error = Control::connect(&target).err().unwrap().to_string();
        error.assert_contains(expected);
        server.join().unwrap();
    }
}
