//! Rules a and c: who worked when.

use std::collections::HashMap;

use super::{Facts, Job, MS, Ns, PROMPT, Verdict, margin, shown};
use crate::torture::history::{Answer, Ask, Form, Loss};

/// A loss is declared from the command that caused it to its reply; writes that a replica had not seen yet are
/// older than the command by at most this.
const REPLICATION: Ns = 300 * MS;

pub fn judge(facts: &Facts, verdict: &mut Verdict) {
    let mut slots: HashMap<(&str, u8), Vec<&Job>> = HashMap::new();
    for job in &facts.jobs {
        past_the_end(facts, job, verdict);
        slots.entry((&job.run.key, job.slot)).or_default().push(job);
    }
    too_soon(facts, verdict);
    for (_, mut jobs) in slots {
        jobs.sort_by_key(|job| job.first);
        let mut open: Vec<&Job> = Vec::new();
        for job in jobs {
            open.retain(|earlier| earlier.last > job.first);
            for earlier in &open {
                overlap(facts, earlier, job, verdict);
            }
            open.push(job);
        }
    }
}

/// `--min-hold` keeps the next one out, counted from the acquire. (The TTL is longer, so that a crash does too.)
fn too_soon(facts: &Facts, verdict: &mut Verdict) {
    for key in facts.history.keys.iter().filter(|key| key.min_hold > 0) {
        let grants = facts.grants.get(key.name.as_str());
        let mut started: Vec<&Ask> = grants.into_iter().flatten().copied().collect();
        started.retain(|ask| facts.jobs.iter().any(|job| job.token == ask.token));
        for pair in started.windows(2) {
            let apart = pair[1].replied.saturating_sub(pair[0].forwarded);
            let mut losses = facts.history.losses.iter();
            let lost = losses.any(|loss| {
                loss.until + REPLICATION > pair[0].forwarded && loss.from < pair[1].replied
            });
            // The time of a holding that was taken over counts from its first grant.
            let first = matches!(pair[0].answer, Answer::Granted { again: false, .. });
            if first && pair[0].token != pair[1].token && apart < key.min_hold && !lost {
                let text = format!(
                    "{}: granted again after {} of its min-hold",
                    key.name,
                    shown(apart)
                );
                verdict.breach('a', text);
            }
        }
    }
}

/// The latest possible kill moment: of the last good answer that reached redlease. The relay saw the request after
/// it had been sent, so the true moment is not later.
fn kill_moment(facts: &Facts, job: &Job) -> Option<Ns> {
    let ttl = facts.key(&job.run.key).ttl;
    let told = facts.good(job.token).filter(|ask| ask.delivered > 0);
    let sent = told.map(|ask| ask.arrived).max()?;
    let kept = match job.run.form {
        Form::Run => margin(ttl),
        Form::Script => 0,
    };
    Some(sent + ttl - kept)
}

fn past_the_end(facts: &Facts, job: &Job, verdict: &mut Verdict) {
    let Some(kill) = kill_moment(facts, job) else {
        let text = format!("run {}: a job without a grant", job.run.id);
        return verdict.breach('c', text);
    };
    let late = i64::try_from(job.last).unwrap_or(0) - i64::try_from(kill).unwrap_or(0);
    if job.run.form == Form::Run {
        verdict.numbers.worst_tick = verdict.numbers.worst_tick.max(Some(late));
    }
    let starved = facts
        .history
        .starved(kill.saturating_sub(500 * MS), job.last);
    if job.last > kill + PROMPT + 2 * starved {
        verdict.breach(
            'c',
            format!(
                "run {} ({}): worked {} past its kill moment (starved for {})",
                job.run.id,
                job.run.key,
                shown(job.last - kill),
                shown(starved)
            ),
        );
    }
}

fn overlap(facts: &Facts, one: &Job, two: &Job, verdict: &mut Verdict) {
    let granted = |job: &Job| facts.grant(job.token).map_or(job.first, |ask| ask.replied);
    // The earlier one is who was granted first: its job may have started last.
    let (earlier, later) = if granted(one) <= granted(two) {
        (one, two)
    } else {
        (two, one)
    };
    let until = earlier.last.min(later.last);
    let length = until - earlier.first.max(later.first);
    let Some(loss) = loss_between(facts, earlier, granted(later)) else {
        return verdict.breach(
            'a',
            format!(
                "{} slot {}: runs {} and {} worked at the same time for {}",
                later.run.key,
                later.slot,
                earlier.run.id,
                later.run.id,
                shown(length)
            ),
        );
    };
    let ttl = facts.key(&later.run.key).ttl;
    let bound = loss.until + ttl - margin(ttl);
    let allowed = bound.saturating_sub(earlier.first.max(later.first));
    let numbers = &mut verdict.numbers;
    numbers.declared_overlaps += 1;
    numbers.worst_declared_overlap = numbers.worst_declared_overlap.max(length);
    let nearest = numbers.nearest_bound.into_iter().chain([(allowed, length)]);
    numbers.nearest_bound = nearest.min_by_key(|(bound, seen)| bound.saturating_sub(*seen));
    let starved = facts.history.starved(bound.saturating_sub(500 * MS), until);
    if until > bound + PROMPT + 2 * starved {
        verdict.breach(
            'a',
            format!(
                "{} slot {}: after {} runs {} and {} worked at the same time until {} past the bound",
                later.run.key,
                later.slot,
                loss.kind,
                earlier.run.id,
                later.run.id,
                shown(until - bound)
            ),
        );
    }
}

/// A declared loss between the last time that the server knew of `earlier` and the grant to somebody else.
fn loss_between<'a>(facts: &'a Facts, earlier: &Job, granted: Ns) -> Option<&'a Loss> {
    let known = facts
        .good(earlier.token)
        .filter(|ask: &&Ask| ask.forwarded < granted)
        .map(|ask| ask.forwarded)
        .max()?;
    facts.history.losses.iter().find(|loss| {
        loss.key.as_ref().is_none_or(|key| *key == earlier.run.key)
            && loss.until + REPLICATION >= known
            && loss.from <= granted
    })
}
