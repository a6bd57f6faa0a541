//! A bell between the keeper and the supervising thread, which waits for descriptors and not for channels.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use nix::sys::eventfd::{EfdFlags, EventFd};

#[derive(Clone)]
pub struct Wake(Arc<EventFd>);

impl Wake {
    /// # Errors
    /// No descriptor is left.
    pub fn new() -> io::Result<Wake> {
        let bell = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Wake(Arc::new(bell)))
    }

    pub fn notify(&self) {
        // It fails only when 2^64 - 2 calls were not answered, and then the bell rings anyway.
        let _rung = self.0.write(1);
    }

    pub fn drain(&self) {
        let _silent = self.0.read();
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
