//! Creates sockets, sends and receives on them, and reads the kernel's timestamps of their bytes.
//!
//! In: addresses. Out: file descriptors; timestamps from control messages. Must never: block.
//! Source: Linux documentation, networking/timestamping.

use prony_server::{Address, TcpOptions};
use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use rustix::net::{
    self, AddressFamily, RecvFlags, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, sockopt,
};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

/// Size of the control message of SO_TIMESTAMPING with its three timestamps: a header of 16 bytes and
/// three `timespec`.
pub const CONTROL_BYTES: usize = 64;

/// An address in the kernel's format; fails if a socket's path is too long.
pub fn raw_address(address: &Address) -> io::Result<SocketAddrAny> {
    match address {
        Address::Unix(path) => match SocketAddrUnix::new(path) {
            Ok(address) => Ok(address.as_any()),
            Err(_) => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("socket path {} is too long", path.display()),
            )),
        },
        Address::Tcp(address) => Ok(address.as_any()),
    }
}

/// Creates a socket for this address. Over TCP, sets its options and requests timestamps.
pub fn new(address: &Address, tcp: &TcpOptions, flags: SocketFlags) -> io::Result<OwnedFd> {
    let family = match address {
        Address::Unix(_) => AddressFamily::UNIX,
        Address::Tcp(address) if address.is_ipv4() => AddressFamily::INET,
        Address::Tcp(_) => AddressFamily::INET6,
    };
    let flags = flags | SocketFlags::CLOEXEC;
    let fd = net::socket_with(family, SocketType::STREAM, flags, None)?;
    if family != AddressFamily::UNIX {
        tcp.apply(fd.as_fd())?;
        // Transmit timestamps are requested one by one, in a control message; without these flags they
        // would not be reported. OPT_TSONLY: do not return the bytes with them.
        let timestamps = libc::SOF_TIMESTAMPING_RX_SOFTWARE
            | libc::SOF_TIMESTAMPING_SOFTWARE
            | libc::SOF_TIMESTAMPING_OPT_TSONLY;
        // A kernel without timestamps is not an error: replies without a timestamp are counted and reported.
        // SAFETY: the pointer and the size describe `timestamps`.
        unsafe {
            libc::setsockopt(
                fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_TIMESTAMPING,
                (&raw const timestamps).cast(),
                size_of_val(&timestamps) as libc::socklen_t,
            )
        };
    }
    Ok(fd)
}

/// The pending error of a socket as an `errno`; 0 if there is none.
pub fn pending_error(fd: &OwnedFd) -> i32 {
    match sockopt::socket_error(fd) {
        Ok(Err(error)) => error.raw_os_error(),
        Ok(Ok(())) | Err(_) => 0,
    }
}

/// Whether the other side of a connected socket that is idle has not closed it. What is unread there would be the error
/// with which a server ends a connection, or a reply that nobody waits for.
pub fn is_open(fd: &OwnedFd) -> bool {
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    net::recv(fd, &mut [0_u8], flags) == Err(Errno::WOULDBLOCK)
}

/// Sends as many bytes as fit without blocking. Returns their number, or a negative one on error.
pub fn send_now(fd: RawFd, bytes: &[u8]) -> isize {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the pointer and the length describe `bytes`.
    unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), flags) }
}

/// The software timestamp in `control`, the control messages of a socket, in nanoseconds of CLOCK_REALTIME.
/// `None` if there is none.
pub fn timestamp_ns(mut control: &[u8]) -> Option<u64> {
    const HEADER_BYTES: usize = size_of::<libc::cmsghdr>();
    while control.len() >= HEADER_BYTES {
        // SAFETY: the length was checked; the read need not be aligned.
        let header: libc::cmsghdr =
            unsafe { control.as_ptr().cast::<libc::cmsghdr>().read_unaligned() };
        let length = header.cmsg_len;
        if length < HEADER_BYTES || length > control.len() {
            return None;
        }
        let is_timestamp =
            header.cmsg_level == libc::SOL_SOCKET && header.cmsg_type == libc::SCM_TIMESTAMPING;
        if is_timestamp && length >= HEADER_BYTES + size_of::<libc::timespec>() {
            let at = control[HEADER_BYTES..].as_ptr().cast::<libc::timespec>();
            // SAFETY: as above. The first of the three timestamps is the software timestamp.
            let time = unsafe { at.read_unaligned() };
            let ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
            return (ns > 0).then_some(ns);
        }
        control = &control[length
            .next_multiple_of(size_of::<usize>())
            .min(control.len())..];
    }
    None
}

/// A control message that requests the transmit timestamp of the bytes that it accompanies.
#[repr(C, align(8))]
struct TimestampRequest {
    header: libc::cmsghdr,
    flags: u32,
    padding: u32,
}

pub struct TimestampedMessage {
    header: libc::msghdr,
    vector: libc::iovec,
    request: TimestampRequest,
}

impl TimestampedMessage {
    /// A message without bytes.
    pub fn new() -> Self {
        TimestampedMessage {
            // SAFETY: all-zero bytes are a valid `msghdr`.
            header: unsafe { zeroed() },
            vector: libc::iovec {
                iov_base: std::ptr::null_mut(),
                iov_len: 0,
            },
            request: TimestampRequest {
                header: libc::cmsghdr {
                    cmsg_len: size_of::<libc::cmsghdr>() + size_of::<u32>(),
                    cmsg_level: libc::SOL_SOCKET,
                    cmsg_type: libc::SO_TIMESTAMPING,
                },
                flags: libc::SOF_TIMESTAMPING_TX_SOFTWARE,
                padding: 0,
            },
        }
    }

    /// Sets the bytes, and returns the header for a system call. The header points into this message and to the
    /// bytes: neither may move or end before the kernel has copied them.
    pub fn header_for(&mut self, start: *const u8, length: usize) -> *const libc::msghdr {
        self.vector.iov_base = start.cast_mut().cast();
        self.vector.iov_len = length;
        self.header.msg_iov = &raw mut self.vector;
        self.header.msg_iovlen = 1;
        self.header.msg_control = (&raw mut self.request).cast();
        self.header.msg_controllen = size_of::<TimestampRequest>();
        &raw const self.header
    }
}

/// Fetches the newest transmit timestamp from the socket's error queue, nanoseconds of CLOCK_REALTIME.
pub fn transmit_timestamp_ns(fd: RawFd) -> Option<u64> {
    let mut control = [0u64; 32];
    let mut newest = None;
    loop {
        // SAFETY: all-zero bytes are a valid `msghdr`.
        let mut header: libc::msghdr = unsafe { zeroed() };
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&control);
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        // SAFETY: `header` points to `control`, which outlives the call.
        if unsafe { libc::recvmsg(fd, &raw mut header, flags) } < 0 {
            return newest;
        }
        let length = header.msg_controllen.min(size_of_val(&control));
        // SAFETY: `control` is plain integers, and `length` is within it.
        let bytes = unsafe { std::slice::from_raw_parts(control.as_ptr().cast::<u8>(), length) };
        newest = timestamp_ns(bytes).or(newest);
    }
}

/// Like [`send_now`], and requests a transmit timestamp.
pub fn send_with_timestamp(fd: RawFd, bytes: &[u8]) -> isize {
    let mut message = TimestampedMessage::new();
    let header = message.header_for(bytes.as_ptr(), bytes.len());
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the message and the bytes outlive the call; the bytes are only read.
    unsafe { libc::sendmsg(fd, header, flags) }
}

/// Receives bytes without blocking. Returns their number, or a negative one on error, and the timestamp of
/// the last byte's arrival.
pub fn receive_with_timestamp(fd: RawFd, into: &mut [u8]) -> (isize, Option<u64>) {
    let mut control = [0u64; CONTROL_BYTES / 8];
    let mut vector = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    // SAFETY: all-zero bytes are a valid `msghdr`.
    let mut header: libc::msghdr = unsafe { zeroed() };
    header.msg_iov = &raw mut vector;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control);
    // SAFETY: the header points to locals and to `into`, which outlive the call.
    let length = unsafe { libc::recvmsg(fd, &raw mut header, libc::MSG_DONTWAIT) };
    if length < 0 {
        return (length, None);
    }
    let control_length = header.msg_controllen.min(size_of_val(&control));
    // SAFETY: `control` is plain integers, and `control_length` is within it.
    let bytes =
        unsafe { std::slice::from_raw_parts(control.as_ptr().cast::<u8>(), control_length) };
    (length, timestamp_ns(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use std::path::PathBuf;

    #[test]
    fn a_socket_path_that_is_too_long_is_an_error() {
        let short = Address::Unix(PathBuf::from("/tmp/.s.PGSQL.5432"));
        assert!(raw_address(&short).is_ok());
        let long = Address::Unix(PathBuf::from("/x".repeat(60)));
        let message = raw_address(&long).err().unwrap().to_string();
        message.assert_contains("too long");
    }

    #[test]
    fn malformed_control_messages_have_no_timestamp() {
        assert_eq!(timestamp_ns(&[]), None);
        assert_eq!(timestamp_ns(&[0; 64]), None);
        assert_eq!(timestamp_ns(&[0xff; 64]), None);
    }
}
