//! What the guard does, as a pure state machine: what it sees and the time in, what it has to do out.
//!
//! The guard is the parent of the job. It stops the job when its time is over and kills it when redlease dies;
//! it ends itself when the kernel says that nothing of the job is left.

#[cfg(test)]
mod tests;

use std::time::Duration;

use super::wire::Report;
use super::{Leftovers, OnLost, Policy};
use crate::sys::Signal;
use crate::sys::process::End;
use crate::sys::signals::ASKS_TO_END;
use crate::sys::tree::Member;
use crate::time::Moment;

/// How long after the job's end its descendants may take to end by themselves: those that die of the same
/// signal as the job are no leftovers.
const SETTLING: Duration = Duration::from_millis(50);
/// A signal that the guard got too, at most this long before, was sent to the whole control group, so that the
/// job has it already.
const WITNESS: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No job yet.
    Waiting,
    Running,
    /// The job has ended, and its descendants have a moment to follow.
    Settling {
        until: Moment,
    },
    /// All were told to end.
    Stopping {
        kill_at: Moment,
    },
    Killing,
    /// Nothing of the job is left, or it is left alone on purpose.
    Gone,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Start,
    /// To the job's first process only.
    Forward(i32),
    /// To every process, because the first one has ended and the others are waited for.
    ForwardAll(i32),
    /// The stop signal to every process of the job, and CONT, without which a stopped one would not see it.
    StopAll,
    /// End the lease in the word if it still holds this moment, and say so by `expired`.
    Expire(Moment),
    /// End the lease in the word whatever it holds.
    ExpireNow,
    /// Find out who is left behind, and say so by `leftovers`.
    ListLeftovers,
    Report(Report),
    Leave,
}

#[derive(Clone, Debug)]
pub struct Watch {
    policy: Policy,
    phase: Phase,
    job_ended: bool,
    /// `-k` counts from the signal that was passed on.
    kill_at: Option<Moment>,
    run_until: Option<Moment>,
    listener: bool,
    witnessed: Vec<(i32, Moment)>,
}

impl Watch {
    pub fn new(policy: Policy) -> Watch {
        Watch {
            policy,
            phase: Phase::Waiting,
            job_ended: false,
            kill_at: None,
            run_until: None,
            listener: true,
            witnessed: Vec::new(),
        }
    }

    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether redlease is there, as far as the guard knows.
    pub fn has_listener(&self) -> bool {
        self.listener
    }

    /// To be asked after each wake-up, before anything else is looked at.
    pub fn look(&mut self, word: Option<Moment>, now: Moment) -> Vec<Act> {
        match self.phase {
            Phase::Waiting | Phase::Killing | Phase::Gone => return vec![],
            Phase::Running | Phase::Settling { .. } | Phase::Stopping { .. } => {}
        }
        let Some(kill_at) = word else {
            // redlease ended the lease: it takes the guard for dead.
            self.phase = Phase::Killing;
            return vec![];
        };
        if self.guards() && kill_at.passed(now) {
            return vec![Act::Expire(kill_at)];
        }
        if self.kill_at.is_some_and(|at| at.passed(now)) {
            self.phase = Phase::Killing;
            return vec![];
        }
        match self.phase {
            Phase::Stopping { kill_at } if kill_at.passed(now) => {
                self.phase = Phase::Killing;
                vec![]
            }
            Phase::Running | Phase::Settling { .. }
                if self.guards() && kill_at.before(self.grace_of_loss()).passed(now) =>
            {
                self.stop(Report::Stopping, self.grace_of_loss(), now)
            }
            Phase::Running if self.run_until.is_some_and(|at| at.passed(now)) => {
                self.stop(Report::MaxRun, self.policy.kill_after, now)
            }
            Phase::Settling { until } if until.passed(now) => vec![Act::ListLeftovers],
            _ => vec![],
        }
    }

    /// When to look again if nothing happens until then.
    pub fn next_look(&self, word: Option<Moment>) -> Option<Moment> {
        let kill_at = word.filter(|_| self.guards());
        let stop_at = kill_at.map(|at| at.before(self.grace_of_loss()));
        let moments = match self.phase {
            Phase::Waiting | Phase::Killing | Phase::Gone => return None,
            Phase::Running => [stop_at, self.run_until, self.kill_at],
            Phase::Settling { until } => [stop_at, Some(until), self.kill_at],
            Phase::Stopping { kill_at: own } => [kill_at, Some(own), self.kill_at],
        };
        moments.into_iter().flatten().min()
    }

    pub fn ordered_to_start(&mut self, word: Option<Moment>, now: Moment) -> Vec<Act> {
        if self.phase != Phase::Waiting {
            return vec![];
        }
        let in_time = word.is_some_and(|at| !at.before(self.policy.kill_after).passed(now));
        if in_time {
            vec![Act::Start]
        } else {
            self.end(Report::TooLate)
        }
    }

    pub fn started(&mut self, now: Moment) {
        self.phase = Phase::Running;
        self.run_until = self.policy.max_run.map(|limit| now.after(limit));
    }

    pub fn not_started(&mut self, errno: i32) -> Vec<Act> {
        self.end(Report::NotStarted(errno))
    }

    /// The lease is lost, says redlease.
    pub fn ordered_to_stop(&mut self, now: Moment) -> Vec<Act> {
        match self.phase {
            Phase::Running | Phase::Settling { .. } => self.stop_all(self.grace_of_loss(), now),
            Phase::Stopping { kill_at } => {
                let kill_at = kill_at.min(now.after(self.grace_of_loss()));
                self.phase = Phase::Stopping { kill_at };
                vec![]
            }
            Phase::Waiting | Phase::Killing | Phase::Gone => vec![],
        }
    }

    pub fn ordered_to_forward(&mut self, number: i32, now: Moment) -> Vec<Act> {
        let forward = match self.phase {
            Phase::Running | Phase::Stopping { .. } if !self.job_ended => Act::Forward(number),
            Phase::Running if ASKS_TO_END.contains(&number) => Act::ForwardAll(number),
            _ => return vec![],
        };
        let ends_the_job = number == Signal::SIGTERM as i32 || number == self.policy.signal as i32;
        if self.policy.kill_after_typed && ends_the_job && self.kill_at.is_none() {
            self.kill_at = Some(now.after(self.policy.kill_after));
        }
        let before = self.witnessed.len();
        self.witnessed
            .retain(|(seen, at)| *seen != number || at.after(WITNESS).passed(now));
        if self.witnessed.len() < before {
            return vec![];
        }
        vec![forward]
    }

    /// The guard itself got this signal.
    pub fn witness(&mut self, number: i32, now: Moment) {
        self.witnessed.retain(|(seen, _)| *seen != number);
        self.witnessed.push((number, now));
    }

    /// redlease is dead.
    pub fn listener_gone(&mut self) -> Vec<Act> {
        if !self.listener {
            return vec![];
        }
        self.listener = false;
        match self.phase {
            Phase::Waiting | Phase::Gone => {
                self.phase = Phase::Gone;
                vec![Act::Leave]
            }
            Phase::Running | Phase::Settling { .. } | Phase::Stopping { .. } => {
                self.phase = Phase::Killing;
                vec![Act::ExpireNow]
            }
            // Already at it, also on those that may not be signalled.
            Phase::Killing => vec![Act::ExpireNow],
        }
    }

    /// The exchange that `Act::Expire` asked for was made: no renewal can follow.
    pub fn expired(&mut self) -> Vec<Act> {
        self.phase = Phase::Killing;
        vec![Act::Report(Report::Expired)]
    }

    pub fn job_ended(&mut self, end: End, now: Moment) -> Vec<Act> {
        self.job_ended = true;
        let mut acts = vec![Act::Report(Report::Ended(end))];
        if self.phase == Phase::Running {
            #[cfg(feature = "mutate")]
            if crate::mutate::without("last process") {
                acts.extend(self.end(Report::Empty));
                return acts;
            }
            match self.policy.leftovers {
                Leftovers::Stop => {
                    let until = now.after(SETTLING);
                    self.phase = Phase::Settling { until };
                }
                Leftovers::Wait => {}
                Leftovers::Leave => acts.extend(self.end(Report::Empty)),
            }
        }
        acts
    }

    /// The answer to `Act::ListLeftovers`.
    pub fn leftovers(&mut self, members: Vec<Member>, now: Moment) -> Vec<Act> {
        if !matches!(self.phase, Phase::Settling { .. }) {
            return vec![];
        }
        if members.is_empty() {
            // Ended but not yet reaped: the next look finds out.
            let until = now.after(SETTLING);
            self.phase = Phase::Settling { until };
            return vec![];
        }
        self.stop(Report::Leftovers(members), self.policy.kill_after, now)
    }

    /// The kernel says that no descendant is left.
    pub fn no_children(&mut self) -> Vec<Act> {
        match self.phase {
            Phase::Waiting | Phase::Gone => vec![],
            _ => self.end(Report::Empty),
        }
    }

    fn end(&mut self, last: Report) -> Vec<Act> {
        self.phase = Phase::Gone;
        vec![Act::Report(last), Act::Leave]
    }

    fn stop(&mut self, why: Report, grace: Duration, now: Moment) -> Vec<Act> {
        let mut acts = vec![Act::Report(why)];
        acts.extend(self.stop_all(grace, now));
        acts
    }

    fn stop_all(&mut self, grace: Duration, now: Moment) -> Vec<Act> {
        if grace.is_zero() {
            self.phase = Phase::Killing;
            return vec![];
        }
        let kill_at = now.after(grace);
        self.phase = Phase::Stopping { kill_at };
        vec![Act::StopAll]
    }

    /// Whether the word binds the job.
    fn guards(&self) -> bool {
        self.policy.on_lost != OnLost::Warn
    }

    /// Between the stop signal and KILL when the lease is over.
    fn grace_of_loss(&self) -> Duration {
        match self.policy.on_lost {
            OnLost::Kill => Duration::ZERO,
            OnLost::Stop | OnLost::Warn => self.policy.kill_after,
        }
    }
}
