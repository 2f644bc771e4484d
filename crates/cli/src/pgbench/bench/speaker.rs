//! Prints what clients have to say while a run goes on.
//!
//! In: messages from all workers. Out: lines on stderr, each written at once. Must never: mix two.

use super::super::call::Call;
use prony_dialect::pgbench::{RunOptions, Voice};
use prony_workload::script::Listener;
use std::io::{Write, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Speaks for all clients.
pub struct Speaker {
    voice: Voice,
    /// Set when the run is to end with its first aborted client.
    end: Option<Arc<AtomicBool>>,
    /// The first client that could not go on.
    first: Mutex<Option<u32>>,
}

impl Speaker {
    /// `end` ends the run.
    pub fn new(call: &Call, options: &RunOptions, end: Arc<AtomicBool>) -> Speaker {
        Speaker {
            voice: call.voice.clone(),
            end: options.exit_on_abort.then_some(end),
            first: Mutex::new(None),
        }
    }

    /// The first client that could not go on.
    pub fn first_aborted(&self) -> Option<u32> {
        *self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where stderr is closed nobody is told.
fn write(text: &str) {
    let _ = stderr().lock().write_all(text.as_bytes());
}

impl Listener for Speaker {
    fn error(&self, text: &str) {
        write(&self.voice.error(text));
    }

    fn info(&self, text: &str) {
        write(&self.voice.info(text));
    }

    fn shown(&self, lines: &str) {
        write(lines);
    }

    fn aborted(&self, client: u32) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(client);
        drop(first);
        if let Some(end) = &self.end {
            end.store(true, Ordering::Relaxed);
        }
    }
}
