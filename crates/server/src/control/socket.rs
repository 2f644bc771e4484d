//! A connected stream socket, and how long to wait for it.
//!
//! In: an address, bytes. Out: bytes. Must never: raise SIGPIPE, or wait past its deadline.

use crate::target::Address;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, sendmsg};
use std::io::{self, IoSlice};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How much is read at once, in bytes.
const READ_BYTES: usize = 64 * 1024;

/// When to give up waiting; `None`: never.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline(Option<Instant>);

impl Deadline {
    pub(super) const NEVER: Deadline = Deadline(None);

    pub(super) fn after(time: Option<Duration>) -> Deadline {
        Deadline(time.and_then(|time| Instant::now().checked_add(time)))
    }

    /// What is left; an error when nothing is.
    fn left(self) -> io::Result<Option<Duration>> {
        let Some(at) = self.0 else { return Ok(None) };
        match at.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
            left => Ok(Some(left)),
        }
    }
}

/// A connected stream socket.
pub(super) struct Socket(OwnedFd);

impl Socket {
    pub(super) fn connect(address: &Address, deadline: Deadline) -> io::Result<Socket> {
        match address {
            Address::Unix(path) => Ok(Socket(UnixStream::connect(path)?.into())),
            Address::Tcp(address) => {
                let stream = match deadline.left()? {
                    Some(left) => TcpStream::connect_timeout(address, left)?,
                    None => TcpStream::connect(address)?,
                };
                stream.set_nodelay(true)?;
                Ok(Socket(stream.into()))
            }
        }
    }

    /// Sends all of `parts`, one after another. While the peer takes nothing, `incoming` is called
    /// whenever it has sent something: a peer that waits for us to read would wait for ever.
    pub(super) fn send_all(
        &self,
        mut parts: &mut [IoSlice<'_>],
        deadline: Deadline,
        mut incoming: impl FnMut(&Socket) -> io::Result<()>,
    ) -> io::Result<()> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        while !parts.is_empty() {
            match sendmsg(&self.0, parts, &mut SendAncillaryBuffer::default(), flags) {
                Ok(sent) => IoSlice::advance_slices(&mut parts, sent),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let ready = self.wait(PollFlags::IN | PollFlags::OUT, deadline)?;
                    if ready.contains(PollFlags::IN) {
                        incoming(self)?;
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits for bytes and appends them to `into`; 0: the peer has closed.
    pub(super) fn receive(&self, into: &mut Vec<u8>, deadline: Deadline) -> io::Result<usize> {
        loop {
            if deadline.0.is_some() {
                self.wait(PollFlags::IN, deadline)?;
            }
            into.reserve(READ_BYTES);
            match recv(
                &self.0,
                rustix::buffer::spare_capacity(into),
                RecvFlags::empty(),
            ) {
                Ok((count, _)) => return Ok(count),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Appends what has already arrived; `None`: nothing.
    pub(super) fn receive_now(&self, into: &mut Vec<u8>) -> io::Result<Option<usize>> {
        // Room is made only when something is there, so that asking costs one call.
        let mut probe = [0_u8; 64];
        let count = match recv(&self.0, &mut probe[..], RecvFlags::DONTWAIT) {
            Ok((count, _)) => count,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        into.extend_from_slice(&probe[..count]);
        Ok(Some(count))
    }

    fn wait(&self, events: PollFlags, deadline: Deadline) -> io::Result<PollFlags> {
        loop {
            let left = deadline.left()?;
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            let mut polled = [PollFd::new(&self.0, events)];
            match poll(&mut polled, timeout.as_ref()) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(polled[0].revents()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
