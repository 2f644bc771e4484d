//! Asking the CPU for memory before it is needed.
//!
//! In: a value. Out: nothing but time. Must never: change anything, or be needed for a result.
//!
//! With hundreds of clients what belongs to one of them has left the CPU's first cache by the time
//! its next reply comes. The replies of a turn are known before the first is handled: what belongs
//! to the next ones is fetched while the one before is at work.

/// Bytes of a line of the CPU's caches.
const LINE_BYTES: usize = 64;

/// Has all of a value fetched into the first cache. Does nothing where no instruction is at hand.
pub fn prefetch<T: ?Sized>(value: &T) {
    let at = std::ptr::from_ref(value).cast::<i8>();
    for offset in (0..size_of_val(value)).step_by(LINE_BYTES) {
        fetch(at.wrapping_add(offset));
    }
}

#[cfg(target_arch = "x86_64")]
fn fetch(at: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: it reads nothing that a program could see, and any address will do.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
}

#[cfg(not(target_arch = "x86_64"))]
fn fetch(_: *const i8) {}
