//! Runs the work of a load on several connections: splits rows into ranges, queues work, and starts threads.
//! If one loader fails, the others must stop.

use crate::stop::StopWatcher;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Splits `rows` row numbers into at most `parts` non-empty ranges of nearly equal size.
pub fn split_rows(rows: u64, parts: u32) -> Vec<Range<u64>> {
    let parts = u64::from(parts).min(rows.max(1));
    let bound = |part| {
        // Computed with 128 bits, because the product may exceed 64 bits.
        (u128::from(rows) * u128::from(part) / u128::from(parts)) as u64
    };
    (0..parts)
        .map(|part| bound(part)..bound(part + 1))
        .collect()
}

/// Pieces of work that several loaders take from a queue.
pub struct WorkQueue<'a, W> {
    pieces: &'a [W],
    next_index: AtomicUsize,
}

impl<'a, W> WorkQueue<'a, W> {
    pub fn new(pieces: &'a [W]) -> Self {
        WorkQueue {
            pieces,
            next_index: AtomicUsize::new(0),
        }
    }

    /// The next piece; `None` if all have been taken.
    pub fn take_next(&self) -> Option<&'a W> {
        self.pieces
            .get(self.next_index.fetch_add(1, Ordering::Relaxed))
    }
}

/// Locks a value that is valid even if a thread that changed it has panicked.
pub fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `body` for each piece of work on a separate thread. If one fails, stops the others and returns its
/// error.
pub fn run_concurrently<W: Send, E: Send>(
    watcher: &StopWatcher<'_>,
    work: Vec<W>,
    body: impl Fn(W) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let first_error = Mutex::new(None);
    thread::scope(|scope| {
        for piece in work {
            let (body, first_error) = (&body, &first_error);
            scope.spawn(move || {
                if let Err(error) = body(piece) {
                    let mut recorded = lock(first_error);
                    recorded.get_or_insert(error);
                    drop(recorded);
                    watcher.report_failure();
                }
            });
        }
    });
    let error = first_error.into_inner();
    error
        .unwrap_or_else(PoisonError::into_inner)
        .map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::with_stop_watcher;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn ranges_cover_all_rows() {
        for (rows, parts) in [
            (100_000, 1),
            (100_000, 3),
            (7, 7),
            (5, 9),
            (2_147_483_640_000, 1000),
        ] {
            let ranges = split_rows(rows, parts);
            assert_eq!(ranges.first().map(|range| range.start), Some(0));
            assert_eq!(ranges.last().map(|range| range.end), Some(rows));
            assert!(ranges.iter().all(|range| range.start < range.end));
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            let sizes = ranges.iter().map(|range| range.end - range.start);
            assert!(sizes.clone().max().expect("not empty") - sizes.min().expect("not empty") <= 1);
        }
    }

    #[test]
    fn the_first_error_is_returned_and_stops_the_others() {
        let stop = AtomicBool::new(false);
        let outcome = with_stop_watcher(&stop, |watcher| {
            run_concurrently(watcher, vec![1, 2, 3], |piece| {
                if piece == 2 {
                    return Err("piece 2");
                }
                while watcher.should_continue() {
                    thread::yield_now();
                }
                Err("a later piece")
            })
        });
        // The other pieces fail only after the error of piece 2 has been recorded.
        assert_eq!(outcome, Err("piece 2"));
    }
}
