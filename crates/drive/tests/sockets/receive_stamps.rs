//! Reads the kernel's timestamps of a test server's requests. On a busy machine, the server may be woken much
//! later than a request arrives.

use std::io;
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Enables receive timestamps (socket(7), SO_TIMESTAMPNS).
pub fn enable_timestamps(stream: &TcpStream) {
    let on: libc::c_int = 1;
    // SAFETY: the option's value is a live int of the stated size.
    let result = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    assert_eq!(result, 0);
}

/// Reads bytes and their arrival time. If the kernel provides no timestamp, the time is the current one.
pub fn read_with_timestamp(
    stream: &TcpStream,
    chunk: &mut [u8],
) -> io::Result<(usize, SystemTime)> {
    let mut part = libc::iovec {
        iov_base: chunk.as_mut_ptr().cast(),
        iov_len: chunk.len(),
    };
    let mut control = [0_u64; 16];
    // SAFETY: all zeros is an empty header.
    let mut header: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control);
    // SAFETY: the header points to memory of the stated lengths, which outlives the call.
    let count = unsafe { libc::recvmsg(stream.as_raw_fd(), &raw mut header, 0) };
    let length = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    let mut arrived = SystemTime::now();
    // SAFETY: the kernel filled in the header that these macros walk through, and `control` is alive.
    unsafe {
        let mut part = libc::CMSG_FIRSTHDR(&raw const header);
        while !part.is_null() {
            if ((*part).cmsg_level, (*part).cmsg_type) == (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS) {
                let timestamp: libc::timespec = libc::CMSG_DATA(part)
                    .cast::<libc::timespec>()
                    .read_unaligned();
                arrived =
                    UNIX_EPOCH + Duration::new(timestamp.tv_sec as u64, timestamp.tv_nsec as u32);
            }
            part = libc::CMSG_NXTHDR(&raw const header, part);
        }
    }
    Ok((length, arrived))
}
