//! Ctrl-C and SIGTERM.
//!
//! In: signals. Out: a flag that a run or a load watches, and which signal it was. Must never: cut
//! off a result at the first signal. The second one ends the process at once.

use crate::exit::Exit;
use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The flag, and what raised it.
#[derive(Clone, Default)]
pub struct Signals {
    asked: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Signals {
    /// Starts to listen.
    pub fn listen() -> anyhow::Result<Signals> {
        let signals = Signals::default();
        for (signal, exit) in [(SIGINT, Exit::Interrupted), (SIGTERM, Exit::Terminated)] {
            if is_ignored(signal) {
                // Whoever started this wants it so: nohup, a shell's background job.
                continue;
            }
            // In this order: the first signal finds the flag unset and sets it, the second one
            // finds it set and exits.
            flag::register_conditional_shutdown(signal, exit as i32, Arc::clone(&signals.asked))
                .and_then(|_| {
                    flag::register_usize(signal, Arc::clone(&signals.signal), signal as usize)
                })
                .and_then(|_| flag::register(signal, Arc::clone(&signals.asked)))
                .context("cannot listen for signals")?;
        }
        Ok(signals)
    }

    /// The flag that is set when the end is asked for.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.asked)
    }

    /// The exit code and the name of the signal that asked for the end, if one did.
    pub fn asked(&self) -> Option<(Exit, &'static str)> {
        if !self.asked.load(Ordering::Relaxed) {
            return None;
        }
        match self.signal.load(Ordering::Relaxed) as i32 {
            SIGTERM => Some((Exit::Terminated, "SIGTERM")),
            SIGINT => Some((Exit::Interrupted, "SIGINT (Ctrl-C)")),
            // The flag was set for another reason.
            _ => None,
        }
    }

    /// Ends the process as the signal would have, if one asked for the end: whoever waits for it
    /// then knows, and a shell ends its loop.
    pub fn pass_on(&self) {
        let signal = self.signal.load(Ordering::Relaxed) as i32;
        if self.asked().is_some() {
            // Comes back only where that is not possible.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }
}

/// Whether this process was started with a signal ignored.
fn is_ignored(signal: i32) -> bool {
    // SAFETY: all-zero bytes are a valid `sigaction`, which is only written to here.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: without a new action nothing changes; `action` is valid for writing.
    let known = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
    known == 0 && action.sa_sigaction == libc::SIG_IGN
}
