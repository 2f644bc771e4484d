//! The epoll engine, for kernels and containers without io_uring.
//!
//! In: bytes to send. Out: events. Must never: block except in [`Io::submit_and_wait`].

use super::socket;
use super::{
    Io, IoEvent, IoEventKind, MIN_SLEEP_NS, OpenSocket, Received, Sent, Slot, WaitStrategy,
};
use crate::clock::Clock;
use prony_server::{Address, TcpOptions};
use rustix::event::epoll::CreateFlags;
use rustix::io::Errno;
use rustix::net::SocketFlags;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Maximum number of events that one wait returns.
const EVENTS_MAX: usize = 1024;
/// Maximum number of bytes that one read returns.
const SCRATCH_BYTES: usize = 64 * 1024;

pub struct Epoll {
    epoll: OwnedFd,
    clock: Clock,
    slots: Vec<Connection>,
    /// Slots with bytes to send in the next iteration, and whether to request a timestamp for them.
    queued: Vec<(Slot, bool)>,
    /// The kernel's events of the last wait.
    ready: Vec<libc::epoll_event>,
    /// Closures noticed outside a wait, reported after the next wait.
    pending_events: Vec<IoEvent>,
    scratch: Box<[u8]>,
    spin_ns: u64,
}

#[derive(Default)]
struct Connection {
    socket: Option<OwnedFd>,
    generation: u32,
    is_connecting: bool,
    /// Whether the connection uses TCP, for which the kernel provides timestamps.
    is_tcp: bool,
    out: Vec<u8>,
    /// Number of bytes of `out` that are sent.
    sent_bytes: usize,
    sent: Sent,
    /// A transmit timestamp already read from the error queue, for the next [`Io::transmit_timestamp_ns`].
    transmit_timestamp_ns: Option<u64>,
}

impl Epoll {
    pub fn new(connections: usize) -> io::Result<Self> {
        let epoll = rustix::event::epoll::create(CreateFlags::CLOEXEC)?;
        let mut slots = Vec::new();
        slots.resize_with(connections, Connection::default);
        Ok(Epoll {
            epoll,
            clock: Clock::System,
            slots,
            queued: Vec::with_capacity(connections),
            ready: Vec::with_capacity(EVENTS_MAX),
            pending_events: Vec::new(),
            scratch: vec![0; SCRATCH_BYTES].into(),
            spin_ns: 0,
        })
    }

    /// Sets the kernel events of a socket that end a wait (`interest`); `operation` says whether the socket
    /// is new to epoll.
    fn watch(&self, operation: i32, slot: Slot, fd: RawFd, interest: i32) -> io::Result<()> {
        let generation = self.slots[slot as usize].generation;
        let mut event = libc::epoll_event {
            events: interest as u32,
            u64: u64::from(generation) << 32 | u64::from(slot),
        };
        // SAFETY: `event` is valid for the call.
        if unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, fd, &raw mut event) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Sends the queued bytes that the socket accepts now, and the rest once it is writable.
    fn transmit(&mut self, slot: Slot, request_timestamp: bool) {
        let before_ns = self.clock.now_ns();
        let connection = &mut self.slots[slot as usize];
        let Some(fd) = connection.socket.as_ref().map(AsRawFd::as_raw_fd) else {
            return;
        };
        if connection.sent_bytes == connection.out.len() {
            return;
        }
        if connection.sent_bytes == 0 {
            connection.sent = Sent {
                before_ns,
                position: 0,
            };
        }
        let unsent = &connection.out[connection.sent_bytes..];
        let sent = if request_timestamp && connection.is_tcp {
            socket::send_with_timestamp(fd, unsent)
        } else {
            socket::send_now(fd, unsent)
        };
        let error = io::Error::last_os_error();
        let would_block = match usize::try_from(sent) {
            Ok(sent) => {
                connection.sent_bytes += sent;
                connection.sent_bytes < connection.out.len()
            }
            Err(_) if error.kind() == io::ErrorKind::WouldBlock => true,
            Err(_) => {
                let (generation, errno) = (connection.generation, error.raw_os_error());
                let kind = IoEventKind::Closed(errno.unwrap_or(libc::EIO));
                self.pending_events.push(IoEvent {
                    slot,
                    generation,
                    kind,
                });
                false
            }
        };
        if would_block {
            let _ = self.watch(
                libc::EPOLL_CTL_MOD,
                slot,
                fd,
                libc::EPOLLIN | libc::EPOLLOUT,
            );
        }
    }

    /// Waits at most `wait_ns` for kernel events, and stores them in `ready`.
    fn wait(&mut self, wait_ns: u64) -> io::Result<()> {
        let wait_ns = if wait_ns < MIN_SLEEP_NS { 0 } else { wait_ns };
        let timeout = libc::timespec {
            tv_sec: (wait_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (wait_ns % 1_000_000_000) as libc::c_long,
        };
        self.ready.clear();
        // epoll_wait takes whole milliseconds; epoll_pwait2 (Linux 5.11) takes nanoseconds.
        // SAFETY: the pointers are valid, and the kernel writes at most EVENTS_MAX events, the
        // capacity of `ready`.
        let mut count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                self.ready.as_mut_ptr(),
                EVENTS_MAX as i32,
                &raw const timeout,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        if count < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS) {
            let milliseconds = wait_ns.div_ceil(1_000_000).min(i32::MAX as u64) as i32;
            // SAFETY: as above.
            count = i64::from(unsafe {
                libc::epoll_wait(
                    self.epoll.as_raw_fd(),
                    self.ready.as_mut_ptr(),
                    EVENTS_MAX as i32,
                    milliseconds,
                )
            });
        }
        if count < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::Interrupted => Ok(()),
                _ => Err(error),
            };
        }
        // SAFETY: the kernel initialised this many entries.
        unsafe { self.ready.set_len(count as usize) };
        Ok(())
    }

    /// Polls for the time that the strategy allows, but no longer than `wait_ns`. Returns whether events are
    /// ready.
    fn poll_for_reply(&mut self, wait_ns: u64) -> io::Result<bool> {
        if self.spin_ns == 0 {
            return Ok(false);
        }
        let end_ns = self.clock.now_ns() + self.spin_ns.min(wait_ns);
        while self.clock.now_ns() < end_ns {
            self.wait(0)?;
            if !self.ready.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Handles an event of the kernel. Returns the event of the connection that it means, if any.
    fn translate(&mut self, event: &libc::epoll_event) -> Option<IoEvent> {
        let slot = event.u64 as u32;
        let generation = (event.u64 >> 32) as u32;
        let flags = event.events as i32;
        let connection = &mut self.slots[slot as usize];
        if connection.generation != generation {
            return None;
        }
        let socket = connection.socket.as_ref()?;
        let fd = socket.as_raw_fd();
        let io_event = |kind| {
            Some(IoEvent {
                slot,
                generation,
                kind,
            })
        };
        if connection.is_connecting {
            let error = socket::pending_error(socket);
            if error != 0 {
                return io_event(IoEventKind::Closed(error));
            }
            if flags & libc::EPOLLOUT == 0 {
                return None;
            }
            connection.is_connecting = false;
            let _ = self.watch(libc::EPOLL_CTL_MOD, slot, fd, libc::EPOLLIN);
            return io_event(IoEventKind::Opened);
        }
        if flags & libc::EPOLLOUT != 0 {
            let _ = self.watch(libc::EPOLL_CTL_MOD, slot, fd, libc::EPOLLIN);
            self.transmit(slot, false);
        }
        if flags & (libc::EPOLLIN | libc::EPOLLHUP) != 0 {
            return io_event(IoEventKind::Readable {
                buffer: 0,
                length: 0,
            });
        }
        if flags & libc::EPOLLERR != 0 {
            // A transmit timestamp in the error queue also causes EPOLLERR, at every wait until the timestamp
            // is fetched.
            let connection = &mut self.slots[slot as usize];
            connection.transmit_timestamp_ns =
                socket::transmit_timestamp_ns(fd).or(connection.transmit_timestamp_ns);
            return match socket::pending_error(connection.socket.as_ref()?) {
                0 => None,
                error => io_event(IoEventKind::Closed(error)),
            };
        }
        None
    }
}

impl Io for Epoll {
    fn name(&self) -> &'static str {
        "epoll"
    }

    fn clock(&self) -> Clock {
        self.clock.clone()
    }

    fn add_slot(&mut self) -> Slot {
        self.slots.push(Connection::default());
        (self.slots.len() - 1) as Slot
    }

    fn open(&mut self, slot: Slot, address: &Address, tcp: &TcpOptions) -> io::Result<()> {
        let fd = socket::new(address, tcp, SocketFlags::NONBLOCK)?;
        let connected = rustix::net::connect(&fd, &socket::raw_address(address)?);
        let connection = &mut self.slots[slot as usize];
        connection.generation = connection.generation.wrapping_add(1);
        connection.is_connecting = true;
        connection.is_tcp = matches!(address, Address::Tcp(_));
        connection.out.clear();
        connection.sent_bytes = 0;
        connection.transmit_timestamp_ns = None;
        let generation = connection.generation;
        let raw_fd = fd.as_raw_fd();
        connection.socket = Some(fd);
        if let Err(error) = connected
            && error != Errno::INPROGRESS
        {
            // A unix socket with a full backlog returns EAGAIN; the caller tries again later.
            let kind = IoEventKind::Closed(error.raw_os_error());
            self.pending_events.push(IoEvent {
                slot,
                generation,
                kind,
            });
            return Ok(());
        }
        self.watch(
            libc::EPOLL_CTL_ADD,
            slot,
            raw_fd,
            libc::EPOLLIN | libc::EPOLLOUT,
        )
    }

    fn close(&mut self, slot: Slot, closing_message: &[u8]) {
        // Send the bytes that were queued before the closing message.
        self.transmit(slot, false);
        let connection = &mut self.slots[slot as usize];
        if let Some(fd) = connection.socket.take()
            && !closing_message.is_empty()
            && connection.sent_bytes == connection.out.len()
        {
            socket::send_now(fd.as_raw_fd(), closing_message);
        }
    }

    fn adopt(&mut self, slot: Slot, socket: OpenSocket) -> io::Result<()> {
        let connection = &mut self.slots[slot as usize];
        connection.generation = connection.generation.wrapping_add(1);
        connection.is_tcp = socket.is_tcp;
        let fd = socket.descriptor.as_raw_fd();
        connection.socket = Some(socket.descriptor);
        let watched = self.watch(libc::EPOLL_CTL_ADD, slot, fd, libc::EPOLLIN);
        if watched.is_err() {
            self.slots[slot as usize].socket = None;
        }
        watched
    }

    fn release(self) -> Vec<Option<OpenSocket>> {
        let open = |connection: Connection| {
            let is_tcp = connection.is_tcp;
            connection
                .socket
                .map(|descriptor| OpenSocket { descriptor, is_tcp })
        };
        self.slots.into_iter().map(open).collect()
    }

    fn send(&mut self, slot: Slot, bytes: &[u8], request_timestamp: bool) {
        let connection = &mut self.slots[slot as usize];
        if connection.sent_bytes == connection.out.len() {
            connection.out.clear();
            connection.sent_bytes = 0;
        }
        connection.out.extend_from_slice(bytes);
        self.queued.push((slot, request_timestamp));
    }

    fn sent(&self, slot: Slot) -> Sent {
        self.slots[slot as usize].sent
    }

    fn transmit_timestamp_ns(&mut self, slot: Slot) -> Option<u64> {
        let connection = &mut self.slots[slot as usize];
        let timestamp_ns = connection.transmit_timestamp_ns.take();
        timestamp_ns
            .or_else(|| socket::transmit_timestamp_ns(connection.socket.as_ref()?.as_raw_fd()))
    }

    fn submit_and_wait(&mut self, deadline_ns: u64, events: &mut Vec<IoEvent>) -> io::Result<()> {
        // Requests wait in the queue until now, so that replies that had arrived were handled first: each
        // send may cost this thread its CPU.
        let mut queued = std::mem::take(&mut self.queued);
        for (slot, request_timestamp) in queued.drain(..) {
            self.transmit(slot, request_timestamp);
        }
        self.queued = queued;
        let wait_ns = if self.pending_events.is_empty() {
            deadline_ns.saturating_sub(self.clock.now_ns())
        } else {
            0
        };
        if !self.poll_for_reply(wait_ns)? {
            self.wait(wait_ns)?;
        }
        for index in 0..self.ready.len() {
            let event = self.ready[index];
            if let Some(event) = self.translate(&event) {
                events.push(event);
            }
        }
        // The end of a connection is reported after its last data.
        events.append(&mut self.pending_events);
        Ok(())
    }

    fn set_wait_strategy(&mut self, strategy: WaitStrategy) {
        self.spin_ns = strategy.spin_ns;
    }

    fn is_current(&self, event: IoEvent) -> bool {
        let current = &self.slots[event.slot as usize];
        event.generation == current.generation && current.socket.is_some()
    }

    fn receive(&mut self, event: IoEvent) -> Option<Received<'_>> {
        if !self.is_current(event) {
            return None;
        }
        let connection = &self.slots[event.slot as usize];
        let fd = connection.socket.as_ref()?.as_raw_fd();
        let (length, timestamp_ns) = if connection.is_tcp {
            socket::receive_with_timestamp(fd, &mut self.scratch)
        } else {
            let start = self.scratch.as_mut_ptr().cast();
            // SAFETY: the pointer and the length describe the scratch buffer.
            let length = unsafe { libc::recv(fd, start, SCRATCH_BYTES, libc::MSG_DONTWAIT) };
            (length, None)
        };
        let Ok(length) = usize::try_from(length) else {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::WouldBlock {
                return None;
            }
            return Some(Received {
                bytes: &[],
                timestamp_ns: None,
                closed: Some(error.raw_os_error().unwrap_or(libc::EIO)),
            });
        };
        Some(Received::new(&self.scratch[..length], timestamp_ns))
    }
}
