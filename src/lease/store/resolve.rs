//! From the name of a host to its addresses, within a limit: getaddrinfo(3) has none.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;

use nix::poll::PollFlags;

use super::target::Host;
use super::wire::{Bell, Stop, wait};
use crate::time::Moment;

pub fn resolve(host: &Host, until: Moment, bell: &Bell) -> Result<Vec<SocketAddr>, Stop> {
    // Numbers need no thread, nor any file of the resolver.
    if let Ok(ip) = host.name.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, host.port)]);
    }
    let (ours, theirs) = UnixStream::pair()?;
    let (tell, told) = mpsc::channel();
    let (name, port) = (host.name.clone(), host.port);
    // A look-up that hangs is left behind with its thread: the resolver gives up by itself, and nothing waits for
    // it. The thread's end of the pair closes when it is done, whatever the outcome.
    std::thread::Builder::new()
        .name("resolver".to_owned())
        .spawn(move || {
            let found = (name.as_str(), port)
                .to_socket_addrs()
                .map(|found| found.collect::<Vec<_>>());
            drop(tell.send(found));
            drop(theirs);
        })?;
    wait(ours.as_fd(), PollFlags::POLLIN, until, bell)?;
    let found = told
        .try_recv()
        .map_err(|_| io::Error::other("the look-up of the name failed"))??;
    if found.is_empty() {
        return Err(io::Error::other("the name has no address").into());
    }
    Ok(found)
}
