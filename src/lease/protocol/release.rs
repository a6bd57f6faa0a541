//! Giving a holding back.

use std::time::Duration;

use super::lean::script;
use super::{Args, CLOCK, HOLDING, Items, QUEUE, line, slot_and_queue};
use crate::lease::names::Names;
use crate::lease::reply::{Garbled, Reply, Script};
use crate::lease::{Fence, Finished, Loss, Token};

/// What is recorded of the run that ended.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    pub finished: &'a Finished,
    pub duration: Duration,
    pub host: &'a str,
    /// The server's time of the acquire, in microseconds since 1970.
    pub acquired_at_us: u64,
    /// A success counts for `--once-per`, in the period that the run was acquired in.
    pub once_per: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Release<'a> {
    pub names: &'a Names,
    pub slot: u8,
    pub limit: u8,
    pub token: &'a Token,
    pub fence: Fence,
    pub retain: Duration,
    /// The reply to an earlier one was lost.
    pub resend: bool,
    /// Of the primitive `redlease release`, which has no clock of its own: a key that is gone was lost.
    pub strict: bool,
    /// `--min-hold`: others are kept out until then, on the server's clock, in microseconds since 1970.
    pub keep_until_us: Option<u64>,
    /// `expires_at_us` of the last good reply, as for a restore: until then a server that lost key and `info` is
    /// taken to have lost them only. Never for a raw key.
    pub unlost_until_us: Option<u64>,
    /// None: no job ran.
    pub run: Option<Run<'a>>,
}

const RELEASE: &str = script!(CLOCK, HOLDING, QUEUE, include_str!("../release.lua"));

impl Script for Release<'_> {
    type Answer = Result<(), Loss>;

    fn source(&self) -> &'static str {
        RELEASE
    }

    fn keys(&self) -> Vec<String> {
        slot_and_queue(self.names, self.slot, self.limit)
    }

    fn args(&self) -> Vec<Vec<u8>> {
        let args = Args::new()
            .text(self.token.as_str())
            .number(self.fence.0)
            .number(self.slot)
            .number(self.limit)
            .millis(self.retain)
            .text(&self.names.wake())
            .flag(self.resend)
            .flag(self.strict)
            .maybe(self.keep_until_us)
            .maybe(self.unlost_until_us.filter(|_| !self.names.is_raw()));
        match self.run {
            None => args.text("").number(0u8).number(0u8).text("").text(""),
            Some(run) => {
                let counts = run.once_per && run.finished.success;
                args.text(run.finished.outcome)
                    .number(run.finished.code)
                    .millis(run.duration)
                    .text(line(run.host))
                    .maybe(counts.then_some(run.acquired_at_us))
            }
        }
        .0
    }

    fn decode(&self, reply: &Reply) -> Result<Self::Answer, Garbled> {
        let mut items = Items::of(reply)?;
        let word = items.text()?;
        if word == "released" {
            return Ok(Ok(()));
        }
        items.loss(&word).map(Err)
    }
}
