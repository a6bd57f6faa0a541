//! `--limit N`: up to N holders, each with a lease of its own.

use std::collections::BTreeSet;

use nix::sys::signal::Signal;

use crate::harness::process::Stamps;
use crate::harness::{PATIENCE, Redis, Redlease, wait_until};

fn limited(redis: &Redis, limit: &str) -> Redlease {
    Redlease::run("k").on(redis).args(["--limit", limit])
}

const HOLD: &str = "$SIG{TERM} = sub { exit 0 }; print qq($ENV{REDLEASE_SLOT} $ENV{REDLEASE_FENCE}\\n); \
                    print qq(up\\n); sleep 1 while 1";

#[test]
fn as_many_hold_as_the_limit_says() {
    let redis = Redis::start();
    let first = limited(&redis, "2").perl(HOLD).start().up();
    let second = limited(&redis, "2").perl(HOLD).start().up();
    limited(&redis, "2").job(["true"]).exits(75).says(&["k"]);
    assert!(redis.pttl("redlease:{k}") > 0);
    assert!(redis.pttl("redlease:{k}:2") > 0);
    assert_ne!(redis.get("redlease:{k}"), redis.get("redlease:{k}:2"));

    let told: Vec<String> = [first.finish(), second.finish()]
        .iter()
        .map(|outcome| outcome.out().lines().next().unwrap().to_owned())
        .collect();
    let slots: BTreeSet<&str> = told
        .iter()
        .map(|line| line.split_once(' ').unwrap().0)
        .collect();
    assert_eq!(slots, BTreeSet::from(["1", "2"]));
    let fences: Vec<u64> = told
        .iter()
        .map(|line| line.split_once(' ').unwrap().1.parse().unwrap())
        .collect();
    assert!(fences[1] > fences[0], "{fences:?}");
    assert!(!redis.exists("redlease:{k}"));
    assert!(!redis.exists("redlease:{k}:2"));
}

#[test]
fn never_more_than_the_limit_at_once() {
    let redis = Redis::start();
    let runs: Vec<_> = (0..12)
        .map(|n| {
            let stamps = Stamps::named(redis.folder(), &format!("s{n}"));
            let run = limited(&redis, "3")
                .args(["-w", "60s"])
                .job(stamps.job_for(0.2, 0))
                .start();
            (stamps, run)
        })
        .collect();
    let mut edges = Vec::new();
    for (stamps, run) in runs {
        run.exits(0);
        edges.push((stamps.first(), 1));
        edges.push((stamps.last(), -1));
    }
    edges.sort();
    let mut inside = 0;
    for (_, change) in edges {
        inside += change;
        assert!(inside <= 3, "{inside} at once");
    }
}

#[test]
fn callers_that_disagree_are_refused_with_both_numbers() {
    let redis = Redis::start();
    let holder = limited(&redis, "3").holds().start().up();
    let outcome = limited(&redis, "5").job(["true"]).exits(78);
    outcome.says(&["3", "5"]);
    Redlease::run("k").on(&redis).job(["true"]).exits(78);
    holder.finish();
    limited(&redis, "5").job(["true"]).exits(0).silent();
}

#[test]
fn a_slot_that_becomes_free_goes_to_a_waiter() {
    let redis = Redis::start();
    let first = limited(&redis, "2").holds().start().up();
    let second = limited(&redis, "2").holds().start().up();
    let waiting = limited(&redis, "2")
        .args(["-w", "60s"])
        .sh("echo $REDLEASE_SLOT")
        .start();
    wait_until("the waiter's place", PATIENCE, || {
        redis.cli(&["ZCARD", "redlease:{k}:queue"]).int() == 1
    });
    let slot_two = redis.get("redlease:{k}:2");
    second.finish();
    let told = waiting.exits(0).out();
    assert!(slot_two.is_some());
    assert_eq!(told, "2\n");
    first.finish();
}

#[test]
fn a_slot_is_lost_alone() {
    let redis = Redis::start();
    let first = limited(&redis, "2").ttl("4s").holds().start().up();
    let second = limited(&redis, "2").ttl("4s").holds().start().up();
    let token = redis.get("redlease:{k}");
    redis.steal("redlease:{k}:2", "foreign", 60_000);
    second.exits(79);
    assert_eq!(redis.get("redlease:{k}:2"), Some("foreign".to_owned()));
    assert_eq!(redis.get("redlease:{k}"), token);
    first.finish();
}

#[test]
fn a_limit_out_of_range_is_refused() {
    for limit in ["0", "65", "-1", "two"] {
        let outcome = Redlease::command(["run", "--key", "k"])
            .arg(format!("--limit={limit}"))
            .job(["true"])
            .exits(64);
        assert!(outcome.stderr.contains("--limit"), "{}", outcome.stderr);
    }
}

#[test]
fn a_waiter_for_any_slot_can_be_told_to_stop() {
    let redis = Redis::start();
    let first = limited(&redis, "1").holds().start().up();
    let waiting = limited(&redis, "1")
        .args(["-w", "60s"])
        .job(["true"])
        .start();
    wait_until("the waiter's place", PATIENCE, || {
        redis.cli(&["ZCARD", "redlease:{k}:queue"]).int() == 1
    });
    waiting.signal(Signal::SIGTERM);
    waiting.exits(143);
    first.finish();
}
