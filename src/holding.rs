//! `redlease renew`, `release` and `check`: one question about a holding that is known by its token. They have no
//! clock of their own: what the server says of the key is all that counts, and a key that is gone was lost.

use std::time::Duration;

use crate::exit::Exit;
use crate::lease::keeper::exit_of;
use crate::lease::protocol::check::Check;
use crate::lease::protocol::inspect::{Inspect, Seen};
use crate::lease::protocol::release::Release;
use crate::lease::protocol::renew::Renew;
use crate::lease::reply::Script;
use crate::lease::store::{Kind, Store, Trouble};
use crate::lease::{Fence, Identity, Loss};
use crate::plan::TTL;
use crate::plan::holding::{CheckPlan, Holding, RenewPlan};
use crate::report::words::{self, span};
use crate::report::{Level, Log};
use crate::sys::host;
use crate::time::{Backoff, Moment};

/// From the first try on: longer than a blip, shorter than a script's patience.
const LIMIT: Duration = Duration::from_secs(5);

pub fn renew(plan: &RenewPlan) -> Exit {
    let story = Story::new(&plan.holding);
    let log = story.log;
    story.tell(|asking| {
        let seen = asking.look()?;
        let retain = asking.retain()?;
        let held = seen
            .holding
            .as_ref()
            .filter(|held| held.token == plan.holding.token.as_str());
        let before = held.map(|held| held.ttl).filter(|ttl| !ttl.is_zero());
        let ttl = plan.ttl.or(before).unwrap_or(TTL);
        let identity = Identity {
            host: host::name(),
            pid: std::os::unix::process::parent_id(),
            user: host::user(),
            label: "renew".to_owned(),
        };
        let request = Renew {
            names: &plan.holding.names,
            slot: plan.holding.slot,
            limit: limit(&seen, plan.holding.slot),
            token: &plan.holding.token,
            fence: held.and_then(|held| held.fence).unwrap_or(Fence(0)),
            ttl,
            retain: retain.max(ttl),
            restore_until_us: None,
            only_longer: true,
            acquired_at_us: held.map_or(seen.now_us, |held| held.holder.since_us),
            identity: &identity,
        };
        let renewed = asking.ask(&request)?;
        Ok(renewed.map(|renewed| {
            let left = renewed.expires_at_us.saturating_sub(seen.now_us);
            let left = span(Duration::from_micros(left));
            log.say(Level::Info, &format!("renewed, for {left}"));
            Exit::Done
        }))
    })
}

pub fn release(plan: &Holding) -> Exit {
    Story::new(plan).tell(|asking| {
        let seen = asking.look()?;
        let retain = asking.retain()?;
        let request = |resend| Release {
            names: &plan.names,
            slot: plan.slot,
            limit: limit(&seen, plan.slot),
            token: &plan.token,
            fence: Fence(0),
            retain,
            resend,
            strict: true,
            keep_until_us: None,
            unlost_until_us: None,
            run: None,
        };
        let released =
            asking.retry(&mut |store, resend, until| store.ask(&request(resend), until))?;
        Ok(released.map(|()| Exit::Done))
    })
}

pub fn check(plan: &CheckPlan) -> Exit {
    let holding = &plan.holding;
    let story = Story::new(holding);
    let log = story.log;
    story.tell(|asking| {
        let checked = asking.ask(&Check {
            names: &holding.names,
            slot: holding.slot,
            token: &holding.token,
        })?;
        Ok(
            checked.map(|checked| match (checked.remaining, plan.min_left) {
                (Some(left), Some(least)) if left < least => {
                    let text = format!(
                        "the lease on {} has {} left, and {} are asked for",
                        holding.names.key(),
                        span(left),
                        span(least)
                    );
                    log.say(Level::Error, &text);
                    Exit::Lost
                }
                (left, _) => {
                    let left = left.map_or("without a limit".to_owned(), |left| {
                        format!("for {} unless renewed", span(left))
                    });
                    log.say(Level::Info, &format!("held {left}"));
                    Exit::Done
                }
            }),
        )
    })
}

/// How many may hold, for waking those who wait.
fn limit(seen: &Seen, slot: u8) -> u8 {
    seen.limit.unwrap_or(1).max(slot)
}

/// One command about one holding, and how it is told.
struct Story<'a> {
    plan: &'a Holding,
    log: Log,
}

impl<'a> Story<'a> {
    fn new(plan: &'a Holding) -> Story<'a> {
        Story {
            plan,
            log: plan.voice.log(),
        }
    }

    fn tell(
        self,
        act: impl FnOnce(&mut Questions<'_>) -> Result<Result<Exit, Loss>, Trouble>,
    ) -> Exit {
        for warning in &self.plan.connection.warnings {
            self.log.say(Level::Warning, warning);
        }
        let mut asking = Questions {
            plan: self.plan,
            store: Store::new(self.plan.connection.target.clone()),
            end: Moment::now().after(LIMIT.max(self.plan.connection.connect_timeout)),
        };
        match act(&mut asking) {
            Ok(Ok(exit)) => exit,
            Ok(Err(loss)) => {
                self.log
                    .say(Level::Error, &words::loss(self.plan.names.key(), &loss));
                Exit::Lost
            }
            Err(trouble) => {
                self.log.say(Level::Error, &trouble.text);
                exit_of(trouble.kind)
            }
        }
    }
}

/// Questions that are put again until there is an answer, within one limit for all of them.
struct Questions<'a> {
    plan: &'a Holding,
    store: Store,
    end: Moment,
}

impl Questions<'_> {
    fn look(&mut self) -> Result<Seen, Trouble> {
        let (names, slot) = (&self.plan.names, self.plan.slot);
        self.ask(&Inspect { names, slot })
    }

    /// How long the record of the last run is kept: another --retain, or a long --once-per, may ask for longer.
    fn retain(&mut self) -> Result<Duration, Trouble> {
        let info = self.plan.names.info(self.plan.slot);
        let left =
            self.retry(&mut |store, _, until| store.command(&[b"PTTL", info.as_bytes()], until))?;
        let left = Duration::from_millis(left.unsigned().unwrap_or(0));
        Ok(self.plan.retain.max(left))
    }

    fn ask<S: Script>(&mut self, script: &S) -> Result<S::Answer, Trouble> {
        self.retry(&mut |store, _, until| store.ask(script, until))
    }

    /// `question` is told whether it may have been executed before.
    fn retry<T>(
        &mut self,
        question: &mut dyn FnMut(&mut Store, bool, Moment) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let mut backoff = Backoff::new();
        let mut resend = false;
        loop {
            let trouble = match question(&mut self.store, resend, self.end) {
                Ok(answer) => return Ok(answer),
                Err(trouble) => trouble,
            };
            resend |= trouble.sent;
            let next = Moment::now().after(backoff.next());
            if trouble.kind != Kind::Again || self.end.passed(next) {
                return Err(trouble);
            }
            std::thread::sleep(next.remaining(Moment::now()));
        }
    }
}
