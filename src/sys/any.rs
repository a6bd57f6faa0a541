//! One descriptor that is readable as soon as one of several is, for those who can wait for one only.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};

/// # Errors
/// No descriptor is left.
pub fn any(descriptors: &[BorrowedFd<'_>]) -> io::Result<OwnedFd> {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    for descriptor in descriptors {
        epoll.add(descriptor, EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
    }
    // A copy, since the wrapper does not give its own away.
    epoll.0.as_fd().try_clone_to_owned()
}
