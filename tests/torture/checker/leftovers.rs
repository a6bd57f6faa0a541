//! Rules d and e: what stays behind, on the machine and in Redis.

use std::collections::HashMap;

use super::{Facts, MS, Ns, PROMPT, Verdict, shown};
use crate::torture::history::{Answer, Left};

/// The queue's keys live this long after the last ask, and `--retain` of the torture is this.
const QUEUE_LIFE: i64 = 20_000;
pub const RETAIN_MS: i64 = 600_000;

pub fn judge(facts: &Facts, verdict: &mut Verdict) {
    for orphan in &facts.history.orphans {
        let text = format!(
            "run {}: process {} lived on after redlease",
            orphan.run, orphan.pid
        );
        verdict.breach('d', text);
    }
    for job in &facts.jobs {
        // One that we killed is gone before its guard, which kills the job then; the runner looked for orphans.
        let ending = facts.endings.get(&job.run.id);
        if let Some(ending) = ending.filter(|ending| !ending.killed && job.last > ending.at) {
            let text = format!(
                "run {}: its job worked for {} after redlease had ended",
                job.run.id,
                shown(job.last - ending.at)
            );
            verdict.breach('d', text);
        }
    }
    for left in &facts.history.left {
        if let Some(text) = overstays(facts, left) {
            verdict.breach('e', text);
        }
    }
    comes_back(facts, verdict);
}

fn overstays(facts: &Facts, left: &Left) -> Option<String> {
    let key = facts
        .history
        .keys
        .iter()
        .find(|key| left.key.contains(&format!("{{{}}}", key.name)));
    let Some(key) = key else {
        return Some(format!("{}: nobody asked for this key", left.key));
    };
    let ms = |ns: Ns| i64::try_from(ns / MS).unwrap_or(i64::MAX);
    let (what, life) = if left.key.ends_with(":info") {
        ("info", RETAIN_MS)
    } else if left.key.ends_with(":queue") || left.key.ends_with(":waiters") {
        ("queue", QUEUE_LIFE)
    } else {
        ("lease", ms(key.ttl.max(key.min_hold)))
    };
    if left.pttl < 0 || left.pttl > life {
        return Some(format!(
            "{} lives for {} ms, {life} at most",
            left.key, left.pttl
        ));
    }
    if what == "lease" && left.again {
        return Some(format!("{} is still held: {}", left.key, left.value));
    }
    // A holding whose release was answered is not held any more, unless the server went back to before it.
    let released = facts.of_token(&left.value).any(|ask| {
        ask.script == "release"
            && ask.answer == Answer::Released
            && !lost_since(facts, ask.forwarded)
    });
    (what == "lease" && released).then(|| format!("{} is held after its release", left.key))
}

fn lost_since(facts: &Facts, at: Ns) -> bool {
    let mut losses = facts.history.losses.iter();
    losses.any(|loss| loss.until + 1_000 * MS > at)
}

/// A holding is not written again after its release, nor after its TTL: nobody would be there to give it back.
fn comes_back(facts: &Facts, verdict: &mut Verdict) {
    let mut ttls: HashMap<&str, Ns> = HashMap::new();
    for key in &facts.history.keys {
        ttls.insert(&key.name, key.ttl);
    }
    // By the server's clock, which is what counts there, it may be before its TTL.
    let mut faults = facts.history.faults.iter();
    let stepped = faults.any(|fault| fault.kind.starts_with("clock"));
    for asks in facts.asks.values() {
        let (mut released, mut lapses) = (None, None);
        for ask in asks {
            let Some(ttl) = ttls.get(ask.key.as_str()) else {
                continue;
            };
            if ask.answer == (Answer::Renewed { restored: true }) {
                if released.is_some_and(|at| at < ask.forwarded && !lost_since(facts, at)) {
                    let text = format!("{}: {} came back after its release", ask.key, ask.token);
                    verdict.breach('e', text);
                } else if let Some(late) = lapses
                    .and_then(|end: Ns| ask.forwarded.checked_sub(end))
                    .filter(|late| *late > PROMPT && !stepped)
                {
                    let text = format!(
                        "{}: {} came back {} after its TTL",
                        ask.key,
                        ask.token,
                        shown(late)
                    );
                    verdict.breach('e', text);
                }
            }
            match ask.answer {
                Answer::Released => released = Some(ask.replied),
                Answer::Granted { .. } | Answer::Renewed { .. } => {
                    lapses = lapses.max(Some(ask.replied + ttl));
                }
                _ => {}
            }
        }
    }
}
