//! Trouble that ends before the deadline costs nothing: the lease is renewed after it, and the run ends as if
//! nothing had been.

use crate::harness::process::Moment;
use crate::harness::{PATIENCE, Redis, Redlease, Running, ms, now, wait_until};

const LEASE: &str = "redlease:{k}";

fn held(redis: &Redis) -> (Running, Option<String>, Moment) {
    let run = Redlease::run("k").on(redis).ttl("4s").holds().start().up();
    let token = redis.get(LEASE);
    let end = redis.just_renewed(LEASE, 4_000, 600);
    (run, token, end)
}

/// Two renewals after the trouble: the second shows that the first was not the last.
#[track_caller]
fn goes_on(redis: &Redis, run: Running, token: Option<String>, end: Moment) {
    wait_until("two renewals", PATIENCE, || {
        let before = now();
        let left = redis.pttl(LEASE);
        assert!(left > 0, "the key is gone or has no TTL: {left}");
        before.after(ms(left.unsigned_abs())) > end.after(ms(2_000))
    });
    assert_eq!(redis.get(LEASE), token);
    run.finish();
    assert!(!redis.exists(LEASE));
}

#[test]
fn a_restart_of_a_persistent_server() {
    let mut redis = Redis::options().persistent().start();
    let (run, token, end) = held(&redis);
    redis.restart();
    goes_on(&redis, run, token, end);
}

#[test]
fn cut_connections() {
    let redis = Redis::start();
    let (run, token, end) = held(&redis);
    redis.kill_clients();
    goes_on(&redis, run, token, end);
}

#[test]
fn a_flush_of_scripts() {
    let redis = Redis::start();
    let (run, token, end) = held(&redis);
    redis.cli(&["SCRIPT", "FLUSH"]);
    goes_on(&redis, run, token, end);
}

#[test]
fn a_server_that_closes_idle_connections() {
    let redis = Redis::options().line("timeout 1").start();
    let (run, token, end) = held(&redis);
    goes_on(&redis, run, token, end);
}

#[test]
fn a_short_hang() {
    let redis = Redis::start();
    let (run, token, end) = held(&redis);
    redis.pause();
    let start = now();
    // Past the next renewal, and short of the stop.
    wait_until("a hang of 1.8 s", PATIENCE, || {
        now().since(start) > ms(1_800)
    });
    redis.resume();
    goes_on(&redis, run, token, end);
}
