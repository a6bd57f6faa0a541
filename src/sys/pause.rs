//! Waiting for a file descriptor or for a moment, whichever is first.

use std::os::fd::BorrowedFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::time::Moment;

/// Waits until one of `fds` is readable (or hung up), or `until` has come. True: readable.
///
/// poll(2) counts CLOCK_MONOTONIC, which stands still in a suspended machine, and rounds to milliseconds: the
/// moment is looked at again after each return.
pub fn until_readable(fds: &[BorrowedFd<'_>], until: Moment) -> bool {
    loop {
        let left = until.remaining(Moment::now());
        let millis = i32::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX);
        let mut set: Vec<PollFd<'_>> = fds
            .iter()
            .map(|fd| PollFd::new(*fd, PollFlags::POLLIN))
            .collect();
        let timeout = PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX);
        match poll(&mut set, timeout) {
            Ok(ready) if ready > 0 => return true,
            // An interrupted call, and a moment that is not there yet, are waited out; another error cannot be
            // mended by waiting for a readable fd, so that only the time is waited for.
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(_) => std::thread::sleep(left),
        }
        if until.passed(Moment::now()) {
            return false;
        }
    }
}
