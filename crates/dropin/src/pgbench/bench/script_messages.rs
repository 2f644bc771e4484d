//! Prints the messages of clients on stderr as they occur, from all workers.
//!
//! Must never: interleave two messages.

use super::super::call::PgbenchCall;
use crate::output::{eprint, lock};
use prony_dialect::pgbench::{Messages, RunOptions};
use prony_workload::script::MessageListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Prints the messages of all clients.
pub struct ScriptMessages {
    messages: Messages,
    /// The flag that ends the run; `None` without `--exit-on-abort`.
    stop_flag: Option<Arc<AtomicBool>>,
    /// The first client that was aborted.
    first_aborted: Mutex<Option<u32>>,
}

impl ScriptMessages {
    /// `stop_flag`: ends the run when it is set.
    pub fn new(
        call: &PgbenchCall,
        options: &RunOptions,
        stop_flag: Arc<AtomicBool>,
    ) -> ScriptMessages {
        ScriptMessages {
            messages: call.messages.clone(),
            stop_flag: options.exit_on_abort.then_some(stop_flag),
            first_aborted: Mutex::new(None),
        }
    }

    /// The first client that was aborted.
    pub fn first_aborted(&self) -> Option<u32> {
        *lock(&self.first_aborted)
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
        lock(&self.first_aborted).get_or_insert(client);
        if let Some(stop_flag) = &self.stop_flag {
            stop_flag.store(true, Ordering::Relaxed);
        }
    }
}
