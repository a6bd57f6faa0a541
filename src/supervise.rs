//! Minds a job under a lease: starts it when the lease is there, passes signals on, stops it when the lease is
//! lost, and gives the lease back when the kernel has proved that nothing of the job is left.
//!
//! Three processes: this one, the guard, which is the parent of the job, and the job. Either of the first two
//! kills the job when the other dies or hangs. What each does is decided by a pure machine (`machine` here,
//! `watch` in the guard); here are the loop that feeds it, and the preparation, whose order matters.

pub mod ending;
pub mod guard;
pub mod machine;
pub mod policy;
pub mod takeover;
pub mod watch;
pub mod wire;

use std::ffi::{CString, OsString};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::mpsc::{Receiver, TryRecvError};

use anyhow::{Context, Result};

pub use self::ending::{Ending, Notice};
use self::guard::Guard;
use self::machine::{Act, Input, Machine};
pub use self::policy::Policy;
use self::wire::{Order, Report};
use crate::lease::dialog::{Command, Event};
pub use crate::lease::policy::{Leftovers, OnLost};
use crate::lease::{Grant, Token};
use crate::sys::caller::Caller;
use crate::sys::channel::{Channel, Received};
use crate::sys::descriptors::{keep_only, wait_for};
use crate::sys::process::{self, Reaped, Side};
use crate::sys::signals::{self, CHILD, Incoming, KILL};
use crate::sys::timer::Timer;
use crate::sys::tree::{self, Tree};
use crate::sys::wake::Wake;
use crate::sys::word::Word;
use crate::time::Moment;

/// The program and its arguments; the program is looked up in PATH as execvp(3) does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub argv: Vec<OsString>,
}

pub struct Supervisor {
    word: Word,
    wake: Wake,
    channel: Channel,
    signals: Incoming,
    timer: Timer,
    /// Until it is reaped.
    guard: Option<i32>,
    line_open: bool,
    /// This process' own children, before the guard: not the job's.
    tree: Tree,
    policy: Policy,
}

/// Makes the guard and everything else that can fail, before a lease is asked for. To be called while there is
/// one thread; afterwards standard input and output are /dev/null here, and other descriptors are closed.
///
/// # Errors
/// There is more than one thread, no process or descriptor is left, or /proc is missing.
pub fn prepare(job: Job, policy: Policy) -> Result<Supervisor> {
    let argv: Vec<CString> = job
        .argv
        .iter()
        .map(|argument| CString::new(argument.as_bytes()))
        .collect::<Result<_, _>>()
        .context("an argument of the job contains a NUL byte")?;
    process::proc_is_there().context("the guard cannot be started")?;
    // The lists of /proc cost more than the question whether there is anything on them.
    let before = if process::has_children() {
        tree::children_of(std::process::id().cast_signed())
    } else {
        Vec::new()
    };
    let tree = Tree::new(before);
    let word = Word::new().context("no memory for the deadline")?;
    let (channel, theirs) = Channel::pair().context("no line to the guard")?;
    let forwarded: Vec<i32> = signals::forwarded()
        .into_iter()
        // A signal that is blocked is queued even if it is ignored: `nohup` would be broken.
        .filter(|number| !signals::is_ignored(*number))
        .collect();
    // Nothing may arrive in the guard between its fork and its first instruction.
    let caller = Caller::note(signals::set_mask(&signals::every())?);
    process::adopt_orphans().context("orphans of the job cannot be adopted")?;
    let guard = match process::fork().context("the guard cannot be started")? {
        Side::Parent { child } => child,
        Side::Child => {
            drop(channel);
            be_guard(argv, caller, policy, theirs, word)
        }
    };
    drop(theirs);
    signals::set_default(CHILD);
    let mut mine = forwarded;
    mine.push(CHILD);
    signals::set_mask(&signals::joined(&caller.mask, &mine))?;
    keep_only(&[channel.fd().as_raw_fd()])
        .context("descriptors cannot be given to the job alone")?;
    Ok(Supervisor {
        word,
        wake: Wake::new().context("no descriptor is left")?,
        channel,
        signals: Incoming::new(&mine).context("no descriptor is left")?,
        timer: Timer::new().context("no descriptor is left")?,
        guard: Some(guard),
        line_open: true,
        tree,
        policy,
    })
}

/// The rest of the guard's life. A panic in it must not run what redlease does at its own end.
fn be_guard(argv: Vec<CString>, caller: Caller, policy: Policy, channel: Channel, word: Word) -> ! {
    // redlease has something to do until it waits for Redis, and this process until then has not.
    process::give_way();
    let life = move || -> std::io::Result<std::convert::Infallible> {
        Guard::new(argv, caller, policy, channel, word)?.run()
    };
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(life)) {
        Ok(Ok(never)) => match never {},
        Ok(Err(_)) | Err(_) => process::leave(125),
    }
}

impl Supervisor {
    pub fn word(&self) -> Word {
        self.word
    }

    /// To be rung after each event that is sent.
    pub fn wake(&self) -> Wake {
        self.wake.clone()
    }

    /// The whole run: from the first question to the release. `tell` reaches the keeper, `env` makes the additions
    /// to the job's environment, `say` gets what a user may want to read.
    pub fn run(
        mut self,
        events: Receiver<Event>,
        mut tell: impl FnMut(Command),
        mut env: impl FnMut(&Grant, &Token) -> Vec<(OsString, OsString)>,
        mut say: impl FnMut(Notice),
    ) -> Ending {
        let mut machine = Machine::new(self.policy.clone(), process::leads_session());
        let mut keeper = Some(events);
        loop {
            let mut acts = self.take_note_of_start(&mut machine);
            acts.extend(self.hear_guard(&mut machine));
            acts.extend(machine.look(self.word.get(), self.word.guard_looks_at(), Moment::now()));
            acts.extend(self.hear_keeper(&mut keeper, &mut machine));
            acts.extend(self.take_note_of_signals(&mut machine));
            let mut acts = std::collections::VecDeque::from(acts);
            while let Some(act) = acts.pop_front() {
                match act {
                    Act::Tell(command) => tell(command),
                    Act::Say(notice) => {
                        let _undisturbed = signals::undisturbed();
                        say(notice);
                    }
                    Act::Start { grant, token } => {
                        let additions = env(&grant, &token);
                        if !self.order(&Order::Start(additions)) {
                            acts.extend(machine.see(Input::NotSent, Moment::now()));
                        }
                    }
                    Act::Stop => {
                        // If the line is full or closed the word or the guard's end does it.
                        self.order(&Order::Stop);
                    }
                    Act::Forward(number) => {
                        self.order(&Order::Forward(number));
                    }
                    Act::TakeOver => {
                        let survivors = takeover::take_over(&mut self);
                        acts.extend(machine.see(Input::TakenOver(survivors), Moment::now()));
                    }
                }
            }
            if let Some(ending) = machine.ending() {
                self.bury_guard(&ending);
                // What is said from here on must not stop this process in the background: nobody else of its
                // group is left to be stopped with it.
                std::mem::forget(signals::undisturbed());
                return ending;
            }
            self.sleep(&machine, keeper.is_some());
        }
    }

    fn sleep(&mut self, machine: &Machine, keeper: bool) {
        let next = machine.next_look(self.word.get(), self.word.guard_looks_at());
        // A timer that cannot be set is replaced by a look twice a second.
        let limit = self.timer.set(next).is_err().then_some(500);
        let mut descriptors = vec![self.signals.fd(), self.timer.fd()];
        if self.line_open {
            descriptors.push(self.channel.fd());
        }
        if keeper {
            descriptors.push(self.wake.fd());
        }
        wait_for(&descriptors, limit);
        self.timer.drain();
    }

    fn hear_keeper(
        &mut self,
        keeper: &mut Option<Receiver<Event>>,
        machine: &mut Machine,
    ) -> Vec<Act> {
        let mut acts = Vec::new();
        let Some(events) = keeper else {
            return acts;
        };
        self.wake.drain();
        loop {
            match events.try_recv() {
                Ok(event) => {
                    acts.extend(machine.hear_keeper(event, self.word.get(), Moment::now()))
                }
                Err(TryRecvError::Empty) => return acts,
                Err(TryRecvError::Disconnected) => {
                    *keeper = None;
                    acts.extend(machine.see(Input::KeeperGone, Moment::now()));
                    return acts;
                }
            }
        }
    }

    fn take_note_of_start(&self, machine: &mut Machine) -> Vec<Act> {
        if self.word.has_started() {
            machine.see(Input::Started, Moment::now())
        } else {
            vec![]
        }
    }

    fn hear_guard(&mut self, machine: &mut Machine) -> Vec<Act> {
        let mut acts = Vec::new();
        while self.line_open {
            let input = match self.channel.receive() {
                Received::Nothing => return acts,
                Received::Message(message) => {
                    Report::decode(&message).map_or(Input::GuardGone, Input::Guard)
                }
                Received::End => Input::GuardGone,
            };
            if input == Input::GuardGone {
                self.line_open = false;
            }
            // The guard notes it before it says anything of the job.
            acts.extend(self.take_note_of_start(machine));
            acts.extend(machine.see(input, Moment::now()));
        }
        acts
    }

    fn take_note_of_signals(&mut self, machine: &mut Machine) -> Vec<Act> {
        let mut acts = Vec::new();
        let mut child = false;
        while let Some(arrived) = self.signals.next() {
            if arrived.number == CHILD {
                child = true;
            } else {
                acts.extend(machine.see(Input::Signal(arrived), Moment::now()));
            }
        }
        if child {
            self.reap();
        }
        acts
    }

    /// As PID 1, or after `sleep 9 & exec redlease …`, there are others than the guard. The end of the guard is
    /// told by its line, which holds its last words.
    fn reap(&mut self) {
        while let Reaped::Child { pid, .. } = process::reap() {
            if self.guard == Some(pid) {
                self.guard = None;
            }
            self.tree.forget(pid);
        }
    }

    /// It has nothing more to do, or nothing to do yet; only with survivors it works on alone.
    fn bury_guard(&mut self, ending: &Ending) {
        if let Some(guard) = self.guard.take()
            && ending.unkillable.is_empty()
        {
            let _ended = signals::send(guard, KILL);
            process::await_child(guard);
        }
    }

    fn order(&self, order: &Order) -> bool {
        self.channel.send(&order.encode()).is_ok()
    }
}
