//! All that Redis knows of one slot.

use std::time::Duration;

use super::lean::script;
use super::{Args, CLOCK, HOLDING, Items, fence};
use crate::lease::names::Names;
use crate::lease::reply::{Garbled, Reply, Script};
use crate::lease::{Fence, Holder, Identity};

#[derive(Clone, Copy, Debug)]
pub struct Inspect<'a> {
    pub names: &'a Names,
    pub slot: u8,
}

/// What the lease key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Free,
    /// By a run of redlease: `holding` describes it.
    Held,
    /// By another client, or by a run whose `info` was lost; `token` is what stands at the key.
    Foreign {
        token: String,
    },
    /// `--min-hold` keeps others out; `holding` is the run that ended.
    Cooling,
    /// An operator broke the holding; `holding` is the broken one.
    Broken,
    /// This key of the lease holds something else than a lease.
    WrongType {
        key: String,
    },
}

/// The present holding, or the last one. Times are the server's, in microseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    pub token: String,
    pub fence: Option<Fence>,
    pub holder: Holder,
    pub renewed_at_us: u64,
    pub expires_at_us: u64,
    pub ttl: Duration,
    /// It was released, or broken: not left to its TTL.
    pub ended: bool,
}

/// The last run that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastRun {
    pub ended_at_us: u64,
    /// completed, signalled, lost, broken, max_run.
    pub outcome: String,
    /// As a shell sees it; None when only the break is known.
    pub code: Option<u8>,
    pub duration: Option<Duration>,
    pub host: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    pub id: String,
    pub ticket: u64,
    pub who: Identity,
    /// The server's time of its first ask.
    pub since_us: u64,
    /// It has not asked for 6 s, and is dropped by the next who looks.
    pub silent: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The server's clock, in microseconds since 1970.
    pub now_us: u64,
    pub state: State,
    /// None: no key, or one without a time to live.
    pub remaining: Option<Duration>,
    pub holding: Option<Holding>,
    pub last_run: Option<LastRun>,
    /// The token of the last holding of this slot that was released or broken.
    pub ended: Option<String>,
    /// Who broke the last broken holding of this slot, and its token.
    pub broken: Option<(String, Option<String>)>,
    pub free_since_us: Option<u64>,
    /// The highest ever granted, over all slots.
    pub fence: Option<Fence>,
    pub limit: Option<u8>,
    pub grants: u64,
    pub restores: u64,
    pub breaks: u64,
    /// The last success that `--once-per` counted: the server's time of its acquire, and its host.
    pub done: Option<(u64, Option<String>)>,
    /// All in the queue, also those past the first thousand, who are not listed.
    pub waiting: u64,
    pub waiters: Vec<Waiter>,
}

const INSPECT: &str = script!(CLOCK, HOLDING, include_str!("../inspect.lua"));

impl Script for Inspect<'_> {
    type Answer = Seen;

    fn source(&self) -> &'static str {
        INSPECT
    }

    fn keys(&self) -> Vec<String> {
        vec![
            self.names.lease(self.slot),
            self.names.info(self.slot),
            self.names.info(1),
            self.names.queue(),
            self.names.waiters(),
        ]
    }

    fn args(&self) -> Vec<Vec<u8>> {
        Args::new().0
    }

    fn decode(&self, reply: &Reply) -> Result<Seen, Garbled> {
        let mut items = Items::of(reply)?;
        let now_us = items.number()?;
        let wrong = items.full()?;
        let value = items.full()?;
        let remaining = items.remaining()?;

        let mut slot = Items::of(items.next()?)?;
        let (held, ended) = holding(&mut slot)?;
        let last_run = last_run(&mut slot)?;
        let broken = slot.full()?;
        let by = slot.full()?;
        let free_since_us = slot.loose();

        let mut shared = Items::of(items.next()?)?;
        let highest = shared.loose().and_then(fence);
        let limit = shared.loose();
        let mut counter = || shared.loose().unwrap_or_default();
        let (grants, restores, breaks) = (counter(), counter(), counter());
        let done_at = shared.loose();
        let done_host = shared.full()?;

        let waiting = items.number()?;
        let waiters = waiters(items.next()?.array()?, now_us)?;
        Ok(Seen {
            now_us,
            state: state(wrong, value, held.as_ref()),
            remaining,
            holding: held,
            last_run,
            ended,
            broken: broken.map(|token| (token, by)),
            free_since_us,
            fence: highest,
            limit,
            grants,
            restores,
            breaks,
            done: done_at.map(|at| (at, done_host)),
            waiting,
            waiters,
        })
    }
}

fn state(wrong: Option<String>, value: Option<String>, holding: Option<&Holding>) -> State {
    if let Some(key) = wrong {
        return State::WrongType { key };
    }
    let Some(value) = value else {
        return State::Free;
    };
    if value.starts_with("cooling:") {
        State::Cooling
    } else if value.starts_with("broken:") {
        State::Broken
    } else if holding.is_some_and(|holding| holding.token == value) {
        State::Held
    } else {
        State::Foreign { token: value }
    }
}

type Ended = Option<String>;

fn holding(slot: &mut Items<'_>) -> Result<(Option<Holding>, Ended), Garbled> {
    let token = slot.full()?;
    let fence = slot.loose().and_then(fence);
    let who = Identity {
        host: slot.text()?,
        pid: slot.loose().unwrap_or_default(),
        user: slot.text()?,
        label: slot.text()?,
    };
    let since_us = slot.loose().unwrap_or_default();
    let renewed_at_us = slot.loose().unwrap_or_default();
    let expires_at_us = slot.loose().unwrap_or_default();
    let ttl = Duration::from_millis(slot.loose().unwrap_or_default());
    let ended = slot.full()?;
    let holding = token.map(|token| Holding {
        ended: ended.as_ref() == Some(&token),
        token,
        fence,
        holder: Holder { who, since_us },
        renewed_at_us,
        expires_at_us,
        ttl,
    });
    Ok((holding, ended))
}

fn last_run(slot: &mut Items<'_>) -> Result<Option<LastRun>, Garbled> {
    let ended_at = slot.loose();
    let outcome = slot.text()?;
    let code = slot.loose();
    let duration = slot.loose().map(Duration::from_millis);
    let host = slot.full()?;
    Ok(ended_at.map(|ended_at_us| LastRun {
        ended_at_us,
        outcome,
        code,
        duration,
        host,
    }))
}

fn waiters(items: &[Reply], now_us: u64) -> Result<Vec<Waiter>, Garbled> {
    items
        .chunks(3)
        .map(|waiter| {
            let [id, ticket, entry] = waiter else {
                return Err(Garbled("three items for each waiter"));
            };
            let entry = entry.text()?;
            let mut lines = entry.split('\n');
            let mut next = || lines.next().unwrap_or_default().to_owned();
            let deadline: u64 = next().parse().unwrap_or_default();
            let since_us = next().parse().unwrap_or_default();
            let pid = next().parse().unwrap_or_default();
            Ok(Waiter {
                id: id.text()?,
                ticket: ticket.unsigned().unwrap_or_default(),
                who: Identity {
                    pid,
                    host: next(),
                    user: next(),
                    label: next(),
                },
                since_us,
                silent: deadline <= now_us,
            })
        })
        .collect()
}
