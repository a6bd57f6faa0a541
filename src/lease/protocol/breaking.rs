//! Ending somebody else's holding, by an operator.

use std::time::Duration;

use super::lean::script;
use super::{Args, CLOCK, HOLDING, Items, QUEUE, line, slot_and_queue};
use crate::lease::Holder;
use crate::lease::names::Names;
use crate::lease::reply::{Garbled, Reply, Script};

#[derive(Clone, Copy, Debug)]
pub struct Break<'a> {
    pub names: &'a Names,
    pub slot: u8,
    /// As `inspect` told it, so that those who wait are woken for all slots that are free.
    pub limit: u8,
    /// Only this holding: what stands at the key, be it another client's.
    pub token: Option<&'a str>,
    /// Recorded, and told to the holder: user and host of the operator.
    pub who: &'a str,
    /// Free at once, though the job may still run.
    pub now: bool,
    pub retain: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broke {
    /// Nobody holds it.
    Free,
    /// The holding is not the one that was named.
    Other,
    /// Somebody broke it before; it is free in this time.
    Already { remaining: Duration },
    /// Free for others in `remaining`: zero when it is free now.
    Done {
        remaining: Duration,
        /// No job ran under it: it was the tombstone of `--min-hold`.
        cooling: bool,
        holder: Option<Holder>,
    },
}

/// The tombstone of a foreign key without a time to live.
const FOREIGN: Duration = Duration::from_secs(30);

const BREAK: &str = script!(CLOCK, HOLDING, QUEUE, include_str!("../break.lua"));

impl Script for Break<'_> {
    type Answer = Broke;

    fn source(&self) -> &'static str {
        BREAK
    }

    fn keys(&self) -> Vec<String> {
        slot_and_queue(self.names, self.slot, self.limit)
    }

    fn args(&self) -> Vec<Vec<u8>> {
        Args::new()
            .text(self.token.unwrap_or_default())
            .text(line(self.who))
            .flag(self.now)
            .number(self.slot)
            .number(self.limit)
            .millis(self.retain)
            .text(&self.names.wake())
            .millis(FOREIGN)
            .0
    }

    fn decode(&self, reply: &Reply) -> Result<Broke, Garbled> {
        let mut items = Items::of(reply)?;
        match items.text()?.as_str() {
            "free" => Ok(Broke::Free),
            "other" => Ok(Broke::Other),
            "already" => Ok(Broke::Already {
                remaining: items.remaining()?.unwrap_or_default(),
            }),
            "broken" | "freed" => Ok(Broke::Done {
                remaining: items.remaining()?.unwrap_or_default(),
                cooling: items.flag()?,
                holder: items.holder()?,
            }),
            _ => Err(Garbled("a known word")),
        }
    }
}
