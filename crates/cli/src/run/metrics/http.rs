//! One HTTP request and its response.
//!
//! Implements the part of HTTP/1.1 (RFC 9112) that a scrape needs: GET and HEAD of /metrics, one request per
//! connection. Clients are not trusted: at most [`MAX_HEAD_BYTES`] of head are read, reading and writing take
//! at most [`TIMEOUT`] each, and only the first line of the request is used.

use super::MetricsPage;
use prony_report::metrics::CONTENT_TYPE;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Longest head of a request, bytes.
pub const MAX_HEAD_BYTES: usize = 8 * 1024;
/// Time limit for receiving a request, and again for sending the response.
pub const TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for the client to close the connection after the response.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);
const PLAIN_TEXT: &str = "text/plain; charset=utf-8";

struct HttpResponse {
    status: &'static str,
    content_type: &'static str,
    /// An additional header line, or empty.
    extra_header: &'static str,
    body: Vec<u8>,
    /// Whether only the head is sent, because the request is HEAD.
    omits_body: bool,
}

impl HttpResponse {
    fn text(status: &'static str, body: &str) -> HttpResponse {
        HttpResponse {
            status,
            content_type: PLAIN_TEXT,
            extra_header: "",
            body: format!("{body}\n").into_bytes(),
            omits_body: false,
        }
    }
}

/// Responds to the request of a connection, and closes it.
pub fn respond(mut client: TcpStream, page: &MetricsPage) {
    let response = match read_head(&mut client) {
        Ok(head) => response_to_head(&head, page),
        Err(HeadError::TooLong) => HttpResponse::text(
            "431 Request Header Fields Too Large",
            "the head of the request is too long",
        ),
        Err(HeadError::TooSlow) => {
            HttpResponse::text("408 Request Timeout", "the request took too long")
        }
        // The client has disconnected.
        Err(HeadError::Disconnected) => return,
    };
    if send_response(&mut client, &response).is_ok() {
        close_after_read(&mut client);
    }
}

/// Refuses a connection, because too many are being served.
pub fn reject_busy(mut client: TcpStream) {
    let mut response =
        HttpResponse::text("503 Service Unavailable", "too many connections at a time");
    response.extra_header = "Retry-After: 1\r\n";
    // The few bytes fit into the socket's empty send buffer, so this does not block.
    let _ = client.set_nonblocking(true);
    let _ = client.write_all(&response_bytes(&response));
}

/// Why no complete head was received.
enum HeadError {
    TooLong,
    TooSlow,
    Disconnected,
}

/// The head of the request, up to its empty line.
fn read_head(client: &mut TcpStream) -> Result<Vec<u8>, HeadError> {
    let deadline = Instant::now() + TIMEOUT;
    let (mut head, mut buffer) = (Vec::new(), [0; 1024]);
    loop {
        let remaining = deadline.saturating_duration_since(Instant::now());
        // A timeout of zero would mean no timeout.
        if remaining.is_zero() || client.set_read_timeout(Some(remaining)).is_err() {
            return Err(HeadError::TooSlow);
        }
        let count = match client.read(&mut buffer) {
            Ok(0) => return Err(HeadError::Disconnected),
            Ok(count) => count,
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => continue,
                ErrorKind::WouldBlock | ErrorKind::TimedOut => return Err(HeadError::TooSlow),
                _ => return Err(HeadError::Disconnected),
            },
        };
        let search_start = head.len().saturating_sub(3);
        head.extend_from_slice(&buffer[..count]);
        let end = head[search_start..]
            .windows(4)
            .position(|window| window == b"\r\n\r\n");
        if let Some(end) = end {
            head.truncate(search_start + end);
            return Ok(head);
        }
        if head.len() >= MAX_HEAD_BYTES {
            return Err(HeadError::TooLong);
        }
    }
}

fn response_to_head(head: &[u8], page: &MetricsPage) -> HttpResponse {
    let Some((method, path)) = parse_request_line(head) else {
        return HttpResponse::text("400 Bad Request", "this is not an HTTP/1.1 request");
    };
    if !matches!(method, "GET" | "HEAD") {
        let mut response =
            HttpResponse::text("405 Method Not Allowed", "only GET and HEAD are supported");
        response.extra_header = "Allow: GET, HEAD\r\n";
        return response;
    }
    let mut response = match path.split('?').next() {
        Some("/metrics") => metrics_response(page),
        _ => HttpResponse::text("404 Not Found", "the figures are at /metrics"),
    };
    response.omits_body = method == "HEAD";
    response
}

/// Method and path in the first line of a request's head.
fn parse_request_line(head: &[u8]) -> Option<(&str, &str)> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ');
    let (method, path, version) = (words.next()?, words.next()?, words.next()?);
    let is_version = matches!(version, "HTTP/1.1" | "HTTP/1.0") && words.next().is_none();
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_path = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
    (is_version && is_method && is_path).then_some((method, path))
}

fn metrics_response(page: &MetricsPage) -> HttpResponse {
    let Some(figures) = page.current() else {
        return HttpResponse::text("503 Service Unavailable", "the run has not started");
    };
    let mut body = Vec::new();
    // Writing to a vector never fails.
    let _ = figures.write(&mut body);
    HttpResponse {
        content_type: CONTENT_TYPE,
        body,
        ..HttpResponse::text("200 OK", "")
    }
}

fn response_bytes(response: &HttpResponse) -> Vec<u8> {
    let mut bytes = format!(
        "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nX-Content-Type-Options: nosniff\r\n\
         Cache-Control: no-store\r\n{}Connection: close\r\n\r\n",
        response.status,
        response.content_type,
        response.body.len(),
        response.extra_header,
    )
    .into_bytes();
    if !response.omits_body {
        bytes.extend_from_slice(&response.body);
    }
    bytes
}

fn send_response(client: &mut TcpStream, response: &HttpResponse) -> io::Result<()> {
    let deadline = Instant::now() + TIMEOUT;
    let bytes = response_bytes(response);
    let mut unsent = &bytes[..];
    while !unsent.is_empty() {
        let remaining = deadline.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        client.set_write_timeout(Some(remaining))?;
        match client.write(unsent) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => unsent = &unsent[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Closes the connection after the client has read the response, or after [`CLOSE_TIMEOUT`]. Closing it earlier would
/// make the kernel reset the connection and discard the response if the client sent data after the head.
fn close_after_read(client: &mut TcpStream) {
    let deadline = Instant::now() + CLOSE_TIMEOUT;
    let mut buffer = [0; 4096];
    if client.shutdown(Shutdown::Write).is_err() {
        return;
    }
    loop {
        let remaining = deadline.saturating_duration_since(Instant::now());
        if remaining.is_zero() || client.set_read_timeout(Some(remaining)).is_err() {
            return;
        }
        if !matches!(client.read(&mut buffer), Ok(1..)) {
            return;
        }
    }
}
