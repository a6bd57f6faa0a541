//! A grant on arrival: too old ones are renewed or given back before anything is built on them.

use std::time::Duration;

use super::super::{Holding, give_back, renewal};
use super::{Answer, Asking};
use crate::exit::Exit;
use crate::lease::Grant;
use crate::lease::store::{Kind, Store, Trouble};
use crate::time::Moment;

pub(super) enum Declined {
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

impl Asking<'_> {
    /// A grant is taken if it is young enough to be lived under.
    pub(super) fn accept(&mut self, grant: Grant, sent: Moment) -> Result<Holding, Box<Declined>> {
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
        // First, because it takes time, and the age is looked at after it.
        if let Some((wanted, limit)) = self.wish.replicas
            && let Err(text) = self.replicated(wanted, limit)
        {
            self.undo(&holding);
            return declined(Declined::Final(Answer::Failed {
                exit: Exit::Unavailable,
                text,
            }));
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
        loop {
            match give_back(self.store, self.wish, holding, None, end, &|| false) {
                Ok(_) => break,
                // The bell of a command that was read already.
                Err(trouble) if trouble.kind == Kind::Interrupted && !end.passed(Moment::now()) => {
                    (self.cancelled)();
                }
                Err(_) => {
                    self.unsure.push(holding.token.clone());
                    break;
                }
            }
        }
        self.attempt = 0;
    }
}
