//! Another TTL for a holding.

use std::time::Duration;

use super::lean::script;
use super::{Args, CLOCK, HOLDING, Items};
use crate::lease::names::Names;
use crate::lease::reply::{Garbled, Reply, Script};
use crate::lease::{Fence, Identity, Loss, Token};

#[derive(Clone, Copy, Debug)]
pub struct Renew<'a> {
    pub names: &'a Names,
    pub slot: u8,
    pub limit: u8,
    pub token: &'a Token,
    pub fence: Fence,
    pub ttl: Duration,
    pub retain: Duration,
    /// `expires_at_us` of the last good reply: before this moment of the server's clock a key that the server lost
    /// is written again. Only for a keeper that minds the job all the time, and never for a raw key.
    pub restore_until_us: Option<u64>,
    /// What is left now may be longer than `ttl`, and is kept then: for one who does not know what others count on.
    pub only_longer: bool,
    /// What `info` has to say again when it was lost.
    pub acquired_at_us: u64,
    pub identity: &'a Identity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewed {
    /// The server's clock, in microseconds since 1970.
    pub expires_at_us: u64,
    /// The server had lost the key, and nobody had held it since.
    pub restored: bool,
}

const RENEW: &str = script!(CLOCK, HOLDING, include_str!("../renew.lua"));

impl Script for Renew<'_> {
    type Answer = Result<Renewed, Loss>;

    fn source(&self) -> &'static str {
        RENEW
    }

    fn keys(&self) -> Vec<String> {
        vec![
            self.names.lease(self.slot),
            self.names.info(self.slot),
            self.names.info(1),
        ]
    }

    fn args(&self) -> Vec<Vec<u8>> {
        Args::new()
            .text(self.token.as_str())
            .number(self.fence.0)
            .millis(self.ttl)
            .millis(self.retain)
            .number(self.slot)
            .number(self.limit)
            .maybe(self.restore_until_us.filter(|_| !self.names.is_raw()))
            .number(self.acquired_at_us)
            .identity(self.identity)
            .flag(self.only_longer)
            .0
    }

    fn decode(&self, reply: &Reply) -> Result<Self::Answer, Garbled> {
        let mut items = Items::of(reply)?;
        let word = items.text()?;
        if word == "renewed" {
            return Ok(Ok(Renewed {
                expires_at_us: items.number()?,
                restored: items.flag()?,
            }));
        }
        items.loss(&word).map(Err)
    }
}
