use super::*;
use prony_assertions::TextAssertions;
use prony_store::{Drive, Workload};

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

fn send_request(metrics: &MetricsServer, request: &[u8]) -> String {
    crate::http::tests::send_request(metrics.address(), request)
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
    let head_response = send_request(&metrics, b"HEAD /metrics HTTP/1.1\r\n\r\n");
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
fn only_the_path_of_the_metrics_has_them() {
    let metrics = server_with_run();
    for (path, status) in [
        ("/", 404),
        ("/metrics/../etc", 404),
        ("/metrics?debug=1", 200),
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
        let answer = send_request(&metrics, request.as_bytes());
        answer.assert_starts_with(&format!("HTTP/1.1 {status} "));
    }
}
