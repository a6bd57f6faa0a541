//! One contender of a story, and what its faults are.

use crate::lease::Grant;
use crate::lease::protocol::tests::Contender;
use crate::lease::protocol::tests::server::Connection;

#[derive(Clone, Copy, Debug)]
pub enum Fault {
    Request,
    /// The reply is lost; is the release of the attempt written behind it?
    Reply(bool),
    /// Executed so much later (ms), with or without the release behind it.
    Late(u64, bool),
}

#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// A run whose job takes so many ms; waiting or `-n`.
    Come(u64, bool),
    Crash(usize),
    Hang(usize),
    Fail(usize, Fault),
    /// The next wake-up does not reach it.
    Deafen(usize),
    Flush,
    Break(usize, bool),
}

pub enum State {
    Asking,
    Holding,
    Releasing,
    Gone,
}

pub struct Agent {
    pub who: Contender,
    pub waits: bool,
    pub job: u64,
    pub state: State,
    pub next: u64,
    pub ticket: Option<u64>,
    pub ear: Option<Connection>,
    /// From when on it was in the queue, with its ear open.
    pub settled: u64,
    pub excused: u64,
    /// When it went without a word, and until when it may stand in the queue.
    pub left: Option<u64>,
    pub asked: u64,
    pub deaf: bool,
    pub fault: Option<Fault>,
    pub grant: Option<Grant>,
    pub expires: u64,
    pub renew_at: u64,
    pub end_at: u64,
    pub kill_at: u64,
    /// The server lost the lease, or an operator broke it, since the last good answer.
    pub doubt: bool,
    pub resend: bool,
    pub hung: bool,
    pub late: bool,
    /// The holdings of the slot at the last good answer.
    pub grants: u64,
}

impl Agent {
    pub fn new(who: Contender, job: u64, waits: bool, now: u64) -> Agent {
        Agent {
            who,
            waits,
            job,
            state: State::Asking,
            next: now,
            ticket: None,
            ear: None,
            settled: 0,
            excused: 0,
            left: None,
            asked: 0,
            grants: 0,
            deaf: false,
            fault: None,
            grant: None,
            expires: 0,
            renew_at: 0,
            end_at: 0,
            kill_at: 0,
            doubt: false,
            resend: false,
            hung: false,
            late: false,
        }
    }

    /// The next moment at which a holder has something to do.
    pub fn plan(&mut self) {
        self.next = self.renew_at.min(self.end_at).min(self.kill_at);
    }

    pub fn id(&self) -> &str {
        &self.who.identity.host
    }

    pub fn asking(&self) -> bool {
        matches!(self.state, State::Asking)
    }

    pub fn running(&self, slot: u8) -> bool {
        matches!(self.state, State::Holding) && self.grant.as_ref().is_some_and(|g| g.slot == slot)
    }
}
