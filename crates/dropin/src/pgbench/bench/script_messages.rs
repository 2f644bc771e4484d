//! Prints the messages of clients on stderr as they occur, from all workers.
//!
//! Must never: mix two messages.

use super::super::call::PgbenchCall;
use crate::output::eprint;
use prony_dialect::pgbench::{Messages, RunOptions};
use prony_workload::script::MessageListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Prints the messages of all clients.
pub struct ScriptMessages {
    messages: Messages,
    /// With `--exit-on-abort`: the flag that ends the run.
    end: Option<Arc<AtomicBool>>,
    /// The first client that was aborted.
    first: Mutex<Option<u32>>,
}

impl ScriptMessages {
    /// `end`: the flag that ends the run.
    pub fn new(call: &PgbenchCall, options: &RunOptions, end: Arc<AtomicBool>) -> ScriptMessages {
        ScriptMessages {
            messages: call.messages.clone(),
            end: options.exit_on_abort.then_some(end),
            first: Mutex::new(None),
        }
    }

    /// The first client that was aborted.
    pub fn first_aborted(&self) -> Option<u32> {
        *self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MessageListener for ScriptMessages {
    fn error(&self, text: &str) {
        eprint(&self.messages.error(text));
    }

    fn info(&self, text: &str) {
        eprint(&self.messages.info(text));
    }

    fn print(&self, lines: &str) {
        eprint(lines);
    }

    fn client_aborted(&self, client: u32) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(client);
        drop(first);
        if let Some(end) = &self.end {
            end.store(true, Ordering::Relaxed);
        }
    }
}
