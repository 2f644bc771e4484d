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
            _ => Some((Exit::Interrupted, "SIGINT (Ctrl-C)")),
        }
    }
}
