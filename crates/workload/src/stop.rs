//! Lets the user's stop reach statements that are under way.
//!
//! In: the stop flag, the connections at work. Out: requests to cancel. Must never: keep a finished
//! load waiting, or block on a server that does not answer.

use prony_server::control::{Canceller, Control};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How often the flag is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Time until a second request to cancel, doubled each time: the first may have come between two
/// statements, or to a server that does not answer.
const CANCEL_AGAIN: Duration = Duration::from_millis(500);

/// The connections that are to be cancelled when the flag is set.
pub struct Watch<'a> {
    stop: &'a AtomicBool,
    /// Another loader failed, so this load is over.
    failed: AtomicBool,
    cancels: Mutex<Vec<Canceller>>,
}

impl Watch<'_> {
    /// Whether the user asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether to go on: neither stopped nor failed elsewhere.
    pub fn goes_on(&self) -> bool {
        !self.is_stopped() && !self.failed.load(Ordering::Relaxed)
    }

    /// Makes all other loaders give up too.
    pub fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// What this connection does is cancelled when the load is over early.
    pub fn add(&self, control: &Control) {
        self.lock().push(control.canceller());
    }

    fn cancel_all(&self) {
        for cancel in self.lock().iter() {
            let cancel = cancel.clone();
            // On a thread of its own, not waited for: the server may accept and then say nothing.
            // A request that fails changes nothing; the next one follows.
            drop(thread::spawn(move || drop(cancel.cancel())));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Canceller>> {
        self.cancels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs `body`, with a thread beside it that cancels its connections when `stop` is set.
pub fn watched<T>(stop: &AtomicBool, body: impl FnOnce(&Watch<'_>) -> T) -> T {
    let watch = Watch {
        stop,
        failed: AtomicBool::new(false),
        cancels: Mutex::new(Vec::new()),
    };
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut again = CANCEL_AGAIN;
            while !done.load(Ordering::Acquire) {
                if watch.goes_on() {
                    thread::park_timeout(LOOK_EVERY);
                } else {
                    watch.cancel_all();
                    thread::park_timeout(again);
                    again = again.saturating_mul(2);
                }
            }
        });
        // Also when `body` panics: the scope would wait for the watcher for ever.
        let _end = End {
            done: &done,
            watcher: watcher.thread(),
        };
        body(&watch)
    })
}

struct End<'a> {
    done: &'a AtomicBool,
    watcher: &'a thread::Thread,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
        self.watcher.unpark();
    }
}
