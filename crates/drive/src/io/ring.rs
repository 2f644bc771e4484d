//! The io_uring engine: all sends of a turn in one submission, multishot receive with stamps.
//!
//! In: bytes to send. Out: events. Must never: free what the kernel may still read or write; every
//! buffer it sees belongs to this engine, and its `drop` stops the ring before the buffers go.
//!
//! A turn is one system call. Each send wakes a server process, and each wake-up may take the CPU
//! from us: thirty sends in one call cost one such loss instead of thirty.

mod send;

use self::send::{Out, StampedSend};
use super::buffers::Buffers;
use super::socket::{self, CONTROL_BYTES, RawAddress};
use super::{Event, Io, Received, Sent, Slot, What};
use crate::clock::Clock;
use io_uring::types::{CancelBuilder, Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use prony_server::{Address, TcpOptions};
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Most entries of the submission queue: what does not fit goes with the next call.
const SUBMISSIONS: u32 = 1024;
const BUFFER_GROUP: u16 = 0;
/// Header that a multishot recvmsg puts in front: four 32-bit numbers.
const HEADER_BYTES: usize = 16;
/// As much of a generation as there is room for in user data.
const GENERATIONS: u32 = 0xff_ffff;

/// What a completion belongs to; part of its user data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Op {
    Receive = 1,
    Send = 2,
    Connect = 3,
}

/// The io_uring engine.
pub struct Ring {
    ring: IoUring,
    clock: Clock,
    buffers: Buffers,
    /// A buffer that was fetched and is given back with the next call.
    held: Option<u16>,
    slots: Vec<Connection>,
    /// Slots below this have a registered file; those that were added later have none.
    registered: Slot,
    /// Slots with bytes to send in the next turn, and whether with a stamp.
    queued: Vec<(Slot, bool)>,
    /// Slots whose sends are in the submission queue, in this order.
    batch: Vec<Slot>,
    /// What every receive asks for: no name, and room for stamps.
    receive_header: Box<libc::msghdr>,
    stamped_send: Box<StampedSend>,
}

/// One connection of the engine.
#[derive(Default)]
struct Connection {
    socket: Option<OwnedFd>,
    generation: u32,
    /// Over TCP: the kernel gives stamps.
    tcp: bool,
    connecting: Option<Box<RawAddress>>,
    out: Vec<u8>,
    state: Out,
    /// The socket did not take all: the completion of what is left is awaited, however little.
    stalled: bool,
    /// What to send after `out`, while the kernel has that.
    next: Vec<u8>,
    sent: Sent,
}

/// Why there is no ring where the others could be: see [`has_no_room`].
pub const NO_ROOM: &str = "the rings of all threads need more locked memory than this user may have; \
                           use fewer --threads, or raise ulimit -l";

/// Whether a ring failed for want of locked memory. Rings count as such since Linux 6.13, all those of a
/// user together; only root has it without a limit.
pub fn has_no_room(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOMEM)
}

/// Whether this process may use io_uring with all that the engine needs, else why not.
///
/// # Errors
/// The reason, in words.
pub fn probe() -> Result<(), String> {
    Ring::new(1)
        .map(drop)
        .map_err(|error| match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => {
                "io_uring is forbidden here (containers often do)".to_owned()
            }
            Some(libc::ENOSYS) => "this kernel has no io_uring".to_owned(),
            Some(libc::EINVAL) => {
                "this kernel's io_uring is too old (6.1 or newer is needed)".to_owned()
            }
            _ if has_no_room(&error) => NO_ROOM.to_owned(),
            _ => format!("io_uring cannot be used: {error}"),
        })
}

impl Ring {
    /// An engine for this many connections. It must stay on the thread that made it.
    ///
    /// # Errors
    /// When the kernel refuses any of what is needed.
    pub fn new(connections: usize) -> io::Result<Self> {
        // The queues are locked memory, of which an ordinary user has a few megabytes for all rings
        // together: no larger than these connections need. A turn can complete a receive and, for
        // large requests, a send of each connection; replies of several pieces take more.
        let wanted = (connections as u32 * 4).next_power_of_two();
        let submissions = wanted.clamp(32, SUBMISSIONS);
        let completions = wanted.max(128);
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .setup_clamp()
            .setup_cqsize(completions)
            .build(submissions)?;
        // A registered file need not be looked up and held for each request.
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
            buffers,
            held: None,
            slots,
            registered: connections as Slot,
            queued: Vec::with_capacity(connections),
            batch: Vec::with_capacity(connections),
            receive_header,
            stamped_send: Box::new(StampedSend::new()),
        })
    }

    fn tag(&self, op: Op, slot: Slot) -> u64 {
        let generation = self.slots[slot as usize].generation & GENERATIONS;
        (op as u64) << 56 | u64::from(generation) << 32 | u64::from(slot)
    }

    fn fd(&self, slot: Slot) -> Option<RawFd> {
        self.slots[slot as usize]
            .socket
            .as_ref()
            .map(AsRawFd::as_raw_fd)
    }

    /// Puts an entry into the submission queue, submitting what is there if it is full.
    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        loop {
            // SAFETY: every entry made here points only to memory of this engine that stays in
            // place as long as the kernel may look at it: `out` of a connection until an awaited send
            // completes, and until the submission of any other, which the kernel does at once or
            // not at all; a boxed address until its connect completes; a boxed header.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.note_submission();
            self.ring.submit()?;
        }
    }

    /// Notes for the sends in the submission queue when they leave: now, in this order.
    fn note_submission(&mut self) {
        let before_ns = self.clock.now_ns();
        for (place, slot) in (0..).zip(self.batch.drain(..)) {
            self.slots[slot as usize].sent = Sent { before_ns, place };
        }
    }

    fn arm_receive(&mut self, slot: Slot) -> io::Result<()> {
        let Some(fd) = self.fd(slot) else {
            return Ok(());
        };
        let header = &raw const *self.receive_header;
        let receive = match slot < self.registered {
            true => opcode::RecvMsgMulti::new(Fixed(slot), header, BUFFER_GROUP),
            false => opcode::RecvMsgMulti::new(Fd(fd), header, BUFFER_GROUP),
        };
        let entry = receive.build().user_data(self.tag(Op::Receive, slot));
        self.push(&entry)
    }

    fn completed(&mut self, entry: &cqueue::Entry) -> io::Result<Option<Event>> {
        let tag = entry.user_data();
        let slot = tag as u32;
        let generation = (tag >> 32) as u32 & GENERATIONS;
        let result = entry.result();
        let buffer = cqueue::buffer_select(entry.flags());
        let current = &self.slots[slot as usize];
        if generation != current.generation & GENERATIONS || current.socket.is_none() {
            if let Some(buffer) = buffer {
                self.buffers.give_back(buffer);
            }
            return Ok(None);
        }
        let event = |what| {
            Some(Event {
                slot,
                generation,
                what,
            })
        };
        if tag >> 56 == Op::Receive as u64 {
            return self.received(slot, generation, entry, buffer);
        }
        if tag >> 56 == Op::Connect as u64 {
            self.slots[slot as usize].connecting = None;
            if result < 0 {
                return Ok(event(What::Closed(-result)));
            }
            self.arm_receive(slot)?;
            return Ok(event(What::Opened));
        }
        Ok(self.sent_some(slot, result).and_then(event))
    }

    fn received(
        &mut self,
        slot: Slot,
        generation: u32,
        entry: &cqueue::Entry,
        buffer: Option<u16>,
    ) -> io::Result<Option<Event>> {
        let result = entry.result();
        // The kernel ran out of buffers, or ended the multishot for reasons of its own.
        if !cqueue::more(entry.flags()) && (result > 0 || result == -libc::ENOBUFS) {
            self.arm_receive(slot)?;
        }
        let what = match buffer {
            Some(buffer) if result >= 0 => What::Readable {
                buffer,
                length: result as u32,
            },
            _ if result == -libc::ENOBUFS => return Ok(None),
            Some(buffer) => {
                self.buffers.give_back(buffer);
                What::Closed(-result)
            }
            None => What::Closed(-result.min(0)),
        };
        Ok(Some(Event {
            slot,
            generation,
            what,
        }))
    }

    /// Registers the file of a slot, -1 for none, where slots have one.
    fn register(&self, slot: Slot, fd: RawFd) -> io::Result<()> {
        if slot < self.registered {
            self.ring.submitter().register_files_update(slot, &[fd])?;
        }
        Ok(())
    }

    fn release(&mut self) {
        if let Some(buffer) = self.held.take() {
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
        let raw = Box::new(RawAddress::new(address)?);
        // A blocking socket: the ring itself never waits, and waits for us where that is needed.
        let socket = socket::new(address, tcp, false)?;
        let fd = socket.as_raw_fd();
        self.register(slot, fd)?;
        let entry = opcode::Connect::new(Fd(fd), raw.as_ptr(), raw.length).build();
        let connection = &mut self.slots[slot as usize];
        connection.generation = connection.generation.wrapping_add(1);
        connection.socket = Some(socket);
        connection.tcp = matches!(address, Address::Tcp(_));
        connection.connecting = Some(raw);
        connection.out.clear();
        connection.state = Out::Free;
        connection.stalled = false;
        connection.next.clear();
        let tag = self.tag(Op::Connect, slot);
        self.push(&entry.user_data(tag))
    }

    fn close(&mut self, slot: Slot, farewell: &[u8]) {
        if self.slots[slot as usize].state == Out::Queued {
            self.queued.retain(|(queued, _)| *queued != slot);
            let _ = self.push_send(slot, false);
        }
        // The number of the descriptor may be given to the next socket at once: what is queued for
        // it must be with the kernel before.
        if !self.ring.submission().is_empty() {
            self.note_submission();
            let _ = self.ring.submit();
        }
        let connection = &mut self.slots[slot as usize];
        let Some(fd) = connection.socket.take() else {
            return;
        };
        let sending = connection.state == Out::Sending;
        if !farewell.is_empty() && !sending {
            socket::send_now(fd.as_raw_fd(), farewell);
        }
        connection.state = Out::Free;
        if sending {
            // The kernel may still read these bytes: they are given up, not reused.
            std::mem::forget(std::mem::take(&mut connection.out));
        }
        if let Some(address) = connection.connecting.take() {
            // The same for an address that is being connected to.
            Box::leak(address);
        }
        let _ = self.register(slot, -1);
        // Ends the armed receive, which holds the socket open beyond its descriptor.
        // SAFETY: the descriptor is open.
        unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_RDWR) };
    }

    fn send(&mut self, slot: Slot, bytes: &[u8], stamp: bool) {
        let connection = &mut self.slots[slot as usize];
        if connection.socket.is_none() {
            return;
        }
        match connection.state {
            Out::Sending => return connection.next.extend_from_slice(bytes),
            Out::Queued => {}
            Out::Free => {
                connection.out.clear();
                connection.state = Out::Queued;
                self.queued.push((slot, stamp));
            }
        }
        connection.out.extend_from_slice(bytes);
    }

    fn sent(&self, slot: Slot) -> Sent {
        self.slots[slot as usize].sent
    }

    fn transmit_stamp_ns(&mut self, slot: Slot) -> Option<u64> {
        socket::transmit_stamp_ns(self.fd(slot)?)
    }

    fn turn(&mut self, until_ns: u64, events: &mut Vec<Event>) -> io::Result<()> {
        self.release();
        self.buffers.publish();
        self.push_sends()?;
        self.note_submission();
        let wait_ns = until_ns.saturating_sub(self.clock.now_ns());
        let timeout = Timespec::new()
            .sec(wait_ns / 1_000_000_000)
            .nsec((wait_ns % 1_000_000_000) as u32);
        let arguments = SubmitArgs::new().timespec(&timeout);
        match self.ring.submitter().submit_with_args(1, &arguments) {
            Ok(_) => {}
            Err(error) => match error.raw_os_error() {
                // The time is up, a signal came, or completions have to be fetched first.
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => {}
                _ => return Err(error),
            },
        }
        // The end of a connection is told after what it still had to say.
        let mut ends = Vec::new();
        // Entries are taken one by one: handling one may need the queues.
        while let Some(entry) = { self.ring.completion().next() } {
            match self.completed(&entry)? {
                Some(event) if matches!(event.what, What::Closed(_)) => ends.push(event),
                Some(event) => events.push(event),
                None => {}
            }
        }
        events.append(&mut ends);
        Ok(())
    }

    fn is_current(&self, event: Event) -> bool {
        let current = &self.slots[event.slot as usize];
        event.generation == current.generation & GENERATIONS && current.socket.is_some()
    }

    fn receive(&mut self, event: Event) -> Option<Received<'_>> {
        self.release();
        let What::Readable { buffer, length } = event.what else {
            return None;
        };
        self.held = Some(buffer);
        if !self.is_current(event) {
            return None;
        }
        let bytes = self.buffers.bytes(buffer, length as usize);
        let header = bytes.first_chunk::<HEADER_BYTES>()?;
        let number = |at: usize| {
            u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let control = (number(4) as usize).min(CONTROL_BYTES);
        let payload = bytes.get(HEADER_BYTES + CONTROL_BYTES..)?;
        let payload = payload.get(..number(8) as usize).unwrap_or(payload);
        let control = bytes.get(HEADER_BYTES..HEADER_BYTES + control)?;
        Some(Received {
            bytes: payload,
            stamp_ns: socket::stamp_ns(control),
            closed: payload.is_empty().then_some(0),
        })
    }
}

impl Drop for Ring {
    /// Stops the ring before anything that it may still use is freed.
    fn drop(&mut self) {
        for slot in 0..self.slots.len() {
            self.close(slot as Slot, &[]);
        }
        let _ = self.ring.submit();
        let patience = Timespec::new().sec(1);
        let all = CancelBuilder::any();
        // Nothing to cancel is the usual answer.
        let _ = self
            .ring
            .submitter()
            .register_sync_cancel(Some(patience), all);
        let _ = self.ring.submitter().unregister_buf_ring(BUFFER_GROUP);
    }
}
