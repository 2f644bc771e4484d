//! Waiting for replies: submits what is queued, then polls or sleeps.
//!
//! In: a deadline and the [`WaitStrategy`](super::WaitStrategy). Out: completions in the queue. Must never:
//! wait longer than until the deadline.

use super::Ring;
use crate::io::MIN_SLEEP_NS;
use io_uring::types::{SubmitArgs, Timespec};
use std::io;

/// The flag of `io_uring_enter` that runs deferred work, so that it appears in the completion queue.
const ENTER_GETEVENTS: u32 = 1;

impl Ring {
    /// Submits the queue and polls for the time that the strategy allows. Returns whether there are
    /// completions. If the strategy does not poll, returns false at once, without submitting.
    pub(super) fn poll_for_reply(&mut self, now_ns: u64, deadline_ns: u64) -> io::Result<bool> {
        let spin_ns = self.wait_strategy.spin_ns;
        if spin_ns == 0 {
            return Ok(false);
        }
        let end_ns = (now_ns + spin_ns).min(deadline_ns);
        ignore_interruptions(self.ring.submit())?;
        loop {
            self.fetch_completions(0)?;
            if !self.ring.completion().is_empty() {
                return Ok(true);
            }
            if self.clock.now_ns() >= end_ns {
                return Ok(false);
            }
            std::hint::spin_loop();
        }
    }

    /// Submits the queue and sleeps until the number of completions that the strategy requires has arrived. `now_ns` is the
    /// time before polling.
    pub(super) fn sleep(&mut self, now_ns: u64, deadline_ns: u64) -> io::Result<()> {
        // Without polling, no time has passed, and the clock need not be read again.
        let now_ns = match self.wait_strategy.spin_ns {
            0 => now_ns,
            _ => self.clock.now_ns(),
        };
        let wait_ns = deadline_ns.saturating_sub(now_ns);
        if wait_ns < MIN_SLEEP_NS {
            let queued = self.ring.submission().len() as u32;
            return self.fetch_completions(queued);
        }
        let timeout = Timespec::new()
            .sec(wait_ns / 1_000_000_000)
            .nsec((wait_ns % 1_000_000_000) as u32);
        let arguments = SubmitArgs::new().timespec(&timeout);
        // The kernel waits for `replies` completions for `delay_max_us`, and then for one until the deadline.
        let delay_max_us = (self.wait_strategy.delay_max_ns.min(wait_ns) / 1_000) as u32;
        let result = match self.wait_strategy.replies as usize {
            replies if replies > 1 && delay_max_us > 0 => self
                .ring
                .submitter()
                .submit_with_args(replies, &arguments.min_wait_usec(delay_max_us)),
            _ => self.ring.submitter().submit_with_args(1, &arguments),
        };
        ignore_interruptions(result)
    }

    /// Submits this many queued requests and fetches what has completed, without waiting.
    fn fetch_completions(&mut self, to_submit: u32) -> io::Result<()> {
        // SAFETY: the queued requests are valid until they complete, and the call has no argument.
        let result = unsafe {
            let submitter = self.ring.submitter();
            submitter.enter::<libc::sigset_t>(to_submit, 0, ENTER_GETEVENTS, None)
        };
        ignore_interruptions(result)
    }
}

/// Ignores errors that only end a wait: a time-out, a signal or a full completion queue.
fn ignore_interruptions(result: io::Result<usize>) -> io::Result<()> {
    match result {
        Ok(_) => Ok(()),
        Err(error) => match error.raw_os_error() {
            // EBUSY and EAGAIN: completions must be fetched before more can be submitted.
            Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
            _ => Err(error),
        },
    }
}
