//! The allocator.

/// One arena for all threads. A second thread gets one of its own at its first allocation, of 128 KB and several
/// system calls (mallopt(3), M_ARENA_MAX); the two threads of a run do not compete for memory.
pub fn one_arena() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt only stores the number, and no other thread exists yet.
    unsafe {
        nix::libc::mallopt(nix::libc::M_ARENA_MAX, 1);
    }
}
