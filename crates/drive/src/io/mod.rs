//! The sockets of one worker: a small trait with three implementations.
//!
//! In: bytes to send, addresses to connect to. Out: events, bytes with the kernel's timestamp of
//! their arrival. Must never: interpret the bytes, or share state with other workers.

mod buffers;
pub mod epoll;
pub mod ring;
pub mod sim;
pub(crate) mod socket;

use crate::clock::Clock;
use prony_server::{Address, TcpOptions};
use std::io;
use std::os::fd::OwnedFd;

/// Index of a connection in its worker, from 0.
pub type Slot = u32;

#[derive(Clone, Copy, Debug)]
pub struct IoEvent {
    pub slot: Slot,
    /// How many connections the slot has had. An event with an older number belongs to an earlier connection,
    /// and is dropped.
    pub generation: u32,
    pub kind: IoEventKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoEventKind {
    /// The connection that [`Io::open`] began is established.
    Opened,
    /// Bytes have arrived: fetch them with [`Io::receive`], which needs the fields to find them.
    Readable {
        /// Ring: index of the buffer. Epoll and sim: unused.
        buffer: u16,
        /// Ring: number of bytes in the buffer. Epoll and sim: unused.
        length: u32,
    },
    /// The connection could not be opened, or is closed: the `errno`, or 0 for an orderly end.
    Closed(i32),
}

/// What a receive returned.
#[derive(Debug)]
pub struct Received<'a> {
    pub bytes: &'a [u8],
    /// When the last of them arrived in this machine's kernel: nanoseconds of the timestamps' clock.
    pub timestamp_ns: Option<u64>,
    /// Set if the connection was closed, and no bytes arrived: the `errno`, or 0 for an orderly end.
    pub closed: Option<i32>,
}

impl<'a> Received<'a> {
    /// The result of a receive that succeeded. Without bytes, the server has closed the connection.
    pub fn new(bytes: &'a [u8], timestamp_ns: Option<u64>) -> Self {
        Received {
            bytes,
            timestamp_ns,
            closed: bytes.is_empty().then_some(0),
        }
    }
}

/// When a request was sent, as far as the engine knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Clock reading just before the system call that sent the request, nanoseconds.
    pub before_ns: u64,
    /// Number of requests that the same system call sent before this one.
    pub position: u32,
}

/// A shorter wait is over before the kernel has set its timer, which takes several µs on a virtual machine: the
/// engines then return at once.
const MIN_SLEEP_NS: u64 = 1_000;

/// How [`Io::submit_and_wait`] waits for replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitStrategy {
    /// Number of replies to wait for. With 1, the first reply ends the wait.
    pub replies: u32,
    /// Longest wait for that many replies, nanoseconds. After this time, any reply ends the wait.
    pub delay_max_ns: u64,
    /// How long to poll before the thread sleeps, nanoseconds.
    pub spin_ns: u64,
}

impl Default for WaitStrategy {
    /// Sleeps until the first reply arrives.
    fn default() -> Self {
        WaitStrategy {
            replies: 1,
            delay_max_ns: 0,
            spin_ns: 0,
        }
    }
}

/// A connected socket that outlives its engine.
pub struct OpenSocket {
    pub(crate) descriptor: OwnedFd,
    /// Whether it uses TCP, for which the kernel provides timestamps.
    pub(crate) is_tcp: bool,
}

/// An I/O engine: drives the sockets of one worker.
pub trait Io {
    /// Name of the engine, for reports.
    fn name(&self) -> &'static str;

    fn clock(&self) -> Clock;

    /// Adds a slot for one more connection, and returns it. Slots are numbered consecutively.
    fn add_slot(&mut self) -> Slot;

    /// Starts to connect; [`IoEventKind::Opened`] or [`IoEventKind::Closed`] follows. An earlier connection
    /// of this slot must have been closed.
    fn open(&mut self, slot: Slot, address: &Address, tcp: &TcpOptions) -> io::Result<()>;

    /// Closes a connection, after sending `closing_message` if the socket accepts it.
    fn close(&mut self, slot: Slot, closing_message: &[u8]);

    /// Takes over a socket that an engine of this kind has released, as the connection of a slot that has none.
    ///
    /// # Errors
    /// If the engine cannot watch it. The socket is closed then.
    fn adopt(&mut self, slot: Slot, socket: OpenSocket) -> io::Result<()>;

    /// Ends the engine without closing its sockets; returns those that are open, by slot.
    fn release(self) -> Vec<Option<OpenSocket>>
    where
        Self: Sized;

    /// Queues bytes for the next [`Io::submit_and_wait`]. `request_timestamp`: whether to request the
    /// kernel's timestamp of their departure.
    fn send(&mut self, slot: Slot, bytes: &[u8], request_timestamp: bool);

    /// When the last request of a connection was sent.
    fn sent(&self, slot: Slot) -> Sent;

    /// The requested transmit timestamp, once it has arrived.
    fn transmit_timestamp_ns(&mut self, slot: Slot) -> Option<u64>;

    /// Sends everything queued, in one system call if the engine can, then waits for events, but
    /// no longer than until `deadline_ns`.
    ///
    /// # Errors
    /// If the engine itself fails; the run cannot continue then.
    fn submit_and_wait(&mut self, deadline_ns: u64, events: &mut Vec<IoEvent>) -> io::Result<()>;

    /// Sets how [`Io::submit_and_wait`] waits from now on. An engine that does not support the strategy
    /// sleeps until the first reply arrives.
    fn set_wait_strategy(&mut self, strategy: WaitStrategy) {
        let _ = strategy;
    }

    /// Whether the engine can wait for several replies.
    fn can_coalesce(&self) -> bool {
        false
    }

    /// Whether an event belongs to the current connection of its slot. False for an event of a connection
    /// that was closed earlier in the same iteration.
    fn is_current(&self, event: IoEvent) -> bool;

    /// Fetches the bytes that an [`IoEventKind::Readable`] announced; `None` if the event is stale. Call this
    /// for each such event, because it also gives the buffer back to the engine.
    fn receive(&mut self, event: IoEvent) -> Option<Received<'_>>;
}
