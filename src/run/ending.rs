//! What became of a run: the words on the way, the exit code, the report.

use crate::exit::Exit;
use crate::lease::dialog::Released;
use crate::lease::policy::{IfUnreachable, OnLost};
use crate::lease::{Grant, Loss, Refusal};
use crate::plan::run::RunPlan;
use crate::report::outcome::{self, Outcome, Report};
use crate::report::waiting::WaitingLine;
use crate::report::words::{self, span};
use crate::report::{Level, Log};
use crate::supervise::{Ending, Notice};
use crate::sys::process::End;
use crate::time::Moment;

pub struct Story {
    plan: RunPlan,
    began: Moment,
    ending: Ending,
    /// Why the last request failed: a lease that could not be renewed in time was lost by that.
    trouble: Option<String>,
    silent_server: bool,
    /// A loss was told while the job ran; otherwise the release is the first to hear of it.
    loss_told: bool,
}

impl Story {
    pub fn new(plan: RunPlan, began: Moment) -> Story {
        Story {
            plan,
            began,
            ending: Ending::new(),
            trouble: None,
            silent_server: false,
            loss_told: false,
        }
    }

    /// A word on the way. `held`: the lease was granted.
    pub fn hear(&mut self, notice: &Notice, held: bool, line: &mut WaitingLine, log: Log) {
        let key = self.plan.names.key();
        if let Notice::Waiting(refusal) = notice {
            self.silent_server = false;
            return line.show(refusal);
        }
        line.clear();
        let (level, text) = match notice {
            Notice::Waiting(_) => return,
            Notice::Restored => (
                Level::Warning,
                format!(
                    "Redis had lost the lease on {key}; nobody held it since, and it was written again"
                ),
            ),
            Notice::Retrying(text) => {
                self.trouble = Some(text.clone());
                // A waiting person wants to know that nothing can be heard; a renewal has time to be tried again.
                let first = !std::mem::replace(&mut self.silent_server, true);
                let level = if first && !held {
                    Level::Warning
                } else {
                    Level::Info
                };
                (level, format!("{text}; trying again"))
            }
            Notice::Unleased(text) => (
                Level::Warning,
                format!("{text}; the job runs without a lease (--if-unreachable run)"),
            ),
            Notice::Lost(loss) => {
                self.loss_told = true;
                (Level::Error, self.lost(loss))
            }
            Notice::MaxRun => {
                let limit = self.plan.max_run.map(span).unwrap_or_default();
                (
                    Level::Error,
                    format!("the job ran for {limit} (--max-run); stopping it"),
                )
            }
            Notice::Leftovers(members) => {
                let names: Vec<String> = members
                    .iter()
                    .map(|one| format!("{} (pid {})", one.name, one.pid))
                    .collect();
                let text = format!(
                    "the job ended and left {}; stopping {} (--leftovers)",
                    names.join(", "),
                    if names.len() == 1 { "it" } else { "them" }
                );
                (Level::Warning, text)
            }
            Notice::Stopped => (Level::Info, "nothing of the job is left".to_owned()),
            Notice::Unkillable(survivors) => {
                let names: Vec<String> = survivors
                    .iter()
                    .map(|one| format!("pid {} of uid {}", one.pid, one.uid))
                    .collect();
                let text = format!(
                    "{} cannot be killed by this user and may still run; the lease on {key} is left to its TTL (for a job of another user: `sudo redlease run`, not `redlease run -- sudo`)",
                    names.join(", ")
                );
                (Level::Error, text)
            }
            Notice::GuardDied => (
                Level::Error,
                "the guard of the job died; the job was killed".to_owned(),
            ),
            Notice::GuardHung => (
                Level::Error,
                "the guard of the job did not answer; the job was killed".to_owned(),
            ),
        };
        log.say(level, &text);
    }

    fn lost(&self, loss: &Loss) -> String {
        let why = words::loss(self.plan.names.key(), loss);
        if !self.loss_told && matches!(self.ending.released, Some(Released::Lost(_))) {
            return format!("{why}; the job had ended when this was noticed");
        }
        let cause = match (loss, &self.trouble) {
            (Loss::Expired, Some(trouble)) => format!(" ({trouble})"),
            _ => String::new(),
        };
        let then = match self.plan.on_lost {
            OnLost::Stop => "stopping the job",
            OnLost::Kill => "killing the job",
            OnLost::Warn => "the job runs on without a lease (--on-lost warn)",
        };
        format!("{why}{cause}; {then}")
    }

    pub fn end(&mut self, ending: Ending) {
        self.ending = ending;
        if matches!(self.ending.exit, Exit::NotFound | Exit::CannotExecute)
            && let Some(why) = &mut self.ending.failed
        {
            let program = self.plan.argv.first().map(|word| word.to_string_lossy());
            let words = why.split(" (os error").next().unwrap_or_default();
            *why = format!("cannot run {}: {words}", program.unwrap_or_default());
        }
    }

    /// The last line, if one is needed.
    pub fn tell(&self, log: Log) {
        let ending = &self.ending;
        if let Some(refusal) = &ending.refused {
            if matches!(refusal, Refusal::Limit { .. }) {
                log.say(Level::Error, &self.refused(refusal));
            } else if !self.plan.conflict.quiet {
                log.say(Level::Warning, &self.refused(refusal));
            }
        }
        if let Some(text) = &ending.failed {
            if self.skipped() {
                log.say(
                    Level::Warning,
                    &format!("{text}; the job was skipped (--if-unreachable skip)"),
                );
            } else {
                log.say(Level::Error, text);
            }
        }
        if let (Some(loss), Some(Released::Lost(_))) = (&ending.lost, &ending.released)
            && !self.loss_told
            && !ending.guard_failed
        {
            log.say(Level::Error, &self.lost(loss));
        }
        if ending.released == Some(Released::Done) && self.holds() && ending.lost.is_none() {
            let key = self.plan.names.key();
            log.say(Level::Info, &format!("the lease on {key} was given back"));
        }
        if let Some(text) = self.unsure() {
            // A lease that could not be renewed can hardly be given back, and its time is nearly over.
            let expired = self.ending.lost == Some(Loss::Expired);
            log.say(if expired { Level::Info } else { Level::Warning }, &text);
        }
    }

    /// Not under an enclosing lease, and not without any.
    fn holds(&self) -> bool {
        let granted = self.ending.grant.as_ref();
        self.plan.enclosing.is_none() && granted.is_some_and(|grant| grant.slot > 0)
    }

    fn refused(&self, refusal: &Refusal) -> String {
        let key = self.plan.names.key();
        match refusal {
            Refusal::Limit { kept } => words::limit(key, self.plan.limit, *kept),
            other => words::refusal(key, other),
        }
    }

    fn unsure(&self) -> Option<String> {
        match &self.ending.released {
            Some(Released::Unsure { text, lapses_in }) => {
                let key = self.plan.names.key();
                Some(words::not_given_back(key, text, *lapses_in))
            }
            _ => None,
        }
    }

    fn skipped(&self) -> bool {
        self.ending.exit == Exit::Unavailable && self.plan.if_unreachable == IfUnreachable::Skip
    }

    pub fn exit(&self) -> Exit {
        match &self.ending.refused {
            Some(Refusal::Limit { .. }) => Exit::Config,
            Some(_) => Exit::Code(self.plan.conflict.code),
            None if self.skipped() => Exit::Done,
            None => self.ending.exit,
        }
    }

    pub fn write_report(&self, log: Log) {
        let Some(path) = &self.plan.report else {
            return;
        };
        if let Err(error) = outcome::write(path, &self.report()) {
            let path = path.display();
            log.say(
                Level::Error,
                &format!("cannot write --report {path}: {error}"),
            );
        }
    }

    fn report(&self) -> Report {
        let ending = &self.ending;
        let held_grant = ending.grant.as_ref().filter(|grant| grant.slot > 0);
        let granted_at = ending.granted_at;
        let waited = granted_at.unwrap_or_else(Moment::now).since(self.began);
        let held = granted_at
            .filter(|_| ending.started)
            .map(|from| ending.ended_at.unwrap_or_else(Moment::now).since(from));
        let lost = ending.lost.as_ref().map(|loss| self.lost(loss));
        let refused = ending.refused.as_ref().map(|refusal| self.refused(refusal));
        Report {
            outcome: self.outcome(),
            exit_code: self.exit().code(),
            job_code: match ending.job {
                Some(End::Code(code)) => Some(code),
                _ => None,
            },
            job_signal: match ending.job {
                Some(End::Signal(signal)) => Some(signal),
                _ => None,
            },
            key: self.plan.names.key().to_owned(),
            slot: held_grant.map(|grant| grant.slot),
            fence: held_grant.map(|grant| grant.fence.0),
            waited_ms: millis(waited),
            held_ms: held.map(millis),
            renewals: u64::from(ending.renewals),
            restored: u64::from(ending.restored),
            message: lost
                .or(refused)
                .or_else(|| ending.failed.clone())
                .or_else(|| self.unsure()),
        }
    }

    fn outcome(&self) -> Outcome {
        // The words are the supervisor's, since they are also recorded in Redis by the release.
        Outcome::of(self.ending.outcome())
    }
}

/// For a user who wants to follow: under which slot and fence the job starts.
pub fn acquired(plan: &RunPlan, grant: &Grant) -> String {
    let key = plan.names.key();
    match grant.slot {
        0 => format!("the job starts without a lease on {key}"),
        slot => format!(
            "the job starts under the lease on {key}: slot {slot}, fence {}",
            grant.fence
        ),
    }
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
