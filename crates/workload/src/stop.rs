//! Cancels running statements when the user requests a stop.
//!
//! Polls the stop flag, and cancels the statements of the registered connections. Must never delay a finished
//! load, or block on a server that does not answer.

use crate::parallel::lock;
use prony_server::control::{Canceller, Control};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Time until the cancel requests are repeated for the first time; it doubles each time. A request has no
/// effect if it arrives between two statements, or if the server does not answer it.
const FIRST_CANCEL_RETRY_DELAY: Duration = Duration::from_millis(500);

/// The connections to cancel when the flag is set.
pub struct StopWatcher<'a> {
    stop: &'a AtomicBool,
    /// Whether a loader has failed, which ends the load.
    has_failed: AtomicBool,
    cancellers: Mutex<Vec<Canceller>>,
}

impl StopWatcher<'_> {
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether to continue: no stop was requested, and no loader has failed.
    pub fn should_continue(&self) -> bool {
        !self.is_stopped() && !self.has_failed.load(Ordering::Relaxed)
    }

    /// Records that a loader has failed, so that the others stop too.
    pub fn report_failure(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// Registers a connection: its statement is cancelled if the load ends early.
    pub fn register(&self, control: &Control) {
        self.lock_cancellers().push(control.canceller());
    }

    fn cancel_all(&self) {
        for canceller in self.lock_cancellers().iter() {
            let canceller = canceller.clone();
            // Each request runs on its own thread, which is never joined, because the server may accept the
            // connection and then not respond. The next call repeats a request that failed.
            drop(thread::spawn(move || drop(canceller.cancel())));
        }
    }

    fn lock_cancellers(&self) -> std::sync::MutexGuard<'_, Vec<Canceller>> {
        lock(&self.cancellers)
    }
}

/// Runs `body`, and a thread that cancels the statements of the registered connections when `stop` is set or
/// a loader fails.
pub fn with_stop_watcher<T>(stop: &AtomicBool, body: impl FnOnce(&StopWatcher<'_>) -> T) -> T {
    let watcher = StopWatcher {
        stop,
        has_failed: AtomicBool::new(false),
        cancellers: Mutex::new(Vec::new()),
    };
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let cancelling_thread = scope.spawn(|| {
            let mut delay = FIRST_CANCEL_RETRY_DELAY;
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
        // The guard ends the cancelling thread even if `body` panics; otherwise the scope would wait for it
        // forever.
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
