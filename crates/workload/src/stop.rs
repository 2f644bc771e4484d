//! Cancels running statements when the user requests a stop.
//!
//! Polls the stop flag, and cancels the statements of the registered connections. Must never delay a finished
//! load, or block on a server that does not answer.

use prony_server::control::{Canceller, Control};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Polling interval of the flag.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Time until the cancel request is repeated; it doubles each time. The first request may have arrived between
/// two statements, or the server may not have answered.
const CANCEL_RETRY_DELAY: Duration = Duration::from_millis(500);

/// The connections to cancel when the flag is set.
pub struct StopWatcher<'a> {
    stop: &'a AtomicBool,
    /// A loader has failed, which ends the load.
    failed: AtomicBool,
    cancellers: Mutex<Vec<Canceller>>,
}

impl StopWatcher<'_> {
    /// Whether the user requested a stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether to continue: no stop was requested, and no loader has failed.
    pub fn should_continue(&self) -> bool {
        !self.is_stopped() && !self.failed.load(Ordering::Relaxed)
    }

    /// Makes all other loaders stop too.
    pub fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Registers a connection: its statement is cancelled if the load ends early.
    pub fn add(&self, control: &Control) {
        self.lock().push(control.canceller());
    }

    fn cancel_all(&self) {
        for canceller in self.lock().iter() {
            let canceller = canceller.clone();
            // On a separate thread that nobody waits for: the server may accept the connection and
            // then not respond. A failed request is repeated by the next one.
            drop(thread::spawn(move || drop(canceller.cancel())));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Canceller>> {
        self.cancellers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs `body`, and a thread that cancels its connections when `stop` is set.
pub fn with_stop_watcher<T>(stop: &AtomicBool, body: impl FnOnce(&StopWatcher<'_>) -> T) -> T {
    let watcher = StopWatcher {
        stop,
        failed: AtomicBool::new(false),
        cancellers: Mutex::new(Vec::new()),
    };
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let cancelling_thread = scope.spawn(|| {
            let mut delay = CANCEL_RETRY_DELAY;
            while !done.load(Ordering::Acquire) {
                if watcher.should_continue() {
                    thread::park_timeout(POLL_INTERVAL);
                } else {
                    watcher.cancel_all();
                    thread::park_timeout(delay);
                    delay = delay.saturating_mul(2);
                }
            }
        });
        // Also if `body` panics: otherwise the scope would wait forever for that thread.
        let _guard = FinishGuard {
            done: &done,
            cancelling_thread: cancelling_thread.thread(),
        };
        body(&watcher)
    })
}

struct FinishGuard<'a> {
    done: &'a AtomicBool,
    cancelling_thread: &'a thread::Thread,
}

impl Drop for FinishGuard<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
        self.cancelling_thread.unpark();
    }
}
