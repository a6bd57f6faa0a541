//! Rule b: a resource that compares fences is never deceived.

use std::collections::HashMap;

use super::{Facts, Job, Ns, Verdict};
use crate::torture::history::{Answer, Ask};

pub fn judge(facts: &Facts, verdict: &mut Verdict) {
    for grants in facts.grants.values() {
        in_order_of_grants(grants, verdict);
    }
    let mut slots: HashMap<(&str, u8), Vec<&Job>> = HashMap::new();
    for job in &facts.jobs {
        slots.entry((&job.run.key, job.slot)).or_default().push(job);
    }
    for (_, mut jobs) in slots {
        jobs.sort_by_key(|job| job.first);
        in_order_of_starts(&jobs, verdict);
    }
}

/// Whatever the slot: a grant that was answered before another was asked for has the smaller fence.
fn in_order_of_grants(grants: &[&Ask], verdict: &mut Verdict) {
    let fresh: Vec<(&Ask, u64)> = grants
        .iter()
        .filter_map(|ask| match ask.answer {
            Answer::Granted {
                fence,
                again: false,
                ..
            } => Some((*ask, fence)),
            _ => None,
        })
        .collect();
    let mut seen: HashMap<u64, &str> = HashMap::new();
    for (ask, fence) in &fresh {
        if let Some(other) = seen.insert(*fence, &ask.token) {
            let text = format!(
                "{}: {other} and {} got the fence {fence}",
                ask.key, ask.token
            );
            verdict.breach('b', text);
        }
    }
    let mut asked = fresh.clone();
    asked.sort_by_key(|(ask, _)| ask.forwarded);
    let mut answered = fresh.iter().peekable();
    let mut highest = 0;
    for (ask, fence) in asked {
        while let Some((_, earlier)) =
            answered.next_if(|(earlier, _)| earlier.replied < ask.forwarded)
        {
            highest = highest.max(*earlier);
        }
        if fence <= highest {
            let text = format!(
                "{}: the fence {fence} after {highest} ({})",
                ask.key, ask.token
            );
            verdict.breach('b', text);
        }
    }
}

/// In one slot, a job that starts after another ended has the greater fence. (Jobs that overlap after a loss may
/// start in the other order.)
fn in_order_of_starts(jobs: &[&Job], verdict: &mut Verdict) {
    let mut ended: Vec<(Ns, u64)> = jobs.iter().map(|job| (job.last, job.fence)).collect();
    ended.sort_unstable();
    let mut ended = ended.into_iter().peekable();
    let mut highest = 0;
    for job in jobs {
        while let Some((_, fence)) = ended.next_if(|(last, _)| *last < job.first) {
            highest = highest.max(fence);
        }
        if job.fence <= highest {
            let text = format!(
                "{} slot {}: run {} started with the fence {} after one of {highest}",
                job.run.key, job.slot, job.run.id, job.fence
            );
            verdict.breach('b', text);
        }
    }
}
