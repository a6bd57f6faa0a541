//! What the keeper thread, which talks to Redis, and the supervising thread, which minds the job, say to each
//! other. Neither knows the other; `run` joins them.

use std::time::Duration;

use crate::exit::Exit;
use crate::lease::{Finished, Grant, Loss, Refusal, Token};
use crate::time::Moment;

/// From the keeper.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The lease is ours. The shared word holds the kill moment before this is said.
    Granted {
        grant: Grant,
        token: Token,
        sent: Moment,
    },
    /// Not now, and the keeper goes on waiting.
    Waiting(Refusal),
    /// The final no: `-n`, or the wait ended.
    Refused(Refusal),
    /// No lease, for another reason; `text` is the whole line for the user.
    Failed {
        exit: Exit,
        text: String,
    },
    /// `sent` is the instant before the renewal was sent; the word was moved before this is said.
    Renewed {
        sent: Moment,
    },
    /// The key was lost by the server and written again: the same holding goes on.
    Restored,
    /// A request failed and is tried again until the deadline.
    Retrying {
        text: String,
    },
    /// No usable answer came, and the user would rather run without a lease; `text` is why none came.
    Unleased {
        text: String,
    },
    Lost(Loss),
    Released(Released),
    /// The answer to `Cancel`: no longer in the queue, and nothing is held as far as Redis could be told.
    Left,
}

/// How giving back went.
#[derive(Clone, Debug, PartialEq)]
pub enum Released {
    Done,
    /// Another's token was at the key: the lease had been lost before.
    Lost(Loss),
    /// Redis could not be told in time; the lease lapses by itself within this time.
    Unsure {
        text: String,
        lapses_in: Duration,
    },
}

/// To the keeper.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Stop waiting or asking: leave the queue, give back what a late reply may have granted.
    Cancel,
    /// Ask Redis now: the process or the machine was paused.
    Look,
    /// The last process of the job is gone.
    Release(Finished),
    /// Something of the job may still run: renew no more, and leave the lease to its TTL.
    Abandon,
}
