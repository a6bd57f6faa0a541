//! The guard is dead or hangs: the job's processes fall to redlease, which kills them.

use std::time::Duration;

use super::Supervisor;
use crate::sys::process::{self, Reaped};
use crate::sys::signals::{self, KILL, STOP};
use crate::sys::tree::Survivor;

const ROUND: Duration = Duration::from_millis(1);
const DENIED_ROUND: Duration = Duration::from_millis(100);
/// Rounds in which those that may not be signalled have a chance to end with those that may.
const DENIED_ROUNDS: u32 = 8;

/// Ends the lease in the word, then the guard, then all that it had; says who could not be killed.
///
/// Children that this process had before the guard are spared. What they left as orphans here cannot be told from
/// the job's and is not.
pub fn take_over(own: &mut Supervisor) -> Vec<Survivor> {
    own.word.expire();
    own.line_open = false;
    // What forks faster than it is killed must not go on while the guard is dealt with.
    own.tree.signal(&[STOP]);
    #[cfg(feature = "mutate")]
    if crate::mutate::without("takeover") {
        return vec![];
    }
    if let Some(guard) = own.guard {
        // Its parent is here, so that the pid is still its own.
        let _ended = signals::send(guard, KILL);
    }
    loop {
        let denied = own.tree.kill();
        if buried(own) {
            return vec![];
        }
        if own.tree.rounds() >= DENIED_ROUNDS && !denied.is_empty() {
            return denied;
        }
        std::thread::sleep(if denied.is_empty() {
            ROUND
        } else {
            DENIED_ROUND
        });
    }
}

/// ECHILD is the proof. With other children of this process about, it is two looks that find nobody else.
fn buried(own: &mut Supervisor) -> bool {
    loop {
        match process::reap() {
            Reaped::Child { pid, .. } => {
                if own.guard == Some(pid) {
                    own.guard = None;
                }
                own.tree.forget(pid);
            }
            Reaped::NoChildren => return true,
            Reaped::Nothing => break,
        }
    }
    let empty = || own.tree.children().is_empty();
    own.guard.is_none() && own.tree.spares_any() && empty() && empty()
}
