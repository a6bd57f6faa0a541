//! The guard's process: it starts the job, watches the clock and redlease, and buries the job's descendants.

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsString};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use super::watch::{Act, Phase, Watch};
use super::wire::{Order, Report};
use super::{OnLost, Policy};
use crate::sys::caller::{self, Caller};
use crate::sys::channel::{Channel, Received};
use crate::sys::descriptors::{keep_only, wait_for};
use crate::sys::job::{self, Program, TOO_LATE};
use crate::sys::process::{self, Reaped};
use crate::sys::signals::{self, CHILD, CONTINUE, Incoming};
use crate::sys::timer::Timer;
use crate::sys::tree::{Survivor, Tree};
use crate::sys::word::Word;
use crate::time::Moment;

/// More are not told to redlease: a message has an end.
const NAMED: usize = 1_000;
/// Between two rounds of killing: the end of a child wakes earlier.
const ROUND_MS: u16 = 1;
/// Between two rounds on those that may not be signalled.
const DENIED_ROUND_MS: u16 = 100;
/// Rounds after which the others are known to be gone, and those that are left cannot be killed.
const DENIED_ROUNDS: u32 = 8;
/// How long one walk through the tree may take, on a machine that the job has overloaded.
const WORK: Duration = Duration::from_secs(3);

pub struct Guard {
    argv: Vec<CString>,
    environment: Vec<Cow<'static, CStr>>,
    caller: Caller,
    policy: Policy,
    channel: Channel,
    word: Word,
    signals: Incoming,
    timer: Timer,
    watch: Watch,
    tree: Tree,
    job: Option<i32>,
    denied: Vec<Survivor>,
    told_unkillable: bool,
    leaving: bool,
}

impl Guard {
    /// In the guard's process, with all signals blocked.
    ///
    /// # Errors
    /// A descriptor or the adoption of orphans is refused.
    pub fn new(
        argv: Vec<CString>,
        caller: Caller,
        policy: Policy,
        channel: Channel,
        word: Word,
    ) -> io::Result<Guard> {
        caller::rename_process(c"leaseguard");
        // If it is ignored, children vanish without a status.
        signals::set_default(CHILD);
        process::adopt_orphans()?;
        let mut numbers = signals::forwarded();
        numbers.push(CHILD);
        let inherited = caller::environment().into_iter();
        Ok(Guard {
            argv,
            environment: inherited.map(Cow::Borrowed).collect(),
            caller,
            channel,
            word,
            signals: Incoming::new(&numbers)?,
            timer: Timer::new()?,
            watch: Watch::new(policy.clone()),
            policy,
            tree: Tree::new(vec![]),
            job: None,
            denied: Vec::new(),
            told_unkillable: false,
            leaving: false,
        })
    }

    /// The rest of this process' life.
    pub fn run(mut self) -> ! {
        while !self.leaving {
            self.look();
            self.hear();
            self.take_note_of_signals();
            #[cfg(feature = "mutate")]
            if crate::mutate::without("guard") && self.watch.phase() == Phase::Killing {
                break;
            }
            if self.watch.phase() == Phase::Killing {
                self.kill_round();
            }
            if !self.leaving {
                self.sleep();
            }
        }
        // The lease is given back while this process is taken apart, not after.
        process::give_way();
        process::leave(0)
    }

    fn sleep(&mut self) {
        let killing = self.watch.phase() == Phase::Killing;
        let next = self.watch.next_look(self.word.get());
        if killing {
            self.promise_work();
        } else {
            self.word.promise_look(next.unwrap_or(Moment::FAR));
        }
        if self.timer.set(next).is_err() {
            // Without a timer no deadline can be kept.
            self.word.expire();
            return;
        }
        let mut descriptors = vec![self.signals.fd(), self.timer.fd()];
        // A closed line would wake at once, for ever.
        if self.watch.has_listener() {
            descriptors.push(self.channel.fd());
        }
        let limit = match (killing, self.denied.is_empty()) {
            (false, _) => None,
            (true, true) => Some(ROUND_MS),
            (true, false) => Some(DENIED_ROUND_MS),
        };
        wait_for(&descriptors, limit);
        self.timer.drain();
    }

    /// The next look is after a walk through the tree, which takes its time.
    fn promise_work(&self) {
        self.word.promise_look(Moment::now().after(WORK));
    }

    /// Time first: after a pause nothing else may happen before the clock was looked at.
    fn look(&mut self) {
        let acts = self.watch.look(self.word.get(), Moment::now());
        self.perform(acts);
    }

    fn hear(&mut self) {
        while self.watch.has_listener() {
            let acts = match self.channel.receive() {
                Received::Nothing => return,
                Received::End => self.watch.listener_gone(),
                Received::Message(message) => match Order::decode(&message) {
                    Some(Order::Start(additions)) => {
                        add(&mut self.environment, &additions);
                        self.watch.ordered_to_start(self.word.get(), Moment::now())
                    }
                    Some(Order::Stop) => self.watch.ordered_to_stop(Moment::now()),
                    Some(Order::Forward(number)) => {
                        self.take_note_of_signals();
                        self.watch.ordered_to_forward(number, Moment::now())
                    }
                    None => self.watch.listener_gone(),
                },
            };
            self.perform(acts);
            if self.leaving {
                return;
            }
        }
    }

    fn take_note_of_signals(&mut self) {
        let mut child = false;
        while let Some(arrived) = self.signals.next() {
            if arrived.number == CHILD {
                child = true;
            } else {
                self.watch.witness(arrived.number, Moment::now());
            }
        }
        if child {
            self.reap();
        }
    }

    /// What follows is done when all is known, so that redlease is woken once for a job that ends and leaves nobody.
    fn reap(&mut self) {
        let mut acts = Vec::new();
        loop {
            match process::reap() {
                Reaped::Nothing => break,
                Reaped::NoChildren => {
                    acts.extend(self.watch.no_children());
                    break;
                }
                Reaped::Child { pid, end } if self.job == Some(pid) => {
                    self.job = None;
                    acts.extend(match self.word.not_executed() {
                        Some(TOO_LATE) => Some(Act::Report(Report::TooLate)),
                        Some(why) => Some(Act::Report(Report::NotExecuted(why as i32))),
                        None => None,
                    });
                    acts.extend(self.watch.job_ended(end, Moment::now()));
                }
                Reaped::Child { .. } => {}
            }
        }
        self.perform(acts);
    }

    fn kill_round(&mut self) {
        self.denied = self.tree.kill();
        self.reap();
        if self.tree.rounds() >= DENIED_ROUNDS && !self.denied.is_empty() && !self.told_unkillable {
            self.told_unkillable = true;
            let named = self.denied.iter().take(NAMED).cloned().collect();
            self.tell(&Report::Unkillable(named));
        }
    }

    fn perform(&mut self, acts: Vec<Act>) {
        for act in acts {
            let more = match act {
                Act::Start => self.start_job(),
                Act::Forward(number) => {
                    if let Some(pid) = self.job {
                        // Not reaped here yet, so that the pid is still its own.
                        let _ended = signals::send(pid, number);
                    }
                    vec![]
                }
                Act::ForwardAll(number) => {
                    self.tree.signal(&[number]);
                    vec![]
                }
                Act::StopAll => {
                    self.promise_work();
                    self.tree.signal(&[self.policy.signal as i32, CONTINUE]);
                    vec![]
                }
                Act::Expire(kill_at) => {
                    if self.word.expire_if(kill_at) {
                        self.watch.expired()
                    } else {
                        self.watch.look(self.word.get(), Moment::now())
                    }
                }
                Act::ExpireNow => {
                    self.word.expire();
                    vec![]
                }
                Act::ListLeftovers => {
                    let mut members = self.tree.members();
                    members.truncate(NAMED);
                    self.watch.leftovers(members, Moment::now())
                }
                Act::Report(report) => {
                    self.tell(&report);
                    vec![]
                }
                Act::Leave => {
                    self.leaving = true;
                    vec![]
                }
            };
            self.perform(more);
        }
    }

    fn start_job(&mut self) -> Vec<Act> {
        let program = Program {
            argv: &self.argv,
            environment: &self.environment,
            caller: &self.caller,
        };
        let bound = self.policy.on_lost != OnLost::Warn;
        match job::start(&program, self.word, bound) {
            Ok(pid) => {
                self.job = Some(pid);
                self.word.note_start();
                self.watch.started(Moment::now());
                let kept = [
                    self.channel.fd().as_raw_fd(),
                    self.signals.fd().as_raw_fd(),
                    self.timer.fd().as_raw_fd(),
                ];
                // Only now: the job has to begin in the caller's session, with the caller's descriptors.
                let apart = process::leave_session().and_then(|()| keep_only(&kept));
                match apart {
                    Ok(()) => vec![],
                    // A guard that a key of the terminal can reach is none.
                    Err(_) => self.watch.ordered_to_stop(Moment::now()),
                }
            }
            Err(why) => self.watch.not_started(why.raw_os_error().unwrap_or(0)),
        }
    }

    fn tell(&self, report: &Report) {
        // A full line means that redlease is stopped: it will see the word, or the end of this process.
        let _unheard = self.channel.send(&report.encode());
    }
}

/// The additions, in the place of what was called so before; an empty one takes it away.
fn add(environment: &mut Vec<Cow<'static, CStr>>, additions: &[(OsString, OsString)]) {
    for (name, value) in additions {
        let mut start = name.as_bytes().to_vec();
        start.push(b'=');
        environment.retain(|entry| !entry.to_bytes().starts_with(&start));
        if value.is_empty() {
            continue;
        }
        start.extend(value.as_bytes());
        // A value with a NUL cannot be in an environment.
        environment.extend(CString::new(start).map(Cow::Owned));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additions_replace_what_was_called_so() {
        let mut environment = [c"A=1", c"AB=2", c"odd"].map(Cow::Borrowed).to_vec();
        add(&mut environment, &[("A".into(), "3".into())]);
        add(
            &mut environment,
            &[("B".into(), "4".into()), ("B".into(), "".into())],
        );
        assert_eq!(environment, [c"AB=2", c"odd", c"A=3"]);
    }
}
