//! Receive buffers of the ring: the kernel selects one of them for each receive.
//!
//! The memory must never be freed while the ring may still write to it; the ring is stopped first (see
//! `ring::stop`).
//! Source: io_uring_register_buf_ring(3).

use io_uring::types::BufRingEntry;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

/// Size of one buffer, bytes. A larger reply takes several.
const BUFFER_BYTES: usize = 4096;

/// A ring of buffers of equal size.
pub struct Buffers {
    entries: Mapping,
    memory: Mapping,
    count: u16,
    tail: u16,
}

impl Buffers {
    /// Maps `count` buffers, a power of two, and fills the ring with them.
    pub fn new(count: u16) -> io::Result<Self> {
        let entries = Mapping::new(usize::from(count) * size_of::<BufRingEntry>())?;
        let memory = Mapping::new(usize::from(count) * BUFFER_BYTES)?;
        let mut buffers = Buffers {
            entries,
            memory,
            count,
            tail: 0,
        };
        for id in 0..count {
            buffers.give_back(id);
        }
        buffers.publish();
        Ok(buffers)
    }

    /// Address of the ring, for its registration.
    pub fn address(&self) -> u64 {
        self.entries.start.as_ptr() as u64
    }

    pub fn count(&self) -> u16 {
        self.count
    }

    /// The first `length` bytes of a buffer that the kernel has filled and that was not given back yet.
    pub fn bytes(&self, id: u16, length: usize) -> &[u8] {
        debug_assert!(id < self.count && length <= BUFFER_BYTES);
        let length = length.min(BUFFER_BYTES);
        let offset = usize::from(id % self.count) * BUFFER_BYTES;
        // SAFETY: the buffer lies within the mapping, and the kernel leaves it alone until it is
        // given back and published.
        unsafe { std::slice::from_raw_parts(self.memory.start.as_ptr().add(offset), length) }
    }

    /// Gives a buffer back; the kernel sees it with the next [`Buffers::publish`].
    pub fn give_back(&mut self, id: u16) {
        let index = usize::from(self.tail & (self.count - 1));
        let memory = self.memory.start.as_ptr() as u64 + u64::from(id) * BUFFER_BYTES as u64;
        let base = self.entries.start.as_ptr().cast::<BufRingEntry>();
        // SAFETY: `index` is below `count`, and the kernel reads an entry only below the published
        // tail. The entry's last field is the tail in the first entry: it is not touched here.
        let entry = unsafe { &mut *base.add(index) };
        entry.set_addr(memory);
        entry.set_len(BUFFER_BYTES as u32);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
    }

    /// Makes the buffers that were given back visible to the kernel.
    pub fn publish(&mut self) {
        let base = self.entries.start.as_ptr().cast::<BufRingEntry>();
        // SAFETY: `base` is the first entry of the ring; its tail is aligned for 16 bits, and both
        // sides access it atomically.
        let tail = unsafe { &*BufRingEntry::tail(base).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }
}

/// Anonymous memory, page-aligned as the kernel requires.
struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

impl Mapping {
    fn new(length: usize) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping touches no memory of ours.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { start, length })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing points into it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
