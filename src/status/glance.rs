//! What `inspect` tells of one slot, by plain commands: a third of the server's work, and no atomic step. For lists
//! of thousands; whatever looks odd in one is asked again by the script.

use crate::lease::names::Names;
use crate::lease::protocol::inspect::{Inspect, Seen};
use crate::lease::reply::{Garbled, Reply, Script};
use crate::lease::store::Batch;

/// As in inspect.lua.
const SLOT: [&[u8]; 19] = [
    b"token",
    b"held",
    b"host",
    b"pid",
    b"user",
    b"label",
    b"acquired_at",
    b"renewed_at",
    b"expires_at",
    b"ttl",
    b"ended",
    b"ended_at",
    b"outcome",
    b"code",
    b"duration",
    b"last_host",
    b"broken",
    b"broken_by",
    b"free_since",
];
/// The first of inspect.lua's; the counters are not shown.
const SHARED: [&[u8]; 2] = [b"fence", b"limit"];
const ALL_SHARED: usize = 7;

/// What is wanted: one slot of one lease.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    pub names: &'a Names,
    pub slot: u8,
    /// It has a queue, as far as SCAN saw.
    pub queued: bool,
}

impl Wanted<'_> {
    pub fn add(self, batch: &mut Batch) {
        let lease = self.names.lease(self.slot);
        let info = self.names.info(self.slot);
        // Not GET: a foreign value may be of any length.
        batch.add(&[b"GETRANGE", lease.as_bytes(), b"0", b"255"]);
        batch.add(&[b"PTTL", lease.as_bytes()]);
        let mut command: Vec<&[u8]> = Vec::with_capacity(2 + SLOT.len() + SHARED.len());
        command.extend([b"HMGET", info.as_bytes()]);
        command.extend(SLOT);
        if self.slot == 1 {
            command.extend(SHARED);
            batch.add(&command);
        } else {
            batch.add(&command);
            let shared = self.names.info(1);
            let mut command: Vec<&[u8]> = vec![b"HMGET", shared.as_bytes()];
            command.extend(SHARED);
            batch.add(&command);
        }
        if self.queued {
            batch.add(&[b"ZCARD", self.names.queue().as_bytes()]);
        }
    }

    /// Takes the replies to what `add` added.
    ///
    /// # Errors
    /// An error reply of the server other than "it holds something else", or replies that no server gives.
    pub fn decode(
        self,
        now_us: u64,
        replies: &mut impl Iterator<Item = Result<Reply, String>>,
    ) -> Result<Seen, String> {
        let mut wrong: Option<String> = None;
        let mut next = |key: &dyn Fn() -> String, instead: Reply| match replies.next() {
            Some(Err(error)) if error.starts_with("WRONGTYPE") => {
                wrong.get_or_insert_with(key);
                Ok(instead)
            }
            Some(reply) => reply,
            None => Err("too few replies".to_owned()),
        };
        let none = || Reply::Array(Vec::new());
        let value = next(&|| self.names.lease(self.slot), Reply::Nil)?;
        let left = next(&|| self.names.lease(self.slot), Reply::Int(-1))?;
        let mut own = items(next(&|| self.names.info(self.slot), none())?);
        let shared = if self.slot == 1 {
            own.resize(SLOT.len() + SHARED.len(), Reply::Nil);
            own.split_off(SLOT.len())
        } else {
            items(next(&|| self.names.info(1), none())?)
        };
        let waiting = if self.queued {
            next(&|| self.names.queue(), Reply::Int(0))?
        } else {
            Reply::Int(0)
        };
        // As the script would have answered.
        let reply = Reply::Array(vec![
            Reply::Int(i64::try_from(now_us).unwrap_or(i64::MAX)),
            Reply::Bytes(wrong.unwrap_or_default().into_bytes()),
            full(value),
            left,
            fields(own, SLOT.len()),
            fields(shared, ALL_SHARED),
            waiting,
            none(),
        ]);
        let (names, slot) = (self.names, self.slot);
        Inspect { names, slot }
            .decode(&reply)
            .map_err(|Garbled(what)| format!("{what} was expected"))
    }
}

fn items(reply: Reply) -> Vec<Reply> {
    match reply {
        Reply::Array(items) => items,
        _ => Vec::new(),
    }
}

fn full(reply: Reply) -> Reply {
    match reply {
        Reply::Nil => Reply::Bytes(Vec::new()),
        other => other,
    }
}

fn fields(mut items: Vec<Reply>, count: usize) -> Reply {
    items.resize(count, Reply::Nil);
    Reply::Array(items.into_iter().map(full).collect())
}
