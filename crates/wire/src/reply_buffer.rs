//! Buffers of a reply, which are reused for the next reply.

/// A buffer with a larger capacity, in elements, is freed before the next reply.
pub(crate) const MAX_RETAINED_CAPACITY: usize = 64 * 1024;

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
