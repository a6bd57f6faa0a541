//! Asking for a lease until it is granted, refused for good, or the wait is over.

mod accept;

use std::os::fd::BorrowedFd;
use std::time::Duration;

use super::wakes::Wakes;
use super::{Holding, Wait, Wish, exit_of};
use crate::exit::Exit;
use crate::lease::dialog::Event;
use crate::lease::protocol::acquire::{Acquire, HEARTBEAT, Leave, Waiting};
use crate::lease::store::{Kind, Store, Trouble};
use crate::lease::{Grant, Refusal, Token};
use crate::sys::pause::until_readable;
use crate::time::{Backoff, Moment};
use accept::Declined;

pub enum Answer {
    Granted(Holding),
    Refused(Refusal),
    Failed { exit: Exit, text: String },
    Cancelled,
}

/// A key's last millisecond may still be there when its TTL has been slept away.
const AFTER_TTL: Duration = Duration::from_millis(2);
/// What a first answer may take, however short the wait.
const FIRST_ANSWER: Duration = Duration::from_secs(1);
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
            wakes: Wakes::new(),
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

    /// The limit of a wait bounds every try; but a server that was never reached gets time for a first answer.
    fn end_of_tries(&self, end: Option<Moment>) -> Moment {
        match end {
            Some(end) if self.reached => end,
            Some(end) => end.max(self.started.after(FIRST_ANSWER)),
            None => Moment::FAR,
        }
    }

    /// One question, on a connection with a token of its own.
    fn ask(&mut self, end: Option<Moment>) -> (Moment, Result<Result<Grant, Refusal>, Trouble>) {
        let now = Moment::now();
        let end_of_tries = self.end_of_tries(end);
        let bound = |moment: Moment| moment.min(end_of_tries);
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
            self.abandon_attempt(trouble.kind == Kind::Interrupted && end.is_some());
        }
        (sent, asked)
    }

    /// The reply of an attempt is lost. A release of its token goes behind it on the same connection, best effort;
    /// and who was told to leave while it was under way also leaves behind it, or it would put us into the queue
    /// again after the goodbye on another connection.
    fn abandon_attempt(&mut self, leaves: bool) {
        let token = std::mem::replace(&mut self.token, Token::fresh());
        let undo = Leave {
            names: &self.wish.names,
            limit: self.wish.limit,
            waiter: leaves.then_some(self.waiter.as_str()),
            tokens: std::slice::from_ref(&token),
        };
        self.store.write_behind(&undo);
        self.unsure.push(token);
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
        if self.wakes.missing() {
            let channel = format!("{}{}", self.wish.names.wake(), self.waiter);
            let limit = Moment::now().after(self.wish.timing.request_limit).min(end);
            self.wakes.listen(self.store, &channel, limit);
            if self.wakes.heard() {
                // What happened between the refusal and the subscription was heard by nobody: ask once more.
                return None;
            }
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

    /// Sleeps until a wake-up, or `until`. True: cancelled.
    fn sleep(&mut self, until: Moment) -> bool {
        self.wakes.wait(self.interrupt, until);
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
            // Never reached: one request's time, however often it was tried within, or less where a shorter one was
            // typed for the first connection.
            _ => {
                let wish = &self.wish;
                let limit = wish.timing.request_limit.min(wish.connect_limit);
                self.started.after(limit).min(self.end_of_tries(end))
            }
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
        while let Err(trouble) = self.store.ask(&leave, until) {
            if trouble.kind == Kind::Interrupted && !until.passed(Moment::now()) {
                // The bell of a command that was read already: it is silenced, and nothing else may interrupt this.
                (self.cancelled)();
                continue;
            }
            // Silent for 6 s, a waiter is dropped by whoever looks; what was granted lapses with its TTL.
            return self.store.hang_up();
        }
    }
}

/// A random part of a time: random enough to spread hosts.
fn random_part(whole: Duration) -> Duration {
    let random = uuid::Uuid::new_v4().as_u128() as u32;
    whole.mul_f64(f64::from(random) / f64::from(u32::MAX))
}
