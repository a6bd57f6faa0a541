//! Questions that change no lease: who holds, and a resource's high-water mark.

use std::time::Duration;

use super::lean::script;
use super::{Args, CLOCK, HOLDING, Items, fence};
use crate::lease::names::Names;
use crate::lease::reply::{Garbled, Reply, Script};
use crate::lease::{Fence, Loss, Token};

/// Does this token hold the slot?
#[derive(Clone, Copy, Debug)]
pub struct Check<'a> {
    pub names: &'a Names,
    pub slot: u8,
    pub token: &'a Token,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// None: the key has no time to live, which no redlease made.
    pub remaining: Option<Duration>,
    /// None: `info` was lost, or another client's token holds a raw key.
    pub fence: Option<Fence>,
}

const CHECK: &str = script!(CLOCK, HOLDING, include_str!("../check.lua"));

impl Script for Check<'_> {
    type Answer = Result<Checked, Loss>;

    fn source(&self) -> &'static str {
        CHECK
    }

    fn keys(&self) -> Vec<String> {
        vec![self.names.lease(self.slot), self.names.info(self.slot)]
    }

    fn args(&self) -> Vec<Vec<u8>> {
        Args::new().text(self.token.as_str()).0
    }

    fn decode(&self, reply: &Reply) -> Result<Self::Answer, Garbled> {
        let mut items = Items::of(reply)?;
        let word = items.text()?;
        if word == "held" {
            return Ok(Ok(Checked {
                remaining: items.remaining()?,
                fence: fence(items.number()?),
            }));
        }
        items.loss(&word).map(Err)
    }
}

/// `redlease fence check`: is this fence not older than the newest that the resource has seen?
#[derive(Clone, Copy, Debug)]
pub struct FenceCheck<'a> {
    /// `names::fence_mark` of the resource.
    pub mark: &'a str,
    pub fence: Fence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    Accepted,
    /// A newer one was here before.
    Stale {
        mark: Fence,
    },
}

const FENCE: &str = script!(CLOCK, include_str!("../fence.lua"));

impl Script for FenceCheck<'_> {
    type Answer = Marked;

    fn source(&self) -> &'static str {
        FENCE
    }

    fn keys(&self) -> Vec<String> {
        vec![self.mark.to_owned()]
    }

    fn args(&self) -> Vec<Vec<u8>> {
        Args::new().number(self.fence.0).0
    }

    fn decode(&self, reply: &Reply) -> Result<Marked, Garbled> {
        let mut items = Items::of(reply)?;
        if items.flag()? {
            return Ok(Marked::Accepted);
        }
        Ok(Marked::Stale {
            mark: Fence(items.number()?),
        })
    }
}
