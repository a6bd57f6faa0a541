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
const SHARED: [&[u8]; 7] = [
    b"fence",
    b"limit",
    b"grants",
    b"restores",
    b"breaks",
    b"done_at",
    b"done_host",
];

/// The commands of one slot; `decode` wants their replies in this order.
pub const COMMANDS: usize = 5;

pub fn add(batch: &mut Batch, names: &Names, slot: u8) {
    let lease = names.lease(slot);
    // Not GET: a foreign value may be of any length.
    batch.add(&[b"GETRANGE", lease.as_bytes(), b"0", b"255"]);
    batch.add(&[b"PTTL", lease.as_bytes()]);
    for (info, fields) in [(names.info(slot), &SLOT[..]), (names.info(1), &SHARED[..])] {
        let mut command: Vec<&[u8]> = vec![b"HMGET", info.as_bytes()];
        command.extend_from_slice(fields);
        batch.add(&command);
    }
    batch.add(&[b"ZCARD", names.queue().as_bytes()]);
}

/// # Errors
/// An error reply of the server other than "it holds something else", or replies that no server gives.
pub fn decode(
    names: &Names,
    slot: u8,
    now_us: u64,
    replies: &[Result<Reply, String>],
) -> Result<Seen, String> {
    let [value, left, own, shared, waiting] = replies else {
        return Err("too few replies".to_owned());
    };
    let mut wrong = String::new();
    let mut check = |reply: &Result<Reply, String>, key: String, instead: Reply| match reply {
        Ok(reply) => Ok(reply.clone()),
        Err(error) if error.starts_with("WRONGTYPE") => {
            if wrong.is_empty() {
                wrong = key;
            }
            Ok(instead)
        }
        Err(error) => Err(error.clone()),
    };
    let none = Reply::Array(Vec::new());
    let value = check(value, names.lease(slot), Reply::Nil)?;
    let own = check(own, names.info(slot), none.clone())?;
    let shared = check(shared, names.info(1), none.clone())?;
    let waiting = check(waiting, names.queue(), Reply::Int(0))?;
    let left = left.clone()?;
    // As the script would have answered.
    let reply = Reply::Array(vec![
        Reply::Int(i64::try_from(now_us).unwrap_or(i64::MAX)),
        Reply::Bytes(wrong.into_bytes()),
        full(value),
        left,
        fields(own, SLOT.len()),
        fields(shared, SHARED.len()),
        waiting,
        none,
    ]);
    let inspect = Inspect { names, slot };
    inspect
        .decode(&reply)
        .map_err(|Garbled(what)| format!("{what} was expected"))
}

fn full(reply: Reply) -> Reply {
    match reply {
        Reply::Nil => Reply::Bytes(Vec::new()),
        other => other,
    }
}

fn fields(reply: Reply, count: usize) -> Reply {
    let mut items = match reply {
        Reply::Array(items) => items,
        _ => Vec::new(),
    };
    items.resize(count, Reply::Nil);
    Reply::Array(items.into_iter().map(full).collect())
}
