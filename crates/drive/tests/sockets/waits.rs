//! How the I/O engines wait: for the first reply or for several, asleep or polling.

use prony_drive::io::epoll::Epoll;
use prony_drive::io::ring::{Ring, probe};
use prony_drive::io::{Io, IoEvent, IoEventKind, WaitStrategy};
use prony_server::{Address, TcpOptions};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Much longer than any test may take; a wait of this length is a failure.
const TOO_LONG: Duration = Duration::from_secs(30);

/// Opens two connections; returns the peers in the order of the slots.
fn connect_two(io: &mut dyn Io) -> [TcpStream; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = Address::Tcp(listener.local_addr().expect("an address"));
    [0, 1].map(|slot| {
        io.open(slot, &address, &TcpOptions::default())
            .expect("a socket");
        // The kernel completes the connection without `accept`, so nothing else has to run meanwhile.
        while wait(io, Duration::from_millis(20))
            .iter()
            .all(|event| event.kind != IoEventKind::Opened)
        {}
        listener.accept().expect("a client").0
    })
}

/// Waits once, for at most `limit`. Returns the events, and takes their bytes.
fn wait(io: &mut dyn Io, limit: Duration) -> Vec<IoEvent> {
    let mut events = Vec::new();
    let deadline_ns = io.clock().now_ns() + limit.as_nanos() as u64;
    io.submit_and_wait(deadline_ns, &mut events)
        .expect("events");
    for event in &events {
        io.receive(*event);
    }
    events
}

fn ring() -> Option<Ring> {
    probe().is_ok().then(|| Ring::new(2).expect("a ring"))
}

fn coalescing(delay_max: Duration) -> WaitStrategy {
    WaitStrategy {
        replies: 2,
        delay_max_ns: delay_max.as_nanos() as u64,
        spin_ns: 0,
    }
}

#[test]
fn a_coalescing_ring_wakes_once_for_two_replies() {
    let Some(mut ring) = ring().filter(Ring::can_coalesce) else {
        return;
    };
    let peers = connect_two(&mut ring);
    ring.set_wait_strategy(coalescing(TOO_LONG));
    let writer = std::thread::spawn(move || {
        for mut peer in &peers {
            std::thread::sleep(Duration::from_millis(30));
            peer.write_all(b"reply").expect("a reader");
        }
        peers
    });
    let events = wait(&mut ring, TOO_LONG);
    assert_eq!(events.len(), 2, "{events:?}");
    drop(writer.join().expect("both were written"));
}

#[test]
fn a_coalescing_ring_returns_a_single_reply_after_the_delay_or_at_the_deadline() {
    let Some(mut ring) = ring().filter(Ring::can_coalesce) else {
        return;
    };
    let mut peers = connect_two(&mut ring);
    let delay = Duration::from_millis(100);
    for (delay_max, limit) in [(delay, TOO_LONG), (TOO_LONG, delay)] {
        ring.set_wait_strategy(coalescing(delay_max));
        peers[0].write_all(b"reply").expect("a reader");
        let start = Instant::now();
        let events = wait(&mut ring, limit);
        assert_eq!(events.len(), 1, "{events:?}");
        assert!(start.elapsed() >= delay.mul_f64(0.9), "it did not wait");
        assert!(start.elapsed() < TOO_LONG, "it waited for the other reply");
    }
    // After the delay without any reply, the first one ends the wait.
    ring.set_wait_strategy(coalescing(Duration::from_millis(1)));
    let writer = std::thread::spawn(move || {
        std::thread::sleep(delay);
        peers[1].write_all(b"reply").expect("a reader");
        peers
    });
    assert_eq!(wait(&mut ring, TOO_LONG).len(), 1);
    drop(writer.join().expect("it was written"));
}

#[test]
fn an_engine_that_polls_finds_replies_during_and_after_polling_and_keeps_the_deadline() {
    let epoll: Box<dyn Io> = Box::new(Epoll::new(2).expect("epoll"));
    let ring = ring().map(|ring| Box::new(ring) as Box<dyn Io>);
    for mut io in std::iter::once(epoll).chain(ring) {
        let mut peers = connect_two(&mut *io);
        for spin in [TOO_LONG, Duration::from_micros(1)] {
            io.set_wait_strategy(WaitStrategy {
                spin_ns: spin.as_nanos() as u64,
                ..WaitStrategy::default()
            });
            let start = Instant::now();
            assert!(wait(&mut *io, Duration::from_millis(20)).is_empty());
            assert!(start.elapsed() < TOO_LONG, "the wait ends at its deadline");
            let writer = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(30));
                peers[0].write_all(b"reply").expect("a reader");
                peers
            });
            assert_eq!(wait(&mut *io, TOO_LONG).len(), 1, "{}", io.name());
            peers = writer.join().expect("it was written");
        }
    }
}
