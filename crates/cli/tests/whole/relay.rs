//! A TCP relay between the program and a server. It can stop forwarding without closing connections, like a
//! firewall that drops its connection table, or close them.
//!
//! Must never change data, or delay data unless requested.

use crate::common::*;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// The interval at which threads poll the relay's state.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

pub struct Relay {
    pub port: u16,
    state: Arc<RelayState>,
}

#[derive(Default)]
struct RelayState {
    /// Whether nothing is forwarded on any connection.
    is_frozen: AtomicBool,
    /// Whether nothing that the program sends is forwarded.
    holds_requests: AtomicBool,
    /// Whether nothing that the server sends is forwarded.
    discards_replies: AtomicBool,
    /// Whether new connections are closed at once.
    is_down: AtomicBool,
    is_dropped: AtomicBool,
    open_connections: Mutex<Vec<Connection>>,
    /// Number of bytes sent by the program to the server.
    bytes_sent: AtomicU64,
    /// A text, and when data of the program arrived that has it.
    arrivals: Mutex<(String, Vec<Instant>)>,
    /// How long data is kept that the program sends, and that it receives, microseconds.
    delays_us: [AtomicU64; 2],
    accepted_connections: AtomicU64,
    /// Number of a connection, from 1: it and all earlier ones are no longer forwarded. 0 if all are
    /// forwarded.
    last_frozen: AtomicU64,
}

impl RelayState {
    fn note_arrival(&self, data: &[u8]) {
        let mut arrivals = self.arrivals.lock().expect("not poisoned");
        let (text, times) = &mut *arrivals;
        let is_text = |part: &[u8]| part == text.as_bytes();
        if !text.is_empty() && data.windows(text.len()).any(is_text) {
            times.push(Instant::now());
        }
    }

    /// Whether nothing is forwarded on the connection with this number.
    fn is_frozen(&self, number: u64) -> bool {
        self.is_frozen.load(Ordering::Relaxed) || number <= self.last_frozen.load(Ordering::Relaxed)
    }
}

struct Connection {
    /// Counted from 1 in the order in which the connections were accepted.
    number: u64,
    program: TcpStream,
    server: TcpStream,
}

impl Relay {
    pub fn to_port(server_port: u16) -> Relay {
        Relay::on("127.0.0.1", server_port)
    }

    /// Creates a relay on this address of the machine to a server on the loopback address.
    pub fn on(address: &str, server_port: u16) -> Relay {
        let listener = TcpListener::bind((address, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(RelayState::default());
        let thread_state = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if thread_state.is_dropped.load(Ordering::Relaxed) {
                    return;
                }
                let number = thread_state
                    .accepted_connections
                    .fetch_add(1, Ordering::Relaxed)
                    + 1;
                // A client that connects while the relay or the server is down is disconnected at
                // once.
                let Ok(server) = TcpStream::connect(("127.0.0.1", server_port)) else {
                    continue;
                };
                let mut open_connections =
                    thread_state.open_connections.lock().expect("not poisoned");
                if thread_state.is_down.load(Ordering::Relaxed) {
                    continue;
                }
                forward(&client, &server, &thread_state, number, true);
                forward(&server, &client, &thread_state, number, false);
                open_connections.push(Connection {
                    number,
                    program: client,
                    server,
                });
            }
        });
        Relay { port, state }
    }

    /// Delays what the program sends, and what it receives.
    pub fn delay(&self, sent: Duration, received: Duration) {
        for (delay_us, delay) in self.state.delays_us.iter().zip([sent, received]) {
            delay_us.store(delay.as_micros() as u64, Ordering::Relaxed);
        }
    }

    /// Notes when data of the program arrives that has this text.
    pub fn record_arrivals_of(&self, text: &str) {
        text.clone_into(&mut self.state.arrivals.lock().expect("not poisoned").0);
    }

    /// When such data arrived.
    pub fn arrivals(&self) -> Vec<Instant> {
        self.state.arrivals.lock().expect("not poisoned").1.clone()
    }

    /// Stops forwarding on all connections without closing them; new ones are still accepted.
    pub fn freeze(&self) {
        self.state.is_frozen.store(true, Ordering::Relaxed);
    }

    /// Stops forwarding on the open connections without closing them; new ones are forwarded.
    pub fn freeze_open_connections(&self) {
        let connections = self.accepted_connections();
        self.state.last_frozen.store(connections, Ordering::Relaxed);
    }

    /// Forwards nothing of what the program sends, or discards what the server sends: connections are half open.
    pub fn set_half_open(&self, holds_requests: bool, discards_replies: bool) {
        let state = &self.state;
        state
            .holds_requests
            .store(holds_requests, Ordering::Relaxed);
        state
            .discards_replies
            .store(discards_replies, Ordering::Relaxed);
    }

    /// Drops the packets of the program on all open connections, unacknowledged, as a network that is cut. The server
    /// learns of it.
    pub fn cut_off(&self) {
        let open_connections = self.state.open_connections.lock().expect("not poisoned");
        for connection in open_connections.iter() {
            drop_packets(&connection.program);
        }
        drop(open_connections);
        self.freeze_and_close_at_server();
    }

    /// Like [`Relay::freeze_open_connections`], but also closes the connections to the server.
    pub fn freeze_and_close_at_server(&self) {
        self.freeze_open_connections();
        // Wait until data that is being forwarded has arrived.
        thread::sleep(10 * POLL_INTERVAL);
        let open_connections = self.state.open_connections.lock().expect("not poisoned");
        for connection in open_connections.iter() {
            if self.state.is_frozen(connection.number) {
                let _ = connection.server.shutdown(Shutdown::Both);
            }
        }
    }

    pub fn close_connections(&self) {
        let mut open_connections = self.state.open_connections.lock().expect("not poisoned");
        for connection in open_connections.drain(..) {
            for socket in [connection.program, connection.server] {
                let _ = socket.shutdown(Shutdown::Both);
            }
        }
    }

    /// Closes all connections, and closes new ones at once until [`Relay::restore`] is called.
    pub fn take_down(&self) {
        self.state.is_down.store(true, Ordering::Relaxed);
        self.close_connections();
    }

    /// Accepts new connections again after [`Relay::take_down`].
    pub fn restore(&self) {
        self.state.is_down.store(false, Ordering::Relaxed);
    }

    pub fn accepted_connections(&self) -> u64 {
        self.state.accepted_connections.load(Ordering::Relaxed)
    }

    /// Waits until the program has sent `bytes` bytes.
    pub fn wait_until_sent(&self, bytes: u64) {
        wait_for("the program sends less", || {
            self.state.bytes_sent.load(Ordering::Relaxed) >= bytes
        });
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.state.is_dropped.store(true, Ordering::Relaxed);
        // Wake the accepting thread, so that it ends.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Lets the kernel drop each packet that arrives for a socket, before it acknowledges it.
fn drop_packets(socket: &TcpStream) {
    // Keeps 0 bytes of each packet.
    let mut program = [libc::sock_filter {
        code: (libc::BPF_RET | libc::BPF_K) as u16,
        jt: 0,
        jf: 0,
        k: 0,
    }];
    let filter = libc::sock_fprog {
        len: 1,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the socket is open, and the filter and its program live until the kernel has copied them.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const filter).cast(),
            size_of_val(&filter) as libc::socklen_t,
        )
    };
    assert_eq!(status, 0, "{}", std::io::Error::last_os_error());
}

/// Forwards data in one direction until a side closes or the relay is dropped. `counts_bytes`: whether the
/// bytes are added to [`RelayState::bytes_sent`].
fn forward(
    from: &TcpStream,
    to: &TcpStream,
    state: &Arc<RelayState>,
    number: u64,
    counts_bytes: bool,
) {
    let (mut from, mut to) = (
        from.try_clone().expect("a socket"),
        to.try_clone().expect("a socket"),
    );
    let state = Arc::clone(state);
    from.set_read_timeout(Some(POLL_INTERVAL)).expect("a limit");
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while !state.is_dropped.load(Ordering::Relaxed) {
            let is_held = counts_bytes && state.holds_requests.load(Ordering::Relaxed);
            if state.is_frozen(number) || is_held {
                thread::sleep(POLL_INTERVAL);
                continue;
            }
            let count = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    continue;
                }
                Err(_) => break,
            };
            if counts_bytes {
                state.note_arrival(&buffer[..count]);
            }
            let delay_us = state.delays_us[usize::from(!counts_bytes)].load(Ordering::Relaxed);
            thread::sleep(Duration::from_micros(delay_us));
            let is_discarded = !counts_bytes && state.discards_replies.load(Ordering::Relaxed);
            if !is_discarded && to.write_all(&buffer[..count]).is_err() {
                break;
            }
            if counts_bytes {
                state.bytes_sent.fetch_add(count as u64, Ordering::Relaxed);
            }
        }
        // The other side of a frozen connection must not learn of its end, even if the read or the write began
        // before.
        while state.is_frozen(number) && !state.is_dropped.load(Ordering::Relaxed) {
            thread::sleep(POLL_INTERVAL);
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    });
}
