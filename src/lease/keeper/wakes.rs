//! How a waiter hears that it is its turn: a subscription on a connection of its own.

use std::os::fd::BorrowedFd;

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

    /// Until a wake-up, until `interrupt` is readable, or until the moment.
    pub fn wait(&mut self, interrupt: BorrowedFd<'_>, until: Moment) {
        let State::Heard(subscription) = &mut self.0 else {
            until_readable(&[interrupt], until);
            return;
        };
        if let Err(trouble) = subscription.wait(until)
            && trouble.kind != Kind::Interrupted
        {
            self.0 = State::Missing;
        }
    }
}
