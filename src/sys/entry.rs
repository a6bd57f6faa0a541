//! How the process begins: as the C library calls it, without the start of the Rust runtime before.
//!
//! The runtime ignores SIGPIPE and opens the standard streams that are closed, which has to be noted first; and it
//! reads /proc/self/maps for the handler of a stack that overflows, which is several percent of a short run. What of it
//! is needed is done here.

use std::ffi::{c_char, c_int};

use nix::libc;

use super::{caller, signals};

/// Makes the function the program, with its exit code as the answer. Nothing is flushed at the end.
macro_rules! entry {
    ($program:path) => {
        #[cfg_attr(
            not(test),
            expect(
                unsafe_code,
                reason = "the name that the C library calls must not be mangled"
            ),
            unsafe(no_mangle)
        )]
        extern "C" fn main(
            count: std::ffi::c_int,
            arguments: *const *mut std::ffi::c_char,
        ) -> std::ffi::c_int {
            $crate::sys::entry::begin(count, arguments);
            std::ffi::c_int::from($program())
        }
    };
}
pub(crate) use entry;

/// To be called once, first, with the arguments of `main`.
pub fn begin(count: c_int, arguments: *const *mut c_char) {
    caller::note(count, arguments);
    open_standard_streams();
    // A write to a closed pipe is an error that is told, not a death in the middle of a run.
    signals::set_ignored(libc::SIGPIPE);
}

/// Or the next file that is opened would be taken for standard error.
fn open_standard_streams() {
    for stream in [libc::STDIN_FILENO, libc::STDOUT_FILENO, libc::STDERR_FILENO] {
        // SAFETY: asks for the flags of a descriptor, open or not.
        if unsafe { libc::fcntl(stream, libc::F_GETFD) } == -1 {
            // SAFETY: the path is a string that ends with a NUL. The lowest number is taken, which is this one; where
            // there is no /dev/null, what is written comes to nothing as it would have.
            unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) };
        }
    }
}
