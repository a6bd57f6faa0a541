//! A process that somebody else started, known by a descriptor: its number may be another's tomorrow.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

pub struct Watched(OwnedFd);

impl Watched {
    /// None: there is no such process.
    ///
    /// # Errors
    /// Linux is older than 5.3, or no descriptor is left.
    pub fn open(pid: u32) -> io::Result<Option<Watched>> {
        let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
            return Ok(None);
        };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Some(Watched(pidfd))),
            Err(Errno::SRCH) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Readable from the end of the process on.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// TERM. It reaches this process or none.
    ///
    /// # Errors
    /// The process has ended, or is another user's.
    pub fn terminate(&self) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.0, Signal::TERM)?)
    }
}
