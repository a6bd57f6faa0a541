//! What must be true of a grant to one who waits.

use super::agent::Agent;
use super::world::{MILLI, Slot};

/// No more of those who answer and came before are left than there are other free slots.
pub fn in_order(agents: &[Agent], at: usize, now: u64, free: usize) {
    let own = &agents[at];
    let before = agents.iter().filter(|other| {
        let earlier = match (other.ticket, own.ticket) {
            (Some(other), Some(own)) => other < own,
            (Some(_), None) => true,
            (None, _) => false,
        };
        let answers = other.asking() && !other.hung && other.excused < now;
        other.waits && earlier && answers && other.settled > 0
    });
    let before: Vec<&str> = before.map(Agent::id).collect();
    assert!(
        before.len() < free,
        "{} was served before {before:?} with {free} free",
        own.id()
    );
}

/// Each one in the queue who does not answer costs half a second, and nothing else costs anything.
pub fn in_time(agents: &[Agent], at: usize, now: u64, slot: &Slot) {
    let own = &agents[at];
    let since = slot.free_since;
    if !own.waits || own.settled == 0 || own.settled > since || own.excused > since {
        return;
    }
    let idle = now - since;
    let silent = |other: &Agent| {
        let stands = other.asked + 6_100 * MILLI > since;
        match other.left {
            // Who is gone hears no wake-up, and is dropped by it.
            Some(left) if !other.hung => stands && (slot.lapsed || left.max(other.asked) >= since),
            Some(_) => stands,
            // An ask that was executed late may queue one who does not wait any more.
            None => {
                other.asking() && other.excused > since
                    || other.late && stands && (slot.lapsed || other.asked >= since)
            }
        }
    };
    let others = agents.iter().enumerate();
    let silent = others
        .filter(|(i, other)| *i != at && silent(other))
        .count();
    let silent = u64::try_from(silent).unwrap();
    assert!(
        idle <= silent * 500 * MILLI + 200 * MILLI,
        "{} was served after {idle} us, with {silent} silent",
        own.id()
    );
}
