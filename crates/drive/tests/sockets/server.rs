//! A server on a real socket that speaks just enough PostgreSQL, in one thread, for any number of
//! connections. It answers every Sync and every simple query at once.

use crate::support::{DONE, WELCOME};
use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time limit for events that are immediate on an idle machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running server; stops when dropped.
pub struct FakeServer {
    pub port: u16,
    open_count: Arc<AtomicUsize>,
    /// Number of clients that have ever connected.
    accepted_count: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl FakeServer {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a listener");
        let port = listener.local_addr().expect("an address").port();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let open_count = Arc::new(AtomicUsize::new(0));
        let accepted_count = Arc::new(AtomicUsize::new(0));
        let counts = [&open_count, &accepted_count].map(Arc::clone);
        let thread = std::thread::spawn(move || serve(&listener, &stopped, &counts));
        FakeServer {
            port,
            open_count,
            accepted_count,
            stop,
            thread: Some(thread),
        }
    }
}

impl FakeServer {
    /// Number of clients that have ever connected.
    pub fn accepted(&self) -> usize {
        self.accepted_count.load(Ordering::Relaxed)
    }

    pub fn wait_until_open(&self, clients: usize) {
        let begun = Instant::now();
        while self.open_count.load(Ordering::Relaxed) != clients {
            let open_count = self.open_count.load(Ordering::Relaxed);
            assert!(
                begun.elapsed() < TIMEOUT,
                "{open_count} instead of {clients}"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The replies that a client's bytes require; complete messages are removed from `inbox`.
pub fn take_due_replies(inbox: &mut Vec<u8>, logged_in: &mut bool) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let header = if *logged_in { 1 } else { 0 };
        let Some(length) = inbox.get(header..header + 4) else {
            return out;
        };
        let length = u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
        if inbox.len() < header + length {
            return out;
        }
        let message: Vec<u8> = inbox.drain(..header + length).collect();
        if !*logged_in {
            *logged_in = true;
            out.extend_from_slice(WELCOME);
        } else if matches!(message[0], b'S' | b'Q') {
            out.extend_from_slice(DONE);
        }
    }
}

struct Client {
    stream: TcpStream,
    inbox: Vec<u8>,
    logged_in: bool,
}

fn serve(listener: &TcpListener, stop: &AtomicBool, counts: &[Arc<AtomicUsize>; 2]) {
    let [open_count, accepted_count] = counts;
    // SAFETY: plain system calls on descriptors that this thread owns; `events` has room for the
    // requested number.
    let poll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    watch(poll, listener.as_raw_fd());
    let mut clients: HashMap<RawFd, Client> = HashMap::new();
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; 256];
    while !stop.load(Ordering::Relaxed) {
        // SAFETY: as above.
        let count = unsafe { libc::epoll_wait(poll, events.as_mut_ptr(), 256, 50) };
        for event in &events[..count.max(0) as usize] {
            let fd = event.u64 as RawFd;
            if fd == listener.as_raw_fd() {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true).expect("a socket");
                    stream.set_nodelay(true).expect("a socket");
                    watch(poll, stream.as_raw_fd());
                    let client = Client {
                        stream,
                        inbox: Vec::new(),
                        logged_in: false,
                    };
                    accepted_count.fetch_add(1, Ordering::Relaxed);
                    clients.insert(client.stream.as_raw_fd(), client);
                }
            } else if clients.get_mut(&fd).is_some_and(|client| !answer(client)) {
                clients.remove(&fd);
            }
        }
        open_count.store(clients.len(), Ordering::Relaxed);
    }
    // SAFETY: as above.
    unsafe { libc::close(poll) };
}

fn watch(poll: RawFd, fd: RawFd) {
    let mut event = libc::epoll_event {
        events: libc::EPOLLIN as u32,
        u64: fd as u64,
    };
    // SAFETY: `event` is valid for the call.
    let result = unsafe { libc::epoll_ctl(poll, libc::EPOLL_CTL_ADD, fd, &raw mut event) };
    assert_eq!(result, 0);
}

/// Reads a client's requests and answers them. Returns false if the client has disconnected.
fn answer(client: &mut Client) -> bool {
    let mut chunk = [0; 4096];
    match client.stream.read(&mut chunk) {
        Ok(0) => return false,
        Ok(length) => client.inbox.extend_from_slice(&chunk[..length]),
        Err(error) => return error.kind() == ErrorKind::WouldBlock,
    }
    let out = take_due_replies(&mut client.inbox, &mut client.logged_in);
    client.stream.write_all(&out).is_ok()
}
