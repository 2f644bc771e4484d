use super::*;
use prony_assertions::TextAssertions;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

/// Timeout of waits, long enough for a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A page, a panic, and events that end when the test says so.
struct TestPages(Mutex<Option<Receiver<String>>>);

impl Pages for TestPages {
    const MAX_CONNECTIONS: usize = 4;

    fn answer(&self, request: &PageRequest) -> Answer {
        let events = || self.0.lock().unwrap().take().expect("one stream");
        match &*request.path {
            "/panic" => panic!("for a test"),
            "/large" => Answer::text(200, &"x".repeat(1 << 20)),
            "/events" => {
                let events = events();
                Answer::events(Box::new(move || events.recv().ok()))
            }
            path => Answer::text(200, path).with_header("X-Test", "a\r\nb: c"),
        }
    }
}

fn server() -> (HttpServer, Sender<String>) {
    let (sender, receiver) = channel();
    let pages = TestPages(Mutex::new(Some(receiver)));
    let listen = "127.0.0.1:0".parse().unwrap();
    let server = HttpServer::listen(&listen, "--listen", pages).expect("a port");
    (server, sender)
}

fn connect(address: SocketAddr) -> TcpStream {
    let client = TcpStream::connect(address).expect("it listens");
    client.set_read_timeout(Some(TIMEOUT)).unwrap();
    client
}

/// The response to these bytes. Retries while the server reports too many connections: a closed connection
/// counts until its thread notices.
pub fn send_request(address: SocketAddr, request: &[u8]) -> String {
    let deadline = Instant::now() + 4 * TIMEOUT;
    loop {
        let mut client = connect(address);
        let mut answer = Vec::new();
        let write_result = client.write_all(request);
        let read_result = write_result.and_then(|()| client.read_to_end(&mut answer));
        let text = String::from_utf8(answer).expect("text");
        match read_result {
            Ok(_) if !text.contains("too many connections") => return text,
            _ => assert!(Instant::now() < deadline, "{read_result:?} {text}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

const GET: &[u8] = b"GET /page HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn each_request_gets_its_status() {
    let (server, _events) = server();
    let long = [b"GET /page HTTP/1.1\r\nX: ".to_vec(), vec![b'x'; 20_000]].concat();
    for (request, status) in [
        (
            &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"[..],
            400,
        ),
        (b"GET\r\n\r\n", 400),
        (b"GET  /page HTTP/1.1\r\n\r\n", 400),
        (b"GET /page HTTP/2.0\r\n\r\n", 400),
        (b"get /page HTTP/1.1\r\n\r\n", 405),
        (b"POST /page HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", 405),
        (b"DELETE /page HTTP/1.1\r\n\r\n", 405),
        (GET, 200),
        (
            b"GET /page HTTP/1.1\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: image\r\n\r\n",
            403,
        ),
        (
            b"GET /page HTTP/1.1\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: document\r\n\r\n",
            200,
        ),
        (
            b"GET /page HTTP/1.1\r\nSec-Fetch-Site: same-origin\r\n\r\n",
            200,
        ),
        (b"GET /panic HTTP/1.1\r\n\r\n", 500),
        (&long, 431),
    ] {
        let answer = send_request(server.address(), request);
        let request_start = String::from_utf8_lossy(&request[..request.len().min(40)]);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request_start:?}: {answer}"
        );
        answer.assert_lacks("\r\nb: c");
    }
    // A client that disconnects in the middle of a request does not affect others.
    let mut client = connect(server.address());
    client.write_all(b"GET /pa").unwrap();
    client.shutdown(Shutdown::Both).unwrap();
    send_request(server.address(), GET).assert_starts_with("HTTP/1.1 200 ");
}

#[test]
fn an_answer_is_complete_and_head_has_only_its_length() {
    let (server, _events) = server();
    let answer = send_request(server.address(), b"GET /large HTTP/1.1\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    head.assert_contains("Content-Length: 1048577");
    head.assert_contains("X-Content-Type-Options: nosniff");
    assert_eq!(body.len(), 1_048_577);
    let head = send_request(server.address(), b"HEAD /large HTTP/1.0\r\n\r\n");
    head.assert_contains("Content-Length: 1048577");
    head.assert_ends_with("\r\n\r\n");
}

#[test]
fn events_arrive_as_they_happen_until_the_last() {
    let (server, events) = server();
    let mut client = connect(server.address());
    client.write_all(b"GET /events HTTP/1.1\r\n\r\n").unwrap();
    let mut read = String::new();
    let mut read_until = |part: &str| {
        while !read.contains(part) {
            let mut buffer = [0; 512];
            let count = client.read(&mut buffer).expect("in time");
            assert!(count > 0, "{read}");
            read += std::str::from_utf8(&buffer[..count]).unwrap();
        }
    };
    events.send("data: one\n\n".to_owned()).unwrap();
    read_until("data: one\n\n");
    events.send("data: two\n\n".to_owned()).unwrap();
    read_until("data: two\n\n");
    drop(events);
    // The last chunk.
    read_until("\r\n0\r\n\r\n");
}

#[test]
fn a_slow_client_is_disconnected_and_delays_no_other() {
    let (server, _events) = server();
    let started = Instant::now();
    let mut slow_client = connect(server.address());
    slow_client.write_all(b"GET /page HTTP/1.1\r\n").unwrap();
    // Other clients are served meanwhile.
    send_request(server.address(), GET).assert_starts_with("HTTP/1.1 200 ");
    slow_client
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    // Sending a byte now and then does not extend the timeout.
    let mut is_closed = || {
        let _ = slow_client.write_all(b"X");
        match slow_client.read(&mut [0; 512]) {
            Ok(count) => {
                assert_eq!(count, 0, "an answer without a request");
                true
            }
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    };
    while !is_closed() {
        assert!(started.elapsed() < TIMEOUT);
    }
    assert!(started.elapsed() >= HEAD_TIMEOUT);
}

#[test]
fn too_many_connections_are_refused() {
    let (server, _events) = server();
    let mut open_connections: Vec<TcpStream> = (0..TestPages::MAX_CONNECTIONS)
        .map(|_| connect(server.address()))
        .collect();
    let deadline = Instant::now() + TIMEOUT;
    let request_once = || {
        let mut client = connect(server.address());
        let _ = client.write_all(GET);
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    };
    // The last of these connections may not have been accepted yet, and then does not count.
    let mut answer = String::new();
    while !answer.starts_with("HTTP/1.1 503 ") {
        assert!(Instant::now() < deadline, "{answer}");
        // Replace connections that have timed out meanwhile.
        open_connections.push(connect(server.address()));
        answer = request_once();
    }
    answer.assert_contains("Retry-After: 1");
    drop(open_connections);
    while !request_once().starts_with("HTTP/1.1 200 ") {
        assert!(Instant::now() < deadline);
    }
}

fn listen_on(listen: &ListenAddress) -> Result<HttpServer, Failure> {
    HttpServer::listen(listen, "--listen", TestPages(Mutex::default()))
}

#[test]
fn a_port_in_use_is_a_usage_error_and_dropping_the_server_frees_it() {
    let first_server = server().0;
    let port = first_server.address().port();
    let listen: ListenAddress = format!("127.0.0.1:{port}").parse().unwrap();
    let failure = listen_on(&listen).err().expect("in use");
    assert_eq!(failure.exit, crate::exit::Exit::Usage);
    let message = &failure.problems[0].problem;
    assert_eq!(*message, format!("--listen: 127.0.0.1:{port} is in use"));
    drop(first_server);
    // Another program may take a port as soon as it is free, but not several times.
    let is_free_again = (0..5).any(|_| {
        let server = server().0;
        let listen = server.address().to_string().parse().unwrap();
        drop(server);
        listen_on(&listen).is_ok()
    });
    assert!(is_free_again);
    for (address, message_part) in [
        ("192.0.2.1:0", "is not an address of this machine"),
        ("no-such-host.invalid:0", "cannot be resolved"),
    ] {
        let failure = listen_on(&address.parse().unwrap()).err().expect(address);
        assert_eq!(failure.exit, crate::exit::Exit::Usage);
        failure.problems[0].problem.assert_contains(message_part);
    }
}
