//! Stops a ring when it is dropped.
//!
//! In: a ring that is dropped. Out: its memory, freed or leaked. Must never: free memory that the
//! kernel may still write to.

use super::{BUFFER_GROUP, Ring};
use crate::io::{Io, Slot};
use io_uring::types::{CancelBuilder, Timespec};
use std::io;
use std::mem::ManuallyDrop;

/// Whether the ring has no request left, judged by the result of cancelling all requests.
fn is_stopped(cancel_result: &io::Result<()>) -> bool {
    match cancel_result {
        Ok(()) => true,
        // There was nothing to cancel: the usual result, because all sockets are shut down before.
        Err(error) => error.raw_os_error() == Some(libc::ENOENT),
    }
}

impl Drop for Ring {
    /// Stops the ring before anything that it may still use is freed. If the ring cannot be stopped, leaks
    /// its memory: a leak at the end of a worker is better than a kernel that writes into memory that has
    /// another use by then.
    fn drop(&mut self) {
        for slot in 0..self.slots.len() {
            self.close(slot as Slot, &[]);
        }
        let _ = self.ring.submit();
        let timeout = Timespec::new().sec(1);
        let all_requests = CancelBuilder::any();
        let cancel_result = self
            .ring
            .submitter()
            .register_sync_cancel(Some(timeout), all_requests);
        if !is_stopped(&cancel_result) {
            return;
        }
        let _ = self.ring.submitter().unregister_buf_ring(BUFFER_GROUP);
        // SAFETY: no request remains that could use the buffers or the header, and no code uses them after
        // this.
        unsafe {
            ManuallyDrop::drop(&mut self.buffers);
            ManuallyDrop::drop(&mut self.receive_header);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::io::Io;
    use crate::io::ring::{Ring, probe};
    use prony_server::{Address, TcpOptions};

    fn is_mapped(address: u64) -> bool {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux");
        maps.lines().any(|line| {
            let range = line.split_whitespace().next().unwrap_or_default();
            let (from, to) = range.split_once('-').expect("a range");
            let number = |text| u64::from_str_radix(text, 16).expect("an address");
            (number(from)..number(to)).contains(&address)
        })
    }

    struct SendRing(Ring);

    // SAFETY: only for this test, in which the other thread does nothing with the ring except drop it.
    unsafe impl Send for SendRing {}

    /// The kernel accepts a ring's requests only from the thread that created the ring. On another thread no
    /// request can be cancelled, and the armed receive may still write into the buffers.
    #[test]
    fn buffers_outlive_a_ring_that_could_not_be_stopped() {
        if let Err(reason) = probe() {
            eprintln!("skipped: {reason}");
            return;
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = Address::Tcp(listener.local_addr().expect("an address"));
        let mut ring = Ring::new(1).expect("a ring");
        ring.open(0, &address, &TcpOptions::default())
            .expect("a socket");
        let mut events = Vec::new();
        while events.is_empty() {
            let deadline_ns = ring.clock.now_ns() + 20_000_000;
            ring.submit_and_wait(deadline_ns, &mut events)
                .expect("events");
        }
        let buffers_address = ring.buffers.address();
        let send_ring = SendRing(ring);
        let thread = std::thread::spawn(move || {
            let send_ring = send_ring;
            drop(send_ring.0);
        });
        thread.join().expect("no panic");
        assert!(is_mapped(buffers_address));
    }
}
