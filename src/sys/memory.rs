//! The memory of this process.

use nix::libc;

/// One arena for all threads. A second thread gets one of its own at its first allocation, of 128 KB and several
/// system calls (mallopt(3), M_ARENA_MAX); the two threads of a run do not compete for memory.
pub fn one_arena() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt only stores the number, and no other thread exists yet.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// About what a run allocates; less than what malloc would take from elsewhere than the heap (M_MMAP_THRESHOLD).
const HEAP: usize = 72 * 1024;

/// Gets the pages of the heap in one system call, instead of by one fault for each.
pub fn populate_heap() {
    let room: Vec<u8> = Vec::with_capacity(HEAP);
    populate(room.as_ptr() as usize, HEAP);
}

fn populate(from: usize, length: usize) {
    const PAGE: usize = 4096;
    let start = from.next_multiple_of(PAGE);
    let end = (from + length) / PAGE * PAGE;
    // SAFETY: the pages are this process' own and keep what they hold; before Linux 5.14 it is an error that says so.
    unsafe {
        libc::madvise(
            start as *mut libc::c_void,
            end - start,
            libc::MADV_POPULATE_WRITE,
        );
    }
}
