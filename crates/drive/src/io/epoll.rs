//! The epoll engine, for kernels and containers without io_uring.
//!
//! In: bytes to send. Out: events. Must never: block except in the wait of a turn.

use super::socket::{self, RawAddress};
use super::{Io, IoEvent, IoEventKind, Received, Sent, Slot};
use crate::clock::Clock;
use prony_server::{Address, TcpOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

const EVENTS_MAX: usize = 1024;
const SCRATCH_BYTES: usize = 64 * 1024;

/// The epoll engine.
pub struct Epoll {
    epoll: OwnedFd,
    clock: Clock,
    slots: Vec<Connection>,
    queued: Vec<(Slot, bool)>,
    ready: Vec<libc::epoll_event>,
    /// Closures noticed outside a wait, reported with the next one.
    pending_events: Vec<IoEvent>,
    scratch: Box<[u8]>,
}

#[derive(Default)]
struct Connection {
    socket: Option<OwnedFd>,
    generation: u32,
    connecting: bool,
    tcp: bool,
    out: Vec<u8>,
    /// How many bytes of `out` are sent.
    done: usize,
    sent: Sent,
    /// A transmit stamp already read from the error queue, for the next [`Io::transmit_stamp_ns`].
    stamp_ns: Option<u64>,
}

impl Epoll {
    /// Creates an engine for this many connections.
    ///
    /// # Errors
    /// When the kernel is out of file descriptors.
    pub fn new(connections: usize) -> io::Result<Self> {
        // SAFETY: no pointers are involved.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut slots = Vec::new();
        slots.resize_with(connections, Connection::default);
        Ok(Epoll {
            // SAFETY: the descriptor is new and has no other owner.
            epoll: unsafe { OwnedFd::from_raw_fd(fd) },
            clock: Clock::System,
            slots,
            queued: Vec::with_capacity(connections),
            ready: Vec::with_capacity(EVENTS_MAX),
            pending_events: Vec::new(),
            scratch: vec![0; SCRATCH_BYTES].into(),
        })
    }

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

    /// Sends the queued bytes of a connection, as far as its socket accepts them.
    fn transmit(&mut self, slot: Slot, stamp: bool) {
        let before_ns = self.clock.now_ns();
        let connection = &mut self.slots[slot as usize];
        let Some(fd) = connection.socket.as_ref().map(AsRawFd::as_raw_fd) else {
            return;
        };
        if connection.done == connection.out.len() {
            return;
        }
        if connection.done == 0 {
            connection.sent = Sent {
                before_ns,
                position: 0,
            };
        }
        let rest = &connection.out[connection.done..];
        let sent = if stamp && connection.tcp {
            socket::send_stamped(fd, rest)
        } else {
            socket::send_now(fd, rest)
        };
        let error = io::Error::last_os_error();
        let waits = match usize::try_from(sent) {
            Ok(sent) => {
                connection.done += sent;
                connection.done < connection.out.len()
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
        if waits {
            let _ = self.watch(
                libc::EPOLL_CTL_MOD,
                slot,
                fd,
                libc::EPOLLIN | libc::EPOLLOUT,
            );
        }
    }

    fn wait(&mut self, wait_ns: u64) -> io::Result<()> {
        let timeout = libc::timespec {
            tv_sec: (wait_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (wait_ns % 1_000_000_000) as libc::c_long,
        };
        self.ready.clear();
        // epoll_wait takes whole milliseconds; epoll_pwait2 (Linux 5.11) takes nanoseconds.
        // SAFETY: the pointers are valid, and the kernel writes at most EVENTS_MAX events, for which
        // there is room.
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

    /// Translates an event of the kernel into one of its connection.
    fn translate(&mut self, event: &libc::epoll_event) -> Option<IoEvent> {
        let slot = event.u64 as u32;
        let generation = (event.u64 >> 32) as u32;
        let flags = event.events as i32;
        let connection = &mut self.slots[slot as usize];
        if connection.generation != generation {
            return None;
        }
        let fd = connection.socket.as_ref()?.as_raw_fd();
        let io_event = |kind| {
            Some(IoEvent {
                slot,
                generation,
                kind,
            })
        };
        if connection.connecting {
            let error = socket::pending_error(fd);
            if error != 0 {
                return io_event(IoEventKind::Closed(error));
            }
            if flags & libc::EPOLLOUT == 0 {
                return None;
            }
            connection.connecting = false;
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
            // A transmit stamp in the error queue is reported as an error too, at every wait until it
            // is fetched.
            let connection = &mut self.slots[slot as usize];
            connection.stamp_ns = socket::transmit_stamp_ns(fd).or(connection.stamp_ns);
            return match socket::pending_error(fd) {
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
        let raw = RawAddress::new(address)?;
        let fd = socket::new(address, tcp, true)?;
        // SAFETY: the address is valid for the call.
        let done = unsafe { libc::connect(fd.as_raw_fd(), raw.as_ptr(), raw.length) };
        let error = io::Error::last_os_error();
        let connection = &mut self.slots[slot as usize];
        connection.generation = connection.generation.wrapping_add(1);
        connection.connecting = true;
        connection.tcp = matches!(address, Address::Tcp(_));
        connection.out.clear();
        connection.done = 0;
        connection.stamp_ns = None;
        let generation = connection.generation;
        let raw_fd = fd.as_raw_fd();
        connection.socket = Some(fd);
        if done < 0 && error.raw_os_error() != Some(libc::EINPROGRESS) {
            // A unix socket with a full backlog returns EAGAIN; the caller tries again later.
            let kind = IoEventKind::Closed(error.raw_os_error().unwrap_or(libc::EIO));
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
        // Bytes queued earlier go first.
        self.transmit(slot, false);
        let connection = &mut self.slots[slot as usize];
        if let Some(fd) = connection.socket.take()
            && !closing_message.is_empty()
            && connection.done == connection.out.len()
        {
            socket::send_now(fd.as_raw_fd(), closing_message);
        }
    }

    fn send(&mut self, slot: Slot, bytes: &[u8], stamp: bool) {
        let connection = &mut self.slots[slot as usize];
        if connection.done == connection.out.len() {
            connection.out.clear();
            connection.done = 0;
        }
        connection.out.extend_from_slice(bytes);
        self.queued.push((slot, stamp));
    }

    fn sent(&self, slot: Slot) -> Sent {
        self.slots[slot as usize].sent
    }

    fn transmit_stamp_ns(&mut self, slot: Slot) -> Option<u64> {
        let connection = &mut self.slots[slot as usize];
        let stamp_ns = connection.stamp_ns.take();
        stamp_ns.or_else(|| socket::transmit_stamp_ns(connection.socket.as_ref()?.as_raw_fd()))
    }

    fn turn(&mut self, until_ns: u64, events: &mut Vec<IoEvent>) -> io::Result<()> {
        // Sends are queued until the next turn: each may cost us the CPU, and replies that have arrived
        // should be handled first.
        let mut queued = std::mem::take(&mut self.queued);
        for (slot, stamp) in queued.drain(..) {
            self.transmit(slot, stamp);
        }
        self.queued = queued;
        let wait_ns = match self.pending_events.is_empty() {
            true => until_ns.saturating_sub(self.clock.now_ns()),
            false => 0,
        };
        self.wait(wait_ns)?;
        for at in 0..self.ready.len() {
            let event = self.ready[at];
            if let Some(event) = self.translate(&event) {
                events.push(event);
            }
        }
        // The end of a connection is reported after its last data.
        events.append(&mut self.pending_events);
        Ok(())
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
        let (length, stamp_ns) = if connection.tcp {
            socket::receive_stamped(fd, &mut self.scratch)
        } else {
            let at = self.scratch.as_mut_ptr().cast();
            // SAFETY: the pointer and the length describe the scratch buffer.
            let length = unsafe { libc::recv(fd, at, SCRATCH_BYTES, libc::MSG_DONTWAIT) };
            (length, None)
        };
        let Ok(length) = usize::try_from(length) else {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::WouldBlock {
                return None;
            }
            return Some(Received {
                bytes: &[],
                stamp_ns: None,
                closed: Some(error.raw_os_error().unwrap_or(libc::EIO)),
            });
        };
        Some(Received {
            bytes: &self.scratch[..length],
            stamp_ns,
            closed: (length == 0).then_some(0),
        })
    }
}
