//! What timers on several hosts need: not twice, not at once, not too soon, and quiet where nothing is wrong.

use crate::harness::process::Stamps;
use crate::harness::{PATIENCE, Redis, Redlease, ms, wait_until};

const LEASE: &str = "redlease:{k}";

#[test]
fn a_short_job_does_not_run_twice_on_hosts_with_different_clocks() {
    let redis = Redis::start();
    let run = || {
        Redlease::run("k")
            .on(&redis)
            .args(["--min-hold", "60s"])
            .sh("echo ran")
    };
    let first = run().exits(0);
    assert_eq!(first.out(), "ran\n");
    // Redlease does not stay for it.
    assert!(first.took < ms(20_000));
    assert!(redis.get(LEASE).unwrap().starts_with("cooling:"));
    let left = redis.pttl(LEASE);
    assert!(left > 0 && left <= 60_000, "{left}");
    run().exits(75).says(&["k", "cooling"]);
    run().arg("--skip-ok").exits(0).silent();
    run().arg("-q").exits(75).silent();
}

#[test]
fn a_min_hold_counts_from_the_acquire() {
    let redis = Redis::start();
    let stamps = Stamps::in_folder(redis.folder());
    Redlease::run("k")
        .on(&redis)
        .args(["--min-hold", "20s"])
        .job(stamps.job_for(2.0, 0))
        .exits(0);
    let left = redis.pttl(LEASE);
    assert!(left > 0 && left <= 18_100, "{left}");
}

#[test]
fn a_job_that_took_longer_than_the_min_hold_leaves_nothing() {
    let redis = Redis::start();
    let stamps = Stamps::in_folder(redis.folder());
    Redlease::run("k")
        .on(&redis)
        .args(["--min-hold", "1s"])
        .job(stamps.job_for(1.2, 0))
        .exits(0);
    assert!(!redis.exists(LEASE));
}

#[test]
fn a_failed_job_may_be_tried_again_at_once_where_asked() {
    let redis = Redis::start();
    let run = |script: &str| {
        Redlease::run("k")
            .on(&redis)
            .args(["--min-hold", "60s", "--min-hold-on", "success"])
            .sh(script)
    };
    run("exit 1").exits(1);
    assert!(!redis.exists(LEASE));
    run("kill -9 $$").exits(137);
    assert!(!redis.exists(LEASE));
    run("exit 0").exits(0);
    assert!(redis.get(LEASE).unwrap().starts_with("cooling:"));
    run("exit 0").exits(75);
}

#[test]
fn a_failed_job_cools_too_unless_asked() {
    let redis = Redis::start();
    Redlease::run("k")
        .on(&redis)
        .args(["--min-hold", "60s"])
        .sh("exit 1")
        .exits(1);
    assert!(redis.get(LEASE).unwrap().starts_with("cooling:"));
}

#[test]
fn a_waiter_comes_after_the_cooling() {
    let redis = Redis::start();
    let (first, second) = (
        Stamps::named(redis.folder(), "first"),
        Stamps::named(redis.folder(), "second"),
    );
    Redlease::run("k")
        .on(&redis)
        .args(["--min-hold", "3s"])
        .job(first.job_for(0.0, 0))
        .exits(0);
    Redlease::run("k")
        .on(&redis)
        .args(["-w", "60s"])
        .job(second.job_for(0.0, 0))
        .exits(0);
    // The acquire is a little older than the job's first time stamp.
    let between = second.first().since(first.first());
    assert!(between > ms(2_000), "{between:?}");
}

#[test]
fn one_successful_run_per_slot_of_the_clock() {
    let redis = Redis::start();
    let file = redis.folder().join("report");
    // 300 days: the next slot begins in 2027, and then every 300 days, so the test stands in one slot.
    let run = |script: &str| {
        Redlease::run("k")
            .on(&redis)
            .args(["--once-per", "300d"])
            .arg("--report")
            .arg(&file)
            .sh(script)
    };
    let outcome = || {
        let report: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        report["outcome"].as_str().unwrap().to_owned()
    };
    run("exit 1").exits(1);
    assert_eq!(outcome(), "completed");
    assert_eq!(run("echo ran").exits(0).out(), "ran\n");
    run("echo ran").exits(75).says(&["k", "already done"]);
    assert_eq!(outcome(), "already_done");
    run("echo ran").arg("--skip-ok").exits(0).silent();
    // Without the option it is an ordinary lease.
    Redlease::run("k").on(&redis).job(["true"]).exits(0);
}

#[test]
fn the_next_slot_has_a_run_of_its_own() {
    let redis = Redis::start();
    let run = || {
        Redlease::run("k")
            .on(&redis)
            .args(["--once-per", "3s", "-q"])
            .job(["true"])
            .output()
            .code
    };
    assert_eq!(run(), 0);
    wait_until("the next slot", PATIENCE, || {
        let code = run();
        assert!(code == 0 || code == 75, "{code}");
        code == 0
    });
}

#[test]
fn a_waiter_does_not_repeat_what_it_waited_for() {
    let redis = Redis::start();
    let run = || Redlease::run("k").on(&redis).args(["--once-per", "300d"]);
    let first = run().holds().start().up();
    let waiting = run().args(["-w", "60s"]).sh("echo ran").start();
    wait_until("the waiter's place", PATIENCE, || {
        redis.cli(&["ZCARD", "redlease:{k}:queue"]).int() == 1
    });
    first.finish();
    let outcome = waiting.exits(75);
    assert_eq!(outcome.out(), "");
    assert!(
        outcome.stderr.contains("already done"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn without_a_server_the_job_runs_only_where_asked() {
    let mut redis = Redis::start();
    redis.kill();
    let run = |what: &str| {
        Redlease::run("k")
            .on(&redis)
            .args(["--if-unreachable", what, "--connect-timeout", "500ms"])
            .env("REDLEASE_TOKEN", "of another run")
            .sh("env | grep '^REDLEASE_' | grep -v '^REDLEASE_URL='; echo ran; exit 4")
    };
    run("fail").exits(69).says(&[]);
    let skipped = run("skip").exits(0);
    assert_eq!(skipped.out(), "");
    let ran = run("run").exits(4);
    assert_eq!(ran.out(), "ran\n");
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    for part in ["redlease: ", "without a lease", "--if-unreachable run"] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
}

#[test]
fn a_held_lease_is_not_an_unreachable_server() {
    let redis = Redis::start();
    redis.steal(LEASE, "foreign", 60_000);
    Redlease::run("k")
        .on(&redis)
        .args(["--if-unreachable", "run"])
        .sh("echo ran")
        .exits(75)
        .says(&["k"]);
}

#[test]
fn a_splay_only_delays() {
    let redis = Redis::start();
    let outcome = Redlease::run("k")
        .on(&redis)
        .args(["--splay", "1s"])
        .sh("echo ran")
        .exits(0);
    assert_eq!(outcome.out(), "ran\n");
    assert!(outcome.took < ms(10_000), "{:?}", outcome.took);
}
