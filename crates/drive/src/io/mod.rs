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

/// Something that happened to a connection.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// To which connection.
    pub slot: Slot,
    /// To which of the connections that this slot has had: late events of an old one are dropped.
    pub generation: u32,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The connection that [`Io::open`] began is there.
    Opened,
    /// Bytes are there: fetch them with [`Io::receive`]. The engine's own note says where.
    Readable {
        /// Ring: number of the buffer. Epoll, sim: nothing.
        buffer: u16,
        /// Ring: bytes in the buffer. Epoll, sim: nothing.
        length: u32,
    },
    /// The connection could not be made, or is gone: with this `errno`, or 0 for an orderly end.
    Closed(i32),
}

/// Bytes that arrived.
#[derive(Debug)]
pub struct Received<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// When the last of them arrived in this machine's kernel: nanoseconds of the stamps' clock.
    pub stamp_ns: Option<u64>,
    /// The connection ended or failed instead.
    pub closed: Option<i32>,
}

/// When a request left, as far as the engine knows by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Clock reading just before the system call that sent it, nanoseconds.
    pub before_ns: u64,
    /// How many others that same call sent before it.
    pub place: u32,
}

/// The sockets of one worker.
pub trait Io {
    /// Name of the engine, for reports.
    fn name(&self) -> &'static str;

    /// The clock to use with it.
    fn clock(&self) -> Clock;

    /// Makes room for one more connection, and gives its slot: the next number.
    fn add_slot(&mut self) -> Slot;

    /// Begins to connect; [`What::Opened`] or [`What::Closed`] follows. What was open in this slot
    /// must have been closed.
    ///
    /// # Errors
    /// When no socket can be made: out of file descriptors, mostly.
    fn open(&mut self, slot: Slot, address: &Address, tcp: &TcpOptions) -> io::Result<()>;

    /// Closes a connection after sending `farewell`, if there is room for it.
    fn close(&mut self, slot: Slot, farewell: &[u8]);

    /// Sends bytes with the next [`Io::turn`]. `stamp`: ask the kernel when they left.
    fn send(&mut self, slot: Slot, bytes: &[u8], stamp: bool);

    /// When the bytes last sent left.
    fn sent(&self, slot: Slot) -> Sent;

    /// The kernel's stamp of the transmission that was asked for, once it is there.
    fn transmit_stamp_ns(&mut self, slot: Slot) -> Option<u64>;

    /// Sends all that is queued, in one system call if the engine can, then waits for events until
    /// `until_ns` at most.
    ///
    /// # Errors
    /// When the engine itself fails; the run cannot go on then.
    fn turn(&mut self, until_ns: u64, events: &mut Vec<Event>) -> io::Result<()>;

    /// Whether an event is of the connection that its slot now has. One that came in the same turn
    /// as the end of its connection is not.
    fn is_current(&self, event: Event) -> bool;

    /// Fetches what a [`What::Readable`] announced; `None` if it is stale. To be called for each: the
    /// engine's buffer is given back by it.
    fn receive(&mut self, event: Event) -> Option<Received<'_>>;
}
