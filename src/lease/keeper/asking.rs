//! Asking for a lease until it is granted, refused for good, or the wait is over.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use super::{Holding, Wait, Wish, exit_of, give_back, renewal};
use crate::exit::Exit;
use crate::lease::dialog::Event;
use crate::lease::protocol::acquire::{Acquire, HEARTBEAT, Leave, Waiting};
use crate::lease::store::{Kind, Store, Subscription, Trouble};
use crate::lease::{Grant, Refusal, Token};
use crate::sys::pause::until_readable;
use crate::time::{Backoff, Moment};

pub enum Answer {
    Granted(Holding),
    Refused(Refusal),
    Failed { exit: Exit, text: String },
    Cancelled,
}

/// A key's last millisecond may still be there when its TTL has been slept away.
const AFTER_TTL: Duration = Duration::from_millis(2);
/// What leaving may cost somebody who presses Ctrl-C while the server hangs.
const LEAVE_LIMIT: Duration = Duration::from_millis(500);

pub struct Asking<'a> {
    store: &'a mut Store,
    wish: &'a Wish,
    interrupt: BorrowedFd<'a>,
    cancelled: &'a mut dyn FnMut() -> bool,
    tell: &'a mut dyn FnMut(Event),
    token: Token,
    attempt: u64,
    /// Tokens of attempts whose reply was lost: the server may have granted them, or may do so later, for as long
    /// as the dead connection's last words lie in a buffer.
    unsure: Vec<Token>,
    waiter: String,
    ticket: Option<u64>,
    wakes: Wakes,
    started: Moment,
    reached: bool,
    last: Option<Refusal>,
}

enum Wakes {
    NotYet,
    Heard(Box<Subscription>),
    /// The server refuses SUBSCRIBE: heartbeats alone.
    Never,
}

impl<'a> Asking<'a> {
    pub fn new(
        store: &'a mut Store,
        wish: &'a Wish,
        interrupt: BorrowedFd<'a>,
        cancelled: &'a mut dyn FnMut() -> bool,
        tell: &'a mut dyn FnMut(Event),
    ) -> Asking<'a> {
        Asking {
            store,
            wish,
            interrupt,
            cancelled,
            tell,
            token: Token::fresh(),
            attempt: 0,
            unsure: Vec::new(),
            waiter: Token::fresh().as_str().to_owned(),
            ticket: None,
            wakes: Wakes::NotYet,
            started: Moment::now(),
            reached: false,
            last: None,
        }
    }

    pub fn run(mut self) -> Answer {
        if let Some(splay) = self.wish.splay
            && self.sleep(Moment::now().after(random_part(splay)))
        {
            return Answer::Cancelled;
        }
        self.started = Moment::now();
        let end = match self.wish.wait {
            Wait::No => None,
            Wait::For(wait) => Some(self.started.after(wait)),
            Wait::Forever => Some(Moment::FAR),
        };
        let mut backoff = Backoff::new();
        loop {
            let (sent, asked) = self.ask(end);
            let trouble = match asked {
                Ok(Ok(grant)) => match self.accept(grant, sent) {
                    Ok(holding) => return Answer::Granted(holding),
                    Err(answer) => match *answer {
                        Declined::For(trouble) => trouble,
                        Declined::Final(answer) => return answer,
                    },
                },
                Ok(Err(refusal)) => {
                    self.reached = true;
                    backoff = Backoff::new();
                    match self.refused(refusal, end) {
                        Some(answer) => return answer,
                        None => continue,
                    }
                }
                Err(trouble) => trouble,
            };
            if (self.cancelled)() {
                return self.leave();
            }
            if trouble.kind == Kind::Interrupted {
                continue;
            }
            if let Some(answer) = self.troubled(&trouble, end, &mut backoff) {
                return answer;
            }
        }
    }

    /// One question, on a connection with a token of its own.
    fn ask(&mut self, end: Option<Moment>) -> (Moment, Result<Result<Grant, Refusal>, Trouble>) {
        let now = Moment::now();
        let bound = |moment: Moment| {
            if self.reached {
                moment.min(end.unwrap_or(Moment::FAR))
            } else {
                moment
            }
        };
        // A wait that has just ended still needs a moment to hear the answer.
        let floor = now.after(Duration::from_millis(20));
        if let Err(trouble) = self
            .store
            .connect(bound(now.after(self.wish.connect_limit)).max(floor))
        {
            return (now, Err(trouble));
        }
        if self.store.attempt() != self.attempt {
            self.attempt = self.store.attempt();
            self.token = Token::fresh();
        }
        let waiting = end.map(|_| Waiting {
            id: &self.waiter,
            ticket: self.ticket,
        });
        let question = Acquire {
            names: &self.wish.names,
            identity: &self.wish.identity,
            token: &self.token,
            replaces: &self.unsure,
            ttl: self.wish.timing.ttl,
            limit: self.wish.limit,
            waiting,
            once_per: self.wish.once_per,
            retain: self.wish.retain,
        };
        let sent = Moment::now();
        let until = bound(sent.after(self.wish.timing.request_limit)).max(floor);
        let asked = self.store.ask(&question, until);
        if let Err(trouble) = &asked
            && trouble.sent
        {
            self.abandon_attempt();
        }
        (sent, asked)
    }

    /// The reply of an attempt is lost. A release of its token goes behind it on the same connection, best effort.
    fn abandon_attempt(&mut self) {
        let token = std::mem::replace(&mut self.token, Token::fresh());
        let undo = Leave {
            names: &self.wish.names,
            limit: self.wish.limit,
            waiter: None,
            tokens: &[token.clone()],
        };
        self.store.write_behind(&undo);
        self.unsure.push(token);
        self.attempt = 0;
    }

    /// A grant is taken if it is young enough to be lived under.
    fn accept(&mut self, grant: Grant, sent: Moment) -> Result<Holding, Box<Declined>> {
        let timing = self.wish.timing;
        let mut holding = Holding {
            expires_at_us: grant.expires_at_us,
            grant,
            token: self.token.clone(),
            sent,
            began: Moment::now(),
        };
        if (self.cancelled)() {
            self.undo(&holding);
            return declined(Declined::Final(self.leave()));
        }
        if Moment::now() > sent.after(timing.ttl / 3) {
            let again = Moment::now();
            let answer = self.store.ask(
                &renewal(self.wish, &holding, false),
                again.after(timing.request_limit),
            );
            match answer {
                Ok(Ok(renewed)) => {
                    holding.sent = again;
                    holding.expires_at_us = renewed.expires_at_us;
                }
                Ok(Err(_)) => {
                    return declined(Declined::For(late(
                        self.store,
                        "the lease had lapsed when its grant arrived",
                    )));
                }
                Err(trouble) => {
                    self.undo(&holding);
                    return declined(Declined::For(trouble));
                }
            }
        }
        if timing.stop_at(holding.sent).remaining(Moment::now()) < timing.request_limit {
            self.undo(&holding);
            return declined(Declined::For(late(
                self.store,
                "the grant arrived too late to be used",
            )));
        }
        if let Some((wanted, limit)) = self.wish.replicas
            && let Err(text) = self.replicated(wanted, limit)
        {
            self.undo(&holding);
            return declined(Declined::Final(Answer::Failed {
                exit: Exit::Unavailable,
                text,
            }));
        }
        Ok(holding)
    }

    fn replicated(&mut self, wanted: u32, limit: Duration) -> Result<(), String> {
        let millis = limit.as_millis().max(1).to_string();
        let until = Moment::now().after(limit + self.wish.timing.request_limit);
        let reply = self.store.command(
            &[b"WAIT", wanted.to_string().as_bytes(), millis.as_bytes()],
            until,
        );
        let place = self.store.target().describe();
        match reply.map_err(|trouble| trouble.text)?.unsigned() {
            Ok(got) if got >= u64::from(wanted) => Ok(()),
            Ok(got) => Err(format!(
                "{got} of {wanted} replicas of {place} confirmed the lease within {}; it was given back",
                humantime::format_duration(limit)
            )),
            Err(_) => Err(format!(
                "{place} answered WAIT with something else than a number; the lease was given back"
            )),
        }
    }

    fn undo(&mut self, holding: &Holding) {
        let end = Moment::now().after(self.wish.timing.request_limit);
        if give_back(self.store, self.wish, holding, None, end, &|| false).is_err() {
            self.unsure.push(holding.token.clone());
        }
        self.attempt = 0;
    }

    /// After a refusal: final, or slept on until it is worth asking again.
    fn refused(&mut self, refusal: Refusal, end: Option<Moment>) -> Option<Answer> {
        let hopeless = matches!(refusal, Refusal::Limit { .. } | Refusal::AlreadyDone { .. });
        let Some(end) = end.filter(|_| !hopeless) else {
            return Some(Answer::Refused(refusal));
        };
        if let Some(place) = refusal.place() {
            self.ticket = Some(place.ticket);
        }
        if end.passed(Moment::now()) {
            self.say_goodbye();
            return Some(Answer::Refused(refusal));
        }
        (self.tell)(Event::Waiting(refusal.clone()));
        self.last = Some(refusal);
        match self.wakes {
            // What happened between the refusal and the subscription was heard by nobody: ask once more.
            Wakes::NotYet => {
                self.subscribe(end);
                return None;
            }
            Wakes::Heard(_) | Wakes::Never => {}
        }
        let until = Moment::now().after(self.patience()).min(end);
        if self.sleep(until) {
            return Some(self.leave());
        }
        if end.passed(Moment::now()) {
            self.say_goodbye();
            return self.last.take().map(Answer::Refused);
        }
        None
    }

    /// How long nothing can change without a wake-up.
    fn patience(&self) -> Duration {
        let known = match &self.last {
            Some(Refusal::Held {
                remaining: Some(left),
                ..
            }) => *left + AFTER_TTL,
            Some(Refusal::Cooling { remaining, .. } | Refusal::Broken { remaining, .. }) => {
                *remaining + AFTER_TTL
            }
            Some(Refusal::Queued { turn, .. }) => *turn + AFTER_TTL,
            _ => HEARTBEAT,
        };
        known.min(HEARTBEAT)
    }

    fn subscribe(&mut self, end: Moment) {
        let limit = Moment::now().after(self.wish.timing.request_limit).min(end);
        let channel = format!("{}{}", self.wish.names.wake(), self.waiter);
        self.wakes = match self.store.subscribe(&channel, limit) {
            Ok(subscription) => Wakes::Heard(Box::new(subscription)),
            Err(trouble) if matches!(trouble.kind, Kind::Denied | Kind::Config) => Wakes::Never,
            // The question that follows tells whether the server is gone.
            Err(_) => Wakes::NotYet,
        };
        if matches!(self.wakes, Wakes::NotYet) {
            let until = Moment::now().after(Duration::from_millis(100)).min(end);
            until_readable(&[self.interrupt], until);
        }
    }

    /// Sleeps until a wake-up, or `until`. True: cancelled.
    fn sleep(&mut self, until: Moment) -> bool {
        let heard = match &mut self.wakes {
            Wakes::Heard(subscription) => subscription.wait(until),
            Wakes::NotYet | Wakes::Never => {
                until_readable(&[self.interrupt], until);
                Ok(None)
            }
        };
        if let Err(trouble) = heard
            && trouble.kind != Kind::Interrupted
        {
            // A cut connection hears no wake-ups: the next refusal subscribes again.
            self.wakes = Wakes::NotYet;
        }
        (self.cancelled)()
    }

    /// Some, if there is no use in asking again.
    fn troubled(
        &mut self,
        trouble: &Trouble,
        end: Option<Moment>,
        backoff: &mut Backoff,
    ) -> Option<Answer> {
        let fail = |exit, text: &str| {
            Some(Answer::Failed {
                exit,
                text: text.to_owned(),
            })
        };
        if !matches!(trouble.kind, Kind::Again) {
            return fail(exit_of(trouble.kind), &trouble.text);
        }
        let next = Moment::now().after(backoff.next());
        let limit = match end {
            Some(end) if self.reached => end,
            // Never reached: one request's time, however often it was tried within.
            _ => self.started.after(self.wish.timing.request_limit),
        };
        if next >= limit {
            self.say_goodbye();
            return fail(Exit::Unavailable, &trouble.text);
        }
        if self.reached {
            (self.tell)(Event::Retrying {
                text: trouble.text.clone(),
            });
        }
        until_readable(&[self.interrupt], next);
        if (self.cancelled)() {
            Some(self.leave())
        } else {
            None
        }
    }

    fn leave(&mut self) -> Answer {
        self.say_goodbye();
        Answer::Cancelled
    }

    /// Leaves the queue, and gives back what a late reply may have granted.
    fn say_goodbye(&mut self) {
        let until = Moment::now().after(LEAVE_LIMIT);
        let unsure = std::mem::take(&mut self.unsure);
        let queued = self.wish.wait != Wait::No && self.reached;
        if unsure.is_empty() && !queued {
            return;
        }
        let leave = Leave {
            names: &self.wish.names,
            limit: self.wish.limit,
            waiter: queued.then_some(self.waiter.as_str()),
            tokens: &unsure,
        };
        if self.store.ask(&leave, until).is_err() {
            // Silent for 6 s, a waiter is dropped by whoever looks; what was granted lapses with its TTL.
            self.store.hang_up();
        }
    }
}

enum Declined {
    For(Trouble),
    Final(Answer),
}

fn declined<T>(why: Declined) -> Result<T, Box<Declined>> {
    Err(Box::new(why))
}

fn late(store: &Store, what: &str) -> Trouble {
    Trouble {
        kind: Kind::Again,
        text: format!("{what} ({})", store.target().describe()),
        sent: false,
    }
}

/// A random part of a time: random enough to spread hosts.
fn random_part(whole: Duration) -> Duration {
    let random = uuid::Uuid::new_v4().as_u128() as u32;
    whole.mul_f64(f64::from(random) / f64::from(u32::MAX))
}
