//! One client, the server connection that belongs to it, and what is on the way between them.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use nix::poll::{PollFd, PollFlags};

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

impl Parcel {
    /// On its way at once, and of no interest.
    fn plain(bytes: Vec<u8>) -> Parcel {
        Parcel {
            due: 0,
            bytes,
            asks: Vec::new(),
            then_cut: false,
            swallowed: false,
        }
    }
}

/// A client's end, over a socket or over TCP.
pub trait Stream: Read + Write + AsFd + Send {}

impl<S: Read + Write + AsFd + Send> Stream for S {}

pub struct Connection {
    client: Option<Box<dyn Stream>>,
    server: Option<UnixStream>,
    from_client: Vec<u8>,
    from_server: Vec<u8>,
    up: VecDeque<Parcel>,
    down: VecDeque<Parcel>,
    /// Requests that the server has not answered: the asks of each, and what is to happen to the reply.
    open: VecDeque<Parcel>,
    subscribed: bool,
    /// Of redlease: the weather spares sentinels, which would take it for a dead server.
    ours: bool,
    /// Between a replica and its primary: what follows is no protocol of requests and replies.
    raw: bool,
}

impl Connection {
    pub fn new(client: Box<dyn Stream>, server: UnixStream) -> Connection {
        Connection {
            client: Some(client),
            server: Some(server),
            from_client: Vec::new(),
            from_server: Vec::new(),
            up: VecDeque::new(),
            down: VecDeque::new(),
            open: VecDeque::new(),
            subscribed: false,
            ours: false,
            raw: false,
        }
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
        let client = self.client.as_ref().map(|stream| stream.as_fd());
        let server = self.server.as_ref().map(|stream| stream.as_fd());
        for (stream, queue) in [(client, &self.down), (server, &self.up)] {
            let Some(stream) = stream else { continue };
            let mut flags = PollFlags::POLLIN;
            if queue.front().is_some_and(|parcel| parcel.due <= at) {
                flags |= PollFlags::POLLOUT;
            }
            fds.push(PollFd::new(stream, flags));
        }
    }

    pub fn turn(&mut self, weather: &Weather, random: &mut Random, asks: &mut Vec<Ask>) {
        if !read(&mut self.client, &mut self.from_client) {
            self.client = None;
        }
        while !self.raw
            && let Some((words, length)) = wire::request(&self.from_client)
        {
            let bytes = self.from_client.drain(..length).collect();
            self.requested(&words, bytes, weather, random, asks);
        }
        let server = read(&mut self.server, &mut self.from_server);
        if self.raw {
            self.pass();
        } else {
            self.answered(weather, random, asks);
        }
        if !server {
            self.server = None;
            self.client = None;
        }
        self.forward(asks);
        self.deliver(asks);
    }

    fn pass(&mut self) {
        let bytes = [
            (&mut self.from_client, &mut self.up),
            (&mut self.from_server, &mut self.down),
        ];
        for (from, to) in bytes {
            if !from.is_empty() {
                to.push_back(Parcel::plain(std::mem::take(from)));
            }
        }
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
        self.raw |= words[0].eq_ignore_ascii_case(b"PSYNC");
        let seen = wire::asks(words, at);
        let wake = words
            .get(1)
            .is_some_and(|word| word.starts_with(b"redlease:"));
        self.ours |= !seen.is_empty() || (self.subscribed && wake);
        if !self.ours {
            return self.up.push_back(Parcel::plain(bytes));
        }
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
            let parcel = self.up.pop_front();
            self.open.extend(parcel.filter(|_| !self.raw));
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
            let request = request.unwrap_or_else(|| Parcel::plain(Vec::new()));
            for ask in &request.asks {
                asks[*ask].replied = at;
                asks[*ask].answer = wire::answer(&asks[*ask].script, &reply);
            }
            if request.swallowed {
                continue;
            }
            let before = self.down.back().map_or(0, |parcel| parcel.due);
            let due = at + random.below(weather.delay + 1) * MS;
            let due = due.max(weather.closed_until).max(before);
            self.down.push_back(Parcel {
                due: if self.ours { due } else { 0 },
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
fn read<S: Read>(stream: &mut Option<S>, into: &mut Vec<u8>) -> bool {
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
fn write<S: Write>(stream: &mut Option<S>, bytes: &mut Vec<u8>) -> bool {
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
