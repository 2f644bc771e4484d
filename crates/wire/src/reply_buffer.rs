//! Buffers of a reply, which are reused for the next reply, and the limit of their memory.

use crate::violation::Violation;

/// A buffer with a larger capacity, in elements, is freed before the next reply.
pub(crate) const MAX_RETAINED_CAPACITY: usize = 64 * 1024;

/// Most bytes of a reply besides its rows, if its rows are limited, and of settings that PostgreSQL reports with any. The
/// largest honest ones are the descriptions of the columns of many results.
pub(crate) const OTHER_BYTES_MAX: usize = 64 << 20;

/// How many bytes a reply keeps if they are rows. Once a row does not fit, it and all later rows are counted and dropped
/// as they arrive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowBudget {
    max_bytes: usize,
    /// Rows up to this offset in the reply's buffer fit: `max_bytes`, and 0 once a row did not.
    end_max: usize,
}

impl Default for RowBudget {
    fn default() -> Self {
        RowBudget {
            max_bytes: usize::MAX,
            end_max: usize::MAX,
        }
    }
}

impl RowBudget {
    /// Keeps rows up to this many bytes, of this reply and the next ones.
    pub(crate) fn limit(&mut self, max_bytes: usize) {
        if !self.has_dropped() {
            self.end_max = max_bytes;
        }
        self.max_bytes = max_bytes;
    }

    /// Begins a reply.
    pub(crate) fn begin(&mut self) {
        self.end_max = self.max_bytes;
    }

    pub(crate) fn has_dropped(&self) -> bool {
        self.end_max < self.max_bytes
    }

    /// Messages up to this offset in a buffer of this length are complete and kept, whatever they are.
    #[inline]
    pub(crate) fn end_of_kept(&self, buffered: usize) -> usize {
        buffered.min(self.end_max)
    }

    /// Whether rows must be dropped from a buffer of this length. Checked first, because most replies are short.
    #[inline]
    pub(crate) fn is_exceeded(&self, buffered: usize) -> bool {
        buffered > self.end_max
    }

    /// Admits a row that ends at this offset. Returns false if it does not fit: the caller must drop it, and no later row
    /// is admitted.
    pub(crate) fn admit(&mut self, end: usize) -> bool {
        let fits = end <= self.end_max;
        if !fits {
            self.end_max = 0;
        }
        fits
    }

    /// Checks that a reply of at least this length is not too long even without its rows.
    #[inline]
    pub(crate) fn check(&self, min_bytes: usize) -> Result<(), Violation> {
        if min_bytes > self.max_bytes.saturating_add(OTHER_BYTES_MAX) {
            Err(Violation::TooLong { min_bytes })
        } else {
            Ok(())
        }
    }
}

/// Clears a buffer; frees it if one long reply has made it large.
pub(crate) fn clear<T>(buffer: &mut Vec<T>) {
    buffer.clear();
    if buffer.capacity() > MAX_RETAINED_CAPACITY {
        *buffer = Vec::new();
    }
}

/// Removes the first `parsed` bytes, which belong to the previous reply. Returns whether unparsed bytes
/// remain.
pub(crate) fn remove_parsed(bytes: &mut Vec<u8>, parsed: usize) -> bool {
    if parsed == bytes.len() {
        clear(bytes);
    } else {
        bytes.drain(..parsed);
    }
    !bytes.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unparsed_bytes_remain_and_large_buffers_are_freed() {
        let mut bytes = b"parsed, not parsed".to_vec();
        assert!(remove_parsed(&mut bytes, 8));
        assert_eq!(bytes, b"not parsed");
        assert!(!remove_parsed(&mut bytes, 10));
        assert!(
            bytes.is_empty() && bytes.capacity() > 0,
            "the memory is kept"
        );
        bytes.resize(MAX_RETAINED_CAPACITY + 1, 0);
        let length = bytes.len();
        assert!(!remove_parsed(&mut bytes, length));
        assert_eq!(bytes.capacity(), 0, "the memory is freed");
    }
}
