//! Counts the allocations of each thread, for tests.
//!
//! A program that links this crate uses its allocator. The crate must only be a dev-dependency, because
//! counting makes each allocation slower.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct CountingAllocator;

thread_local! {
    // Initialised at compile time, so that counting itself does not allocate.
    static ALLOCATION_COUNT: Cell<u64> = const { Cell::new(0) };
    static ALLOCATED_BYTES: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATION_COUNT.set(ALLOCATION_COUNT.get() + 1);
        add_bytes(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add_bytes(layout.size().wrapping_neg());
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATION_COUNT.set(ALLOCATION_COUNT.get() + 1);
        add_bytes(size.wrapping_sub(layout.size()));
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Adds to the bytes of this thread, which may have freed what another one allocated.
fn add_bytes(bytes: usize) {
    ALLOCATED_BYTES.set(ALLOCATED_BYTES.get().wrapping_add(bytes));
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Number of allocations of this thread so far; a reallocation counts as one, and freeing does not subtract.
pub fn allocations() -> u64 {
    ALLOCATION_COUNT.get()
}

/// Bytes that this thread has allocated and not freed.
pub fn allocated_bytes() -> usize {
    ALLOCATED_BYTES.get()
}

/// Number of allocations that `work` makes on this thread.
pub fn allocations_of(work: impl FnOnce()) -> u64 {
    let before = allocations();
    work();
    allocations() - before
}
