//! Serves HTTP/1.1 on a thread of its own: the pages of `prony serve`, and the metrics of a run.
//!
//! One request per connection, GET and HEAD only. Never delays the threads of a load: one thread waits for
//! connections, and answers are made on threads that exist only while they are needed. Clients are not trusted: the head
//! of a request has at most [`MAX_HEAD_BYTES`] and must arrive within [`HEAD_TIMEOUT`], its body is not read, and what
//! exceeds the connections of the [`Pages`] gets status 503. Dropping [`HttpServer`] releases the port.

mod answer;
mod socket;

pub use answer::Answer;

use crate::exit::{Exit, Failure};
use answer::AnswerBody;
use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request};
use prony_plan::ListenAddress;
use socket::Socket;
use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{sleep, timeout};

/// Longest head of a request, bytes.
pub const MAX_HEAD_BYTES: usize = 8 * 1024;
/// Time limit for receiving the head of a request.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for sending an answer, except one that consists of events; it may be twice as long.
const SEND_TIMEOUT: Duration = Duration::from_secs(60);
/// Pause after a failed accept, such as for lack of file descriptors.
const ACCEPT_ERROR_PAUSE: Duration = Duration::from_millis(200);

pub trait Pages: Send + Sync + 'static {
    /// Maximum concurrent connections; further ones get status 503 with Retry-After.
    const MAX_CONNECTIONS: usize;

    /// Answers a request. May take a while: it is called on a thread of its own.
    fn answer(&self, request: &PageRequest) -> Answer;
}

pub struct PageRequest {
    /// The path, percent-encoded.
    pub path: String,
    /// The query without its `?`; empty if there is none.
    pub query: String,
    /// The host that the client addresses, with its port.
    pub host: Option<String>,
}

impl PageRequest {
    fn new(request: &Request<Incoming>) -> PageRequest {
        let host = request.headers().get(HOST);
        PageRequest {
            path: request.uri().path().to_owned(),
            query: request.uri().query().unwrap_or_default().to_owned(),
            host: host.and_then(|host| host.to_str().ok()).map(str::to_owned),
        }
    }
}

/// A server, until it is dropped.
pub struct HttpServer {
    address: SocketAddr,
    /// Dropping it tells the thread to stop.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl HttpServer {
    /// Starts to listen; `origin` is where the address was given: a flag, or a place in a plan.
    pub fn listen(
        listen: &ListenAddress,
        origin: &str,
        pages: impl Pages,
    ) -> Result<HttpServer, Failure> {
        let listener = bind(listen, origin)?;
        let listen_failure = |error: std::io::Error| -> Failure {
            let message = format!("{origin}: cannot listen on {listen}: {error}");
            Failure::new(Exit::Unexpected, message, "use another address")
        };
        let address = listener.local_addr().map_err(listen_failure)?;
        listener.set_nonblocking(true).map_err(listen_failure)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .thread_name("http")
            .build()
            .map_err(listen_failure)?;
        let listener = {
            let _context = runtime.enter();
            tokio::net::TcpListener::from_std(listener).map_err(listen_failure)?
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = Builder::new().name("http".to_owned()).spawn(move || {
            runtime.spawn(accept(listener, Arc::new(pages)));
            // Ends when the other end is dropped.
            let _ = runtime.block_on(stopped);
            // A page that is being made is not waited for.
            runtime.shutdown_background();
        });
        Ok(HttpServer {
            address,
            stop: Some(stop),
            thread: Some(thread.map_err(listen_failure)?),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread returns no result.
            let _ = thread.join();
        }
    }
}

fn bind(listen: &ListenAddress, origin: &str) -> Result<TcpListener, Failure> {
    let usage = |message: String, hint: &str| {
        Failure::usage(format!("{origin}: {message}"), hint.to_owned())
    };
    let addresses = (listen.host.as_str(), listen.port).to_socket_addrs();
    let addresses = addresses.map_err(|error| {
        let message = format!("the host of {listen} cannot be resolved: {error}");
        usage(message, "use an address of this machine, or only a port")
    })?;
    TcpListener::bind(&addresses.collect::<Vec<_>>()[..]).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => usage(
            format!("{listen} is in use"),
            "another program listens there; use another port, or 0 for any free one",
        ),
        ErrorKind::AddrNotAvailable => usage(
            format!("{listen} is not an address of this machine"),
            "only a port, such as 9187, listens on 127.0.0.1",
        ),
        ErrorKind::PermissionDenied => usage(
            format!("this user may not listen on {listen}"),
            "use a port of at least 1024",
        ),
        _ => usage(
            format!("cannot listen on {listen}: {error}"),
            "use another address",
        ),
    })
}

async fn accept<P: Pages>(listener: tokio::net::TcpListener, pages: Arc<P>) {
    let slots = Arc::new(Semaphore::new(P::MAX_CONNECTIONS));
    loop {
        match listener.accept().await {
            Ok((socket, _)) => {
                let slot = Arc::clone(&slots).try_acquire_owned().ok();
                tokio::spawn(serve(socket, slot, Arc::clone(&pages)));
            }
            Err(_) => sleep(ACCEPT_ERROR_PAUSE).await,
        }
    }
}

/// How far a connection is: these values of an atomic. After the last event, what is left is sent as an answer is.
const WAITS_FOR_HEAD: u8 = 0;
const MAKES_ANSWER: u8 = 1;
const SENDS_ANSWER: u8 = 2;
const SENDS_EVENTS: u8 = 3;

/// Serves a connection; without a slot, refuses its request.
async fn serve<P: Pages>(socket: TcpStream, slot: Option<OwnedSemaphorePermit>, pages: Arc<P>) {
    let progress = Arc::new(AtomicU8::new(WAITS_FOR_HEAD));
    // An answer that is still being made keeps the slot of a client that has disconnected.
    let slot = slot.map(Arc::new);
    let service = service_fn(|request: Request<Incoming>| {
        let (progress, pages, slot) = (Arc::clone(&progress), Arc::clone(&pages), slot.clone());
        async move {
            progress.store(MAKES_ANSWER, Ordering::Relaxed);
            let answer = match slot {
                None => Answer::busy(),
                Some(slot) => answer_to(&request, pages, slot).await,
            };
            let sends = match answer.body {
                AnswerBody::Whole(_) => SENDS_ANSWER,
                AnswerBody::Events(_) => SENDS_EVENTS,
            };
            progress.store(sends, Ordering::Relaxed);
            Ok::<_, Infallible>(answer.into_response(progress))
        }
    });
    let mut connection = http1::Builder::new();
    connection
        .keep_alive(false)
        .max_header_size(MAX_HEAD_BYTES)
        .title_case_headers(true);
    let mut connection = pin!(connection.serve_connection(Socket::new(socket), service));
    let (mut limit, mut before) = (HEAD_TIMEOUT, WAITS_FOR_HEAD);
    // A client that has disconnected is an error, which nobody needs to know.
    while timeout(limit, connection.as_mut()).await.is_err() {
        match progress.load(Ordering::Relaxed) {
            WAITS_FOR_HEAD => break,
            SENDS_ANSWER if before == SENDS_ANSWER => break,
            now => (limit, before) = (SEND_TIMEOUT, now),
        }
    }
    drop(slot);
}

async fn answer_to<P: Pages>(
    request: &Request<Incoming>,
    pages: Arc<P>,
    slot: Arc<OwnedSemaphorePermit>,
) -> Answer {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Answer::text(405, "only GET and HEAD are supported")
            .with_header("Allow", "GET, HEAD");
    }
    // Browsers say so of what a page of another site asks for; following a link is not refused.
    let says = |name: &str, value: &str| request.headers().get(name).is_some_and(|it| it == value);
    if says("Sec-Fetch-Site", "cross-site") && !says("Sec-Fetch-Dest", "document") {
        return Answer::text(403, "pages of other sites may not use this server");
    }
    let request = PageRequest::new(request);
    let answer = tokio::task::spawn_blocking(move || {
        let answer = pages.answer(&request);
        drop(slot);
        answer
    });
    let answer = answer.await;
    // A panic has been reported on stderr.
    answer.unwrap_or_else(|_| Answer::text(500, "the page could not be made"))
}

#[cfg(test)]
pub mod tests;
