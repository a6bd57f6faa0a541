//! The thread that talks to Redis: it asks for the lease, renews it on a timer, and gives it back. It never
//! decides that a job may go on: it only moves the shared word to a later moment after a good renewal.

mod asking;
mod wakes;

use std::sync::mpsc;
use std::time::Duration;

use crate::exit::Exit;
use crate::lease::dialog::{Command, Event, Released};
use crate::lease::names::Names;
use crate::lease::policy::Wait;
use crate::lease::protocol::acquire::OncePer;
use crate::lease::protocol::release::{Release, Run};
use crate::lease::protocol::renew::Renew;
use crate::lease::store::{Kind, Store, Trouble};
use crate::lease::{Finished, Grant, Identity, Loss, Token};
use crate::sys::pause::until_readable;
use crate::sys::wake::Wake;
use crate::sys::word::Word;
use crate::time::{Backoff, Moment, Timing};

pub use asking::{Answer, Asking};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Wish {
    pub names: Names,
    pub identity: Identity,
    pub timing: Timing,
    pub wait: Wait,
    pub limit: u8,
    pub min_hold: Option<Duration>,
    pub min_hold_on_success: bool,
    pub once_per: Option<OncePer>,
    /// Acknowledgements of replicas that an acquire must have, and how long they may take.
    pub replicas: Option<(u32, Duration)>,
    pub retain: Duration,
    pub connect_limit: Duration,
    /// A random wait before the first question, so that a thousand hosts do not ask in the same millisecond.
    pub splay: Option<Duration>,
}

/// A lease that is held, as its keeper knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Holding {
    pub grant: Grant,
    pub token: Token,
    /// The instant before the last good request was sent: all deadlines count from it.
    pub sent: Moment,
    /// As the last good reply told: what a restore is measured by.
    pub expires_at_us: u64,
    /// When the grant arrived.
    pub began: Moment,
}

/// How long a release is tried: longer than a blip, shorter than the patience of a person at a prompt.
const RELEASE_LIMIT: Duration = Duration::from_secs(5);

pub struct Keeper {
    pub store: Store,
    pub wish: Wish,
    pub word: Word,
    pub events: mpsc::Sender<Event>,
    /// Tells the supervising thread that there is an event to read.
    pub nudge: Wake,
    pub commands: mpsc::Receiver<Command>,
    /// Readable when there is a command to read.
    pub called: Wake,
}

impl Keeper {
    pub fn new(
        store: Store,
        wish: Wish,
        word: Word,
        to: (mpsc::Sender<Event>, Wake),
        from: (mpsc::Receiver<Command>, Wake),
    ) -> Keeper {
        let (events, nudge) = to;
        let (commands, called) = from;
        Keeper {
            store,
            wish,
            word,
            events,
            nudge,
            commands,
            called,
        }
    }

    /// The whole life of the thread. `otherwise` takes over if no usable answer came, for a user who would rather
    /// run without a lease.
    pub fn run(mut self, otherwise: Option<fn(&Keeper)>) {
        match self.ask() {
            Answer::Granted(holding) => {
                self.word.arm(self.wish.timing.kill_at(holding.sent));
                self.say(Event::Granted {
                    grant: holding.grant.clone(),
                    token: holding.token.clone(),
                    sent: holding.sent,
                });
                self.keep(holding);
            }
            Answer::Refused(refusal) => self.say(Event::Refused(refusal)),
            Answer::Failed {
                exit: Exit::Unavailable,
                text,
            } if otherwise.is_some() => {
                self.say(Event::Unleased { text });
                if let Some(otherwise) = otherwise {
                    otherwise(&self);
                }
            }
            Answer::Failed { exit, text } => self.say(Event::Failed { exit, text }),
            Answer::Cancelled => self.say(Event::Left),
        }
    }

    fn ask(&mut self) -> Answer {
        let Keeper {
            store,
            wish,
            commands,
            called,
            events,
            nudge,
            ..
        } = self;
        let mut cancelled = || {
            called.drain();
            // Nothing but Cancel makes sense before a grant, and a supervisor that is gone wants no lease.
            !matches!(commands.try_recv(), Err(mpsc::TryRecvError::Empty))
        };
        let mut tell = |event| {
            if events.send(event).is_ok() {
                nudge.notify();
            }
        };
        Asking::new(store, wish, called.fd(), &mut cancelled, &mut tell).run()
    }

    pub fn say(&self, event: Event) {
        // A supervisor that no longer listens has ended the run: the lease is left to its TTL.
        if self.events.send(event).is_ok() {
            self.nudge.notify();
        }
    }

    fn keep(&mut self, mut holding: Holding) {
        let mut backoff = Backoff::new();
        let mut next = self.wish.timing.renew_at(holding.sent);
        let mut lost = false;
        // The clocks may have stood still: only what Redis says now counts, and silence is a loss.
        let mut look = false;
        loop {
            match self.next_command(if lost { Moment::FAR } else { next }) {
                Some(Command::Release(finished)) => return self.release(&holding, &finished),
                Some(Command::Abandon) => return self.store.hang_up(),
                // Crossed with the grant on the way: who hears of that one answers it with a release.
                Some(Command::Cancel) => continue,
                Some(Command::Look) => look = true,
                None => {}
            }
            if lost {
                continue;
            }
            match self.renew(&mut holding) {
                Ok(None) => {
                    look = false;
                    backoff = Backoff::new();
                    next = self.wish.timing.renew_at(holding.sent);
                }
                Ok(Some(loss)) => {
                    lost = true;
                    self.say(Event::Lost(loss));
                }
                // A command came: it is read first, and the question asked again.
                Err(trouble) if trouble.kind == Kind::Interrupted => next = Moment::now(),
                Err(trouble) => {
                    // A right that was taken away does not come back by asking faster; it may by asking again.
                    next = Moment::now().after(backoff.next());
                    self.say(Event::Retrying { text: trouble.text });
                    // Past the kill moment a renewal cannot be used any more: the word is final.
                    lost = self.word.get().is_none();
                    if look {
                        lost = true;
                        self.say(Event::Lost(Loss::Expired));
                    }
                }
            }
        }
    }

    /// A command, or None at the moment `until`. A supervisor that is gone counts as `Abandon`.
    pub fn next_command(&self, until: Moment) -> Option<Command> {
        loop {
            // Silenced before the commands are read: one that comes in between rings again.
            self.called.drain();
            match self.commands.try_recv() {
                Ok(command) => return Some(command),
                Err(mpsc::TryRecvError::Disconnected) => return Some(Command::Abandon),
                Err(mpsc::TryRecvError::Empty) => {}
            }
            if !until_readable(&[self.called.fd()], until) {
                return None;
            }
        }
    }

    /// One renewal on the connection there is, or on a new one. None: good.
    fn renew(&mut self, holding: &mut Holding) -> Result<Option<Loss>, Trouble> {
        let timing = self.wish.timing;
        let now = Moment::now();
        let until = now
            .after(timing.request_limit)
            .min(holding.sent.after(timing.ttl));
        self.store.connect(until)?;
        let sent = Moment::now();
        // From the job's start on, a key that the server lost is written again where nobody can have held it.
        let restore = self.word.has_started() && !self.wish.names.is_raw();
        match self
            .store
            .ask(&renewal(&self.wish, holding, restore), until)?
        {
            Ok(renewed) => {
                if !self.word.extend(timing.kill_at(sent)) {
                    return Ok(Some(Loss::Expired));
                }
                holding.sent = sent;
                holding.expires_at_us = renewed.expires_at_us;
                if renewed.restored {
                    self.say(Event::Restored);
                }
                self.say(Event::Renewed { sent });
                Ok(None)
            }
            Err(loss) => Ok(Some(loss)),
        }
    }

    fn release(&mut self, holding: &Holding, finished: &Finished) {
        let end = Moment::now().after(RELEASE_LIMIT);
        let called = &self.called;
        called.drain();
        let calm = || {
            called.drain();
            true
        };
        let given = give_back(
            &mut self.store,
            &self.wish,
            holding,
            Some(finished),
            end,
            &calm,
        );
        self.say(Event::Released(match given {
            Ok(Ok(())) => Released::Done,
            Ok(Err(loss)) => Released::Lost(loss),
            Err(trouble) => Released::Unsure {
                text: trouble.text,
                lapses_in: holding
                    .sent
                    .after(self.wish.timing.ttl)
                    .remaining(Moment::now()),
            },
        }));
        self.store.hang_up();
    }
}

/// The renewal of a holding; `restore` asks to write it again where nobody can have held since.
pub fn renewal<'a>(wish: &'a Wish, holding: &'a Holding, restore: bool) -> Renew<'a> {
    Renew {
        names: &wish.names,
        slot: holding.grant.slot,
        limit: wish.limit,
        token: &holding.token,
        fence: holding.grant.fence,
        ttl: wish.timing.ttl,
        retain: wish.retain,
        only_longer: false,
        restore_until_us: restore.then_some(holding.expires_at_us),
        acquired_at_us: holding.grant.acquired_at_us,
        identity: &wish.identity,
    }
}

/// `calm` silences what interrupts, if nothing may interrupt this. Releases, again and again until `end`: the first try on the connection there is, each later one on a new one
/// and marked as a resend, since the reply of the first may be what was lost.
pub fn give_back(
    store: &mut Store,
    wish: &Wish,
    holding: &Holding,
    finished: Option<&Finished>,
    end: Moment,
    calm: &dyn Fn() -> bool,
) -> Result<Result<(), Loss>, Trouble> {
    let mut backoff = Backoff::new();
    let mut resend = false;
    let kept = wish
        .min_hold
        .filter(|_| finished.is_some_and(|f| f.success || !wish.min_hold_on_success));
    let acquired_at_us = holding.grant.acquired_at_us;
    let run = finished.map(|finished| Run {
        finished,
        duration: Moment::now().since(holding.began),
        host: &wish.identity.host,
        acquired_at_us,
        once_per: wish.once_per.is_some() && finished.success,
    });
    loop {
        let request = Release {
            names: &wish.names,
            slot: holding.grant.slot,
            limit: wish.limit,
            token: &holding.token,
            fence: holding.grant.fence,
            retain: wish.retain,
            resend,
            strict: false,
            keep_until_us: kept.map(|kept| acquired_at_us + micros(kept)),
            unlost_until_us: (!wish.names.is_raw()).then_some(holding.expires_at_us),
            run,
        };
        let until = Moment::now()
            .after(wish.timing.request_limit.max(Duration::from_secs(1)))
            .min(end);
        let trouble = match store.ask(&request, until) {
            Ok(released) => return Ok(released),
            Err(trouble) => trouble,
        };
        resend |= trouble.sent;
        if trouble.kind == Kind::Interrupted {
            if calm() && !end.passed(Moment::now()) {
                continue;
            }
            return Err(trouble);
        }
        let next = Moment::now().after(backoff.next());
        if end.passed(next) || matches!(trouble.kind, Kind::Denied | Kind::Config) {
            return Err(trouble);
        }
        std::thread::sleep(next.remaining(Moment::now()));
    }
}

/// The exit code of a trouble that cannot be waited out.
pub fn exit_of(kind: Kind) -> Exit {
    match kind {
        Kind::Denied => Exit::Denied,
        Kind::Config => Exit::Config,
        Kind::Again | Kind::Interrupted => Exit::Unavailable,
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
