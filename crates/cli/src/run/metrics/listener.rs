//! The socket that is listened on.
//!
//! In: an address. Out: a thread for each of a few connections at a time. Must never: keep the port or
//! its thread when it is dropped; wake up when nobody asks.

use super::{Page, http};
use crate::exit::{Exit, Failure};
use prony_plan::Listen;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::io::{ErrorKind, PipeReader, PipeWriter, pipe};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// So many connections are served at a time; one beyond is told to come back.
pub const CONNECTIONS: usize = 4;
/// After a connection could not be taken, such as for want of a file descriptor.
const PAUSE: Duration = Duration::from_millis(200);

/// A socket at work.
pub struct Listener {
    address: SocketAddr,
    /// Its end tells the thread to stop.
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Listens and serves the page.
    ///
    /// # Errors
    /// If it is no address of this machine, or in use.
    pub fn start(listen: &Listen, named: &str, page: Page) -> Result<Listener, Failure> {
        let socket = bind(listen, named)?;
        let why = |error: std::io::Error| -> Failure {
            let what = format!("{named}: cannot listen on {listen}: {error}");
            Failure::new(Exit::Unexpected, what, "run without it")
        };
        let address = socket.local_addr().map_err(why)?;
        // A connection that is gone again when it is to be taken must not hold the thread.
        socket.set_nonblocking(true).map_err(why)?;
        let (stopped, stop) = pipe().map_err(why)?;
        let thread = Builder::new()
            .name("metrics".to_owned())
            .spawn(move || serve(&socket, &stopped, &page))
            .map_err(why)?;
        Ok(Listener {
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing to tell.
            let _ = thread.join();
        }
    }
}

fn bind(listen: &Listen, named: &str) -> Result<TcpListener, Failure> {
    let usage = |what: String, hint: &str| {
        Failure::new(Exit::Usage, format!("{named}: {what}"), hint.to_owned())
    };
    let found = (listen.host.as_str(), listen.port).to_socket_addrs();
    let found: Vec<SocketAddr> = match found {
        Ok(found) => found.collect(),
        Err(error) => {
            let what = format!("the host of {listen} is not known: {error}");
            return Err(usage(
                what,
                "name an address of this machine, or a port alone",
            ));
        }
    };
    TcpListener::bind(&found[..]).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => usage(
            format!("{listen} is in use"),
            "another program listens there; name another port, or 0 for any that is free",
        ),
        ErrorKind::AddrNotAvailable => usage(
            format!("{listen} is no address of this machine"),
            "a port alone, such as 9187, listens on 127.0.0.1",
        ),
        ErrorKind::PermissionDenied => usage(
            format!("this user may not listen on {listen}"),
            "name a port from 1024 up",
        ),
        _ => usage(
            format!("cannot listen on {listen}: {error}"),
            "name another address",
        ),
    })
}

/// Takes connections until the other end of `stopped` is gone.
fn serve(socket: &TcpListener, stopped: &PipeReader, page: &Page) {
    // Each connection holds a clone: how many there are is how many are served.
    let served = Arc::new(());
    loop {
        let mut waiting = [
            PollFd::new(socket, PollFlags::IN),
            PollFd::new(stopped, PollFlags::IN),
        ];
        match poll(&mut waiting, None) {
            Ok(_) => {}
            // A signal is another thread's.
            Err(Errno::INTR) => continue,
            Err(_) => std::thread::sleep(PAUSE),
        }
        if !waiting[1].revents().is_empty() {
            return;
        }
        if waiting[0].revents().is_empty() {
            continue;
        }
        match socket.accept() {
            Ok((client, _)) => {
                if client.set_nonblocking(false).is_ok() {
                    hand_over(client, &served, page);
                }
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

fn hand_over(client: TcpStream, served: &Arc<()>, page: &Page) {
    if Arc::strong_count(served) > CONNECTIONS {
        http::busy(client);
        return;
    }
    let (place, page) = (Arc::clone(served), page.clone());
    let body = move || {
        http::answer(client, &page);
        drop(place);
    };
    // Without a thread the connection is closed, and the client comes back.
    let _ = Builder::new().name("metrics".to_owned()).spawn(body);
}
