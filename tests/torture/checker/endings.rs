//! Rule f: what redlease said at its end.

use std::collections::HashMap;

use super::{Facts, Job, MS, Ns, Verdict, shown};
use crate::torture::history::{Ending, Form, Report, Run};

/// Beyond the wait, the job and two TTLs: the first connection and the bounded retries of a release, with room.
const LEEWAY: Ns = 15_000 * MS;

pub fn judge(facts: &Facts, verdict: &mut Verdict) {
    let jobs: HashMap<u64, &Job> = facts.jobs.iter().map(|job| (job.run.id, job)).collect();
    for run in &facts.history.runs {
        let Some(ending) = facts.endings.get(&run.id) else {
            verdict.breach('f', format!("run {} never ended", run.id));
            continue;
        };
        let job = jobs.get(&run.id).copied();
        let complaints = [
            in_time(facts, run, ending),
            code(facts, run, ending, job),
            early(run, ending),
            reported(facts, run, ending, job),
        ];
        for complaint in complaints.into_iter().flatten() {
            let said = ending.said.trim();
            let text = format!(
                "run {} ({}): {complaint}; it said {said:?}",
                run.id, run.key
            );
            verdict.breach('f', text);
        }
    }
}

fn in_time(facts: &Facts, run: &Run, ending: &Ending) -> Option<String> {
    let key = facts.key(&run.key);
    let limit = run.wait.unwrap_or(0) + run.job + 2 * key.ttl + key.min_hold + LEEWAY;
    let starved = facts.history.starved(run.at, ending.at);
    let took = ending.at.saturating_sub(run.at);
    (took > limit + ending.paused + 3 * starved)
        .then(|| format!("took {}, {} at most", shown(took), shown(limit)))
}

/// What the faults of the torture can lead to: 69 unreachable, 75 refused, 79 lost, a passed-on TERM, a KILL; and
/// 125 where we took the guard away before there was a job.
fn code(facts: &Facts, run: &Run, ending: &Ending, job: Option<&Job>) -> Option<String> {
    let known = ending.code == run.code || [69, 75, 79, 137, 143].contains(&ending.code);
    let mut faults = facts.history.faults.iter();
    let unguarded = faults.any(|f| f.run == Some(run.id) && f.kind.contains("guard"));
    let failed = ending.code == 125 && unguarded && job.is_none();
    (!known && !failed).then(|| format!("ended with {}", ending.code))
}

/// A run that waits is not sent away before its time.
fn early(run: &Run, ending: &Ending) -> Option<String> {
    let took = ending.at.saturating_sub(run.at);
    let wait = run.wait?;
    (run.form == Form::Run && ending.code == 75 && took < wait)
        .then(|| format!("refused after {} of {}", shown(took), shown(wait)))
}

fn reported(facts: &Facts, run: &Run, ending: &Ending, job: Option<&Job>) -> Option<String> {
    if run.form == Form::Script {
        return None;
    }
    let Some(report) = &ending.report else {
        return (!ending.killed && ending.code != 143).then(|| "no report".to_owned());
    };
    if report.exit_code != ending.code && !ending.killed {
        let said = report.exit_code;
        return Some(format!(
            "reports the code {said} and ended with {}",
            ending.code
        ));
    }
    let told = outcome(run, ending, report, job);
    told.or_else(|| unexplained(facts, run, report))
}

/// A job dies of a signal because we sent one: one of redlease's own is a loss, and has to be reported as one.
fn unexplained(facts: &Facts, run: &Run, report: &Report) -> Option<String> {
    let mut faults = facts.history.faults.iter();
    let sent = faults.any(|fault| {
        let kind = fault.kind.as_str();
        fault.run == Some(run.id) && (kind.starts_with("term") || kind == "kill job")
    });
    (report.outcome == "signalled" && !sent).then(|| "signalled by nobody".to_owned())
}

fn outcome(run: &Run, ending: &Ending, report: &Report, job: Option<&Job>) -> Option<String> {
    let word = report.outcome.as_str();
    let code = report.exit_code;
    if let Some(job) = job {
        let told = (report.slot, report.fence);
        if told != (Some(job.slot), Some(job.fence)) {
            return Some(format!(
                "reports {told:?}, and its job had the fence {}",
                job.fence
            ));
        }
    }
    match (word, job) {
        ("completed", Some(job)) => {
            let agreed =
                job.end == Some(run.code) && report.job_code == job.end && code == run.code;
            (!agreed).then(|| format!("completed with {code}, and its job with {:?}", job.end))
        }
        ("signalled", _) => {
            let signal = report.job_signal.unwrap_or(0);
            (i32::from(code) != 128 + signal)
                .then(|| format!("signalled by {signal}, and ended with {code}"))
        }
        // A job that ends before its first time stamp was killed at its start.
        ("lost" | "broken", _) => (code != 79).then(|| format!("{word}, and ended with {code}")),
        ("refused" | "already_done", None) => {
            (code != 75).then(|| format!("{word}, and ended with {code}"))
        }
        ("unavailable", None) => (code != 69).then(|| format!("{word}, and ended with {code}")),
        ("not_started", None) => None,
        (_, Some(_)) => Some(format!("{word}, but its job worked")),
        ("completed", None) => Some("completed without a job".to_owned()),
        (_, None) => Some(format!(
            "an outcome that nobody knows: {word} ({})",
            ending.code
        )),
    }
}
