//! A relay between the program and a server that can stop forwarding without closing anything, like a
//! firewall that forgets its connections, or close the connections through it.
//!
//! In: the server's port. Out: a port of its own. Must never: change a byte, or hold one back unless
//! requested.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How often a thread checks whether to continue.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A relay on the loopback address.
pub struct Relay {
    /// The port to connect to.
    pub port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    frozen: AtomicBool,
    down: AtomicBool,
    over: AtomicBool,
    /// The two sockets of each connection: the program's and the server's.
    open: Mutex<Vec<[TcpStream; 2]>>,
    /// Bytes from the program to the server.
    sent: AtomicU64,
    /// Number of accepted connections.
    connections: AtomicU64,
    /// The first `forgotten` connections are not forwarded.
    forgotten: AtomicU64,
}

impl Relay {
    /// Creates a relay to a server on the loopback address.
    pub fn to(server: u16) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if shared.over.load(Ordering::Relaxed) {
                    return;
                }
                let number = shared.connections.fetch_add(1, Ordering::Relaxed) + 1;
                // A client that connects while the relay or the server is down is disconnected at
                // once.
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else {
                    continue;
                };
                let mut open = shared.open.lock().expect("nobody panics with it");
                if shared.down.load(Ordering::Relaxed) {
                    continue;
                }
                pump(&client, &server, &shared, number, true);
                pump(&server, &client, &shared, number, false);
                open.push([client, server]);
            }
        });
        Relay { port, state }
    }

    /// From now on nothing is forwarded and nothing closed. New connections are accepted.
    pub fn freeze(&self) {
        self.state.frozen.store(true, Ordering::Relaxed);
    }

    /// From now on nothing of the open connections is forwarded, and none is closed; new ones work.
    pub fn forget(&self) {
        let connections = self.connections();
        self.state.forgotten.store(connections, Ordering::Relaxed);
    }

    /// Like [`Relay::forget`], and also closes the server's sides.
    pub fn forget_and_close(&self) {
        self.forget();
        // Let the data being forwarded finish first.
        thread::sleep(10 * LOOK_EVERY);
        let open = self.state.open.lock().expect("nobody panics with it");
        for [_, server] in open.iter() {
            let _ = server.shutdown(Shutdown::Both);
        }
    }

    /// Closes all connections.
    pub fn cut(&self) {
        let mut open = self.state.open.lock().expect("nobody panics with it");
        for end in open.drain(..).flatten() {
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    /// Closes all connections, and new ones at once, until [`Relay::restore`] is called.
    pub fn take_down(&self) {
        self.state.down.store(true, Ordering::Relaxed);
        self.cut();
    }

    /// Relays again.
    pub fn restore(&self) {
        self.state.down.store(false, Ordering::Relaxed);
    }

    /// Number of accepted connections.
    pub fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::Relaxed)
    }

    /// Waits until the program has sent `bytes` bytes.
    pub fn until_sent(&self, bytes: u64) {
        let begun = Instant::now();
        while self.state.sent.load(Ordering::Relaxed) < bytes {
            assert!(
                begun.elapsed() < crate::common::WAIT_TIMEOUT,
                "it sends less"
            );
            thread::sleep(LOOK_EVERY);
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::Relaxed);
        // Wakes the accepting thread.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Forwards in one direction, until a side closes or the relay is dropped.
fn pump(from: &TcpStream, to: &TcpStream, state: &Arc<State>, number: u64, counts: bool) {
    let (mut from, mut to) = (from.try_clone().expect("it"), to.try_clone().expect("it"));
    let state = Arc::clone(state);
    from.set_read_timeout(Some(LOOK_EVERY)).expect("a limit");
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while !state.over.load(Ordering::Relaxed) {
            let is_forgotten = number <= state.forgotten.load(Ordering::Relaxed);
            if is_forgotten || state.frozen.load(Ordering::Relaxed) {
                thread::sleep(LOOK_EVERY);
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
            if to.write_all(&buffer[..count]).is_err() {
                break;
            }
            if counts {
                state.sent.fetch_add(count as u64, Ordering::Relaxed);
            }
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    });
}
