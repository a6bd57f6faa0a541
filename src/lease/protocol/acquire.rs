//! Asking for a lease, and leaving the queue.

use std::time::Duration;

use super::lean::script;
use super::{Args, CLOCK, HOLDING, Items, QUEUE, line, slots};
use crate::lease::names::Names;
use crate::lease::reply::{Garbled, Reply, Script};
use crate::lease::{Fence, Grant, Identity, Place, Refusal, Token};

/// How often a waiter asks at least. The script drops one that was silent for 6 s.
pub const HEARTBEAT: Duration = Duration::from_secs(2);

/// What a wake-up counts in: n means that the lease may be taken when it has been free for so many of these.
pub const STEP: Duration = Duration::from_millis(500);

/// One successful run per period of the server's clock; periods begin at `offset` after midnight UTC, 1970-01-01,
/// and at each multiple of `period` from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OncePer {
    pub period: Duration,
    pub offset: Duration,
}

/// A place in the queue is asked for under this name: it is the end of the wake channel's name too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting<'a> {
    pub id: &'a str,
    /// As the last answer told it: it brings the waiter back to its place when the queue was lost.
    pub ticket: Option<u64>,
}

/// One attempt. Each connection needs a token of its own, because the server may execute what it received on one
/// that was given up.
#[derive(Clone, Copy, Debug)]
pub struct Acquire<'a> {
    pub names: &'a Names,
    pub identity: &'a Identity,
    pub token: &'a Token,
    /// All tokens of earlier attempts: what one of them was granted is taken over.
    pub replaces: &'a [Token],
    pub ttl: Duration,
    /// Slots: 1 to 64.
    pub limit: u8,
    /// None: not queued, and behind all who are.
    pub waiting: Option<Waiting<'a>>,
    pub once_per: Option<OncePer>,
    /// Long enough that no fence, tombstone or run of `--once-per` is forgotten while it counts.
    pub retain: Duration,
}

const ACQUIRE: &str = script!(CLOCK, HOLDING, QUEUE, include_str!("../acquire.lua"));

impl Script for Acquire<'_> {
    type Answer = Result<Grant, Refusal>;

    fn source(&self) -> &'static str {
        ACQUIRE
    }

    fn keys(&self) -> Vec<String> {
        let mut keys = slots(self.names, self.limit);
        keys.extend([self.names.queue(), self.names.waiters()]);
        keys
    }

    fn args(&self) -> Vec<Vec<u8>> {
        let once = self.once_per.unwrap_or(OncePer {
            period: Duration::ZERO,
            offset: Duration::ZERO,
        });
        let args = Args::new()
            .text(self.token.as_str())
            .millis(self.ttl)
            .number(self.limit)
            .millis(self.retain)
            .identity(self.identity)
            .text(self.waiting.map_or("", |waiting| waiting.id))
            .maybe(self.waiting.and_then(|waiting| waiting.ticket))
            .text(&self.names.wake())
            .micros(once.period)
            .micros(once.offset);
        self.replaces
            .iter()
            .fold(args, |args, token| args.text(token.as_str()))
            .0
    }

    fn decode(&self, reply: &Reply) -> Result<Self::Answer, Garbled> {
        let mut items = Items::of(reply)?;
        let word = items.text()?;
        let refusal = match word.as_str() {
            "granted" => {
                let grant = Grant {
                    slot: items.slot()?,
                    fence: Fence(items.number()?),
                    acquired_at_us: items.number()?,
                    expires_at_us: items.number()?,
                    again: items.flag()?,
                };
                // A job must not run in a place that nobody asked for, nor with a number that fences nothing.
                if !(1..=self.limit).contains(&grant.slot) || grant.fence.0 == 0 {
                    return Err(Garbled("a slot that was asked for, and its fence"));
                }
                return Ok(Ok(grant));
            }
            "limit" => Refusal::Limit {
                kept: items.slot()?,
            },
            "done" => Refusal::AlreadyDone {
                host: items.full()?,
                next: Duration::from_micros(items.number()?),
            },
            "queued" => {
                let waiting = count(items.number()?);
                let turn = Duration::from_micros(items.number()?);
                Refusal::Queued {
                    place: place(&mut items, waiting)?,
                    waiting,
                    turn,
                }
            }
            "held" | "cooling" | "broken" => described(&word, &mut items)?,
            _ => return Err(Garbled("a known word")),
        };
        Ok(Err(refusal))
    }
}

fn described(word: &str, items: &mut Items<'_>) -> Result<Refusal, Garbled> {
    let remaining = items.remaining()?;
    let waiting = count(items.number()?);
    let place = place(items, waiting)?;
    let by = items.full()?;
    let holder = items.holder()?;
    let held = Duration::from_micros(items.number()?);
    Ok(match word {
        // A tombstone always has an end; one without it was made so by hand.
        "cooling" => Refusal::Cooling {
            last: holder,
            remaining: remaining.unwrap_or(Duration::MAX),
            place,
        },
        "broken" => Refusal::Broken {
            by,
            remaining: remaining.unwrap_or(Duration::MAX),
            place,
        },
        _ => Refusal::Held {
            held: holder.is_some().then_some(held),
            holder,
            remaining,
            place,
        },
    })
}

fn count(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// `ahead or -1, ticket`.
fn place(items: &mut Items<'_>, waiting: u32) -> Result<Option<Place>, Garbled> {
    let ahead = items.next()?.int()?;
    let ticket = items.number()?;
    Ok(u32::try_from(ahead).ok().map(|ahead| Place {
        ahead,
        waiting,
        ticket,
    }))
}

/// A waiter goes, and what its attempts may have been granted goes back. Also for an attempt that did not wait, and
/// sent behind it on its own connection before that is closed.
#[derive(Clone, Copy, Debug)]
pub struct Leave<'a> {
    pub names: &'a Names,
    pub limit: u8,
    pub waiter: Option<&'a str>,
    pub tokens: &'a [Token],
}

const LEAVE: &str = script!(CLOCK, QUEUE, include_str!("../leave.lua"));

impl Script for Leave<'_> {
    /// How many slots were given back.
    type Answer = u64;

    fn source(&self) -> &'static str {
        LEAVE
    }

    fn keys(&self) -> Vec<String> {
        let mut keys = slots(self.names, self.limit);
        keys.extend([self.names.queue(), self.names.waiters()]);
        keys
    }

    fn args(&self) -> Vec<Vec<u8>> {
        let args = Args::new()
            .number(self.limit)
            .text(&self.names.wake())
            .text(line(self.waiter.unwrap_or_default()));
        self.tokens
            .iter()
            .fold(args, |args, token| args.text(token.as_str()))
            .0
    }

    fn decode(&self, reply: &Reply) -> Result<u64, Garbled> {
        reply.unsigned()
    }
}
