use super::*;
use prony_store::{Drive, Workload};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Whatever is waited for has come by then, even on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn loopback() -> Listen {
    "127.0.0.1:0".parse().unwrap()
}

fn run() -> Run {
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

fn begun() -> Metrics {
    let metrics = Metrics::listen(&loopback(), "--metrics-listen").expect("a port");
    metrics.begin(&run());
    metrics
}

fn connect(metrics: &Metrics) -> TcpStream {
    let client = TcpStream::connect(metrics.address()).expect("it listens");
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client
}

/// What is answered to these bytes.
fn asked(metrics: &Metrics, request: &[u8]) -> String {
    let mut client = connect(metrics);
    client.write_all(request).expect("it takes them");
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).expect("an answer");
    String::from_utf8(answer).expect("text")
}

const SCRAPE: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9187\r\n\
    Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5\r\n\
    User-Agent: Prometheus/2.50.0\r\nAccept-Encoding: gzip\r\n\r\n";

#[test]
fn a_scrape_gets_the_page() {
    let metrics = begun();
    let answer = asked(&metrics, SCRAPE);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(
        head.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"),
        "{head}"
    );
    assert!(
        head.contains(&format!("Content-Length: {}\r\n", body.len())),
        "{head}"
    );
    assert!(body.contains("prony_clients 3\n"), "{body}");
    assert!(body.contains("workload=\"odd \\\"one\\\"\""), "{body}");
    // Two scripts of one name stay two.
    assert!(
        body.contains("{kind=\"pay.sql\",outcome=\"committed\"} 0\n"),
        "{body}"
    );
    assert!(
        body.contains("{kind=\"pay.sql #2\",outcome=\"committed\"} 0\n"),
        "{body}"
    );
    let head_alone = asked(&metrics, b"HEAD /metrics HTTP/1.0\r\n\r\n");
    assert!(head_alone.starts_with("HTTP/1.1 200 OK\r\n") && head_alone.ends_with("\r\n\r\n"));
}

#[test]
fn before_the_run_has_begun_there_is_no_page() {
    let metrics = Metrics::listen(&loopback(), "--metrics-listen").expect("a port");
    let answer = asked(&metrics, SCRAPE);
    assert!(
        answer.starts_with("HTTP/1.1 503 ") && answer.contains("has not begun"),
        "{answer}"
    );
}

#[test]
fn the_next_run_takes_the_place_of_the_last_on_one_address() {
    let metrics = begun();
    // The first has ended, and the next has not begun.
    let between = asked(&metrics, SCRAPE);
    assert!(between.contains("run=\"20261120-a\""), "{between}");
    let next = Run {
        id: "20261120-b".into(),
        ..run()
    };
    metrics.begin(&next);
    let answer = asked(&metrics, SCRAPE);
    assert!(
        answer.contains("run=\"20261120-b\"") && !answer.contains("20261120-a"),
        "{answer}"
    );
}

#[test]
fn garbage_is_answered_and_does_no_harm() {
    let metrics = begun();
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
        let answer = asked(&metrics, request);
        let shown = String::from_utf8_lossy(&request[..request.len().min(40)]);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{shown:?}: {answer}"
        );
    }
    // One that goes away in the middle.
    let mut client = connect(&metrics);
    client.write_all(b"GET /metr").unwrap();
    client.shutdown(Shutdown::Both).unwrap();
    assert!(asked(&metrics, SCRAPE).starts_with("HTTP/1.1 200 "));
}

#[test]
fn a_slow_client_is_given_up_and_holds_up_nobody() {
    let metrics = begun();
    let began = Instant::now();
    let mut slow = connect(&metrics);
    slow.write_all(b"GET /metrics HTTP/1.1\r\n").unwrap();
    // Others are served meanwhile.
    assert!(asked(&metrics, SCRAPE).starts_with("HTTP/1.1 200 "));
    let mut answer = String::new();
    let mut some = [0; 512];
    // A byte now and then does not give it more time.
    slow.set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    while answer.is_empty() && began.elapsed() < PATIENCE {
        let _ = slow.write_all(b"X");
        if let Ok(count) = slow.read(&mut some) {
            assert!(count > 0, "an answer first");
            answer = String::from_utf8_lossy(&some[..count]).into_owned();
        }
    }
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(began.elapsed() >= http::PATIENCE);
}

#[test]
fn too_many_at_a_time_are_told_to_come_back() {
    let metrics = begun();
    let mut held: Vec<TcpStream> = (0..listener::CONNECTIONS)
        .map(|_| connect(&metrics))
        .collect();
    let until = Instant::now() + PATIENCE;
    // The last of those that hold on may still be on its way to its thread.
    let mut refused = false;
    while !refused && Instant::now() < until {
        let mut client = connect(&metrics);
        let _ = client.write_all(SCRAPE);
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer);
        refused = answer.starts_with(b"HTTP/1.1 503 ");
        // The first may have been given up meanwhile.
        held.push(connect(&metrics));
    }
    assert!(refused);
    drop(held);
    let mut served = false;
    while !served && Instant::now() < until {
        let mut client = connect(&metrics);
        let _ = client.write_all(SCRAPE);
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer);
        served = answer.starts_with(b"HTTP/1.1 200 ");
    }
    assert!(served);
}

#[test]
fn a_port_in_use_is_a_mistake_of_the_command_line_and_free_after_it() {
    let first = begun();
    let port = first.address().port();
    let listen: Listen = format!("127.0.0.1:{port}").parse().unwrap();
    let failure = Metrics::listen(&listen, "--metrics-listen")
        .err()
        .expect("in use");
    assert_eq!(failure.exit, crate::exit::Exit::Usage);
    let what = &failure.problems[0].what;
    assert_eq!(
        *what,
        format!("--metrics-listen: 127.0.0.1:{port} is in use")
    );
    drop(first);
    drop(Metrics::listen(&listen, "--metrics-listen").expect("free again"));
    for (text, word) in [
        ("192.0.2.1:0", "is no address of this machine"),
        ("no-such-host.invalid:0", "is not known"),
    ] {
        let failure = Metrics::listen(&text.parse().unwrap(), "here")
            .err()
            .expect(text);
        assert_eq!(failure.exit, crate::exit::Exit::Usage);
        assert!(
            failure.problems[0].what.contains(word),
            "{}",
            failure.problems[0].what
        );
    }
}
