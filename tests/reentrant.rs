//! A run inside a run: for another key it is a lease more, for the same key it could only wait for itself.

use crate::harness::redlease::BINARY;
use crate::harness::{Redis, Redlease};

fn nested(redis: &Redis, script: &str) -> Redlease {
    Redlease::run("k")
        .on(redis)
        .env("REDLEASE", BINARY)
        .sh(script)
}

#[test]
fn another_key_nests() {
    let redis = Redis::start();
    let outcome = nested(
        &redis,
        "\"$REDLEASE\" run --key l -- sh -c 'echo $REDLEASE_KEY; exit 6'",
    )
    .exits(6);
    assert_eq!(outcome.out(), "l\n");
    assert_eq!(outcome.stderr, "");
}

#[test]
fn the_same_key_is_refused_at_once_as_a_deadlock_with_itself() {
    let redis = Redis::start();
    for wait in ["", "-w forever"] {
        let outcome = nested(
            &redis,
            &format!("\"$REDLEASE\" run --key k {wait} -- echo the job ran"),
        )
        .exits(64);
        outcome.says(&["k", "deadlock"]);
    }
    let deeper = "\"$REDLEASE\" run --key l -- \"$REDLEASE\" run --key k -- echo the job ran";
    nested(&redis, deeper).exits(64).says(&["deadlock"]);
}

#[test]
fn the_same_key_on_another_server_is_another_lease() {
    let (redis, other) = (Redis::start(), Redis::start());
    let script = format!(
        "\"$REDLEASE\" run --url {} --key k -- echo the job ran",
        other.url()
    );
    assert_eq!(nested(&redis, &script).exits(0).out(), "the job ran\n");
}

#[test]
fn a_reentrant_run_runs_under_the_enclosing_lease() {
    let redis = Redis::start();
    let outcome = nested(
        &redis,
        "echo $REDLEASE_TOKEN; \"$REDLEASE\" run --reentrant --key k -- sh -c 'echo $REDLEASE_TOKEN; exit 6'",
    )
    .exits(6);
    let out = outcome.out();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 2, "{out}");
    assert_eq!(lines[0], lines[1]);
    assert!(!redis.exists("redlease:{k}"));
}

#[test]
fn variables_that_outlived_their_lease_give_no_entry() {
    let redis = Redis::start();
    // As a daemon or tmux may keep them.
    let env = Redlease::run("k").on(&redis).job(["env"]).exits(0).out();
    redis.steal("redlease:{k}", "foreign", 60_000);
    let mut late = Redlease::run("k").on(&redis).arg("--reentrant");
    for entry in env.lines().filter(|line| line.starts_with("REDLEASE_")) {
        let (name, value) = entry.split_once('=').unwrap();
        late = late.env(name, value);
    }
    let outcome = late.sh("echo the job ran").output();
    assert_eq!(outcome.out(), "");
    assert!(outcome.code == 75 || outcome.code == 79, "{outcome:?}");
    assert_eq!(redis.get("redlease:{k}"), Some("foreign".to_owned()));
}
