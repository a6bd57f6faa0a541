//! The torture as it is run: a short one of a fixed seed by `cargo test`, a long one by `make torture`.

use std::path::Path;
use std::time::{Duration, Instant};

use super::checker::{Verdict, judge};
use super::history::History;
use super::plan::{Plan, World};
use super::random::Random;
use super::{round, summary};

const SEED: u64 = 1;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {text:?}")),
    )
}

/// One round, judged; the history of a breach is kept.
fn round(plan: &Plan) -> Verdict {
    let history = round::play(plan);
    let verdict = judge(&history);
    if !verdict.breaches.is_empty() {
        keep(&history, plan);
    }
    for breach in &verdict.breaches {
        println!("{}: {}", breach.rule, breach.text);
    }
    verdict
}

fn keep(history: &History, plan: &Plan) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("history-{:?}-{}.json", plan.world, plan.seed));
    match std::fs::write(&file, history.to_json()) {
        Ok(()) => println!("the history is in {}", file.display()),
        Err(error) => println!("{}: {error}", file.display()),
    }
}

/// The table, after which nothing may be left to complain about.
fn close(verdict: &Verdict, seed: u64, rounds: usize) {
    println!("{}", summary::table(verdict, seed, rounds));
    let texts: Vec<String> = verdict
        .breaches
        .iter()
        .map(|breach| format!("{}: {}", breach.rule, breach.text))
        .collect();
    assert!(texts.is_empty(), "{}", texts.join("\n"));
    assert!(
        verdict.numbers.leases > 0 && verdict.numbers.jobs > 0,
        "nothing happened"
    );
}

#[test]
fn leases_under_faults() {
    let seconds = number("TORTURE_SECONDS");
    let seed = number("TORTURE_SEED").unwrap_or(SEED);
    let lengths: &[(World, u64)] = match seconds {
        None => &[
            (World::Kept, 20),
            (World::Lossy, 9),
            (World::FailOver, 7),
            (World::Stepped, 5),
        ],
        Some(_) => &[
            (World::Kept, 84),
            (World::Stormy, 40),
            (World::Lossy, 40),
            (World::FailOver, 40),
            (World::Watched, 40),
            (World::Stepped, 30),
        ],
    };
    let only = std::env::var("TORTURE_WORLD").unwrap_or_default();
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(0));
    let mut seeds = Random::new(seed);
    let mut all = Verdict::default();
    let mut rounds = 0;
    loop {
        for (world, length) in lengths {
            if !only.is_empty() && format!("{world:?}") != only {
                continue;
            }
            if rounds > 0 && seconds.is_some() && Instant::now() > end {
                break;
            }
            // Most of what two processors can carry, and now and then more than that.
            let crowd = *seeds.pick(&[20, 24, 30, if seconds.is_some() { 60 } else { 24 }]);
            let plan = Plan::new(*world, seeds.next() % 1_000_000, length * 1_000, crowd);
            println!(
                "{world:?}: seed {}, {length} s, {crowd} runs at a time",
                plan.seed
            );
            all.add(round(&plan));
            rounds += 1;
        }
        if Instant::now() >= end {
            break;
        }
    }
    close(&all, seed, rounds);
}

/// Each piece of the design is switched off in turn: the torture has to miss it. `make mutations`; a round is short,
/// so that a piece which is missed at once costs no minutes.
#[cfg(feature = "mutate")]
#[test]
fn mutations() {
    use World::{Kept, Lossy, Stormy};
    // Piece, the rules that it serves, and where it is needed.
    const PIECES: &[(&str, &str, &[World])] = &[
        ("guard", "acd", &[Stormy]),
        ("takeover", "acd", &[Stormy]),
        ("last process", "acd", &[Stormy]),
        ("margin", "c", &[Stormy]),
        ("own token", "a", &[Stormy]),
        ("ended mark", "ae", &[Stormy]),
        ("expires_at rule", "ae", &[Stormy]),
        ("take-over", "g", &[Stormy]),
        ("rank rule", "g", &[Kept]),
        ("wake", "g", &[Kept]),
        ("dead waiters", "g", &[Kept]),
        ("fence growth", "b", &[Stormy]),
        ("fence clock", "b", &[Lossy]),
    ];
    // A waiter that was killed is dropped because nobody hears its wake-up, and one that is stopped costs a step of
    // half a second: that the silent are forgotten shows only where connections outlive whole hosts. The scripts'
    // own tests show it.
    const NEED_NOT_BE_MISSED: &[&str] = &["dead waiters"];
    const LENGTH: u64 = 30_000;
    let limit = Duration::from_secs(number("TORTURE_SECONDS").unwrap_or(240));
    let seed = number("TORTURE_SEED").unwrap_or(SEED);
    let only = std::env::var("TORTURE_PIECE").unwrap_or_default();
    let mut missed_by_nobody = Vec::new();
    for (piece, rules, worlds) in PIECES {
        if !only.is_empty() && only != *piece {
            continue;
        }
        let mut seeds = Random::new(seed);
        let start = Instant::now();
        let mut found = None;
        for world in worlds.iter().cycle() {
            let mut plan = Plan::new(*world, seeds.next() % 1_000_000, LENGTH, 24);
            plan.without = piece;
            let mut breaches = judge(&round::play(&plan)).breaches.into_iter();
            found = breaches.find(|breach| rules.contains(breach.rule));
            if found.is_some() || start.elapsed() > limit {
                break;
            }
        }
        let took = start.elapsed().as_secs();
        match found {
            Some(breach) => println!(
                "without {piece}, after {took} s: {}: {}",
                breach.rule, breach.text
            ),
            None => {
                println!("without {piece} nothing was wrong in {took} s");
                missed_by_nobody.extend(Some(*piece).filter(|p| !NEED_NOT_BE_MISSED.contains(p)));
            }
        }
    }
    assert!(
        missed_by_nobody.is_empty(),
        "nobody missed {missed_by_nobody:?}"
    );
}

/// A kept history again: `TORTURE_HISTORY=FILE`.
#[test]
fn a_kept_history_is_judged_again() {
    if let Ok(file) = std::env::var("TORTURE_HISTORY") {
        let text = std::fs::read_to_string(&file).unwrap();
        let verdict = judge(&History::from_json(&text).unwrap());
        close(&verdict, 0, 1);
    }
}
