//! Which descriptors a process keeps. One that keeps its job's hides their end from the job's neighbours.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Puts /dev/null in the place of standard input and output, and closes everything else above standard error but `keep`.
///
/// # Errors
/// /dev/null cannot be opened.
pub fn keep_only(keep: &[RawFd]) -> io::Result<()> {
    let null = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_CLOEXEC)
        .open("/dev/null")?;
    for standard in [libc::STDIN_FILENO, libc::STDOUT_FILENO] {
        // SAFETY: 0 and 1 are open (`entry` sees to it), and nothing owns them as a Rust value.
        Errno::result(unsafe { libc::dup2(null.as_raw_fd(), standard) })?;
    }
    drop(null);
    let mut keep: Vec<RawFd> = keep.iter().copied().filter(|fd| *fd > 2).collect();
    keep.sort_unstable();
    let mut from = 3;
    for kept in keep {
        if kept > from {
            close_range(from, kept - 1);
        }
        from = from.max(kept + 1);
    }
    close_range(from, RawFd::MAX);
    Ok(())
}

/// Puts /dev/null in the place of standard error, for a process that nobody listens to any more.
///
/// # Errors
/// /dev/null cannot be opened.
pub fn silence() -> io::Result<()> {
    let null = OpenOptions::new().write(true).open("/dev/null")?;
    // SAFETY: 2 is open (`entry` sees to it), and nothing owns it as a Rust value.
    Errno::result(unsafe { libc::dup2(null.as_raw_fd(), libc::STDERR_FILENO) })?;
    Ok(())
}

fn close_range(first: RawFd, last: RawFd) {
    // SAFETY: the caller keeps every descriptor that a Rust value owns.
    let answer = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    if answer == 0 {
        return;
    }
    // Before Linux 5.9, or forbidden by a filter.
    let open: Vec<RawFd> = std::fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|fd| (first..=last).contains(fd))
        .collect();
    for fd in open {
        // SAFETY: as above; the folder's own descriptor is closed by now, and closing it again is an error only.
        unsafe { libc::close(fd) };
    }
}

/// Waits until one of them can be read or is closed, at most `limit_ms` if given; says which.
pub fn wait_for(descriptors: &[BorrowedFd<'_>], limit_ms: Option<u16>) -> Vec<bool> {
    let mut polled: Vec<PollFd<'_>> = descriptors
        .iter()
        .map(|fd| PollFd::new(*fd, PollFlags::POLLIN))
        .collect();
    let limit = limit_ms.map_or(PollTimeout::NONE, PollTimeout::from);
    // An interruption counts as a wake-up without a reason.
    let ready = poll(&mut polled, limit).is_ok_and(|count| count > 0);
    polled
        .iter()
        .map(|fd| ready && fd.any().unwrap_or(false))
        .collect()
}
