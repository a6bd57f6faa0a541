//! What the caller gave, noted before any of it is changed.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use nix::libc;
use nix::sys::signal::SigSet;

use super::signals;

static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);
static OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);
static ARGUMENTS: AtomicPtr<c_char> = AtomicPtr::new(std::ptr::null_mut());
static ARGUMENTS_LENGTH: AtomicUsize = AtomicUsize::new(0);

/// To be called first, with the arguments of `main`.
pub fn note(count: c_int, arguments: *const *mut c_char) {
    PIPE_IGNORED.store(signals::is_ignored(libc::SIGPIPE), Ordering::Relaxed);
    // SAFETY: asks for the flags of a descriptor, open or not.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    OUTPUT_CLOSED.store(flags == -1, Ordering::Relaxed);
    note_arguments(count, arguments);
}

/// The caller closed standard output. There is /dev/null now, so that writing to it fails no more.
pub fn output_closed() -> bool {
    OUTPUT_CLOSED.load(Ordering::Relaxed)
}

/// The strings of argv lie one behind the other, and `ps` shows the whole area.
fn note_arguments(count: c_int, arguments: *const *mut c_char) {
    let Some(last) = usize::try_from(count).unwrap_or(0).checked_sub(1) else {
        return;
    };
    // SAFETY: argv holds `count` pointers to strings, valid for the life of the process.
    let first = unsafe { *arguments };
    // SAFETY: `last` is below `count`.
    let last = unsafe { arguments.add(last) };
    // SAFETY: as above.
    let last = unsafe { *last };
    // SAFETY: each argument ends with a NUL.
    let tail = unsafe { CStr::from_ptr(last) }.to_bytes().len();
    let length = (last as usize).wrapping_sub(first as usize) + tail;
    ARGUMENTS.store(first, Ordering::Relaxed);
    ARGUMENTS_LENGTH.store(length, Ordering::Relaxed);
}

/// Shows this process under another name, in `ps` and to `pkill`, by name and by command line.
pub fn rename_process(name: &CStr) {
    // Not being renamed is no reason to fail.
    let _short = nix::sys::prctl::set_name(name);
    let area = ARGUMENTS.load(Ordering::Relaxed);
    let length = ARGUMENTS_LENGTH.load(Ordering::Relaxed);
    if area.is_null() {
        return;
    }
    // SAFETY: the area is this process' own argv, writable, `length` long; the final NUL behind it stays.
    unsafe { std::ptr::write_bytes(area, 0, length) };
    let bytes = name.to_bytes();
    // SAFETY: as above; at most `length` bytes are copied, from elsewhere.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), area, bytes.len().min(length)) };
}

/// What a job has to get back before it is executed.
#[derive(Clone)]
pub struct Caller {
    pub mask: SigSet,
    pub pipe_ignored: bool,
    pub child_ignored: bool,
}

impl Caller {
    pub fn note(mask: SigSet) -> Caller {
        Caller {
            mask,
            pipe_ignored: PIPE_IGNORED.load(Ordering::Relaxed),
            child_ignored: signals::is_ignored(libc::SIGCHLD),
        }
    }
}

/// The environment as it is, entries without `=` included, which `std::env` hides.
pub fn environment() -> Vec<&'static CStr> {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    let mut entries = Vec::new();
    // SAFETY: read while there is one thread, so nobody changes it.
    let mut next = unsafe { environ };
    while !next.is_null() {
        // SAFETY: `next` is inside the array, which ends with a null pointer.
        let entry = unsafe { *next };
        if entry.is_null() {
            break;
        }
        // SAFETY: each entry is a string that ends with a NUL, and stays: nothing here sets a variable.
        entries.push(unsafe { CStr::from_ptr(entry) });
        // SAFETY: the null pointer has not been reached.
        next = unsafe { next.add(1) };
    }
    entries
}
