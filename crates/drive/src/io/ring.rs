//! The io_uring engine: all sends of an iteration in one submission, multishot receive with timestamps.
//!
//! In: bytes to send. Out: events. Must never: free memory that the kernel may still read or write. Every
//! buffer that the kernel uses belongs to this engine, whose `drop` (see `stop`) stops the ring before the
//! buffers are freed.
//!
//! An iteration makes one system call. Each send wakes a server process, which may take this thread's CPU.
//! With thirty sends in one call, this happens once instead of thirty times.

mod probe;
mod receive;
mod send;
mod stop;
mod wait;

pub use probe::{RingUnavailable, is_out_of_locked_memory, probe};

use super::buffers::Buffers;
use super::socket::{self, CONTROL_BYTES, TimestampedMessage};
use super::{Io, IoEvent, IoEventKind, OpenSocket, Received, Sent, Slot, WaitStrategy};
use crate::clock::Clock;
use io_uring::types::{Fd, Fixed};
use io_uring::{IoUring, cqueue, opcode, squeue};
use prony_server::{Address, TcpOptions};
use rustix::net::{Shutdown, SocketAddrAny, SocketFlags};
use std::io;
use std::mem::{ManuallyDrop, zeroed};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Maximum size of the submission queue; further entries are submitted with the next call.
const SUBMISSIONS: u32 = 1024;
const BUFFER_GROUP: u16 = 0;
/// Size of the header that a multishot recvmsg puts before the data: four 32-bit numbers.
const HEADER_BYTES: usize = 16;
/// The bits of a generation that fit into user data.
const GENERATION_MASK: u32 = 0xff_ffff;

/// The operation that a completion belongs to; part of its user data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Op {
    Receive = 1,
    Send = 2,
    Connect = 3,
}

pub struct Ring {
    ring: IoUring,
    clock: Clock,
    /// Freed by `drop` if the ring could be stopped.
    buffers: ManuallyDrop<Buffers>,
    /// The buffer whose bytes the last [`Io::receive`] returned. The next call gives it back to the kernel.
    borrowed_buffer: Option<u16>,
    slots: Vec<Connection>,
    /// Slots below this have a registered file; slots added later have none.
    registered_slots: Slot,
    /// Slots with bytes to send in the next iteration, and whether to request a timestamp for them.
    queued: Vec<(Slot, bool)>,
    /// Slots whose sends are in the submission queue, in the order of that queue.
    batch: Vec<Slot>,
    /// Slots whose receive ended for lack of a buffer, with their generation. [`Ring::arm_starved`] arms them
    /// again.
    starved: Vec<(Slot, u32)>,
    /// Header of every receive: no address, and space for timestamps. Freed like `buffers`.
    receive_header: ManuallyDrop<Box<libc::msghdr>>,
    /// The message of every send that requests a timestamp. The kernel copies it on submission, before it is used
    /// again.
    timestamped_message: Box<TimestampedMessage>,
    wait_strategy: WaitStrategy,
}

/// State of the bytes that a connection has to send.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum SendState {
    /// There are no bytes, or the kernel has copied them: they may be overwritten.
    #[default]
    Free,
    /// The bytes wait for the next submission: more may be added.
    Queued,
    /// The kernel may still read the bytes: they must not be touched.
    Sending,
}

#[derive(Default)]
struct Connection {
    socket: Option<OwnedFd>,
    generation: u32,
    /// Whether the connection uses TCP, for which the kernel provides timestamps.
    is_tcp: bool,
    /// The address that is being connected to, while the kernel may read it.
    connecting: Option<Box<SocketAddrAny>>,
    /// Bytes to send; in `SendState::Sending` the kernel may still read them.
    out: Vec<u8>,
    state: SendState,
    /// Whether the socket did not accept all bytes of the last send. If so, the completion of the next send
    /// is awaited, even if it is small.
    is_stalled: bool,
    /// Bytes to send after `out`, while the kernel uses `out`.
    next_out: Vec<u8>,
    sent: Sent,
}

impl Ring {
    /// Creates an engine for this many connections. It must stay on the thread that created it.
    pub fn new(connections: usize) -> io::Result<Self> {
        // The queues are locked memory, of which an ordinary user has a few megabytes for all rings together.
        // So they are no larger than these connections need: an iteration can complete a receive per
        // connection and, for large requests, a send; replies in several pieces need more completions.
        let entries = (connections as u32 * 4).next_power_of_two();
        let submissions = entries.clamp(32, SUBMISSIONS);
        let completions = entries.max(128);
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .setup_clamp()
            .setup_cqsize(completions)
            .build(submissions)?;
        // With registered files, the kernel need not look up the file of each request.
        ring.submitter().register_files_sparse(connections as u32)?;
        let buffers = Buffers::new(connections.next_power_of_two().clamp(16, 1024) as u16)?;
        // SAFETY: the ring of buffers lives as long as the engine, whose `drop` stops the ring
        // before it unmaps them.
        unsafe {
            ring.submitter().register_buf_ring_with_flags(
                buffers.address(),
                buffers.count(),
                BUFFER_GROUP,
                0,
            )?;
        }
        let mut slots = Vec::new();
        slots.resize_with(connections, Connection::default);
        // SAFETY: all-zero bytes are a valid `msghdr`.
        let mut receive_header = Box::new(unsafe { zeroed::<libc::msghdr>() });
        receive_header.msg_controllen = CONTROL_BYTES;
        Ok(Ring {
            ring,
            clock: Clock::System,
            buffers: ManuallyDrop::new(buffers),
            borrowed_buffer: None,
            slots,
            registered_slots: connections as Slot,
            queued: Vec::with_capacity(connections),
            batch: Vec::with_capacity(connections),
            starved: Vec::new(),
            receive_header: ManuallyDrop::new(receive_header),
            timestamped_message: Box::new(TimestampedMessage::new()),
            wait_strategy: WaitStrategy::default(),
        })
    }

    /// The user data of an operation: what it does, and for which connection.
    fn tag(&self, op: Op, slot: Slot) -> u64 {
        let generation = self.slots[slot as usize].generation & GENERATION_MASK;
        (op as u64) << 56 | u64::from(generation) << 32 | u64::from(slot)
    }

    fn fd(&self, slot: Slot) -> Option<RawFd> {
        self.slots[slot as usize]
            .socket
            .as_ref()
            .map(AsRawFd::as_raw_fd)
    }

    /// Puts an entry into the submission queue; submits the queue first if it is full.
    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        loop {
            // SAFETY: every entry made here points only to memory of this engine that does not move
            // while the kernel may use it: `out` of a connection until an awaited send completes, or,
            // for any other send, until it is submitted, which the kernel does at once or not at all;
            // a boxed address until its connect completes; a boxed header.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.note_submission();
            self.ring.submit()?;
        }
    }

    /// Records that the sends in the submission queue leave now, in this order. Returns the time.
    fn note_submission(&mut self) -> u64 {
        let before_ns = self.clock.now_ns();
        for (position, slot) in (0..).zip(self.batch.drain(..)) {
            self.slots[slot as usize].sent = Sent {
                before_ns,
                position,
            };
        }
        before_ns
    }

    /// Sets the registered file of a slot (-1 for none), if the slot has one.
    fn register_file(&self, slot: Slot, fd: RawFd) -> io::Result<()> {
        if slot < self.registered_slots {
            self.ring.submitter().register_files_update(slot, &[fd])?;
        }
        Ok(())
    }

    /// Gives the borrowed buffer back to the kernel.
    fn return_borrowed_buffer(&mut self) {
        if let Some(buffer) = self.borrowed_buffer.take() {
            self.buffers.give_back(buffer);
        }
    }
}

impl Io for Ring {
    fn name(&self) -> &'static str {
        "ring"
    }

    fn clock(&self) -> Clock {
        self.clock.clone()
    }

    fn add_slot(&mut self) -> Slot {
        self.slots.push(Connection::default());
        (self.slots.len() - 1) as Slot
    }

    fn open(&mut self, slot: Slot, address: &Address, tcp: &TcpOptions) -> io::Result<()> {
        let raw = Box::new(socket::raw_address(address)?);
        // The socket is a blocking one: submitting never blocks anyway, and the ring waits for the socket.
        let socket = socket::new(address, tcp, SocketFlags::empty())?;
        let fd = socket.as_raw_fd();
        self.register_file(slot, fd)?;
        let entry = opcode::Connect::new(Fd(fd), raw.as_ptr().cast(), raw.addr_len()).build();
        let connection = &mut self.slots[slot as usize];
        connection.generation = connection.generation.wrapping_add(1);
        connection.socket = Some(socket);
        connection.is_tcp = matches!(address, Address::Tcp(_));
        connection.connecting = Some(raw);
        connection.out.clear();
        connection.state = SendState::Free;
        connection.is_stalled = false;
        connection.next_out.clear();
        let tag = self.tag(Op::Connect, slot);
        self.push(&entry.user_data(tag))
    }

    fn close(&mut self, slot: Slot, closing_message: &[u8]) {
        if self.slots[slot as usize].state == SendState::Queued {
            self.queued.retain(|(queued, _)| *queued != slot);
            let _ = self.push_send(slot, false);
        }
        // The next socket may get the same descriptor number at once: first submit what is queued for this
        // socket.
        if !self.ring.submission().is_empty() {
            self.note_submission();
            let _ = self.ring.submit();
        }
        let connection = &mut self.slots[slot as usize];
        let Some(fd) = connection.socket.take() else {
            return;
        };
        let is_sending = connection.state == SendState::Sending;
        if !closing_message.is_empty() && !is_sending {
            socket::send_now(fd.as_raw_fd(), closing_message);
        }
        connection.state = SendState::Free;
        if is_sending {
            // The kernel may still read these bytes: leak them instead of reusing them.
            std::mem::forget(std::mem::take(&mut connection.out));
        }
        if let Some(address) = connection.connecting.take() {
            // The same applies to an address that is being connected to.
            Box::leak(address);
        }
        let _ = self.register_file(slot, -1);
        // End the armed receive, which would keep the socket open after its descriptor is closed.
        let _ = rustix::net::shutdown(&fd, Shutdown::Both);
    }

    fn adopt(&mut self, slot: Slot, socket: OpenSocket) -> io::Result<()> {
        self.register_file(slot, socket.descriptor.as_raw_fd())?;
        let connection = &mut self.slots[slot as usize];
        connection.generation = connection.generation.wrapping_add(1);
        connection.is_tcp = socket.is_tcp;
        connection.socket = Some(socket.descriptor);
        let armed = self.arm_receive(slot);
        if armed.is_err() {
            self.close(slot, &[]);
        }
        armed
    }

    fn release(mut self) -> Vec<Option<OpenSocket>> {
        let open = |connection: &mut Connection| {
            let is_tcp = connection.is_tcp;
            let socket = connection.socket.take();
            socket.map(|descriptor| OpenSocket { descriptor, is_tcp })
        };
        // `drop` ends the armed receives before another engine can use the sockets.
        self.slots.iter_mut().map(open).collect()
    }

    fn send(&mut self, slot: Slot, bytes: &[u8], request_timestamp: bool) {
        let connection = &mut self.slots[slot as usize];
        if connection.socket.is_none() {
            return;
        }
        match connection.state {
            SendState::Sending => return connection.next_out.extend_from_slice(bytes),
            SendState::Queued => {}
            SendState::Free => {
                connection.out.clear();
                connection.state = SendState::Queued;
                self.queued.push((slot, request_timestamp));
            }
        }
        connection.out.extend_from_slice(bytes);
    }

    fn sent(&self, slot: Slot) -> Sent {
        self.slots[slot as usize].sent
    }

    fn transmit_timestamp_ns(&mut self, slot: Slot) -> Option<u64> {
        socket::transmit_timestamp_ns(self.fd(slot)?)
    }

    fn submit_and_wait(&mut self, deadline_ns: u64, events: &mut Vec<IoEvent>) -> io::Result<()> {
        self.return_borrowed_buffer();
        self.buffers.publish();
        self.arm_starved()?;
        self.push_sends()?;
        let now_ns = self.note_submission();
        if !self.poll_for_reply(now_ns, deadline_ns)? {
            self.sleep(now_ns, deadline_ns)?;
        }
        // The end of a connection is reported after its last data.
        let mut ends = Vec::new();
        // Entries are taken one at a time, because handling an entry may need the queues: the block ends the borrow.
        while let Some(entry) = { self.ring.completion().next() } {
            match self.on_completion(&entry)? {
                Some(event) if matches!(event.kind, IoEventKind::Closed(_)) => ends.push(event),
                Some(event) => events.push(event),
                None => {}
            }
        }
        events.append(&mut ends);
        Ok(())
    }

    fn set_wait_strategy(&mut self, strategy: WaitStrategy) {
        self.wait_strategy = strategy;
    }

    /// Linux can wait for several completions with a shorter time limit since version 6.12.
    fn can_coalesce(&self) -> bool {
        self.ring.params().is_feature_min_timeout()
    }

    fn is_current(&self, event: IoEvent) -> bool {
        let current = &self.slots[event.slot as usize];
        event.generation == current.generation & GENERATION_MASK && current.socket.is_some()
    }

    fn receive(&mut self, event: IoEvent) -> Option<Received<'_>> {
        self.return_borrowed_buffer();
        let IoEventKind::Readable { buffer, length } = event.kind else {
            return None;
        };
        self.borrowed_buffer = Some(buffer);
        if !self.is_current(event) {
            return None;
        }
        let bytes = self.buffers.bytes(buffer, length as usize);
        if !self.slots[event.slot as usize].is_tcp {
            return Some(Received::new(bytes, None));
        }
        split_header(bytes)
    }
}

/// The payload and the timestamp in the buffer of a multishot recvmsg: a header, the space for control
/// messages, the payload. `None` if the kernel wrote less than that.
#[inline]
fn split_header(buffer: &[u8]) -> Option<Received<'_>> {
    // The lengths of the address, the control messages and the payload, then flags.
    let header = buffer.first_chunk::<HEADER_BYTES>()?;
    let number = |at: usize| {
        u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let control_length = (number(4) as usize).min(CONTROL_BYTES);
    let payload = buffer.get(HEADER_BYTES + CONTROL_BYTES..)?;
    let payload = payload.get(..number(8) as usize).unwrap_or(payload);
    let control = buffer.get(HEADER_BYTES..HEADER_BYTES + control_length)?;
    Some(Received::new(payload, socket::timestamp_ns(control)))
}
