//! The line between redlease and its guard: whole messages, and an end that shows when the other process dies.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, socketpair};

/// Longer messages are refused: the only long one carries the additions to the job's environment.
pub const LONGEST: usize = 128 * 1024;

pub struct Channel(OwnedFd);

pub enum Received {
    Message(Vec<u8>),
    Nothing,
    /// The other end is closed: its process is gone.
    End,
}

impl Channel {
    /// # Errors
    /// No descriptor is left.
    pub fn pair() -> io::Result<(Channel, Channel)> {
        let (ours, theirs) = socketpair(
            AddressFamily::Unix,
            SockType::SeqPacket,
            None,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
        )?;
        Ok((Channel(ours), Channel(theirs)))
    }

    /// Never blocks, so that a process that hangs cannot hang the other.
    ///
    /// # Errors
    /// The other end is gone, its queue is full, or the message is too long.
    pub fn send(&self, message: &[u8]) -> io::Result<()> {
        if message.len() > LONGEST {
            return Err(Errno::EMSGSIZE.into());
        }
        send(self.0.as_raw_fd(), message, MsgFlags::MSG_NOSIGNAL)?;
        Ok(())
    }

    pub fn receive(&self) -> Received {
        loop {
            // The length first, so that a short message does not cost the memory of the longest.
            let peek = MsgFlags::MSG_PEEK | MsgFlags::MSG_TRUNC;
            let received = recv(self.0.as_raw_fd(), &mut [], peek).and_then(|length| {
                let mut message = vec![0; length];
                recv(self.0.as_raw_fd(), &mut message, MsgFlags::empty())?;
                Ok(message)
            });
            match received {
                Ok(message) if message.is_empty() => return Received::End,
                Ok(message) => return Received::Message(message),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Received::Nothing,
                Err(_) => return Received::End,
            }
        }
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
