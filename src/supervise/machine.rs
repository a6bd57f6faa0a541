//! What redlease does while it asks for a lease, holds it and gives it back, as a pure state machine: what it
//! sees and the time in, what it has to do out.
//!
//! Its promises: no job without a lease; the lease is given back only after the last process of the job is gone,
//! or never held; there is a way out of every state, whoever hangs.

mod clocks;
mod lease;
#[cfg(test)]
mod tests;

use std::time::Duration;

use self::clocks::Clocks;
use super::ending::{Ending, Notice};
use super::policy::Policy;
use super::wire::Report;
use crate::exit::Exit;
use crate::lease::dialog::Command;
use crate::lease::policy::OnLost;
use crate::lease::{Grant, Loss, Token};
use crate::sys::signals::{ASKS_TO_END, Arrived, CONTINUE, HANGUP, INTERRUPT, QUIT, RESIZE};
use crate::sys::tree::Survivor;
use crate::time::{Moment, wall_us};

/// After a signal, how long the keeper may take to leave the queue or to give back. Another one ends it at once.
const PARTING: Duration = Duration::from_secs(2);
/// The keeper bounds its requests itself; this is for one that hangs.
const RELEASE_LIMIT: Duration = Duration::from_secs(15);
/// How late the guard may be at the kill moment.
const GUARD_LATE: Duration = Duration::from_millis(20);
/// How late it may be, at least, at a look that no deadline hangs on.
const GUARD_SILENT: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No lease yet.
    Asking,
    /// On the way out without a job.
    Parting {
        until: Moment,
    },
    /// The lease is there, the guard was told to start.
    Starting,
    Running,
    /// Nothing of the job is left.
    Releasing {
        until: Moment,
    },
    Over,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The word says that the job's process was made.
    Started,
    Guard(Report),
    GuardGone,
    KeeperGone,
    /// The order to start could not be sent.
    NotSent,
    Signal(Arrived),
    /// The answer to `Act::TakeOver`: who could not be killed.
    TakenOver(Vec<Survivor>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    Tell(Command),
    Say(Notice),
    Start { grant: Grant, token: Token },
    Stop,
    Forward(i32),
    TakeOver,
}

#[derive(Clone, Debug)]
pub struct Machine {
    policy: Policy,
    leads_session: bool,
    phase: Phase,
    ending: Ending,
    taking_over: bool,
    clocks: Option<Clocks>,
    suspicion: Option<Suspicion>,
}

/// The guard has not kept this promise, and gets time until then.
#[derive(Clone, Copy, Debug)]
struct Suspicion {
    promise: Moment,
    until: Moment,
}

impl Machine {
    pub fn new(policy: Policy, leads_session: bool) -> Machine {
        Machine {
            policy,
            leads_session,
            phase: Phase::Asking,
            ending: Ending::new(),
            taking_over: false,
            clocks: None,
            suspicion: None,
        }
    }

    /// How it ended, once it has.
    pub fn ending(&self) -> Option<Ending> {
        (self.phase == Phase::Over).then(|| {
            let mut ending = self.ending.clone();
            ending.exit = self.ending.exit_for(self.policy.on_lost);
            ending
        })
    }

    fn has_job(&self) -> bool {
        matches!(self.phase, Phase::Starting | Phase::Running) && !self.taking_over
    }

    /// To be asked after each wake-up, when what the guard has said was heard: its last words come first.
    pub fn look(&mut self, word: Option<Moment>, guard_looks_at: Moment, now: Moment) -> Vec<Act> {
        match self.phase {
            Phase::Parting { until } | Phase::Releasing { until } if until.passed(now) => {
                self.phase = Phase::Over;
                return vec![];
            }
            _ => {}
        }
        if self.has_job() {
            if self.deadline(word).is_some_and(|at| at.passed(now)) {
                // A guard that is late, on a machine that is busy, is not worth a word.
                let mut acts = self.expired();
                acts.extend(self.take_over(None));
                return acts;
            }
            if self.breaks_promise(guard_looks_at, now) {
                return self.take_over(Some(Notice::GuardHung));
            }
        }
        if let Some(clocks) = &mut self.clocks
            && self.phase == Phase::Running
            && clocks.leapt(now, wall_us())
        {
            return vec![Act::Tell(Command::Look)];
        }
        vec![]
    }

    pub fn next_look(&self, word: Option<Moment>, guard_looks_at: Moment) -> Option<Moment> {
        match self.phase {
            Phase::Parting { until } | Phase::Releasing { until } => Some(until),
            _ if self.has_job() => {
                let promise = match self.suspicion {
                    Some(suspicion) if suspicion.promise == guard_looks_at => suspicion.until,
                    _ => guard_looks_at.after(GUARD_LATE),
                };
                Some(self.deadline(word).map_or(promise, |at| promise.min(at)))
            }
            _ => None,
        }
    }

    /// When the guard must have ended the lease in the word.
    fn deadline(&self, word: Option<Moment>) -> Option<Moment> {
        word.filter(|_| self.policy.on_lost != OnLost::Warn)
            .map(|kill_at| kill_at.after(GUARD_LATE))
    }

    /// It promises each look at the clock, so that a guard that hangs is found out even while renewals move the
    /// deadline on. When all were paused, this process may be the first to run again: then the guard gets time to
    /// keep its promise.
    fn breaks_promise(&mut self, promise: Moment, now: Moment) -> bool {
        if !promise.after(GUARD_LATE).passed(now) {
            return false;
        }
        match self.suspicion {
            Some(suspicion) if suspicion.promise == promise => suspicion.until.passed(now),
            _ => {
                let until = now.after(self.policy.kill_after.max(GUARD_SILENT));
                self.suspicion = Some(Suspicion { promise, until });
                false
            }
        }
    }

    pub fn see(&mut self, input: Input, now: Moment) -> Vec<Act> {
        if self.phase == Phase::Over {
            return vec![];
        }
        match input {
            Input::Signal(arrived) => self.signal(arrived, now),
            Input::Started if self.phase == Phase::Starting => {
                self.phase = Phase::Running;
                self.ending.started = true;
                vec![]
            }
            Input::Started => vec![],
            Input::Guard(report) => self.hear_guard(report, now),
            Input::GuardGone => self.guard_gone(now),
            Input::KeeperGone => self.keeper_gone(),
            Input::NotSent if self.phase == Phase::Starting => {
                self.take_over(Some(Notice::GuardDied))
            }
            Input::NotSent => vec![],
            Input::TakenOver(survivors) => {
                self.taking_over = false;
                match self.phase {
                    Phase::Starting | Phase::Running if survivors.is_empty() => self.empty(now),
                    Phase::Starting | Phase::Running => self.unkillable(survivors),
                    _ => vec![],
                }
            }
        }
    }

    fn signal(&mut self, arrived: Arrived, now: Moment) -> Vec<Act> {
        let number = arrived.number;
        let asks_to_end = ASKS_TO_END.contains(&number);
        match self.phase {
            Phase::Asking if asks_to_end => {
                self.ending.signalled = Some(number);
                self.ending.decided = Some(Exit::Signal(number));
                self.part(now.after(PARTING))
            }
            Phase::Parting { .. } if asks_to_end => {
                self.phase = Phase::Over;
                vec![]
            }
            Phase::Starting | Phase::Running => {
                let mut acts = Vec::new();
                if number == CONTINUE {
                    acts.push(Act::Tell(Command::Look));
                }
                if !self.has_got(arrived) {
                    acts.push(Act::Forward(number));
                }
                acts
            }
            Phase::Releasing { until } if asks_to_end => {
                let until = until.min(now.after(PARTING));
                self.phase = Phase::Releasing { until };
                vec![]
            }
            _ => vec![],
        }
    }

    /// A key of the terminal reaches the whole foreground group, and the job is in it. A hangup reaches the leader
    /// of the session only, which may be this process.
    fn has_got(&self, arrived: Arrived) -> bool {
        arrived.from_kernel
            && match arrived.number {
                INTERRUPT | QUIT | RESIZE => true,
                HANGUP | CONTINUE => !self.leads_session,
                _ => false,
            }
    }

    fn part(&mut self, until: Moment) -> Vec<Act> {
        self.phase = Phase::Parting { until };
        vec![Act::Tell(Command::Cancel)]
    }

    fn hear_guard(&mut self, report: Report, now: Moment) -> Vec<Act> {
        if !self.has_job() {
            return vec![];
        }
        match report {
            Report::TooLate => {
                self.ending.started = false;
                self.ending.may_have_begun = false;
                self.too_late(now)
            }
            Report::NotStarted(errno) => {
                let why = std::io::Error::from_raw_os_error(errno);
                self.ending.may_have_begun = false;
                self.fail(Exit::Failed, format!("the job cannot be started: {why}"));
                self.release(now)
            }
            Report::NotExecuted(errno) => {
                let why = std::io::Error::from_raw_os_error(errno);
                self.ending.started = false;
                self.ending.may_have_begun = false;
                let exit = match why.kind() {
                    std::io::ErrorKind::NotFound => Exit::NotFound,
                    _ => Exit::CannotExecute,
                };
                self.fail(exit, why.to_string());
                vec![]
            }
            Report::Ended(end) => {
                // The end of a process that never became the job is none.
                self.ending.job = self.ending.started.then_some(end);
                vec![]
            }
            Report::Stopping => self.expired(),
            Report::Expired => self.expired(),
            Report::MaxRun => {
                self.ending.max_run = true;
                vec![Act::Say(Notice::MaxRun)]
            }
            Report::Leftovers(members) => vec![Act::Say(Notice::Leftovers(members))],
            Report::Unkillable(survivors) => self.unkillable(survivors),
            Report::Empty => self.empty(now),
        }
    }

    /// No good answer in time: the clock alone says so, and the guard acts on it already.
    fn expired(&mut self) -> Vec<Act> {
        if self.ending.lost.is_some() {
            return vec![];
        }
        self.ending.lost = Some(Loss::Expired);
        vec![Act::Say(Notice::Lost(Loss::Expired))]
    }

    fn guard_gone(&mut self, now: Moment) -> Vec<Act> {
        match self.phase {
            Phase::Asking => {
                self.fail(Exit::Failed, "the guard process ended".to_owned());
                self.part(now.after(RELEASE_LIMIT))
            }
            Phase::Starting | Phase::Running => self.take_over(Some(Notice::GuardDied)),
            _ => vec![],
        }
    }

    /// `why` is what is wrong with the guard, if that is why the job is killed.
    fn take_over(&mut self, why: Option<Notice>) -> Vec<Act> {
        if self.taking_over {
            return vec![];
        }
        self.taking_over = true;
        let mut acts = Vec::new();
        if let Some(why) = why {
            self.ending.guard_failed = true;
            acts.push(Act::Say(why));
        }
        acts.push(Act::TakeOver);
        acts
    }

    fn keeper_gone(&mut self) -> Vec<Act> {
        match self.phase {
            Phase::Asking => {
                let text = "the thread that talks to Redis ended";
                self.fail(Exit::Failed, text.to_owned());
                self.phase = Phase::Over;
            }
            Phase::Parting { .. } | Phase::Releasing { .. } => self.phase = Phase::Over,
            // Without renewals the deadline comes.
            Phase::Starting | Phase::Running | Phase::Over => {}
        }
        vec![]
    }

    fn unkillable(&mut self, survivors: Vec<Survivor>) -> Vec<Act> {
        self.ending.unkillable.clone_from(&survivors);
        self.phase = Phase::Over;
        vec![
            Act::Tell(Command::Abandon),
            Act::Say(Notice::Unkillable(survivors)),
        ]
    }

    fn empty(&mut self, now: Moment) -> Vec<Act> {
        let stopped = self.ending.lost.is_some() && self.policy.on_lost != OnLost::Warn;
        let mut acts = if stopped || self.ending.max_run || self.ending.guard_failed {
            vec![Act::Say(Notice::Stopped)]
        } else {
            vec![]
        };
        self.ending.ended_at = Some(now);
        acts.extend(self.release(now));
        acts
    }

    fn release(&mut self, now: Moment) -> Vec<Act> {
        let until = now.after(RELEASE_LIMIT);
        self.phase = Phase::Releasing { until };
        vec![self.give_back()]
    }

    fn give_back(&self) -> Act {
        Act::Tell(Command::Release(self.ending.finished(self.policy.on_lost)))
    }
}
