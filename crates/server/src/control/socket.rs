//! A connected stream socket with deadlines.
//!
//! Must never: raise SIGPIPE, wait past its deadline, or continue to wait after an interrupt.

use super::probe::{LossReason, ProbeTarget, probe};
use super::route::Route;
use super::waiting::{AttentionRequest, NOTICE_AFTER, Silence, StopSignal, WaitError};
use crate::target::Address;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, SocketAddrAny, SocketAddrUnix,
    SocketFlags, SocketType, connect, recv, sendmsg, socket_with, sockopt,
};
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// Size of one read, in bytes.
const READ_BYTES: usize = 64 * 1024;

/// Longest single wait, so that a signal is noticed soon.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Pause before retrying a unix socket whose listen queue is full.
const QUEUE_FULL_PAUSE: Duration = Duration::from_millis(20);

/// Pause before retrying to send to a peer that has sent data but does not read.
const PEER_NOT_READING_PAUSE: Duration = Duration::from_millis(1);

/// How long to wait for bytes in flight before a connection counts as lost.
const IN_FLIGHT_WAIT: Duration = Duration::from_secs(1);

/// When to give up waiting; `None`: never.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline(Option<Instant>);

impl Deadline {
    pub(super) const NEVER: Deadline = Deadline(None);

    /// The end of a wait that starts now; `None`: no limit.
    pub(super) fn after(limit: Option<Duration>) -> Deadline {
        // A limit that overflows the clock counts as no limit.
        Deadline(limit.and_then(|limit| Instant::now().checked_add(limit)))
    }

    pub(super) fn min(self, other: Deadline) -> Deadline {
        Deadline(match (self.0, other.0) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        })
    }

    /// The remaining time; an error if there is none.
    fn remaining(self) -> io::Result<Option<Duration>> {
        let Some(at) = self.0 else { return Ok(None) };
        match at.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
            remaining => Ok(Some(remaining)),
        }
    }
}

pub(super) struct Socket {
    fd: OwnedFd,
    stop: StopSignal,
    /// Ends a wait for the reply, once; only SQL Server's cancellers make such requests.
    attention: AttentionRequest,
    /// The target of the probe, and the time without a byte after which it is probed.
    peer: Option<(Box<ProbeTarget>, Duration)>,
    /// Who tells the user for what this waits, and what that is, until it is told.
    notice: Option<fn(&str)>,
    awaited: Cell<Option<String>>,
}

impl Socket {
    pub(super) fn connect(route: &Route, deadline: Deadline) -> io::Result<Socket> {
        let (socket, is_connected) = Socket::start_connecting(route, deadline)?;
        if !is_connected {
            socket.wait(PollFlags::OUT, deadline)?;
            sockopt::socket_error(&socket.fd)??;
        }
        Ok(socket)
    }

    /// Connects to all these routes at once. Returns the first socket that is connected, with the index of its
    /// route; or, if none is, the error of each route.
    pub(super) fn connect_first(
        routes: &[Route],
        deadline: Deadline,
    ) -> Result<(usize, Socket), Vec<io::Error>> {
        let mut errors: Vec<Option<io::Error>> = routes.iter().map(|_| None).collect();
        let mut connecting = Vec::new();
        for (index, route) in routes.iter().enumerate() {
            match Socket::start_connecting(route, deadline) {
                Ok((socket, true)) => return Ok((index, socket)),
                Ok((socket, false)) => connecting.push((index, socket)),
                Err(error) => errors[index] = Some(error),
            }
        }
        let mut end = io::ErrorKind::TimedOut.into();
        while let Some((_, first)) = connecting.first() {
            let timeout = match first.time_left(deadline) {
                Ok(remaining) => remaining.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL),
                Err(error) => {
                    end = error;
                    break;
                }
            };
            let mut polled: Vec<PollFd<'_>> = (connecting.iter())
                .map(|(_, socket)| PollFd::new(&socket.fd, PollFlags::OUT))
                .collect();
            let timeout = Timespec::try_from(timeout).ok();
            if let Err(error) = poll(&mut polled, timeout.as_ref())
                && error != Errno::INTR
            {
                end = error.into();
                break;
            }
            let ready = polled.iter().position(|fd| !fd.revents().is_empty());
            let Some(ready) = ready else { continue };
            let (index, socket) = connecting.swap_remove(ready);
            match sockopt::socket_error(&socket.fd) {
                Ok(Ok(())) => return Ok((index, socket)),
                Ok(Err(error)) | Err(error) => errors[index] = Some(error.into()),
            }
        }
        // The sockets that are still connecting all end for the same reason.
        let kind = end.kind();
        let mut end = Some(end);
        let error = |error: Option<io::Error>| error.or_else(|| end.take());
        Err(errors
            .into_iter()
            .map(error)
            .map(|error| error.unwrap_or_else(|| kind.into()))
            .collect())
    }

    /// Starts to connect; returns whether the socket is already connected.
    fn start_connecting(route: &Route, deadline: Deadline) -> io::Result<(Socket, bool)> {
        let (family, address): (_, SocketAddrAny) = match &route.endpoint.address {
            Address::Unix(path) => (
                AddressFamily::UNIX,
                SocketAddrUnix::new(path.as_path())?.into(),
            ),
            Address::Tcp(address) => {
                if address.is_ipv4() {
                    (AddressFamily::INET, (*address).into())
                } else {
                    (AddressFamily::INET6, (*address).into())
                }
            }
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = socket_with(family, SocketType::STREAM, flags, None)?;
        if matches!(route.endpoint.address, Address::Tcp(_)) {
            route.tcp.with_keepalive_probes().apply(fd.as_fd())?;
        }
        let socket = Socket {
            fd,
            stop: route.wait_options.stop.clone(),
            attention: AttentionRequest::default(),
            peer: None,
            notice: route.wait_options.notice,
            awaited: Cell::default(),
        };
        loop {
            match connect(&socket.fd, &address) {
                Ok(()) => return Ok((socket, true)),
                Err(Errno::INPROGRESS | Errno::INTR) => return Ok((socket, false)),
                Err(Errno::AGAIN) => {
                    socket.time_left(deadline)?;
                    std::thread::sleep(QUEUE_FULL_PAUSE);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Enables probes after a long silence, if the route has an `io_timeout`. `session_id`:
    /// the process id or connection id; 0: not known.
    pub(super) fn enable_probes(&mut self, route: &Route, session_id: u32) {
        let with_target = |limit| {
            let route = route.clone();
            (Box::new(ProbeTarget { route, session_id }), limit)
        };
        self.peer = route.wait_options.io_timeout.map(with_target);
    }

    /// With such a request, a wait for a reply ends with [`WaitError::AttentionRequested`].
    pub(super) fn attention_request(&self) -> &AttentionRequest {
        &self.attention
    }

    /// Sets after how long without a byte the server is probed; `None`: never.
    pub(super) fn set_io_timeout(&mut self, limit: Option<Duration>) {
        let peer = self.peer.take();
        self.peer = peer.and_then(|(target, _)| limit.map(|limit| (target, limit)));
    }

    /// Begins to wait for this, which the user is told if it takes long.
    pub(super) fn set_awaited(&self, describe: impl FnOnce() -> String) {
        if self.notice.is_some() {
            self.awaited.set(Some(describe()));
        }
    }

    /// Sends all of `bytes`, without reading the data that the peer sends during this.
    pub(super) fn send_all(&self, bytes: &[u8], deadline: Deadline) -> io::Result<()> {
        let mut parts = &mut [IoSlice::new(bytes)][..];
        while !parts.is_empty() && !parts[0].is_empty() {
            if !self.send_some(&mut parts, deadline)? {
                // The peer has sent data, which the caller reads later. The peer keeps reading meanwhile, so
                // retry.
                std::thread::sleep(PEER_NOT_READING_PAUSE);
            }
        }
        Ok(())
    }

    /// Sends as much of `parts` as the peer accepts; waits if it accepts none. Returns `false` if
    /// the peer has sent data meanwhile, and may wait for this side to read it.
    pub(super) fn send_some(
        &self,
        parts: &mut &mut [IoSlice<'_>],
        deadline: Deadline,
    ) -> io::Result<bool> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match sendmsg(&self.fd, parts, &mut SendAncillaryBuffer::default(), flags) {
            Ok(sent) => IoSlice::advance_slices(parts, sent),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let ready = self.wait(PollFlags::IN | PollFlags::OUT, deadline)?;
                return Ok(!ready.contains(PollFlags::IN));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    /// Waits for bytes and appends them to `buffer`; 0: the peer has closed the connection.
    pub(super) fn receive(&self, buffer: &mut Vec<u8>, deadline: Deadline) -> io::Result<usize> {
        loop {
            self.wait(PollFlags::IN, deadline)?;
            buffer.reserve(READ_BYTES);
            match recv(
                &self.fd,
                rustix::buffer::spare_capacity(buffer),
                RecvFlags::DONTWAIT,
            ) {
                Ok((count, _)) => return Ok(count),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Appends the bytes that have already arrived; `None`: there are none.
    pub(super) fn receive_now(&self, buffer: &mut Vec<u8>) -> io::Result<Option<usize>> {
        // A small buffer on the stack, so that a call without data reserves no memory.
        let mut stack_buffer = [0_u8; 64];
        let count = match recv(&self.fd, &mut stack_buffer[..], RecvFlags::DONTWAIT) {
            Ok((count, _)) => count,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        buffer.extend_from_slice(&stack_buffer[..count]);
        Ok(Some(count))
    }

    fn wait(&self, events: PollFlags, deadline: Deadline) -> io::Result<PollFlags> {
        let mut silent_since = Instant::now();
        let begun = silent_since;
        loop {
            let remaining = self.time_left(deadline)?;
            let poll_time = remaining.map_or(POLL_INTERVAL, |time| time.min(POLL_INTERVAL));
            if let Some(ready) = self.poll(events, poll_time)? {
                return Ok(ready);
            }
            if let Some(notice) = self.notice
                && begun.elapsed() >= NOTICE_AFTER
                && let Some(awaited) = self.awaited.take()
            {
                notice(&awaited);
            }
            // While sending, the request is not complete, and an attention must follow it.
            if events == PollFlags::IN && self.attention.take() {
                return Err(io::Error::other(WaitError::AttentionRequested));
            }
            if let Some((target, limit)) = &self.peer
                && silent_since.elapsed() >= *limit
            {
                let Some(loss) = probe(target, &self.fd, *limit, deadline) else {
                    silent_since = Instant::now();
                    continue;
                };
                // The reply may have arrived during the probe, or be in flight.
                let timeout = match loss {
                    LossReason::ServerWaitsForClient | LossReason::SessionGone => IN_FLIGHT_WAIT,
                    LossReason::Unanswered(_) | LossReason::Unacknowledged => Duration::ZERO,
                };
                if let Some(ready) = self.poll(events, timeout)? {
                    return Ok(ready);
                }
                // The caller's own deadline may have ended the probe.
                self.time_left(deadline)?;
                let duration = silent_since.elapsed();
                return Err(io::Error::other(WaitError::Silent(Silence {
                    duration,
                    loss,
                })));
            }
        }
    }

    /// Waits for one of these events; `None` if none comes within `timeout`.
    fn poll(&self, events: PollFlags, timeout: Duration) -> io::Result<Option<PollFlags>> {
        let timeout = Timespec::try_from(timeout).ok();
        let mut polled = [PollFd::new(&self.fd, events)];
        match poll(&mut polled, timeout.as_ref()) {
            Ok(0) | Err(Errno::INTR) => Ok(None),
            Ok(_) => Ok(Some(polled[0].revents())),
            Err(error) => Err(error.into()),
        }
    }

    /// The remaining time; an error if there is none, or a signal ended the wait.
    pub(super) fn time_left(&self, deadline: Deadline) -> io::Result<Option<Duration>> {
        if self.stop.waits_must_end() {
            return Err(io::Error::other(WaitError::Interrupted));
        }
        deadline.remaining()
    }
}
