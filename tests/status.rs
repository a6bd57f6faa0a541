//! `redlease status`: the states, the waiters, the codes; what a table and JSON promise.

mod hostile;
mod listing;
mod screen;

use nix::sys::signal::Signal;
use serde_json::Value as Json;

use crate::harness::process::send;
use crate::harness::{PATIENCE, Redis, Redlease, wait_until};

fn status(redis: &Redis, words: &[&str]) -> Redlease {
    Redlease::command(["status"]).args(words).on(redis)
}

/// The objects of `status --json WORDS`.
#[track_caller]
fn objects(redis: &Redis, words: &[&str]) -> Vec<Json> {
    let outcome = status(redis, words).arg("--json").exits(0);
    outcome
        .out()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

#[track_caller]
fn object(redis: &Redis, key: &str) -> Json {
    let mut all = objects(redis, &[key]);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn a_held_lease_is_shown_with_its_holder_and_its_times() {
    let redis = Redis::start();
    let run = Redlease::run("nightly")
        .on(&redis)
        .arg("--label")
        .arg("import")
        .holds()
        .start()
        .up();
    let seen = object(&redis, "nightly");
    assert_eq!(seen["state"], "held");
    assert_eq!(seen["key"], "nightly");
    assert_eq!(seen["slot"], 1);
    assert_eq!(seen["holder"]["label"], "import");
    assert_eq!(seen["holder"]["pid"], run.pid());
    assert_eq!(seen["ttl_ms"], 30_000);
    let left = seen["remaining_ms"].as_u64().unwrap();
    assert!((1..=30_000).contains(&left), "{left}");
    assert_eq!(seen["token"], redis.get("redlease:{nightly}").unwrap());
    assert_eq!(
        seen["fence"].to_string(),
        redis.hget("redlease:{nightly}:info", "fence")
    );
    let table = status(&redis, &["nightly"]).exits(0).out();
    let pid = format!("(pid {}, import)", run.pid());
    for part in ["nightly", "held", pid.as_str(), "ttl 30s"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    run.finish();
    let seen = object(&redis, "nightly");
    assert_eq!(seen["state"], "free");
    assert_eq!(seen["remaining_ms"], Json::Null);
    assert_eq!(seen["last_run"]["outcome"], "completed");
    assert_eq!(seen["last_run"]["code"], 0);
}

#[test]
fn the_code_of_quiet_is_0_held_1_free_69_unknown() {
    let mut redis = Redis::start();
    let quiet = |redis: &Redis, code| {
        let outcome = status(redis, &["-q", "k"]).exits(code);
        assert_eq!(outcome.out(), "");
        outcome.silent_on_stderr();
    };
    quiet(&redis, 1);
    let run = Redlease::run("k").on(&redis).holds().start().up();
    quiet(&redis, 0);
    run.finish();
    quiet(&redis, 1);
    redis.kill();
    quiet(&redis, 69);
    status(&redis, &["k"]).exits(69).says(&["redlease: "]);
}

/// C26 (terraform#28710): a stale lock must be deleted by hand, without knowing whose.
#[test]
fn a_lease_whose_holder_died_is_abandoned_and_names_it() {
    let redis = Redis::start();
    let run = Redlease::run("k").on(&redis).ttl("2s").holds().start().up();
    let pid = run.pid();
    send(pid, Signal::SIGKILL);
    wait_until("the end of the lease", PATIENCE, || {
        !redis.exists("redlease:{k}")
    });
    let seen = object(&redis, "k");
    assert_eq!(seen["state"], "abandoned");
    assert_eq!(seen["holder"]["pid"], pid);
    assert!(seen["state_ms"].is_u64(), "{seen}");
    assert!(seen["acquired_at_ms"].is_u64(), "{seen}");
    let table = status(&redis, &["k"]).exits(0).out();
    assert!(table.contains("abandoned"), "{table}");
    assert!(table.contains(&format!("(pid {pid}, ")), "{table}");
    assert!(table.contains("without a release"), "{table}");
    status(&redis, &["-q", "k"]).exits(1);
}

/// C23 (ShedLock#6): `status` says until when a short job's lease cools.
#[test]
fn a_cooling_lease_says_until_when() {
    let redis = Redis::start();
    Redlease::run("k")
        .on(&redis)
        .args(["--min-hold", "60s"])
        .job(["true"])
        .exits(0);
    Redlease::run("k")
        .on(&redis)
        .args(["--min-hold", "60s"])
        .job(["true"])
        .exits(75);
    let seen = object(&redis, "k");
    assert_eq!(seen["state"], "cooling");
    assert_eq!(seen["last_run"]["outcome"], "completed");
    let left = seen["remaining_ms"].as_u64().unwrap();
    assert!((1..=60_000).contains(&left), "{left}");
    let until = seen["expires_at_ms"].as_u64().unwrap();
    assert_eq!(until, seen["at_ms"].as_u64().unwrap() + left);
    let table = status(&redis, &["k"]).exits(0).out();
    assert!(table.contains("cooling until 20"), "{table}");
    status(&redis, &["-q", "k"]).exits(0);
}

#[test]
fn waiters_are_listed_in_their_order_with_their_ages() {
    let redis = Redis::start();
    let run = Redlease::run("k").on(&redis).holds().start().up();
    let wait = |label: &str, before: usize| {
        let waiter = Redlease::run("k")
            .on(&redis)
            .args(["--wait", "60s", "--label", label])
            .job(["true"])
            .start();
        wait_until("one more in the queue", PATIENCE, || {
            object(&redis, "k")["waiting"] == before + 1
        });
        waiter
    };
    let first = wait("first", 0);
    let second = wait("second", 1);
    let seen = object(&redis, "k");
    assert_eq!(seen["waiters"][0]["label"], "first");
    assert_eq!(seen["waiters"][1]["label"], "second");
    let age = |at: usize| seen["waiters"][at]["waited_ms"].as_u64().unwrap();
    assert!(age(0) >= age(1), "{seen}");
    let table = status(&redis, &["k"]).exits(0).out();
    let at = |part: &str| {
        table
            .find(part)
            .unwrap_or_else(|| panic!("{part}: {table}"))
    };
    assert!(at(", first) has waited for") < at(", second) has waited for"));
    run.finish();
    first.exits(0);
    second.exits(0);
}

#[test]
fn every_slot_of_a_limit_has_its_row() {
    let redis = Redis::start();
    let limit = |label: &str| {
        Redlease::run("k")
            .on(&redis)
            .args(["--limit", "3", "--label", label])
            .holds()
            .start()
            .up()
    };
    let (one, two) = (limit("one"), limit("two"));
    for words in [&["k"][..], &[]] {
        let seen = objects(&redis, words);
        let states: Vec<&str> = seen.iter().map(|s| s["state"].as_str().unwrap()).collect();
        assert_eq!(states, ["held", "held", "free"], "{words:?}");
        assert_eq!(seen[1]["holder"]["label"], "two");
        assert_eq!(seen[2]["slot"], 3);
        assert_eq!(seen[2]["slots"], 3);
    }
    assert!(status(&redis, &[]).exits(0).out().contains("k [2/3]"));
    one.finish();
    two.finish();
}

#[test]
fn a_raw_key_is_shown_with_and_without_redlease_knowing_it() {
    let redis = Redis::start();
    redis.steal("deploy", "somebody else's", 60_000);
    let seen = objects(&redis, &["deploy", "--raw-key"]).remove(0);
    assert_eq!(seen["state"], "foreign");
    assert_eq!(seen["holder"], Json::Null);
    assert_eq!(seen["token"], "somebody else's");
    assert_eq!(object(&redis, "deploy")["state"], "free");
    redis.cli(&["DEL", "deploy"]);
    let run = Redlease::run("deploy")
        .on(&redis)
        .arg("--raw-key")
        .holds()
        .start()
        .up();
    for words in [&["deploy", "--raw-key"][..], &["deploy"], &[]] {
        let seen = objects(&redis, words).remove(0);
        assert_eq!(seen["state"], "held", "{words:?}");
        assert_eq!(seen["raw_key"], true, "{words:?}");
    }
    run.finish();
}
