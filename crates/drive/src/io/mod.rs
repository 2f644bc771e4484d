//! The sockets of one worker, behind a small trait with three implementations.
//!
//! In: bytes to send, addresses to connect to. Out: events, bytes with the kernel's stamp of their
//! arrival. Must never: know what the bytes mean, or share anything with another worker.

mod buffers;
pub mod epoll;
pub mod ring;
pub mod sim;
pub mod socket;

use crate::clock::Clock;
use prony_server::{Address, TcpOptions};
use std::io;

/// Number of a connection in its worker, from 0.
pub type Slot = u32;

/// An event of a connection.
#[derive(Clone, Copy, Debug)]
pub struct IoEvent {
    /// The slot of the connection.
    pub slot: Slot,
    /// Which connection of this slot: late events of an earlier one are dropped.
    pub generation: u32,
    /// The event.
    pub kind: IoEventKind,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoEventKind {
    /// The connection that [`Io::open`] began is established.
    Opened,
    /// Bytes have arrived: fetch them with [`Io::receive`]. The fields tell the engine where they are.
    Readable {
        /// Ring: number of the buffer. Epoll, sim: nothing.
        buffer: u16,
        /// Ring: bytes in the buffer. Epoll, sim: nothing.
        length: u32,
    },
    /// The connection could not be made, or is gone, with this `errno`, or 0 for an orderly end.
    Closed(i32),
}

/// Bytes that arrived.
#[derive(Debug)]
pub struct Received<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// When the last of them arrived in this machine's kernel: nanoseconds of the stamps' clock.
    pub stamp_ns: Option<u64>,
    /// The connection ended or failed instead, with this `errno`, or 0 for an orderly end.
    pub closed: Option<i32>,
}

/// When a request was sent, as far as the engine knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Clock reading just before the system call that sent it, nanoseconds.
    pub before_ns: u64,
    /// How many other requests the same call sent before it.
    pub position: u32,
}

/// The sockets of one worker.
pub trait Io {
    /// Name of the engine, for reports.
    fn name(&self) -> &'static str;

    /// The clock that belongs to the engine.
    fn clock(&self) -> Clock;

    /// Makes room for one more connection and returns its slot: the next number.
    fn add_slot(&mut self) -> Slot;

    /// Starts to connect; [`IoEventKind::Opened`] or [`IoEventKind::Closed`] follows. An earlier connection
    /// of this slot must have been closed.
    ///
    /// # Errors
    /// If no socket can be created, mostly for lack of file descriptors.
    fn open(&mut self, slot: Slot, address: &Address, tcp: &TcpOptions) -> io::Result<()>;

    /// Closes a connection, after sending `closing_message` if the socket accepts it.
    fn close(&mut self, slot: Slot, closing_message: &[u8]);

    /// Sends bytes with the next [`Io::turn`]. `stamp`: request the kernel's stamp of their departure.
    fn send(&mut self, slot: Slot, bytes: &[u8], stamp: bool);

    /// When the bytes last sent left.
    fn sent(&self, slot: Slot) -> Sent;

    /// The requested transmit stamp, once it has arrived.
    fn transmit_stamp_ns(&mut self, slot: Slot) -> Option<u64>;

    /// Sends everything queued, in one system call if the engine can, then waits for events, until
    /// `until_ns` at most.
    ///
    /// # Errors
    /// If the engine itself fails; the run cannot continue then.
    fn turn(&mut self, until_ns: u64, events: &mut Vec<IoEvent>) -> io::Result<()>;

    /// Whether an event belongs to the current connection of its slot. An event from the same turn as
    /// the end of its connection does not.
    fn is_current(&self, event: IoEvent) -> bool;

    /// Fetches the bytes that an [`IoEventKind::Readable`] announced; `None` if the event is stale. Call it
    /// for each such event: it gives the engine's buffer back.
    fn receive(&mut self, event: IoEvent) -> Option<Received<'_>>;
}
