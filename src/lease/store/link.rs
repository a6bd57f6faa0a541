//! One connection to one server: requests out, whole replies in.

use std::time::Duration;

use super::frame::{Frame, LONGEST_REPLY, NotAReply, read};
use super::stream::Stream;
use super::target::{Host, Secret};
use super::trouble::{Kind, Trouble, shown, words};
use super::wire::Stop;
use crate::lease::reply::Reply;
use crate::time::Moment;

/// What is read at once: little at first, and twice as much each time that there was more.
const FIRST_CHUNK: usize = 1024;
const LARGEST_CHUNK: usize = 64 * 1024;

/// A reply, or the text of an error reply.
pub type Answer = Result<Reply, String>;

#[derive(Debug)]
pub struct Link {
    stream: Stream,
    /// For people: "Redis at HOST:PORT".
    name: String,
    peer: Option<Host>,
    /// What an error reply must not show, should a server or proxy repeat it.
    secrets: Vec<Secret>,
    inbox: Vec<u8>,
    chunk: usize,
    /// A request was left half written: whatever is written behind it would become a part of it.
    torn: bool,
    heard: bool,
    used: Moment,
    /// Replies to what was posted that were not gathered yet.
    owed: usize,
}

/// After a rest of this length it is looked first whether the server has hung up meanwhile.
const REST: Duration = Duration::from_secs(1);

impl Link {
    pub fn new(stream: Stream, name: String, peer: Option<Host>, secrets: Vec<Secret>) -> Link {
        Link {
            stream,
            peer,
            name,
            secrets,
            inbox: Vec::new(),
            chunk: FIRST_CHUNK,
            torn: false,
            heard: false,
            used: Moment::now(),
            owed: 0,
        }
    }

    /// The host and port that were dialled.
    pub fn peer(&self) -> Option<&Host> {
        self.peer.as_ref()
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server ended the connection, or said something that nobody asked for, while it rested. What is then
    /// not sent on it needs no second guess.
    pub fn hung_up(&mut self) -> bool {
        let now = Moment::now();
        if self.owed > 0 || !self.used.after(REST).passed(now) {
            return false;
        }
        match self.next(now) {
            Ok(said) => said.is_some(),
            Err(trouble) => trouble.kind != Kind::Interrupted,
        }
    }

    /// One request and its reply.
    pub fn round(&mut self, request: &[u8], until: Moment) -> Result<Answer, Trouble> {
        if !self.inbox.is_empty() {
            let text = format!("{} says more than it was asked", self.name);
            return Err(Trouble::again(text));
        }
        self.used = Moment::now();
        let mut begun = false;
        if let Err(stop) = self.stream.send(request, until, &mut begun) {
            // Whatever has left, the request is not whole, and so no server executes it.
            self.torn |= begun;
            return self.last_words(stop);
        }
        self.reply(until).map_err(|trouble| trouble.sent(true))
    }

    /// Sends `count` requests, whose replies are gathered later.
    pub fn post(&mut self, requests: &[u8], count: usize, until: Moment) -> Result<(), Trouble> {
        self.used = Moment::now();
        self.owed += count;
        let mut begun = false;
        if let Err(stop) = self.stream.send(requests, until, &mut begun) {
            self.torn |= begun;
            return Err(self.stopped(stop));
        }
        Ok(())
    }

    pub fn gather(&mut self, count: usize, until: Moment) -> Result<Vec<Answer>, Trouble> {
        let mut answers = Vec::with_capacity(count);
        while answers.len() < count {
            // Those that are here already, without moving the rest forward for each of them.
            let mut at = 0;
            while answers.len() < count {
                let rest = self.inbox.get(at..).unwrap_or_default();
                let Ok(Some(end)) = Frame::default().end(rest) else {
                    break;
                };
                let answer = read(rest.get(..end).unwrap_or_default())
                    .map_err(|wrong| self.garbage(wrong))?;
                answers.push(answer.map_err(|error| self.mask(error)));
                at += end;
            }
            self.inbox.drain(..at);
            if answers.len() < count {
                answers.push(self.reply(until)?);
            }
        }
        self.used = Moment::now();
        self.owed = self.owed.saturating_sub(count);
        Ok(answers)
    }

    /// A server that hangs up, full or by TLS, often says why before.
    fn last_words(&mut self, stop: Stop) -> Result<Answer, Trouble> {
        if matches!(stop, Stop::Io(_)) {
            match self.next(Moment::now()) {
                Ok(Some(Err(error))) => return Ok(Err(error)),
                Err(trouble) if trouble.kind == Kind::Config => return Err(trouble),
                _ => {}
            }
        }
        Err(self.stopped(stop))
    }

    fn reply(&mut self, until: Moment) -> Result<Answer, Trouble> {
        self.next(until)?.ok_or_else(|| self.stopped(Stop::Time))
    }

    /// The next reply; None when the time has passed first, after which it can be waited for again.
    pub fn next(&mut self, until: Moment) -> Result<Option<Answer>, Trouble> {
        let mut frame = Frame::default();
        let mut late = false;
        loop {
            match frame.end(&self.inbox) {
                Ok(Some(end)) => {
                    let answer = read(self.inbox.get(..end).unwrap_or_default())
                        .map_err(|wrong| self.garbage(wrong))?;
                    self.inbox.drain(..end);
                    self.heard = true;
                    return Ok(Some(answer.map_err(|error| self.mask(error))));
                }
                Ok(None) if self.inbox.len() > LONGEST_REPLY + LARGEST_CHUNK => {
                    return Err(self.garbage(NotAReply("its answer is too long")));
                }
                // One byte at a time must not stretch the limit.
                Ok(None) if late => return Ok(None),
                Ok(None) => {}
                Err(wrong) => return Err(self.garbage(wrong)),
            }
            let before = self.inbox.len();
            self.inbox.resize(before + self.chunk, 0);
            let room = self.inbox.get_mut(before..).unwrap_or_default();
            let got = self.stream.receive(room, until);
            self.inbox
                .truncate(before + got.as_ref().map_or(0, |count| *count));
            match got {
                Ok(count @ 1..) => {
                    late = until.passed(Moment::now());
                    if count == self.chunk {
                        self.chunk = LARGEST_CHUNK.min(2 * self.chunk);
                    }
                }
                Ok(0) => return Err(self.closed()),
                Err(Stop::Time) => return Ok(None),
                Err(Stop::Io(error)) if error.kind() == std::io::ErrorKind::ConnectionReset => {
                    return Err(self.closed());
                }
                Err(stop) => return Err(self.stopped(stop)),
            }
        }
    }

    /// Writes what can be written now, behind whatever is on the connection, and does not wait for anything.
    pub fn write_behind(mut self, request: &[u8]) {
        if !self.torn {
            self.stream.push(request);
        }
    }

    fn stopped(&self, stop: Stop) -> Trouble {
        match stop {
            Stop::Time => Trouble::again(format!("no answer from {} in time", self.name)),
            Stop::Io(error) => Trouble::again(format!(
                "lost connection to {}: {}",
                self.name,
                words(&error)
            )),
            Stop::Tls(_) => super::tls::stopped(stop, &self.name),
            Stop::Bell => Trouble::stopped(stop, &self.name),
        }
    }

    fn closed(&self) -> Trouble {
        // A TLS port that hears plain Redis hangs up without a word.
        let hint = if self.stream.is_plain_tcp() && !self.heard {
            "; if that is a TLS port, write rediss://"
        } else {
            ""
        };
        Trouble::again(format!(
            "{} closed the connection before it answered{hint}",
            self.name
        ))
    }

    fn garbage(&self, wrong: NotAReply) -> Trouble {
        let first = self.inbox.first().copied().unwrap_or_default();
        // Records of TLS: 21 is an alert, 22 a handshake (RFC 8446, 5.1).
        if !self.heard && (first == 21 || first == 22) {
            let text = format!("{} answers in TLS: write rediss://", self.name);
            return Trouble::again(text);
        }
        let line = self.inbox.split(|byte| *byte == b'\n').next();
        let said: String = String::from_utf8_lossy(line.unwrap_or_default())
            .chars()
            .take(40)
            .collect();
        Trouble::again(format!(
            "{}: {} (it says {:?})",
            self.name,
            wrong.0,
            self.mask(shown(&said))
        ))
    }

    fn mask(&self, text: String) -> String {
        self.secrets.iter().fold(text, |text, secret| {
            text.replace(secret.reveal(), "(the password)")
        })
    }
}
