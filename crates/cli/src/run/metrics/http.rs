//! One request and its answer.
//!
//! In: a connection of whoever found the port. Out: the page, or why not, and the end of the
//! connection. Must never: read more than a head of [`HEAD_BYTES`], take longer than [`PATIENCE`] for
//! either way, or believe a word of the request beyond its first line.
//!
//! As much of HTTP/1.1 (RFC 9112) as a scrape needs: GET and HEAD of /metrics, a connection each.

use super::Page;
use prony_report::metrics::CONTENT_TYPE;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Longest head of a request, bytes.
pub const HEAD_BYTES: usize = 8 * 1024;
/// Longest time for a request to come, and again for its answer to be taken.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// And for the client to end the connection after it.
const FAREWELL: Duration = Duration::from_millis(500);
const TEXT: &str = "text/plain; charset=utf-8";

/// What is answered.
struct Answer {
    status: &'static str,
    sort: &'static str,
    /// A further line of the head, or nothing.
    more: &'static str,
    body: Vec<u8>,
    /// The client asked for the head alone.
    head_only: bool,
}

impl Answer {
    fn text(status: &'static str, body: &str) -> Answer {
        Answer {
            status,
            sort: TEXT,
            more: "",
            body: format!("{body}\n").into_bytes(),
            head_only: false,
        }
    }
}

/// Answers the request of a connection, and ends it.
pub fn answer(mut client: TcpStream, page: &Page) {
    let answer = match head(&mut client) {
        Ok(head) => to(&head, page),
        Err(Refusal::TooLong) => Answer::text(
            "431 Request Header Fields Too Large",
            "the head of the request is too long",
        ),
        Err(Refusal::TooSlow) => Answer::text("408 Request Timeout", "the request took too long"),
        // Nobody is there any more.
        Err(Refusal::Gone) => return,
    };
    if send(&mut client, &answer).is_ok() {
        part(&mut client);
    }
}

/// Says that too many are served already.
pub fn busy(mut client: TcpStream) {
    let mut answer = Answer::text("503 Service Unavailable", "too many connections at a time");
    answer.more = "Retry-After: 1\r\n";
    // A few bytes go into the empty buffer of the socket at once.
    let _ = client.set_nonblocking(true);
    let _ = client.write_all(&bytes(&answer));
}

/// Why there is no head.
enum Refusal {
    TooLong,
    TooSlow,
    Gone,
}

/// The head of the request, up to its empty line.
fn head(client: &mut TcpStream) -> Result<Vec<u8>, Refusal> {
    let until = Instant::now() + PATIENCE;
    let (mut head, mut some) = (Vec::new(), [0; 1024]);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        // A time-out of zero would be none at all.
        if left.is_zero() || client.set_read_timeout(Some(left)).is_err() {
            return Err(Refusal::TooSlow);
        }
        let count = match client.read(&mut some) {
            Ok(0) => return Err(Refusal::Gone),
            Ok(count) => count,
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => continue,
                ErrorKind::WouldBlock | ErrorKind::TimedOut => return Err(Refusal::TooSlow),
                _ => return Err(Refusal::Gone),
            },
        };
        let searched = head.len().saturating_sub(3);
        head.extend_from_slice(&some[..count]);
        let end = head[searched..]
            .windows(4)
            .position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            head.truncate(searched + end);
            return Ok(head);
        }
        if head.len() >= HEAD_BYTES {
            return Err(Refusal::TooLong);
        }
    }
}

/// The answer to a head.
fn to(head: &[u8], page: &Page) -> Answer {
    let Some((method, path)) = request(head) else {
        return Answer::text("400 Bad Request", "this is not a request of HTTP/1.1");
    };
    if !matches!(method, "GET" | "HEAD") {
        let mut answer = Answer::text("405 Method Not Allowed", "only GET is of use here");
        answer.more = "Allow: GET, HEAD\r\n";
        return answer;
    }
    let mut answer = match path.split('?').next() {
        Some("/metrics") => metrics(page),
        _ => Answer::text("404 Not Found", "the figures are at /metrics"),
    };
    answer.head_only = method == "HEAD";
    answer
}

/// Method and path of the first line.
fn request(head: &[u8]) -> Option<(&str, &str)> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ');
    let (method, path, version) = (words.next()?, words.next()?, words.next()?);
    let known = matches!(version, "HTTP/1.1" | "HTTP/1.0") && words.next().is_none();
    let method_is = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    let path_is = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
    (known && method_is && path_is).then_some((method, path))
}

fn metrics(page: &Page) -> Answer {
    let Some(shown) = page.shown() else {
        return Answer::text("503 Service Unavailable", "the run has not begun");
    };
    let mut body = Vec::new();
    // A vector takes all that is written.
    let _ = shown.write(&mut body);
    Answer {
        status: "200 OK",
        sort: CONTENT_TYPE,
        more: "",
        body,
        head_only: false,
    }
}

fn bytes(answer: &Answer) -> Vec<u8> {
    let mut bytes = format!(
        "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nX-Content-Type-Options: nosniff\r\n\
         Cache-Control: no-store\r\n{}Connection: close\r\n\r\n",
        answer.status,
        answer.sort,
        answer.body.len(),
        answer.more,
    )
    .into_bytes();
    if !answer.head_only {
        bytes.extend_from_slice(&answer.body);
    }
    bytes
}

fn send(client: &mut TcpStream, answer: &Answer) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    let bytes = bytes(answer);
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        client.set_write_timeout(Some(left))?;
        match client.write(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => rest = &rest[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits a little for the client to have read it all: what it has sent beyond the head would
/// otherwise make the kernel cut the connection, and the answer with it.
fn part(client: &mut TcpStream) {
    let until = Instant::now() + FAREWELL;
    let mut some = [0; 4096];
    if client.shutdown(Shutdown::Write).is_err() {
        return;
    }
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || client.set_read_timeout(Some(left)).is_err() {
            return;
        }
        if !matches!(client.read(&mut some), Ok(1..)) {
            return;
        }
    }
}
