//! What a run has to say: on its way, and when it is over.

use crate::exit::Exit;
use crate::lease::dialog::Released;
use crate::lease::policy::OnLost;
use crate::lease::{Finished, Grant, Loss, Refusal, Token};
use crate::sys::process::End;
use crate::sys::tree::{Member, Survivor};
use crate::time::Moment;

/// What a user may want to read while it happens; the words are `report`'s.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    Waiting(Refusal),
    /// The server had lost the lease, and nobody held it since.
    Restored,
    Retrying(String),
    /// The job runs without a lease, as the user wishes where there is no answer, which is told.
    Unleased(String),
    /// The job is told to end, or only warned of with `--on-lost warn`.
    Lost(Loss),
    /// `--max-run` is over, and the job is told to end.
    MaxRun,
    /// The job ended and left these, which are told to end.
    Leftovers(Vec<Member>),
    /// Nothing of a job that had to be stopped is left.
    Stopped,
    /// These run as another user and live; the lease is left to its TTL.
    Unkillable(Vec<Survivor>),
    /// The guard died or hung, and the job was killed by redlease itself.
    GuardDied,
    GuardHung,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    pub exit: Exit,
    /// The exit that does not depend on the job: it was not started or not executed.
    pub decided: Option<Exit>,
    pub grant: Option<Grant>,
    pub token: Option<Token>,
    /// When the lease was granted here.
    pub granted_at: Option<Moment>,
    /// When the job began, and whether it did: not if it could not be executed.
    pub started: bool,
    /// The guard was told to start the job, and did not answer that it could not: a guard that is stopped just then
    /// may have done so and said nothing. Nobody may read "the job did not run" from what it did half of.
    pub may_have_begun: bool,
    /// When the last process of the job was gone.
    pub ended_at: Option<Moment>,
    pub job: Option<End>,
    pub lost: Option<Loss>,
    pub refused: Option<Refusal>,
    /// Why there was no lease or no job: the whole line for the user.
    pub failed: Option<String>,
    pub max_run: bool,
    /// The job was killed because the guard died or hung.
    pub guard_failed: bool,
    /// The signal that ended the waiting.
    pub signalled: Option<i32>,
    /// None: nothing was to be given back, or the keeper did not answer.
    pub released: Option<Released>,
    pub unkillable: Vec<Survivor>,
    pub renewals: u32,
    pub restored: u32,
}

impl Ending {
    pub fn new() -> Ending {
        Ending {
            exit: Exit::Failed,
            decided: None,
            grant: None,
            token: None,
            granted_at: None,
            started: false,
            may_have_begun: false,
            ended_at: None,
            job: None,
            lost: None,
            refused: None,
            failed: None,
            max_run: false,
            guard_failed: false,
            signalled: None,
            released: None,
            unkillable: Vec::new(),
            renewals: 0,
            restored: 0,
        }
    }

    /// The word for it in `info` and in a report.
    pub fn outcome(&self) -> &'static str {
        // As in the exit code: what never ran lost nothing.
        let lost = self.lost.as_ref().filter(|_| self.may_have_begun);
        match (lost, &self.refused, self.job) {
            (Some(Loss::Broken { .. }), _, _) => "broken",
            (Some(_), _, _) => "lost",
            (None, Some(Refusal::AlreadyDone { .. }), _) => "already_done",
            (None, Some(_), _) => "refused",
            _ if self.guard_failed || !self.unkillable.is_empty() => "lost",
            _ if self.max_run => "max_run",
            (None, None, Some(End::Code(_))) => "completed",
            (None, None, Some(End::Signal(_))) => "signalled",
            (None, None, None) if self.decided == Some(Exit::Unavailable) => "unavailable",
            (None, None, None) => "not_started",
        }
    }

    /// A lost lease wins over all that the job says, and over `--max-run`.
    pub fn exit_for(&self, on_lost: OnLost) -> Exit {
        let lost = self.lost.is_some() && self.may_have_begun && on_lost != OnLost::Warn;
        if lost || self.guard_failed || !self.unkillable.is_empty() {
            return Exit::Lost;
        }
        match (self.decided, self.max_run, self.job) {
            (Some(exit), _, _) => exit,
            (None, true, _) => Exit::MaxRun,
            (None, false, Some(End::Code(code))) => Exit::Code(code),
            (None, false, Some(End::Signal(number))) => Exit::Signal(number),
            (None, false, None) => Exit::Failed,
        }
    }

    /// As a release records it.
    pub fn finished(&self, on_lost: OnLost) -> Finished {
        let exit = self.exit_for(on_lost);
        Finished {
            outcome: self.outcome(),
            code: exit.code(),
            success: exit == Exit::Code(0) && self.lost.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_that_is_lost_before_the_job_can_have_begun_is_told_as_its_code_is() {
        let mut ending = Ending::new();
        ending.lost = Some(Loss::Expired);
        assert_eq!(ending.exit_for(OnLost::Stop), Exit::Failed);
        assert_eq!(ending.outcome(), "not_started");
        ending.may_have_begun = true;
        assert_eq!(ending.exit_for(OnLost::Stop), Exit::Lost);
        assert_eq!(ending.outcome(), "lost");
    }
}
