//! The server's side: the real scripts on a real server, with a clock of our own. It refuses TIME, so that the
//! scripts take the clock that we send; and we let the keys lapse when that clock says so.

use std::collections::HashSet;

use crate::lease::names::{Names, Prefix};
use crate::lease::protocol::tests::server::{Connection, Server};
use crate::lease::reply::Reply;

pub const SECOND: u64 = 1_000_000;
pub const MILLI: u64 = 1_000;
pub const START: u64 = 1_700_000_000_000_000;

#[derive(Clone, Default)]
pub struct Slot {
    pub value: Option<String>,
    /// When it lapses, by our clock.
    pub end: u64,
    pub free_since: u64,
    /// The fence of the last holding.
    pub held: u64,
    /// How many holdings there have been.
    pub grants: u64,
    /// It became free by its TTL, of which nobody is told.
    pub lapsed: bool,
}

pub struct World {
    on: Connection,
    pub names: Names,
    pub clock: u64,
    pub slots: Vec<Slot>,
    /// The highest fence seen.
    pub fence: u64,
    /// Requests that the server executes later than they were sent.
    pub late: Vec<(u64, Vec<Vec<Vec<u8>>>)>,
    asked: u64,
    /// Tokens of holdings that were given back.
    pub ended: HashSet<String>,
    /// Those that ended before the server lost its data.
    forgotten: HashSet<String>,
}

impl World {
    pub fn new(server: &Server, limit: u8) -> World {
        let mut on = server.connect();
        on.command(&["FLUSHALL"]);
        on.command(&["ACL", "SETUSER", "default", "-time"]);
        World {
            on,
            names: Names::new(&Prefix::default(), &"k".parse().unwrap()),
            clock: START,
            slots: vec![
                Slot {
                    free_since: START,
                    ..Slot::default()
                };
                usize::from(limit)
            ],
            fence: 0,
            late: Vec::new(),
            asked: START,
            ended: HashSet::new(),
            forgotten: HashSet::new(),
        }
    }

    fn lease(&self, at: usize) -> String {
        self.names.lease(u8::try_from(at + 1).unwrap())
    }

    pub fn free(&self) -> usize {
        let free = |slot: &&Slot| slot.value.is_none();
        self.slots.iter().filter(free).count()
    }

    pub fn command(&mut self, words: &[&str]) -> Reply {
        self.on.command(words)
    }

    /// A moment passes, and what has lapsed by then is gone.
    pub fn tick(&mut self) {
        self.clock += 1;
        for at in 0..self.slots.len() {
            let slot = &mut self.slots[at];
            if slot.value.is_some() && slot.end <= self.clock {
                slot.value = None;
                slot.free_since = slot.end;
                slot.lapsed = true;
                let key = self.lease(at);
                self.on.command(&["DEL", &key]);
            }
        }
        if self.asked + 20 * SECOND <= self.clock {
            let (queue, waiters) = (self.names.queue(), self.names.waiters());
            self.on.command(&["DEL", &queue, &waiters]);
        }
    }

    /// One request, executed now. By the real clock no key lapses, however slow the machine is: between the scripts
    /// the keys have no TTL. `exact` when the script goes by what a key has left.
    pub fn execute(&mut self, request: &[Vec<u8>], exact: bool) -> Reply {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (at, slot) in self.slots.iter().enumerate() {
            let left = slot.end.saturating_sub(self.clock).div_ceil(MILLI);
            if exact && slot.value.is_some() {
                before.push(words(&["PEXPIRE", &self.lease(at), &left.to_string()]));
            }
            after.push(words(&["PERSIST", &self.lease(at)]));
        }
        self.on.clock = Some(self.clock);
        let reply = self.on.execute(&before, request, &after);
        if let Reply::Error(error) = &reply {
            panic!("{error}");
        }
        if request[1].windows(9).any(|word| word == b"'granted'") {
            self.asked = self.clock;
        }
        self.observe();
        reply
    }

    pub fn observe(&mut self) {
        let mut reads = Vec::new();
        for at in 0..self.slots.len() {
            let info = self.names.info(u8::try_from(at + 1).unwrap());
            reads.push(words(&["GET", &self.lease(at)]));
            reads.push(words(&["HMGET", &info, "held", "expires_at", "free_since"]));
        }
        // Its reply comes after the messages that the script published.
        reads.push(words(&["PING"]));
        let seen = self.on.commands(&reads);
        for (slot, seen) in self.slots.iter_mut().zip(seen.chunks(2)) {
            let value = match &seen[0] {
                Reply::Nil => None,
                value => Some(value.text().unwrap()),
            };
            let fields = seen[1].array().unwrap();
            let field = |at: usize| fields[at].unsigned().unwrap_or_default();
            match &value {
                None if slot.value.is_some() => {
                    slot.free_since = self.clock;
                    slot.lapsed = false;
                }
                None => {}
                Some(token) if token.contains(':') => slot.end = field(2),
                Some(token) => {
                    assert!(
                        !self.ended.contains(token),
                        "a holding that had ended is back"
                    );
                    let back = slot.value.is_none() && field(0) == slot.held;
                    assert!(
                        !back || self.clock < slot.end,
                        "a holding is back after its TTL"
                    );
                    slot.end = field(1);
                    if self.forgotten.contains(token) {
                        slot.held = field(0);
                    } else if field(0) != slot.held {
                        assert!(field(0) > self.fence, "a fence that does not grow");
                        slot.held = field(0);
                        slot.grants += 1;
                        self.fence = slot.held;
                    }
                }
            }
            slot.value = value;
        }
    }

    pub fn flush(&mut self) {
        self.on.command(&["FLUSHALL"]);
        // With `ended` forgotten, a renewal that hung in a dead connection meanwhile brings its holding back for a
        // TTL. Nobody works under it.
        self.forgotten.extend(self.ended.drain());
        self.observe();
    }
}

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|&word| word.to_owned()).collect()
}
