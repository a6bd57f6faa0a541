//! One slot of a lease as people see it: what the fields in Redis mean together.

use std::time::Duration;

use crate::lease::names::Names;
use crate::lease::protocol::inspect::{self, Holding, Seen};
use crate::lease::{Identity, cut};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Held,
    Cooling,
    Broken,
    Free,
    /// Its time ran out without a release: the holder died, or was cut off.
    Abandoned,
    /// Something that redlease cannot describe stands at the key.
    Foreign,
}

impl State {
    /// The word in the table and in `--json`.
    pub fn word(self) -> &'static str {
        match self {
            State::Held => "held",
            State::Cooling => "cooling",
            State::Broken => "broken",
            State::Free => "free",
            State::Abandoned => "abandoned",
            State::Foreign => "foreign",
        }
    }

    /// An acquire would be refused.
    pub fn occupied(self) -> bool {
        !matches!(self, State::Free | State::Abandoned)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    pub who: Identity,
    pub waited: Duration,
    /// It has not asked for 6 s, and is dropped by the next who looks.
    pub silent: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastRun {
    pub ended_at_us: u64,
    pub outcome: String,
    pub code: Option<u8>,
    pub duration: Option<Duration>,
    pub host: Option<String>,
}

/// Times with `_us` are the server's, in microseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub key: String,
    pub raw: bool,
    pub slot: u8,
    pub slots: u8,
    pub state: State,
    pub now_us: u64,
    /// Who holds, or held last.
    pub holder: Option<Identity>,
    pub token: Option<String>,
    pub fence: Option<u64>,
    pub acquired_at_us: Option<u64>,
    pub renewed_at_us: Option<u64>,
    pub ttl: Option<Duration>,
    /// Since when it is in this state, as far as it is known.
    pub since_us: Option<u64>,
    /// Until the key lapses unless it is renewed. None: there is no key, or it has no time to live.
    pub remaining: Option<Duration>,
    pub broken_by: Option<String>,
    pub waiting: u64,
    pub waiters: Vec<Waiter>,
    pub last: Option<LastRun>,
    /// What is odd about it, in a sentence.
    pub problem: Option<String>,
}

impl Row {
    pub fn new(names: &Names, slot: u8, slots: u8, seen: Seen) -> Row {
        let now_us = seen.now_us;
        let state = state(&seen);
        let problem = problem(&seen, state);
        let foreign = match seen.state {
            inspect::State::Foreign { token } => Some(token),
            _ => None,
        };
        let described = seen.holding.filter(|_| state != State::Foreign);
        let held = described.as_ref();
        let known = |us: u64| Some(us).filter(|us| *us > 0);
        let last = seen.last_run.map(last_run);
        let ended_us = last.as_ref().map(|last| last.ended_at_us);
        let since_us = match state {
            State::Held => held.and_then(|held| known(held.holder.since_us)),
            State::Abandoned => held.and_then(|held| known(held.expires_at_us)),
            State::Cooling | State::Broken => ended_us,
            State::Free => seen.free_since_us.or(ended_us),
            State::Foreign => None,
        };
        let broken_by = match (seen.broken, held) {
            (Some((token, by)), Some(held)) if token == held.token => by,
            _ => None,
        };
        // One queue for all slots: it is shown with the first.
        let queue = if slot == 1 { seen.waiters } else { Vec::new() };
        let waiters = queue.into_iter().map(|waiter| Waiter {
            waited: between(waiter.since_us, now_us),
            silent: waiter.silent,
            who: short(waiter.who),
        });
        Row {
            key: names.key().to_owned(),
            raw: names.is_raw(),
            slot,
            slots,
            state,
            now_us,
            fence: held.and_then(|held| held.fence).map(|fence| fence.0),
            acquired_at_us: held.and_then(|held| known(held.holder.since_us)),
            renewed_at_us: held.and_then(|held| known(held.renewed_at_us)),
            ttl: held.map(|held| held.ttl).filter(|ttl| !ttl.is_zero()),
            since_us,
            remaining: seen.remaining,
            broken_by: broken_by.map(cropped),
            waiting: if slot == 1 { seen.waiting } else { 0 },
            waiters: waiters.collect(),
            last,
            problem,
            token: foreign
                .or_else(|| held.map(|held| held.token.clone()))
                .map(cropped),
            holder: described.map(|held| short(held.holder.who)),
        }
    }

    pub fn age(&self) -> Option<Duration> {
        self.since_us.map(|since| between(since, self.now_us))
    }

    /// How long the present holding is held, or the last one was.
    pub fn held(&self) -> Option<Duration> {
        let acquired = self.acquired_at_us?;
        let end = match self.state {
            State::Held => self.now_us,
            State::Abandoned => self.since_us?,
            _ => return None,
        };
        Some(between(acquired, end))
    }

    /// The server's time at which the key lapses unless it is renewed.
    pub fn until_us(&self) -> Option<u64> {
        let left = u64::try_from(self.remaining?.as_micros()).ok()?;
        self.now_us.checked_add(left)
    }
}

pub fn between(from_us: u64, to_us: u64) -> Duration {
    Duration::from_micros(to_us.saturating_sub(from_us))
}

fn state(seen: &Seen) -> State {
    match &seen.state {
        inspect::State::Held => State::Held,
        inspect::State::Cooling => State::Cooling,
        inspect::State::Broken => State::Broken,
        inspect::State::Foreign { .. } | inspect::State::WrongType { .. } => State::Foreign,
        inspect::State::Free if seen.holding.as_ref().is_some_and(left) => State::Abandoned,
        inspect::State::Free => State::Free,
    }
}

fn left(holding: &Holding) -> bool {
    !holding.ended
}

fn problem(seen: &Seen, state: State) -> Option<String> {
    match (&seen.state, state) {
        (inspect::State::WrongType { key }, _) => {
            Some(format!("the key {key} holds something else than a lease"))
        }
        (inspect::State::Foreign { .. }, _) => Some(if seen.remaining.is_none() {
            "held by another client, by a key without a time to live: it will not lapse by itself"
                .to_owned()
        } else {
            "held by another client, or what redlease knew of the holder was lost".to_owned()
        }),
        (_, State::Abandoned) => {
            let early = seen
                .holding
                .as_ref()
                .is_some_and(|held| held.expires_at_us > seen.now_us);
            early.then(|| {
                "the key is gone before its time: the server lost it, or somebody deleted it"
                    .to_owned()
            })
        }
        _ => None,
    }
}

/// Texts of others are cut as redlease itself cuts them.
fn cropped(mut text: String) -> String {
    text.truncate(cut(&text).len());
    text
}

fn short(who: Identity) -> Identity {
    Identity {
        host: cropped(who.host),
        pid: who.pid,
        user: cropped(who.user),
        label: cropped(who.label),
    }
}

fn last_run(last: inspect::LastRun) -> LastRun {
    LastRun {
        ended_at_us: last.ended_at_us,
        outcome: cropped(last.outcome),
        code: last.code,
        duration: last.duration,
        host: last.host.map(cropped),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::lease::names::Prefix;
    use crate::lease::{Fence, Holder};

    pub const NOW: u64 = 1_764_528_790_000_000;

    pub fn names(key: &str) -> Names {
        Names::new(&Prefix::default(), &key.parse().unwrap())
    }

    pub fn seen(state: inspect::State) -> Seen {
        Seen {
            now_us: NOW,
            state,
            remaining: Some(Duration::from_secs(27)),
            holding: Some(Holding {
                token: "3f0c6f7e-1f0a-4b1e-9d1c-0d8a5a3f2b11".to_owned(),
                fence: Some(Fence(NOW - 123_000_000)),
                holder: Holder {
                    who: Identity {
                        host: "web1".to_owned(),
                        pid: 4242,
                        user: "ana".to_owned(),
                        label: "import.sh".to_owned(),
                    },
                    since_us: NOW - 123_000_000,
                },
                renewed_at_us: NOW - 3_000_000,
                expires_at_us: NOW + 27_000_000,
                ttl: Duration::from_secs(30),
                ended: false,
            }),
            last_run: None,
            ended: None,
            broken: None,
            free_since_us: None,
            fence: None,
            limit: Some(1),
            grants: 1,
            restores: 0,
            breaks: 0,
            done: None,
            waiting: 0,
            waiters: Vec::new(),
        }
    }

    fn row(seen: Seen) -> Row {
        Row::new(&names("k"), 1, 1, seen)
    }

    #[test]
    fn a_held_lease_tells_since_when_and_how_long_still() {
        let row = row(seen(inspect::State::Held));
        assert_eq!(row.state, State::Held);
        assert_eq!(row.age(), Some(Duration::from_secs(123)));
        assert_eq!(row.held(), Some(Duration::from_secs(123)));
        assert_eq!(row.until_us(), Some(NOW + 27_000_000));
        assert_eq!(row.problem, None);
    }

    #[test]
    fn a_lapsed_holding_that_was_not_released_is_abandoned() {
        let mut lapsed = seen(inspect::State::Free);
        lapsed.remaining = None;
        if let Some(holding) = &mut lapsed.holding {
            holding.expires_at_us = NOW - 60_000_000;
        }
        let row = row(lapsed.clone());
        assert_eq!(row.state, State::Abandoned);
        assert_eq!(row.age(), Some(Duration::from_secs(60)));
        assert_eq!(row.held(), Some(Duration::from_secs(63)));
        if let Some(holding) = &mut lapsed.holding {
            holding.ended = true;
        }
        assert_eq!(Row::new(&names("k"), 1, 1, lapsed).state, State::Free);
    }

    #[test]
    fn a_key_that_went_before_its_time_is_said_to_have() {
        let mut early = seen(inspect::State::Free);
        early.remaining = None;
        let row = row(early);
        assert_eq!(row.state, State::Abandoned);
        assert!(row.problem.unwrap().contains("before its time"));
    }

    #[test]
    fn another_clients_key_is_not_described_by_our_info() {
        let row = row(seen(inspect::State::Foreign {
            token: "x".repeat(1000),
        }));
        assert_eq!(row.state, State::Foreign);
        assert_eq!(row.holder, None);
        assert_eq!(row.fence, None);
        assert_eq!(row.token, Some("x".repeat(64)));
    }
}
