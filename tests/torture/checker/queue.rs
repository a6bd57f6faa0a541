//! Rule g: who comes next, and how long the lease is idle. Order is a promise among waiters that can answer, so it
//! is judged where neither server nor network were disturbed for as long as a silent waiter is remembered.

use std::collections::{HashMap, HashSet};

use super::{Facts, MS, Ns, Verdict, shown};
use crate::torture::history::{Answer, Ask};

/// A slot that has been free for less than this is the first live waiter's.
const STEP: Ns = 500 * MS;
/// A waiter that has not asked for 6 s is dropped; one that asked this recently is certainly remembered.
const REMEMBERED: Ns = 5_000 * MS;
/// After a disturbance, until everybody has asked again and the dead are forgotten.
const SETTLING: Ns = 8_000 * MS;
/// Two dead heads cost 1 s; the rest is for processes to wake up and for the way through the relay.
const IDLE: Ns = 1_500 * MS;

/// A waiter's time in the queue.
struct Waiter<'a> {
    run: u64,
    id: &'a str,
    ticket: u64,
    /// Forwarding and reply of each refused ask.
    asks: Vec<(Ns, Ns)>,
    /// Its grant, its leaving or the end of its run: from this moment it is not in the queue.
    gone: Ns,
}

/// When a holding ended at the server, at the earliest and at the latest.
struct Freed {
    earliest: Ns,
    latest: Ns,
}

pub fn judge(facts: &Facts, verdict: &mut Verdict) {
    own_refusals(facts, verdict);
    for key in &facts.history.keys {
        // With several slots or a tombstone the moment of becoming free cannot be told from outside.
        if key.limit > 1 || key.min_hold > 0 {
            continue;
        }
        let Some(grants) = facts.grants.get(key.name.as_str()) else {
            continue;
        };
        let grants: Vec<&Ask> = grants
            .iter()
            .filter(|ask| matches!(ask.answer, Answer::Granted { again: false, .. }))
            .copied()
            .collect();
        let waiters = waiters(facts, &key.name);
        for pair in grants.windows(2) {
            let Some(freed) = freed(facts, pair[0], key.ttl) else {
                continue;
            };
            order(facts, &waiters, &freed, pair[1], verdict);
            idle(facts, &waiters, &freed, pair[1], verdict);
        }
    }
}

fn waiters<'a>(facts: &Facts<'a>, key: &str) -> Vec<Waiter<'a>> {
    let runs: HashMap<u32, u64> = facts
        .history
        .runs
        .iter()
        .map(|run| (run.pid, run.id))
        .collect();
    let mut found: HashMap<&str, Waiter> = HashMap::new();
    for ask in facts.history.asks.iter().filter(|ask| ask.key == key) {
        // Who leaves does not say who it is, and has asked before.
        if ask.script == "leave" {
            if let Some(waiter) = found.get_mut(ask.waiter.as_str()) {
                waiter.gone = waiter.gone.min(ask.forwarded);
            }
            continue;
        }
        let Some(run) = runs.get(&ask.pid).filter(|_| !ask.waiter.is_empty()) else {
            continue;
        };
        let end = facts.endings.get(run).map_or(Ns::MAX, |ending| ending.at);
        let waiter = found.entry(&ask.waiter).or_insert_with(|| Waiter {
            run: *run,
            id: &ask.waiter,
            ticket: 0,
            asks: Vec::new(),
            gone: end,
        });
        match &ask.answer {
            Answer::Refused { ticket, .. } if *ticket > 0 => {
                waiter.ticket = *ticket;
                waiter.asks.push((ask.forwarded, ask.replied));
            }
            Answer::None => {}
            _ => waiter.gone = waiter.gone.min(ask.forwarded),
        }
    }
    found
        .into_values()
        .filter(|waiter| !waiter.asks.is_empty())
        .collect()
}

impl Waiter<'_> {
    /// In the queue for certain: answered before, not yet leaving, and heard of not long ago.
    fn queued(&self, from: Ns, until: Ns) -> bool {
        let heard = self
            .asks
            .iter()
            .any(|(asked, answered)| *answered < from && asked + REMEMBERED > until);
        heard && self.gone > until
    }
}

/// The end of the holding: its release, or the end of its TTL.
fn freed(facts: &Facts, grant: &Ask, ttl: Ns) -> Option<Freed> {
    let last = facts.good(&grant.token).max_by_key(|ask| ask.forwarded)?;
    let lapsed = Freed {
        earliest: last.forwarded + ttl,
        latest: last.replied + ttl,
    };
    let mut asks = facts.of_token(&grant.token);
    let released = asks.find(|ask| ask.script != "acquire" && ask.answer == Answer::Released);
    if let Some(release) = released {
        // Also of a holding that had lapsed before.
        return Some(Freed {
            earliest: release.forwarded.min(lapsed.earliest),
            latest: release.replied.min(lapsed.latest),
        });
    }
    // A release that nobody answered may have been executed at any time.
    let mut asks = facts.of_token(&grant.token);
    let unknown = asks.any(|ask| ask.script != "acquire" && ask.answer == Answer::None);
    (!unknown).then_some(lapsed)
}

/// Neither server nor network was disturbed lately, and no key was lost.
fn calm(facts: &Facts, from: Ns, until: Ns) -> bool {
    let disturbed = |since: Ns, to: Ns| since < until && to.saturating_add(SETTLING) > from;
    let faults = facts
        .history
        .faults
        .iter()
        .filter(|fault| fault.run.is_none());
    let losses = facts.history.losses.iter();
    !faults
        .map(|f| (f.from, f.until))
        .any(|(a, b)| disturbed(a, b))
        && !losses
            .map(|l| (l.from, l.until))
            .any(|(a, b)| disturbed(a, b))
}

fn healthy(facts: &Facts, run: u64, until: Ns) -> bool {
    !facts
        .history
        .faults
        .iter()
        .any(|fault| fault.run == Some(run) && fault.from < until + 1_000 * MS)
}

fn order(facts: &Facts, waiters: &[Waiter], freed: &Freed, next: &Ask, verdict: &mut Verdict) {
    // Later than this the next in line may take its turn. Starvation makes this rule silent, never wrong.
    if next.replied >= freed.earliest + STEP || !calm(facts, freed.earliest, next.replied) {
        return;
    }
    verdict.numbers.orders_checked += 1;
    let ticket = waiters
        .iter()
        .find(|waiter| waiter.id == next.waiter)
        .map_or(u64::MAX, |waiter| waiter.ticket);
    let first = waiters.iter().find(|waiter| {
        waiter.ticket < ticket
            && waiter.id != next.waiter
            && waiter.queued(next.forwarded.min(freed.earliest), next.replied)
            && healthy(facts, waiter.run, next.replied)
    });
    if let Some(first) = first {
        let text = format!(
            "{}: {} (process {}) was served before run {}, which came first",
            next.key, next.token, next.pid, first.run
        );
        verdict.breach('g', text);
    }
}

fn idle(facts: &Facts, waiters: &[Waiter], freed: &Freed, next: &Ask, verdict: &mut Verdict) {
    let waited = waiters.iter().any(|waiter| {
        waiter.queued(freed.earliest, freed.latest)
            && waiter.gone >= next.forwarded
            && healthy(facts, waiter.run, next.replied)
    });
    if !waited {
        return;
    }
    let idle = next.replied.saturating_sub(freed.latest);
    if !calm(facts, freed.latest, next.replied) {
        let worst = &mut verdict.numbers.worst_idle_in_storms;
        *worst = (*worst).max(idle);
        return;
    }
    // More than two waiters that hear and do not answer cost more.
    let silent: HashSet<u64> = facts
        .history
        .faults
        .iter()
        .filter(|fault| {
            fault.from < next.replied && fault.until.saturating_add(SETTLING) > freed.earliest
        })
        .filter_map(|fault| fault.run)
        .filter(|run| waiters.iter().any(|waiter| waiter.run == *run))
        .collect();
    if silent.len() > 2 {
        return;
    }
    verdict.numbers.idles_checked += 1;
    verdict.numbers.worst_idle = verdict.numbers.worst_idle.max(idle);
    let starved = facts.history.starved(freed.latest, next.replied);
    if idle > IDLE + 3 * starved {
        let text = format!(
            "{}: idle for {} before {} with live waiters (starved for {})",
            next.key,
            shown(idle),
            next.token,
            shown(starved)
        );
        verdict.breach('g', text);
    }
}

/// An attempt whose reply was lost may have been granted: the next attempt of the same run takes it over, and is
/// not refused because of it. (A request that was delivered late may be answered so, and nobody hears it.)
fn own_refusals(facts: &Facts, verdict: &mut Verdict) {
    for (key, grants) in &facts.grants {
        let ttl = facts.key(key).ttl;
        if facts.key(key).limit > 1 {
            continue;
        }
        for refused in facts.history.asks.iter().filter(|ask| ask.key == **key) {
            let Answer::Refused { word, .. } = &refused.answer else {
                continue;
            };
            // The last grant before the question is who holds it, if it is certain that nothing happened since.
            let holder = grants
                .iter()
                .rfind(|grant| grant.replied < refused.forwarded);
            let own = holder.is_some_and(|grant| {
                grant.pid == refused.pid
                    && grant.token != refused.token
                    && grant.arrived < refused.arrived
                    && grant.forwarded + ttl > refused.replied
                    && !facts
                        .of_token(&grant.token)
                        .any(|ask| ask.script != "acquire")
            });
            let others = grants.iter().any(|grant| {
                grant.forwarded < refused.replied && grant.replied >= refused.forwarded
            });
            if own && !others && word == "held" {
                let text = format!(
                    "{key}: process {} was refused because of its own earlier attempt",
                    refused.pid
                );
                verdict.breach('g', text);
            }
        }
    }
}
