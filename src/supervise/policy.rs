//! What a user decided about a job, for both machines.

use std::time::Duration;

use crate::lease::policy::{Leftovers, OnLost};
use crate::sys::Signal;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Between the stop signal and KILL.
    pub kill_after: Duration,
    /// Only a typed one lets a signal that is passed on start a timer.
    pub kill_after_typed: bool,
    /// The stop signal.
    pub signal: Signal,
    pub on_lost: OnLost,
    pub leftovers: Leftovers,
    pub max_run: Option<Duration>,
}
