//! The questions that are put to Redis, each answered by one script in one atomic step.
//!
//! A script is read together with what it shares with others (`clock.lua` in all, then `holding.lua` and
//! `queue.lua`). Every key that a script touches is among its KEYS. Each begins its arguments with the client's
//! wall clock, which decides only where the server refuses TIME.
//!
//! The commands that the scripts use, for an ACL of least rights: [`COMMANDS`]. Nothing else is needed but
//! `SUBSCRIBE` for a run that waits and `SCAN` for `redlease status` without a key.

pub mod acquire;
pub mod breaking;
pub mod check;
#[cfg(test)]
mod fuzz;
pub mod inspect;
mod lean;
pub mod release;
pub mod renew;

#[cfg(test)]
mod tests;

use std::time::Duration;

use super::names::Names;
use super::reply::{Garbled, Reply};
use super::{Fence, Holder, Identity, Loss, cut};
use crate::time::wall_us;

/// Every command of the scripts, EVAL itself included.
pub const COMMANDS: &[&str] = &[
    "eval", "time", "get", "set", "del", "exists", "pttl", "pexpire", "hmget", "hset", "hdel",
    "hincrby", "zadd", "zrem", "zrange", "zrank", "zscore", "zcard", "publish",
];

const CLOCK: &str = include_str!("clock.lua");
const HOLDING: &str = include_str!("holding.lua");
const QUEUE: &str = include_str!("queue.lua");

/// The arguments of a script, the clock first.
struct Args(Vec<Vec<u8>>);

impl Args {
    fn new() -> Args {
        Args(Vec::new()).number(wall_us())
    }

    fn text(mut self, text: &str) -> Args {
        self.0.push(text.as_bytes().to_vec());
        self
    }

    fn number(self, number: impl Into<u64>) -> Args {
        self.text(&number.into().to_string())
    }

    /// Absent is the empty text.
    fn maybe(self, number: Option<u64>) -> Args {
        self.text(&number.map(|n| n.to_string()).unwrap_or_default())
    }

    fn flag(self, on: bool) -> Args {
        self.number(u8::from(on))
    }

    fn millis(self, time: Duration) -> Args {
        self.number(millis(time))
    }

    fn micros(self, time: Duration) -> Args {
        self.number(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
    }

    fn identity(self, who: &Identity) -> Args {
        self.text(line(&who.host))
            .number(who.pid)
            .text(line(&who.user))
            .text(line(&who.label))
    }
}

/// A TTL or a time to keep, in whole milliseconds. Redis refuses what passes the end of its own clock.
fn millis(time: Duration) -> u64 {
    const LONGEST: u64 = 1000 * 365 * 24 * 3600 * 1000;
    u64::try_from(time.as_millis())
        .unwrap_or(LONGEST)
        .min(LONGEST)
}

/// A text for `info`: cut, and one line, because the entry of a waiter has a text on each.
fn line(text: &str) -> &str {
    let one = text.split(['\n', '\r']).next().unwrap_or_default();
    cut(one)
}

/// The keys of `slots` slots: lease and info of each.
fn slots(names: &Names, limit: u8) -> Vec<String> {
    (1..=limit)
        .flat_map(|slot| [names.lease(slot), names.info(slot)])
        .collect()
}

/// The keys of scripts that change one slot and wake the queue after it.
fn slot_and_queue(names: &Names, slot: u8, limit: u8) -> Vec<String> {
    let mut keys = vec![
        names.lease(slot),
        names.info(slot),
        names.info(1),
        names.queue(),
        names.waiters(),
    ];
    keys.extend((1..=limit).map(|slot| names.lease(slot)));
    keys
}

/// Walks through the items of a reply.
struct Items<'a>(std::slice::Iter<'a, Reply>);

impl<'a> Items<'a> {
    fn of(reply: &'a Reply) -> Result<Items<'a>, Garbled> {
        reply.array().map(|items| Items(items.iter()))
    }

    fn next(&mut self) -> Result<&'a Reply, Garbled> {
        self.0.next().ok_or(Garbled("more items"))
    }

    fn text(&mut self) -> Result<String, Garbled> {
        self.next()?.text()
    }

    fn full(&mut self) -> Result<Option<String>, Garbled> {
        self.text()
            .map(|text| Some(text).filter(|text| !text.is_empty()))
    }

    fn number(&mut self) -> Result<u64, Garbled> {
        self.next()?.unsigned()
    }

    /// What is only shown: anybody who can write to the server may have put something else there.
    fn loose<T: TryFrom<u64>>(&mut self) -> Option<T> {
        let number = self.next().ok()?.unsigned().ok()?;
        T::try_from(number).ok()
    }

    fn flag(&mut self) -> Result<bool, Garbled> {
        self.number().map(|n| n != 0)
    }

    fn slot(&mut self) -> Result<u8, Garbled> {
        u8::try_from(self.number()?).map_err(|_| Garbled("a slot"))
    }

    /// Milliseconds, or a negative number for "no time to live".
    fn remaining(&mut self) -> Result<Option<Duration>, Garbled> {
        let left = self.next()?.int()?;
        Ok(u64::try_from(left).ok().map(Duration::from_millis))
    }

    /// `known, host, pid, user, label, since`.
    fn holder(&mut self) -> Result<Option<Holder>, Garbled> {
        let known = self.flag()?;
        let who = Identity {
            host: self.text()?,
            pid: self.loose().unwrap_or_default(),
            user: self.text()?,
            label: self.text()?,
        };
        let since_us = self.number()?;
        Ok(known.then_some(Holder { who, since_us }))
    }

    fn loss(&mut self, word: &str) -> Result<Loss, Garbled> {
        match word {
            "gone" => Ok(Loss::Gone),
            "broken" => Ok(Loss::Broken { by: self.full()? }),
            "taken" => Ok(Loss::Taken(self.holder()?)),
            _ => Err(Garbled("a known word")),
        }
    }
}

fn fence(number: u64) -> Option<Fence> {
    Some(Fence(number)).filter(|fence| fence.0 > 0)
}
