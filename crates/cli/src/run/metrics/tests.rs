use super::*;
use prony_assertions::TextAssertions;
use prony_store::{Drive, Workload};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Timeout of waits, long enough for a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(60);

fn loopback() -> ListenAddress {
    "127.0.0.1:0".parse().unwrap()
}

fn new_run() -> Run {
    Run {
        id: "20261120-a".into(),
        workload: Workload {
            name: "odd \"one\"".into(),
            kinds: vec!["pay.sql".into(), "pay.sql".into()],
            ..Workload::default()
        },
        drive: Drive {
            clients: 3,
            ..Drive::default()
        },
        ..Run::default()
    }
}

fn server_with_run() -> MetricsServer {
    let metrics = MetricsServer::listen(&loopback(), "--metrics-listen").expect("a port");
    metrics.begin_run(&new_run());
    metrics
}

fn connect(metrics: &MetricsServer) -> TcpStream {
    let client = TcpStream::connect(metrics.address()).expect("it listens");
    client.set_read_timeout(Some(TIMEOUT)).unwrap();
    client
}

/// The response to these bytes. Retries while the server reports too many connections: a closed connection
/// counts until its thread notices.
fn send_request(metrics: &MetricsServer, request: &[u8]) -> String {
    let deadline = Instant::now() + 4 * TIMEOUT;
    loop {
        let mut client = connect(metrics);
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

/// A request as Prometheus sends it.
const SCRAPE: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9187\r\n\
    Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5\r\n\
    User-Agent: Prometheus/2.50.0\r\nAccept-Encoding: gzip\r\n\r\n";

#[test]
fn a_scrape_gets_the_page() {
    let metrics = server_with_run();
    let answer = send_request(&metrics, SCRAPE);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    head.assert_starts_with("HTTP/1.1 200 OK\r\n");
    head.assert_contains("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n");
    head.assert_contains(&format!("Content-Length: {}\r\n", body.len()));
    body.assert_contains("prony_clients 3\n");
    body.assert_contains("workload=\"odd \\\"one\\\"\"");
    // Two scripts of the same name have separate figures.
    body.assert_contains("{kind=\"pay.sql\",outcome=\"committed\"} 0\n");
    body.assert_contains("{kind=\"pay.sql #2\",outcome=\"committed\"} 0\n");
    let head_response = send_request(&metrics, b"HEAD /metrics HTTP/1.0\r\n\r\n");
    head_response.assert_starts_with("HTTP/1.1 200 OK\r\n");
    head_response.assert_ends_with("\r\n\r\n");
}

#[test]
fn a_scrape_before_the_run_gets_status_503() {
    let metrics = MetricsServer::listen(&loopback(), "--metrics-listen").expect("a port");
    let answer = send_request(&metrics, SCRAPE);
    answer.assert_starts_with("HTTP/1.1 503 ");
    answer.assert_contains("has not started");
}

#[test]
fn the_next_run_replaces_the_figures_on_the_same_address() {
    let metrics = server_with_run();
    let first_answer = send_request(&metrics, SCRAPE);
    first_answer.assert_contains("run=\"20261120-a\"");
    let next_run = Run {
        id: "20261120-b".into(),
        ..new_run()
    };
    metrics.begin_run(&next_run);
    let answer = send_request(&metrics, SCRAPE);
    answer.assert_contains("run=\"20261120-b\"");
    answer.assert_lacks("20261120-a");
}

#[test]
fn each_invalid_request_gets_its_status() {
    let metrics = server_with_run();
    let long = [b"GET /metrics HTTP/1.1\r\nX: ".to_vec(), vec![b'x'; 20_000]].concat();
    for (request, status) in [
        (
            &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"[..],
            400,
        ),
        (b"\r\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (b"GET  /metrics HTTP/1.1\r\n\r\n", 400),
        (b"get /metrics HTTP/1.1\r\n\r\n", 400),
        (b"GET /metrics HTTP/2.0\r\n\r\n", 400),
        (b"GET http://db1/metrics HTTP/1.1\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (
            b"POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
            405,
        ),
        (b"GET / HTTP/1.1\r\n\r\n", 404),
        (b"GET /metrics/../etc/passwd HTTP/1.1\r\n\r\n", 404),
        (b"GET /metrics?debug=1 HTTP/1.1\r\n\r\n", 200),
        (&long, 431),
    ] {
        let answer = send_request(&metrics, request);
        let request_start = String::from_utf8_lossy(&request[..request.len().min(40)]);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request_start:?}: {answer}"
        );
    }
    // A client that disconnects in the middle of a request does not affect others.
    let mut client = connect(&metrics);
    client.write_all(b"GET /metr").unwrap();
    client.shutdown(Shutdown::Both).unwrap();
    send_request(&metrics, SCRAPE).assert_starts_with("HTTP/1.1 200 ");
}

#[test]
fn a_slow_client_times_out_and_delays_no_other() {
    let metrics = server_with_run();
    let started = Instant::now();
    let mut slow_client = connect(&metrics);
    slow_client.write_all(b"GET /metrics HTTP/1.1\r\n").unwrap();
    // Other clients are served meanwhile.
    send_request(&metrics, SCRAPE).assert_starts_with("HTTP/1.1 200 ");
    let mut answer = String::new();
    let mut buffer = [0; 512];
    // Sending a byte now and then does not extend the timeout.
    slow_client
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    while answer.is_empty() && started.elapsed() < TIMEOUT {
        let _ = slow_client.write_all(b"X");
        if let Ok(count) = slow_client.read(&mut buffer) {
            assert!(
                count > 0,
                "the server closed the connection without an answer"
            );
            answer = String::from_utf8_lossy(&buffer[..count]).into_owned();
        }
    }
    answer.assert_starts_with("HTTP/1.1 408 ");
    assert!(started.elapsed() >= http::TIMEOUT);
}

#[test]
fn too_many_connections_are_refused() {
    let metrics = server_with_run();
    let mut open_connections: Vec<TcpStream> =
        (0..MAX_CONNECTIONS).map(|_| connect(&metrics)).collect();
    let deadline = Instant::now() + TIMEOUT;
    // The last of these connections may not have reached its thread yet, and then does not count.
    let mut refused = false;
    while !refused && Instant::now() < deadline {
        let mut client = connect(&metrics);
        let _ = client.write_all(SCRAPE);
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer);
        refused = answer.starts_with(b"HTTP/1.1 503 ");
        // Replace connections that have timed out meanwhile.
        open_connections.push(connect(&metrics));
    }
    assert!(refused);
    drop(open_connections);
    let mut served = false;
    while !served && Instant::now() < deadline {
        let mut client = connect(&metrics);
        let _ = client.write_all(SCRAPE);
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer);
        served = answer.starts_with(b"HTTP/1.1 200 ");
    }
    assert!(served);
}

#[test]
fn a_port_in_use_is_a_usage_error_and_dropping_the_server_frees_it() {
    let first_server = server_with_run();
    let port = first_server.address().port();
    let listen: ListenAddress = format!("127.0.0.1:{port}").parse().unwrap();
    let failure = MetricsServer::listen(&listen, "--metrics-listen")
        .err()
        .expect("in use");
    assert_eq!(failure.exit, crate::exit::Exit::Usage);
    let message = &failure.problems[0].problem;
    assert_eq!(
        *message,
        format!("--metrics-listen: 127.0.0.1:{port} is in use")
    );
    drop(first_server);
    // Another program may take a port as soon as it is free, but not several times.
    let is_free_again = (0..5).any(|_| {
        let server = server_with_run();
        let listen = server.address().to_string().parse().unwrap();
        drop(server);
        MetricsServer::listen(&listen, "--metrics-listen").is_ok()
    });
    assert!(is_free_again);
    for (address, message_part) in [
        ("192.0.2.1:0", "is not an address of this machine"),
        ("no-such-host.invalid:0", "cannot be resolved"),
    ] {
        let failure = MetricsServer::listen(&address.parse().unwrap(), "here")
            .err()
            .expect(address);
        assert_eq!(failure.exit, crate::exit::Exit::Usage);
        failure.problems[0].problem.assert_contains(message_part);
    }
}
