//! Both I/O engines in isolation: bytes arrive complete and in order, however slow the peer is.

use prony_assertions::TestFolder;
use prony_drive::io::epoll::Epoll;
use prony_drive::io::ring::{Ring, probe};
use prony_drive::io::{Io, IoEvent, IoEventKind};
use prony_server::{Address, TcpOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

/// An engine with one open connection, and its peer.
struct Pair<P> {
    io: Box<dyn Io>,
    peer: P,
}

impl<P> Pair<P> {
    fn open(mut io: Box<dyn Io>, address: &Address, accept: impl FnOnce() -> P) -> Self {
        io.open(0, address, &TcpOptions::default())
            .expect("a socket");
        let peer = accept();
        let mut pair = Pair { io, peer };
        while !pair
            .poll()
            .iter()
            .any(|event| event.kind == IoEventKind::Opened)
        {}
        pair
    }

    fn poll(&mut self) -> Vec<IoEvent> {
        let mut events = Vec::new();
        let deadline_ns = self.io.clock().now_ns() + 20_000;
        self.io
            .submit_and_wait(deadline_ns, &mut events)
            .expect("events");
        for event in &events {
            assert!(!matches!(event.kind, IoEventKind::Closed(_)), "{event:?}");
        }
        events
    }
}

fn engines() -> Vec<Box<dyn Io>> {
    let mut engines: Vec<Box<dyn Io>> = vec![Box::new(Epoll::new(1).expect("epoll"))];
    if probe().is_ok() {
        engines.push(Box::new(Ring::new(1).expect("a ring")));
    }
    engines
}

fn tcp_pair(io: Box<dyn Io>) -> Pair<TcpStream> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = Address::Tcp(listener.local_addr().expect("an address"));
    let pair = Pair::open(io, &address, || {
        // The ring connects in its first iteration, so the peer is accepted in the background.
        std::thread::spawn(move || listener.accept().expect("a client").0)
    });
    pair.map(|peer| peer.join().expect("a peer"))
}

fn unix_pair(io: Box<dyn Io>, path: &std::path::Path) -> Pair<std::os::unix::net::UnixStream> {
    let listener = UnixListener::bind(path).expect("a socket");
    let pair = Pair::open(io, &Address::Unix(path.to_owned()), || {
        std::thread::spawn(move || listener.accept().expect("a client").0)
    });
    pair.map(|peer| peer.join().expect("a peer"))
}

impl<P> Pair<P> {
    fn map<Q>(self, change: impl FnOnce(P) -> Q) -> Pair<Q> {
        let Pair { io, peer } = self;
        Pair {
            io,
            peer: change(peer),
        }
    }
}

/// Sends requests of `bytes` bytes, one per iteration, to a peer that starts to read only afterwards.
fn send_to_slow_reader<P: Read + Send + 'static>(pair: Pair<P>, bytes: usize, total: usize) {
    let Pair { io, mut peer } = pair;
    let name = io.name();
    let mut pair = Pair { io, peer: () };
    let count = total / bytes;
    for number in 0..count {
        pair.io.send(0, &vec![number as u8; bytes], false);
        pair.poll();
    }
    let reader = std::thread::spawn(move || {
        let mut request = vec![0; bytes];
        for number in 0..count {
            peer.read_exact(&mut request).expect("all that was sent");
            let mismatch = request.iter().position(|byte| *byte != number as u8);
            assert_eq!(mismatch, None, "request {number} of {name}");
        }
        // Keep the socket open until the thread is joined: its end would be an event.
        peer
    });
    while !reader.is_finished() {
        pair.poll();
    }
    reader.join().expect("in order");
}

#[test]
fn requests_arrive_in_order_at_a_peer_that_reads_late() {
    for io in engines() {
        send_to_slow_reader(tcp_pair(io), 15_000, 24 << 20);
    }
    for io in engines() {
        send_to_slow_reader(tcp_pair(io), 300_000, 24 << 20);
    }
    let folder = TestFolder::create();
    for (number, io) in engines().into_iter().enumerate() {
        send_to_slow_reader(
            unix_pair(io, &folder.join(number.to_string())),
            700,
            2 << 20,
        );
    }
}

#[test]
fn all_sends_of_one_iteration_arrive_in_order() {
    for io in engines() {
        let name = io.name();
        let mut pair = tcp_pair(io);
        let mut expected = Vec::new();
        for (byte, length) in [(b'a', 10), (b'b', 10_000), (b'c', 10_000), (b'd', 3)] {
            let piece = vec![byte; length];
            pair.io.send(0, &piece, byte == b'a');
            expected.extend(piece);
        }
        pair.poll();
        let mut arrived = vec![0; expected.len()];
        pair.poll();
        pair.peer.read_exact(&mut arrived).expect("all bytes");
        assert!(arrived == expected, "{name}");
    }
}

#[test]
fn a_reply_larger_than_many_buffers_arrives_complete() {
    let reply: Arc<Vec<u8>> = Arc::new((0..3 << 20).map(|n: u32| (n / 7) as u8).collect());
    for io in engines() {
        let name = io.name();
        let mut pair = tcp_pair(io);
        let (mut peer, bytes) = (pair.peer.try_clone().expect("a socket"), reply.clone());
        let writer = std::thread::spawn(move || peer.write_all(&bytes).expect("a reader"));
        let mut arrived = Vec::new();
        while arrived.len() < reply.len() {
            for event in pair.poll() {
                if let Some(received) = pair.io.receive(event) {
                    arrived.extend_from_slice(received.bytes);
                }
            }
        }
        writer.join().expect("all written");
        assert!(arrived == *reply, "{name}");
    }
}

#[test]
fn queued_bytes_are_sent_before_the_closing_message() {
    for io in engines() {
        let name = io.name();
        let mut pair = tcp_pair(io);
        pair.io.send(0, b"queued ", false);
        pair.io.close(0, b"closing");
        let mut arrived = Vec::new();
        pair.peer.read_to_end(&mut arrived).expect("an end");
        assert_eq!(arrived, b"queued closing", "{name}");
    }
}

/// More connections than the ring has receive buffers (1,024) and submission queue entries (1,024) together.
const CONNECTIONS: usize = 3500;

/// Opens many connections, and receives what the peer wrote to each. The peer has written to most of them
/// before the engine first polls.
fn receive_from_many(mut io: Box<dyn Io>, path: &std::path::Path) {
    let listener = UnixListener::bind(path).expect("a socket");
    let written = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&written);
    let peer = std::thread::spawn(move || {
        let mut peers = Vec::new();
        while peers.len() < CONNECTIONS {
            let (mut peer, _) = listener.accept().expect("a client");
            peer.write_all(b"welcome").expect("a reader");
            peers.push(peer);
            count.fetch_add(1, Ordering::Relaxed);
        }
        peers
    });
    let address = Address::Unix(path.to_owned());
    for slot in 0..CONNECTIONS {
        io.open(slot as u32, &address, &TcpOptions::default())
            .expect("a socket");
    }
    // By now a ring has submitted three full queues of connects, and epoll all connects.
    while written.load(Ordering::Relaxed) < 3 * 1024 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut arrived = vec![Vec::new(); CONNECTIONS];
    let mut events = Vec::new();
    while arrived.iter().any(|bytes| bytes != b"welcome") {
        let deadline_ns = io.clock().now_ns() + 20_000_000;
        io.submit_and_wait(deadline_ns, &mut events)
            .expect("events");
        for event in events.drain(..) {
            assert!(!matches!(event.kind, IoEventKind::Closed(_)), "{event:?}");
            if let Some(received) = io.receive(event) {
                arrived[event.slot as usize].extend_from_slice(received.bytes);
            }
        }
    }
    drop(peer.join().expect("all were accepted"));
}

#[test]
fn an_iteration_ends_although_there_are_more_replies_than_buffers() {
    let folder = TestFolder::create();
    prony_drive::affinity::ensure_file_limit(2 * CONNECTIONS as u64 + 100)
        .expect("files for both ends");
    let mut names = vec!["epoll"];
    if probe().is_ok() {
        names.push("ring");
    }
    for name in names {
        let path = folder.join(name);
        let (done_sender, done_receiver) = channel();
        // In a separate thread: an engine that never returns must not block the test.
        std::thread::spawn(move || {
            let io: Box<dyn Io> = match name {
                "ring" => Box::new(Ring::new(CONNECTIONS).expect("a ring")),
                _ => Box::new(Epoll::new(CONNECTIONS).expect("epoll")),
            };
            receive_from_many(io, &path);
            done_sender.send(()).expect("the test waits");
        });
        let result = done_receiver.recv_timeout(Duration::from_secs(60));
        assert!(result.is_ok(), "{name}: {result:?}");
    }
}
