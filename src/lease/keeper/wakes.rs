//! How a waiter hears that it is its turn: a subscription on a connection of its own.

use std::os::fd::BorrowedFd;

use crate::lease::protocol::acquire::STEP;
use crate::lease::store::{Kind, Store, Subscription};
use crate::sys::pause::until_readable;
use crate::time::Moment;

pub struct Wakes(State);

enum State {
    /// Not yet, or no longer: a cut connection hears nothing.
    Missing,
    Heard(Box<Subscription>),
    /// The server refuses SUBSCRIBE: heartbeats alone.
    Never,
}

impl Wakes {
    pub fn new() -> Wakes {
        Wakes(State::Missing)
    }

    pub fn missing(&self) -> bool {
        matches!(self.0, State::Missing)
    }

    pub fn heard(&self) -> bool {
        matches!(self.0, State::Heard(_))
    }

    pub fn listen(&mut self, store: &Store, channel: &str, limit: Moment) {
        self.0 = match store.subscribe(channel, limit) {
            Ok(subscription) => State::Heard(Box::new(subscription)),
            Err(trouble) if matches!(trouble.kind, Kind::Denied | Kind::Config) => State::Never,
            // The next question tells whether the server is gone.
            Err(_) => State::Missing,
        };
    }

    /// Until it is our turn, until `interrupt` is readable, or until the moment. Who is not the first is only told
    /// when its turn comes should those before it not take theirs: asking earlier would be a question for nothing,
    /// just when the first one asks.
    pub fn wait(&mut self, interrupt: BorrowedFd<'_>, until: Moment) {
        let State::Heard(subscription) = &mut self.0 else {
            until_readable(&[interrupt], until);
            return;
        };
        let mut until = until;
        loop {
            match subscription.wait(until) {
                Ok(None) => return,
                Ok(Some(message)) => match steps(&message) {
                    0 => return,
                    steps => until = until.min(Moment::now().after(STEP.saturating_mul(steps))),
                },
                Err(trouble) if trouble.kind == Kind::Interrupted => return,
                Err(_) => {
                    self.0 = State::Missing;
                    return;
                }
            }
            // A server that never stops talking must not hold up the time.
            if until.passed(Moment::now()) {
                return;
            }
        }
    }
}

/// What cannot be read is worth a question.
fn steps(message: &[u8]) -> u32 {
    str::from_utf8(message)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}
