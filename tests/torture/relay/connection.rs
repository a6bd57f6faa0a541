//! One client, the server connection that belongs to it, and what is on the way between them.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use nix::poll::{PollFd, PollFlags};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

use super::super::history::{Ask, MS, Ns};
use super::super::random::Random;
use super::Weather;
use super::wire;
use crate::harness::now;

/// Bytes that wait for their time, and the asks that they are about.
struct Parcel {
    due: Ns,
    bytes: Vec<u8>,
    asks: Vec<usize>,
    /// The connection ends instead of, or after, these bytes.
    then_cut: bool,
    swallowed: bool,
}

pub struct Connection {
    client: Option<UnixStream>,
    server: Option<UnixStream>,
    pid: u32,
    from_client: Vec<u8>,
    from_server: Vec<u8>,
    up: VecDeque<Parcel>,
    down: VecDeque<Parcel>,
    /// Requests that the server has not answered: the asks of each, and what is to happen to the reply.
    open: VecDeque<Parcel>,
    subscribed: bool,
}

impl Connection {
    pub fn new(client: UnixStream, server: UnixStream) -> io::Result<Connection> {
        client.set_nonblocking(true)?;
        server.set_nonblocking(true)?;
        let pid = getsockopt(&client, PeerCredentials)?.pid();
        Ok(Connection {
            client: Some(client),
            server: Some(server),
            pid: u32::try_from(pid).unwrap_or(0),
            from_client: Vec::new(),
            from_server: Vec::new(),
            up: VecDeque::new(),
            down: VecDeque::new(),
            open: VecDeque::new(),
            subscribed: false,
        })
    }

    /// A client that has gone does not stop what it sent from being executed.
    pub fn over(&self) -> bool {
        self.server.is_none()
            || (self.client.is_none() && self.up.is_empty() && self.open.is_empty())
    }

    pub fn due(&self) -> Option<Ns> {
        let next = [self.up.front(), self.down.front()];
        next.into_iter().flatten().map(|parcel| parcel.due).min()
    }

    pub fn watch<'a>(&'a self, at: Ns, fds: &mut Vec<PollFd<'a>>) {
        for (stream, queue) in [(&self.client, &self.down), (&self.server, &self.up)] {
            let Some(stream) = stream else { continue };
            let mut flags = PollFlags::POLLIN;
            if queue.front().is_some_and(|parcel| parcel.due <= at) {
                flags |= PollFlags::POLLOUT;
            }
            fds.push(PollFd::new(stream.as_fd(), flags));
        }
    }

    pub fn turn(&mut self, weather: &Weather, random: &mut Random, asks: &mut Vec<Ask>) {
        if !read(&mut self.client, &mut self.from_client) {
            self.client = None;
        }
        while let Some((words, length)) = wire::request(&self.from_client) {
            let bytes = self.from_client.drain(..length).collect();
            self.requested(&words, bytes, weather, random, asks);
        }
        let server = read(&mut self.server, &mut self.from_server);
        self.answered(weather, random, asks);
        if !server {
            self.server = None;
            self.client = None;
        }
        self.forward(asks);
        self.deliver(asks);
    }

    fn requested(
        &mut self,
        words: &[Vec<u8>],
        bytes: Vec<u8>,
        weather: &Weather,
        random: &mut Random,
        asks: &mut Vec<Ask>,
    ) {
        let at = now().0;
        self.subscribed |= words[0].eq_ignore_ascii_case(b"SUBSCRIBE");
        let seen = wire::asks(words, self.pid, at);
        let ids = (asks.len()..asks.len() + seen.len()).collect();
        asks.extend(seen);
        let held = if random.percent(weather.late) {
            random.below(weather.late_for + 1)
        } else {
            random.below(weather.delay + 1)
        };
        let before = self.up.back().map_or(0, |parcel| parcel.due);
        self.up.push_back(Parcel {
            due: (at + held * MS).max(weather.closed_until).max(before),
            bytes,
            asks: ids,
            then_cut: random.percent(weather.cut),
            swallowed: random.percent(weather.swallowed),
        });
    }

    /// Writes requests whose time has come; each then waits for its reply.
    fn forward(&mut self, asks: &mut [Ask]) {
        while let Some(parcel) = self.up.front_mut() {
            if parcel.due > now().0 {
                return;
            }
            let at = now().0;
            // Noted before it is written, because the server may be faster than we are.
            for ask in &parcel.asks {
                if asks[*ask].forwarded == 0 {
                    asks[*ask].forwarded = at;
                }
            }
            if !write(&mut self.server, &mut parcel.bytes) {
                return;
            }
            if let Some(parcel) = self.up.pop_front() {
                self.open.push_back(parcel);
            }
        }
    }

    fn answered(&mut self, weather: &Weather, random: &mut Random, asks: &mut [Ask]) {
        let at = now().0;
        while let Some((reply, length)) = wire::reply(&self.from_server) {
            let bytes: Vec<u8> = self.from_server.drain(..length).collect();
            // What a subscriber is told answers no request.
            let request = if self.subscribed && self.open.is_empty() {
                None
            } else {
                self.open.pop_front()
            };
            let request = request.unwrap_or(Parcel {
                due: 0,
                bytes: Vec::new(),
                asks: Vec::new(),
                then_cut: false,
                swallowed: false,
            });
            for ask in &request.asks {
                asks[*ask].replied = at;
                asks[*ask].answer = wire::answer(&asks[*ask].script, &reply);
            }
            if request.swallowed {
                continue;
            }
            let before = self.down.back().map_or(0, |parcel| parcel.due);
            let due = at + random.below(weather.delay + 1) * MS;
            self.down.push_back(Parcel {
                due: due.max(weather.closed_until).max(before),
                bytes,
                asks: request.asks,
                then_cut: request.then_cut,
                swallowed: false,
            });
        }
    }

    fn deliver(&mut self, asks: &mut [Ask]) {
        while let Some(parcel) = self.down.front_mut() {
            if parcel.due > now().0 {
                return;
            }
            if parcel.then_cut {
                self.client = None;
                return self.down.clear();
            }
            if self.client.is_none() {
                return self.down.clear();
            }
            // Before it is written: the client may act on it before we look at the clock again.
            let at = now().0;
            for ask in &parcel.asks {
                asks[*ask].delivered = at;
            }
            if !write(&mut self.client, &mut parcel.bytes) {
                return;
            }
            self.down.pop_front();
        }
    }
}

/// Reads what is there; false at the end of the stream.
fn read(stream: &mut Option<UnixStream>, into: &mut Vec<u8>) -> bool {
    let Some(stream) = stream else { return true };
    let mut bytes = [0; 16384];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return false,
            Ok(length) => into.extend_from_slice(&bytes[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

/// True when all is written. A stream that broke swallows the rest: its end is seen by the next read.
fn write(stream: &mut Option<UnixStream>, bytes: &mut Vec<u8>) -> bool {
    let Some(stream) = stream else { return true };
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(length) => {
                bytes.drain(..length);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
        }
    }
    true
}
