//! `acquire`, `renew`, `release`, `check`: a lease for a script.

mod background;
mod shell;

use serde_json::Value as Json;

use crate::harness::{PATIENCE, Redis, Redlease, ms, wait_until};
use nix::sys::signal::Signal;

const KEY: &str = "redlease:{k}";

fn acquire(redis: &Redis, words: &[&str]) -> Redlease {
    Redlease::command(["acquire", "--key", "k"])
        .args(words)
        .on(redis)
}

/// `redlease VERB` of the holding with this token.
fn of(redis: &Redis, verb: &str, token: &str) -> Redlease {
    Redlease::command([verb, "--key", "k", "--token", token]).on(redis)
}

#[track_caller]
fn token(redis: &Redis, words: &[&str]) -> String {
    let outcome = acquire(redis, words).exits(0);
    outcome.silent_on_stderr();
    outcome.out().strip_suffix('\n').unwrap().to_owned()
}

#[test]
fn a_token_is_printed_and_renews_checks_and_releases() {
    let redis = Redis::start();
    let token = token(&redis, &["--ttl", "60s"]);
    assert_eq!(redis.get(KEY), Some(token.clone()));
    acquire(&redis, &[]).exits(75).says(&["k is held by "]);
    of(&redis, "check", &token).exits(0).silent();
    redis.cli(&["PEXPIRE", KEY, "20000"]);
    of(&redis, "renew", &token).exits(0).silent();
    assert!(redis.pttl(KEY) > 50_000, "{}", redis.pttl(KEY));
    of(&redis, "release", &token).exits(0).silent();
    assert!(!redis.exists(KEY));
}

/// The torture found it: each of the two put the record back to its 30 days.
#[test]
fn the_record_is_kept_as_long_as_the_environment_says() {
    let redis = Redis::start();
    let kept = |verb: Redlease| {
        verb.env("REDLEASE_RETAIN", "10m").exits(0);
        let left = redis.pttl("redlease:{k}:info");
        assert!(left > 500_000 && left <= 600_000, "{left}");
    };
    let outcome = acquire(&redis, &[]).env("REDLEASE_RETAIN", "10m").exits(0);
    let token = outcome.out().trim().to_owned();
    kept(of(&redis, "renew", &token));
    kept(of(&redis, "release", &token));
}

/// C25 (etcd#19261): asking about an expired lease prints a message and exits 0.
#[test]
fn on_an_expired_lease_all_answer_79_and_nothing_comes_back() {
    let redis = Redis::start();
    let token = token(&redis, &["--ttl", "2s"]);
    wait_until("the end of the lease", PATIENCE, || !redis.exists(KEY));
    for verb in ["check", "renew", "release"] {
        of(&redis, verb, &token).exits(79).says(&["lease on k"]);
        assert!(!redis.exists(KEY), "{verb}");
    }
}

#[test]
fn on_a_lease_of_another_all_answer_79_and_it_is_not_touched() {
    let redis = Redis::start();
    let old = token(&redis, &["--ttl", "60s"]);
    of(&redis, "release", &old).exits(0);
    let new = token(&redis, &["--ttl", "60s"]);
    for verb in ["check", "renew", "release"] {
        of(&redis, verb, &old).exits(79).says(&["now held by"]);
        assert_eq!(redis.get(KEY), Some(new.clone()), "{verb}");
    }
    of(&redis, "check", &new).exits(0);
}

#[test]
fn a_broken_lease_is_79_and_names_who_broke_it() {
    let redis = Redis::start();
    let token = token(&redis, &["--ttl", "60s"]);
    Redlease::command(["break", "k", "--yes"])
        .on(&redis)
        .exits(0);
    for verb in ["check", "renew"] {
        of(&redis, verb, &token).exits(79).says(&["was broken by "]);
    }
}

#[test]
fn check_wants_as_much_time_as_was_asked_for() {
    let redis = Redis::start();
    let token = token(&redis, &["--ttl", "60s"]);
    of(&redis, "check", &token)
        .args(["--min-left", "30s"])
        .exits(0)
        .silent();
    of(&redis, "check", &token)
        .args(["--min-left", "10m"])
        .exits(79)
        .says(&["10m are asked for"]);
}

/// A keeper, or the script that acquired it, counts on what is left.
#[test]
fn a_renewal_never_shortens_what_is_left() {
    let redis = Redis::start();
    let token = token(&redis, &["--ttl", "10m"]);
    of(&redis, "renew", &token).args(["--ttl", "2s"]).exits(0);
    assert!(redis.pttl(KEY) > 500_000, "{}", redis.pttl(KEY));
    // Nor does one who asks for it shorten it later, by what the renewal left behind.
    acquire(&redis, &[]).exits(75);
    assert!(redis.pttl(KEY) > 500_000, "{}", redis.pttl(KEY));
    of(&redis, "renew", &token).args(["--ttl", "1h"]).exits(0);
    assert!(redis.pttl(KEY) > 3_000_000, "{}", redis.pttl(KEY));
}

#[test]
fn json_names_the_holding() {
    let redis = Redis::start();
    let out = acquire(&redis, &["--json", "--ttl", "60s"]).exits(0).out();
    let seen: Json = serde_json::from_str(&out).unwrap();
    assert_eq!(seen["key"], "k");
    assert_eq!(seen["token"], redis.get(KEY).unwrap());
    assert_eq!(seen["slot"], 1);
    assert_eq!(seen["ttl_ms"], 60_000);
    assert_eq!(
        seen["fence"].to_string(),
        redis.hget("redlease:{k}:info", "fence")
    );
    let times = |name: &str| seen[name].as_u64().unwrap();
    assert_eq!(times("expires_at_ms") - times("acquired_at_ms"), 60_000);
}

#[test]
fn a_waiting_acquire_has_a_place_in_the_queue_of_runs() {
    let redis = Redis::start();
    let run = Redlease::run("k").on(&redis).holds().start().up();
    let waiting = acquire(&redis, &["--wait", "60s"]).start();
    wait_until("its place", PATIENCE, || {
        redis.cli(&["ZCARD", "redlease:{k}:queue"]).int() == 1
    });
    let last = acquire(&redis, &[]).exits(75);
    last.says(&["k is held by"]);
    run.finish();
    let outcome = waiting.exits(0);
    assert_eq!(outcome.out().trim_end(), redis.get(KEY).unwrap());
}

#[test]
fn a_signal_ends_the_wait_and_the_queue_is_left() {
    let redis = Redis::start();
    let run = Redlease::run("k").on(&redis).holds().start().up();
    for (signal, code) in [
        (Signal::SIGTERM, 143),
        (Signal::SIGINT, 130),
        (Signal::SIGHUP, 129),
    ] {
        let waiting = acquire(&redis, &["--wait", "60s"]).start();
        wait_until("its place", PATIENCE, || {
            redis.cli(&["ZCARD", "redlease:{k}:queue"]).int() == 1
        });
        waiting.signal(signal);
        let outcome = waiting.exits(code);
        assert_eq!(outcome.out(), "");
        assert_eq!(redis.cli(&["ZCARD", "redlease:{k}:queue"]).int(), 0);
    }
    run.finish();
}

#[test]
fn a_wait_that_ends_is_75() {
    let redis = Redis::start();
    let run = Redlease::run("k").on(&redis).holds().start().up();
    let outcome = acquire(&redis, &["--wait", "300ms"]).exits(75);
    assert!(outcome.took >= ms(300));
    run.finish();
}

#[test]
fn a_token_that_cannot_be_printed_is_given_back() {
    let redis = Redis::start();
    for (arranged, part) in [
        ("open(STDOUT, '>', '/dev/full') or die", "given back"),
        ("POSIX::close(1)", "nothing was acquired"),
    ] {
        for more in [&[][..], &["--while-pid", &std::process::id().to_string()]] {
            let outcome = acquire(&redis, more)
                .after_perl(&format!("use POSIX; {arranged}"))
                .exits(125);
            assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
            assert!(!redis.exists(KEY));
            assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        }
    }
}

#[test]
fn without_redis_it_is_69_and_with_a_wrong_limit_78() {
    let mut redis = Redis::start();
    token(&redis, &["--limit", "2", "--ttl", "60s"]);
    acquire(&redis, &["--limit", "3"])
        .exits(78)
        .says(&["--limit 2"]);
    redis.kill();
    acquire(&redis, &[]).exits(69);
    let token = "3f0c6f7e-1f0a-4b1e-9d1c-0d8a5a3f2b11";
    for verb in ["check", "renew", "release"] {
        of(&redis, verb, token).exits(69);
    }
}

/// What one CI step acquired another releases, in its slot.
#[test]
fn slots_and_raw_keys_are_handed_on_by_the_environment() {
    let redis = Redis::start();
    token(&redis, &["--limit", "2", "--ttl", "60s"]);
    let second = token(&redis, &["--limit", "2", "--ttl", "60s"]);
    let step = |verb: &str, slot: &str| {
        Redlease::command([verb])
            .env("REDLEASE_KEY", "k")
            .env("REDLEASE_TOKEN", &second)
            .env("REDLEASE_SLOT", slot)
            .on(&redis)
    };
    step("check", "1").exits(79);
    step("check", "2").exits(0);
    step("release", "2").exits(0);
    assert!(!redis.exists("redlease:{k}:2"));
    assert!(redis.exists(KEY));
}

/// The record of a long `--retain` is not cut short by those who do not know of it.
#[test]
fn a_record_is_kept_for_as_long_as_was_asked() {
    const DAYS_300: i64 = 300 * 24 * 3600 * 1000;
    let redis = Redis::start();
    let kept = || redis.pttl("redlease:{k}:info");
    let token = token(&redis, &["--ttl", "60s", "--retain", "365d"]);
    assert!(kept() > DAYS_300, "{}", kept());
    of(&redis, "renew", &token).exits(0);
    assert!(kept() > DAYS_300, "{}", kept());
    of(&redis, "release", &token).exits(0);
    assert!(kept() > DAYS_300, "{}", kept());
    acquire(&redis, &["--ttl", "60s", "--retain", "365d"]).exits(0);
    Redlease::command(["break", "k", "--yes"])
        .on(&redis)
        .exits(0);
    assert!(kept() > DAYS_300, "{}", kept());
}
