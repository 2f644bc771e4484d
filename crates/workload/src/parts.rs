//! Work that several connections do at the same time.
//!
//! In: rows to divide, pieces of work. Out: ranges; all pieces done, or the first error. Must never:
//! leave a loader at work when another has failed.

use crate::stop::Watch;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Ranges of `rows` row numbers, as even as can be, none empty.
pub fn split(rows: u64, parts: u32) -> Vec<Range<u64>> {
    let parts = u64::from(parts).min(rows.max(1));
    let bound = |part| {
        // At most 2^31 accounts a branch-scale of 2^28: u128 keeps the product exact.
        (u128::from(rows) * u128::from(part) / u128::from(parts)) as u64
    };
    (0..parts)
        .map(|part| bound(part)..bound(part + 1))
        .collect()
}

/// Pieces of work from which several loaders take one after the other.
pub struct Queue<'a, W> {
    work: &'a [W],
    next: AtomicUsize,
}

impl<'a, W> Queue<'a, W> {
    /// All of them are to be done, in this order.
    pub fn new(work: &'a [W]) -> Self {
        Queue {
            work,
            next: AtomicUsize::new(0),
        }
    }

    /// The next one; `None` when all were taken.
    pub fn next(&self) -> Option<&'a W> {
        self.work.get(self.next.fetch_add(1, Ordering::Relaxed))
    }
}

/// Does each piece of work on a thread of its own, all at the same time. If one fails, the others are
/// cancelled, and its error is the one that counts.
///
/// # Errors
/// The first one.
pub fn together<W: Send, E: Send>(
    watch: &Watch<'_>,
    work: Vec<W>,
    body: impl Fn(W) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let first_error = Mutex::new(None);
    thread::scope(|scope| {
        for piece in work {
            let (body, first_error) = (&body, &first_error);
            scope.spawn(move || {
                if let Err(error) = body(piece) {
                    let mut first = first_error.lock().unwrap_or_else(PoisonError::into_inner);
                    first.get_or_insert(error);
                    drop(first);
                    watch.fail();
                }
            });
        }
    });
    let first = first_error.into_inner();
    first
        .unwrap_or_else(PoisonError::into_inner)
        .map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::watched;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn parts_tile_the_rows() {
        for (rows, parts) in [
            (100_000, 1),
            (100_000, 3),
            (7, 7),
            (5, 9),
            (2_147_483_640_000, 1000),
        ] {
            let ranges = split(rows, parts);
            assert_eq!(ranges.first().map(|range| range.start), Some(0));
            assert_eq!(ranges.last().map(|range| range.end), Some(rows));
            assert!(ranges.iter().all(|range| range.start < range.end));
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            let sizes = ranges.iter().map(|range| range.end - range.start);
            assert!(sizes.clone().max().expect("some") - sizes.min().expect("some") <= 1);
        }
    }

    #[test]
    fn the_first_error_counts_and_ends_the_others() {
        let stop = AtomicBool::new(false);
        let outcome = watched(&stop, |watch| {
            together(watch, vec![1, 2, 3], |piece| {
                if piece == 2 {
                    return Err("the second");
                }
                while watch.goes_on() {
                    thread::yield_now();
                }
                Err("a later one")
            })
        });
        // The others only go on to fail once the second has been noted.
        assert_eq!(outcome, Err("the second"));
    }
}
