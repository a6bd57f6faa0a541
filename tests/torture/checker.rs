//! Judges a history, and knows nothing of how it was made. The rules:
//!
//! a. no two jobs of one slot overlap, except after a declared loss of the key, and then not past the kill moment;
//! b. fences grow from one holding to the next;
//! c. no job works past the kill moment of its lease;
//! d. no process of a job outlives the redlease processes of its run;
//! e. nothing stays in Redis beyond its stated life, and no holding comes back after its end;
//! f. every run ends in time with a documented code, and its report agrees with what happened;
//! g. live waiters get the lease in order, and it is not idle beyond the promised bound.

mod endings;
mod fences;
mod leftovers;
mod overlaps;
mod queue;

use std::collections::{BTreeMap, HashMap};

use super::history::{Answer, Ask, Ending, History, Key, MS, Ns, Process, Run};

#[derive(Clone, Debug, PartialEq)]
pub struct Breach {
    pub rule: char,
    pub text: String,
}

/// What was found, and how near the promises came to their bounds.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    pub breaches: Vec<Breach>,
    pub numbers: Numbers,
}

#[derive(Clone, Debug, Default)]
pub struct Numbers {
    pub leases: u64,
    pub jobs: u64,
    pub faults: BTreeMap<String, u64>,
    pub losses: BTreeMap<String, u64>,
    pub endings: BTreeMap<u8, u64>,
    pub restored: u64,
    /// From the kill moment to the last time stamp of a job: negative is before.
    pub worst_tick: Option<i64>,
    pub declared_overlaps: u64,
    pub worst_declared_overlap: Ns,
    /// What design allows for the overlap that came nearest to it, and how long that was.
    pub nearest_bound: Option<(Ns, Ns)>,
    pub orders_checked: u64,
    pub idles_checked: u64,
    pub worst_idle: Ns,
    pub worst_idle_in_storms: Ns,
    pub longest_gap: Ns,
}

impl Verdict {
    fn breach(&mut self, rule: char, text: String) {
        self.breaches.push(Breach { rule, text });
    }

    pub fn count(&self, rule: char) -> usize {
        self.breaches.iter().filter(|b| b.rule == rule).count()
    }

    /// Adds another round.
    pub fn add(&mut self, other: Verdict) {
        self.breaches.extend(other.breaches);
        let (all, new) = (&mut self.numbers, other.numbers);
        all.leases += new.leases;
        all.jobs += new.jobs;
        all.restored += new.restored;
        all.declared_overlaps += new.declared_overlaps;
        all.orders_checked += new.orders_checked;
        all.idles_checked += new.idles_checked;
        all.worst_tick = all.worst_tick.max(new.worst_tick);
        all.worst_declared_overlap = all.worst_declared_overlap.max(new.worst_declared_overlap);
        all.worst_idle = all.worst_idle.max(new.worst_idle);
        all.worst_idle_in_storms = all.worst_idle_in_storms.max(new.worst_idle_in_storms);
        all.longest_gap = all.longest_gap.max(new.longest_gap);
        all.nearest_bound = [all.nearest_bound, new.nearest_bound]
            .into_iter()
            .flatten()
            .min_by_key(|(bound, seen)| bound.saturating_sub(*seen));
        for (kind, count) in new.faults {
            *all.faults.entry(kind).or_default() += count;
        }
        for (kind, count) in new.losses {
            *all.losses.entry(kind).or_default() += count;
        }
        for (code, count) in new.endings {
            *all.endings.entry(code).or_default() += count;
        }
    }
}

/// All processes of one job together.
#[derive(Clone, Debug)]
struct Job<'a> {
    run: &'a Run,
    token: &'a str,
    slot: u8,
    fence: u64,
    first: Ns,
    last: Ns,
    /// The code of its first process, if it came to its own end.
    end: Option<u8>,
}

/// The history with its records joined.
struct Facts<'a> {
    history: &'a History,
    keys: HashMap<&'a str, &'a Key>,
    jobs: Vec<Job<'a>>,
    endings: HashMap<u64, &'a Ending>,
    /// By token, in the order of `forwarded`.
    asks: HashMap<&'a str, Vec<&'a Ask>>,
    /// Answered acquires of each key that were granted, in the order of `replied`.
    grants: HashMap<&'a str, Vec<&'a Ask>>,
}

pub fn judge(history: &History) -> Verdict {
    let mut verdict = Verdict::default();
    let facts = Facts::of(history, &mut verdict);
    overlaps::judge(&facts, &mut verdict);
    fences::judge(&facts, &mut verdict);
    leftovers::judge(&facts, &mut verdict);
    endings::judge(&facts, &mut verdict);
    queue::judge(&facts, &mut verdict);
    count(&facts, &mut verdict.numbers);
    verdict
}

fn count(facts: &Facts, numbers: &mut Numbers) {
    let history = facts.history;
    numbers.jobs = facts.jobs.len() as u64;
    let fresh = |ask: &&Ask| matches!(ask.answer, Answer::Granted { again: false, .. });
    numbers.leases = history.asks.iter().filter(fresh).count() as u64;
    let restored = |ask: &&Ask| matches!(ask.answer, Answer::Renewed { restored: true });
    numbers.restored = history.asks.iter().filter(restored).count() as u64;
    for fault in &history.faults {
        *numbers.faults.entry(fault.kind.clone()).or_default() += 1;
    }
    for loss in &history.losses {
        *numbers.losses.entry(loss.kind.clone()).or_default() += 1;
    }
    for ending in &history.endings {
        *numbers.endings.entry(ending.code).or_default() += 1;
    }
    let gaps = history.gaps.iter().map(|gap| gap.until - gap.from);
    numbers.longest_gap = gaps.max().unwrap_or(0);
}

impl<'a> Facts<'a> {
    fn of(history: &'a History, verdict: &mut Verdict) -> Facts<'a> {
        let mut asks: HashMap<&str, Vec<&Ask>> = HashMap::new();
        let mut grants: HashMap<&str, Vec<&Ask>> = HashMap::new();
        for ask in &history.asks {
            asks.entry(&ask.token).or_default().push(ask);
            if matches!(ask.answer, Answer::Granted { .. }) {
                grants.entry(&ask.key).or_default().push(ask);
            }
        }
        for of_token in asks.values_mut() {
            of_token.sort_by_key(|ask| ask.forwarded);
        }
        for of_key in grants.values_mut() {
            of_key.sort_by_key(|ask| ask.replied);
        }
        Facts {
            history,
            keys: history.keys.iter().map(|k| (k.name.as_str(), k)).collect(),
            jobs: jobs(history, verdict),
            endings: history.endings.iter().map(|e| (e.run, e)).collect(),
            asks,
            grants,
        }
    }

    fn key(&self, name: &str) -> &'a Key {
        self.keys
            .get(name)
            .unwrap_or_else(|| panic!("the history says nothing of the key {name:?}"))
    }

    fn of_token(&self, token: &str) -> impl Iterator<Item = &'a Ask> + use<'a, '_> {
        self.asks.get(token).into_iter().flatten().copied()
    }

    /// The acquire that gave the token its slot.
    fn grant(&self, token: &str) -> Option<&'a Ask> {
        self.of_token(token)
            .find(|ask| matches!(ask.answer, Answer::Granted { .. }))
    }

    /// Acquires and renewals of the token that the server answered well.
    fn good(&self, token: &str) -> impl Iterator<Item = &'a Ask> + use<'a, '_> {
        self.of_token(token)
            .filter(|ask| matches!(ask.answer, Answer::Granted { .. } | Answer::Renewed { .. }))
    }
}

fn jobs<'a>(history: &'a History, verdict: &mut Verdict) -> Vec<Job<'a>> {
    let runs: HashMap<u64, &Run> = history.runs.iter().map(|run| (run.id, run)).collect();
    let mut jobs: BTreeMap<u64, Job> = BTreeMap::new();
    for process in &history.processes {
        let run = runs[&process.run];
        let job = jobs.entry(run.id).or_insert_with(|| of(run, process));
        job.first = job.first.min(process.first);
        job.last = job.last.max(process.last);
        if process.top {
            job.end = process.end;
        }
        if (job.token, job.slot, job.fence) != (&process.token, process.slot, process.fence) {
            verdict.breach('f', format!("run {}: two holdings in one job", run.id));
        }
    }
    jobs.into_values().collect()
}

fn of<'a>(run: &'a Run, process: &'a Process) -> Job<'a> {
    Job {
        run,
        token: &process.token,
        slot: process.slot,
        fence: process.fence,
        first: process.first,
        last: process.last,
        end: None,
    }
}

/// 5 % of the TTL, at least 250 ms, at most 3 s.
fn margin(ttl: Ns) -> Ns {
    (ttl / 20).clamp(250 * MS, 3_000 * MS)
}

/// How late a stop may be seen: waking up and walking the tree of processes costs this much on a machine that is
/// not starved, and what it was starved for comes on top. It is well below the smallest margin, so that a program
/// which forgets the margin is found out.
const PROMPT: Ns = 100 * MS;

fn shown(ns: Ns) -> String {
    format!("{}.{:03} s", ns / 1_000_000_000, ns / MS % 1000)
}
