//! What the keeper says, and what follows from it.

use super::{Act, Machine, Phase};
use crate::exit::Exit;
use crate::lease::dialog::{Event, Released};
use crate::lease::policy::OnLost;
use crate::lease::{Grant, Loss, Refusal, Token};
use crate::supervise::ending::{Ending, Notice};
use crate::time::{Moment, wall_us};

use super::clocks::Clocks;

impl Machine {
    /// `word` is the kill moment that belongs to the event.
    pub fn hear_keeper(&mut self, event: Event, word: Option<Moment>, now: Moment) -> Vec<Act> {
        if self.phase == Phase::Over {
            return vec![];
        }
        match event {
            Event::Granted { grant, token, sent } => self.granted(grant, token, sent, word, now),
            Event::Waiting(refusal) if self.phase == Phase::Asking => {
                vec![Act::Say(Notice::Waiting(refusal))]
            }
            Event::Refused(refusal) => {
                let exit = match &refusal {
                    Refusal::Limit { .. } => Exit::Config,
                    _ => Exit::NotAcquired,
                };
                self.without_lease(exit, |ending| ending.refused = Some(refusal))
            }
            Event::Failed { exit, text } => {
                self.without_lease(exit, |ending| ending.failed = Some(text))
            }
            Event::Renewed { .. } => {
                self.ending.renewals = self.ending.renewals.saturating_add(1);
                if let Some(clocks) = &mut self.clocks {
                    clocks.set(now, wall_us());
                }
                vec![]
            }
            Event::Restored => {
                self.ending.restored = self.ending.restored.saturating_add(1);
                vec![Act::Say(Notice::Restored)]
            }
            Event::Retrying { text } => vec![Act::Say(Notice::Retrying(text))],
            Event::Unleased { text } => vec![Act::Say(Notice::Unleased(text))],
            Event::Lost(loss) => self.lost(loss),
            Event::Released(released) => self.released(released),
            Event::Left => {
                if matches!(self.phase, Phase::Parting { .. }) {
                    self.phase = Phase::Over;
                }
                vec![]
            }
            Event::Waiting(_) => vec![],
        }
    }

    fn without_lease(&mut self, exit: Exit, note: impl FnOnce(&mut Ending)) -> Vec<Act> {
        match self.phase {
            Phase::Asking => {
                note(&mut self.ending);
                self.ending.decided = Some(exit);
                self.phase = Phase::Over;
            }
            Phase::Parting { .. } => self.phase = Phase::Over,
            _ => {}
        }
        vec![]
    }

    fn granted(
        &mut self,
        grant: Grant,
        token: Token,
        sent: Moment,
        word: Option<Moment>,
        now: Moment,
    ) -> Vec<Act> {
        let kill_at = word.unwrap_or(sent);
        self.ending.grant = Some(grant.clone());
        self.ending.token = Some(token.clone());
        self.ending.granted_at = Some(now);
        match self.phase {
            Phase::Asking => {}
            // Too late: given back, and never a reason to start.
            Phase::Parting { .. } => return vec![self.give_back()],
            _ => return vec![],
        }
        if kill_at.before(self.policy.kill_after).passed(now) {
            return self.too_late(now);
        }
        self.clocks = Some(Clocks::new(kill_at.remaining(sent), now, wall_us()));
        self.phase = Phase::Starting;
        self.ending.may_have_begun = true;
        vec![Act::Start { grant, token }]
    }

    pub(super) fn too_late(&mut self, now: Moment) -> Vec<Act> {
        let text = "the lease was granted too late to start the job in time, and was given back";
        self.fail(Exit::Unavailable, text.to_owned());
        self.release(now)
    }

    pub(super) fn fail(&mut self, exit: Exit, text: String) {
        self.ending.decided.get_or_insert(exit);
        self.ending.failed.get_or_insert(text);
    }

    fn lost(&mut self, loss: Loss) -> Vec<Act> {
        if !matches!(self.phase, Phase::Starting | Phase::Running) || self.ending.lost.is_some() {
            return vec![];
        }
        self.ending.lost = Some(loss.clone());
        let mut acts = vec![Act::Say(Notice::Lost(loss))];
        if self.policy.on_lost != OnLost::Warn && !self.taking_over {
            acts.push(Act::Stop);
        }
        acts
    }

    fn released(&mut self, released: Released) -> Vec<Act> {
        if !matches!(self.phase, Phase::Releasing { .. } | Phase::Parting { .. }) {
            return vec![];
        }
        if let Released::Lost(loss) = &released
            && self.ending.may_have_begun
        {
            self.ending.lost.get_or_insert(loss.clone());
        }
        self.ending.released = Some(released);
        self.phase = Phase::Over;
        vec![]
    }
}
