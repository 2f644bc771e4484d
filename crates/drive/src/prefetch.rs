//! Prefetches memory into the CPU's cache. It affects only speed, never a result.
//!
//! With hundreds of clients, the state of a client has left the CPU's first cache by the time its next reply
//! arrives. All replies of an iteration are known before the first one is handled: while one is handled, the
//! state of clients with later replies is fetched.

/// Size of a cache line, bytes.
const LINE_BYTES: usize = 64;

/// Prefetches a whole value into the first cache. Does nothing on CPUs whose prefetch instruction is not
/// implemented here.
pub fn prefetch<T: ?Sized>(value: &T) {
    let address = std::ptr::from_ref(value).cast::<i8>();
    for offset in (0..size_of_val(value)).step_by(LINE_BYTES) {
        fetch(address.wrapping_add(offset));
    }
}

#[cfg(target_arch = "x86_64")]
fn fetch(address: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction has no effect that a program can observe, and allows any address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
}

#[cfg(not(target_arch = "x86_64"))]
fn fetch(_: *const i8) {}
