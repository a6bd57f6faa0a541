//! A socket whose every wait is bounded by `CLOCK_BOOTTIME` and can be ended by another descriptor. The timeouts
//! of the library and of the kernel are per call, and so a server that sends one byte at a time outlasts them.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrLike, SockaddrStorage, UnixAddr, connect,
    getsockopt, setsockopt, socket, sockopt,
};

use crate::time::Moment;

/// Readable means: end what waits.
pub type Bell = Option<Arc<OwnedFd>>;

/// Why a wait, a read or a write came to nothing.
#[derive(Debug)]
pub enum Stop {
    Time,
    Bell,
    Io(io::Error),
    Tls(Box<rustls::Error>),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Io(error)
    }
}

impl From<Errno> for Stop {
    fn from(errno: Errno) -> Stop {
        Stop::Io(errno.into())
    }
}

// poll(2) counts by a clock that stands still while the machine is suspended, so that the moment is looked at
// again at least this often.
const LONGEST_POLL: Duration = Duration::from_millis(500);

/// Waits until `fd` is ready for `what`. A ready socket wins over the bell: an answer that is there is not thrown
/// away.
pub fn wait(fd: BorrowedFd<'_>, what: PollFlags, until: Moment, bell: &Bell) -> Result<(), Stop> {
    loop {
        let remaining = until.remaining(Moment::now());
        // Rounded up, or the last millisecond would be spent in a busy loop.
        let limit = remaining.min(LONGEST_POLL) + Duration::from_micros(999);
        let limit = PollTimeout::try_from(limit).unwrap_or(PollTimeout::ZERO);
        let mut fds = [PollFd::new(fd, what), PollFd::new(fd, PollFlags::empty())];
        let count = match bell {
            Some(bell) => {
                fds[1] = PollFd::new(bell.as_fd(), PollFlags::POLLIN);
                2
            }
            None => 1,
        };
        match poll(&mut fds[..count], limit) {
            // A signal, or Ctrl-Z and fg: it says nothing about the socket.
            Err(Errno::EINTR) => continue,
            Err(errno) => return Err(errno.into()),
            Ok(_) => {}
        }
        // Errors and hang-ups count as ready: the read or write that follows says what it is.
        if fds[0].any().unwrap_or(true) {
            return Ok(());
        }
        if count == 2 && fds[1].any().unwrap_or(true) {
            return Err(Stop::Bell);
        }
        if remaining.is_zero() {
            return Err(Stop::Time);
        }
    }
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

#[derive(Debug)]
pub struct Wire {
    socket: Socket,
    bell: Bell,
}

impl Wire {
    pub fn tcp(address: SocketAddr, until: Moment, bell: &Bell) -> Result<Wire, Stop> {
        let family = match address {
            SocketAddr::V4(_) => AddressFamily::Inet,
            SocketAddr::V6(_) => AddressFamily::Inet6,
        };
        let fd = reach(family, &SockaddrStorage::from(address), until, bell)?;
        // Options of comfort: without them the connection still works.
        let keepalive = setsockopt(&fd, sockopt::KeepAlive, &true);
        let stream = TcpStream::from(fd);
        let nodelay = stream.set_nodelay(true);
        drop((keepalive, nodelay));
        Ok(Wire {
            socket: Socket::Tcp(stream),
            bell: bell.clone(),
        })
    }

    pub fn unix(path: &Path, until: Moment, bell: &Bell) -> Result<Wire, Stop> {
        let fd = reach(AddressFamily::Unix, &UnixAddr::new(path)?, until, bell)?;
        Ok(Wire {
            socket: Socket::Unix(UnixStream::from(fd)),
            bell: bell.clone(),
        })
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
    }

    /// What can be written now, without waiting.
    pub fn push(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            // std sends with MSG_NOSIGNAL: whatever SIGPIPE is set to, a closed connection is an error here.
            let sent = match &mut self.socket {
                Socket::Tcp(stream) => stream.write(bytes),
                Socket::Unix(stream) => stream.write(bytes),
            };
            match sent {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => return other,
            }
        }
    }

    /// Writes all of it. `begun` tells afterwards whether a part may have left.
    pub fn send(&mut self, bytes: &[u8], until: Moment, begun: &mut bool) -> Result<(), Stop> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.push(rest) {
                Ok(count) => {
                    *begun = true;
                    rest = rest.get(count..).unwrap_or_default();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait(self.fd(), PollFlags::POLLOUT, until, &self.bell)?;
                }
                Err(error) => return Err(error.into()),
            }
            // A peer that takes one byte at a time must not stretch the limit.
            if !rest.is_empty() && until.passed(Moment::now()) {
                return Err(Stop::Time);
            }
        }
        Ok(())
    }

    /// Waits for something and reads it; zero is the end of the stream.
    pub fn receive(&mut self, into: &mut [u8], until: Moment) -> Result<usize, Stop> {
        loop {
            wait(self.fd(), PollFlags::POLLIN, until, &self.bell)?;
            let got = match &mut self.socket {
                Socket::Tcp(stream) => stream.read(into),
                Socket::Unix(stream) => stream.read(into),
            };
            match got {
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
                    ) => {}
                Err(error) => return Err(error.into()),
                Ok(count) => return Ok(count),
            }
        }
    }
}

/// A connected socket that never blocks and that no job inherits.
fn reach(
    family: AddressFamily,
    address: &dyn SockaddrLike,
    until: Moment,
    bell: &Bell,
) -> Result<OwnedFd, Stop> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let fd = socket(family, SockType::Stream, flags, None)?;
    match connect(fd.as_raw_fd(), address) {
        Ok(()) => return Ok(fd),
        // After EINTR the connecting goes on, as with EINPROGRESS (connect(2)).
        Err(Errno::EINPROGRESS | Errno::EINTR) => {}
        Err(errno) => return Err(errno.into()),
    }
    wait(fd.as_fd(), PollFlags::POLLOUT, until, bell)?;
    match getsockopt(&fd, sockopt::SocketError)? {
        0 => Ok(fd),
        code => Err(Errno::from_raw(code).into()),
    }
}
