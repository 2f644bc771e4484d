//! Publishes the figures of a run for Prometheus during the run.
//!
//! Serves a page at /metrics with the figures of the event loop and of the server, to a few connections at a time,
//! each with its own thread. Never delays the run or the threads of the loop: the page is made from a copy, by a
//! thread that sleeps until a client connects. Dropping [`MetricsServer`] releases the port and ends the thread.

mod figures;
mod http;

pub use figures::RunMetrics;

use crate::exit::{Exit, Failure};
use prony_plan::ListenAddress;
use prony_report::metrics::Exposition;
use prony_store::Run;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::io::{ErrorKind, PipeReader, PipeWriter, pipe};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Maximum concurrent connections; further ones get status 503 with Retry-After.
const MAX_CONNECTIONS: usize = 4;
/// Pause after a failed accept, such as for lack of file descriptors.
const ACCEPT_ERROR_PAUSE: Duration = Duration::from_millis(200);

/// The page with the figures of the last second; empty before the run starts.
#[derive(Clone, Default)]
pub struct MetricsPage(Arc<Mutex<Option<Arc<Exposition>>>>);

impl MetricsPage {
    /// Replaces the figures on the page.
    pub fn publish(&self, exposition: Exposition) {
        let exposition = Some(Arc::new(exposition));
        *self.0.lock().unwrap_or_else(|poison| poison.into_inner()) = exposition;
    }

    /// The current figures. Locks only to copy a pointer, so that a slow client never delays the run.
    pub fn current(&self) -> Option<Arc<Exposition>> {
        let page = self.0.lock();
        page.unwrap_or_else(|poison| poison.into_inner()).clone()
    }
}

/// A server for the figures of one run, or of several runs in sequence; between two runs it serves the figures of the
/// previous one.
pub struct MetricsServer {
    page: MetricsPage,
    address: SocketAddr,
    /// Dropping this end of the pipe tells the thread to stop.
    stop_writer: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Starts to listen; `origin` is where the address was given: a flag, or a place in a plan.
    ///
    /// # Errors
    /// If the address does not belong to this machine, or is in use.
    pub fn listen(listen: &ListenAddress, origin: &str) -> Result<MetricsServer, Failure> {
        let socket = bind(listen, origin)?;
        let listen_failure = |error: std::io::Error| -> Failure {
            let message = format!("{origin}: cannot listen on {listen}: {error}");
            Failure::new(Exit::Unexpected, message, "run without it")
        };
        let address = socket.local_addr().map_err(listen_failure)?;
        // Accepting must not block if a connection is gone before it is accepted.
        socket.set_nonblocking(true).map_err(listen_failure)?;
        let (stop_reader, stop_writer) = pipe().map_err(listen_failure)?;
        let page = MetricsPage::default();
        let served_page = page.clone();
        let thread = Builder::new()
            .name("metrics".to_owned())
            .spawn(move || serve(&socket, &stop_reader, &served_page))
            .map_err(listen_failure)?;
        Ok(MetricsServer {
            page,
            address,
            stop_writer: Some(stop_writer),
            thread: Some(thread),
        })
    }

    /// The address on which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts the figures of a new run, which replace those of the previous one.
    pub fn begin_run(&self, run: &Run) -> RunMetrics {
        RunMetrics::new(run, self.page.clone())
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        drop(self.stop_writer.take());
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

/// Accepts connections until the write end of the pipe is closed.
fn serve(socket: &TcpListener, stop_reader: &PipeReader, page: &MetricsPage) {
    // Each connection holds a clone, so the reference count gives the number of connections.
    let connections = Arc::new(());
    loop {
        let mut poll_fds = [
            PollFd::new(socket, PollFlags::IN),
            PollFd::new(stop_reader, PollFlags::IN),
        ];
        match poll(&mut poll_fds, None) {
            Ok(_) => {}
            // Signals are handled by another thread.
            Err(Errno::INTR) => continue,
            Err(_) => std::thread::sleep(ACCEPT_ERROR_PAUSE),
        }
        if !poll_fds[1].revents().is_empty() {
            return;
        }
        if poll_fds[0].revents().is_empty() {
            continue;
        }
        match socket.accept() {
            Ok((client, _)) => {
                if client.set_nonblocking(false).is_ok() {
                    handle_in_thread(client, &connections, page);
                }
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => std::thread::sleep(ACCEPT_ERROR_PAUSE),
        }
    }
}

fn handle_in_thread(client: TcpStream, connections: &Arc<()>, page: &MetricsPage) {
    if Arc::strong_count(connections) > MAX_CONNECTIONS {
        http::reject_busy(client);
        return;
    }
    let (guard, page) = (Arc::clone(connections), page.clone());
    let body = move || {
        http::respond(client, &page);
        drop(guard);
    };
    // If no thread can be started, the connection is closed, and the client retries.
    let _ = Builder::new().name("metrics".to_owned()).spawn(body);
}

#[cfg(test)]
mod tests;
