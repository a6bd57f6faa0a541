//! Waiting: first come, first served, woken by message, never longer than the limit.

use nix::sys::signal::Signal;

use crate::harness::{PATIENCE, Redis, Redlease, Running, ms, now, wait_until};

const LEASE: &str = "redlease:{k}";
const QUEUE: &str = "redlease:{k}:queue";

fn queued(redis: &Redis) -> i64 {
    redis.cli(&["ZCARD", QUEUE]).int()
}

/// Starts a waiter and returns once it stands in the queue, as the last.
fn waiter(redis: &Redis, run: Redlease) -> Running {
    let before = queued(redis);
    let run = run.on(redis).start();
    wait_until("the waiter's place in the queue", PATIENCE, || {
        queued(redis) == before + 1
    });
    run
}

fn holder(redis: &Redis) -> Running {
    Redlease::run("k").on(redis).holds().start().up()
}

#[test]
fn a_wait_that_ends_is_75_in_time_and_the_job_never_ran() {
    let redis = Redis::start();
    let holder = holder(&redis);
    let outcome = Redlease::run("k")
        .on(&redis)
        .args(["-w", "2s"])
        .sh("echo the job ran")
        .exits(75);
    assert_eq!(outcome.out(), "");
    assert!(outcome.took >= ms(2_000), "{:?}", outcome.took);
    assert!(outcome.took < ms(5_000), "{:?}", outcome.took);
    assert_eq!(queued(&redis), 0);
    holder.finish();
}

#[test]
fn a_free_lease_is_not_waited_for() {
    let redis = Redis::start();
    let outcome = Redlease::run("k")
        .on(&redis)
        .args(["-w", "30s"])
        .job(["true"])
        .exits(0);
    outcome.silent();
    assert!(!redis.exists(QUEUE));
}

#[test]
fn a_waiter_gets_the_lease_when_the_holder_ends() {
    let redis = Redis::start();
    let holder = holder(&redis);
    let waiting = waiter(
        &redis,
        Redlease::run("k")
            .args(["-w", "forever"])
            .sh("echo $REDLEASE_FENCE"),
    );
    let fence = redis.hget("redlease:{k}:info", "fence");
    holder.finish();
    let outcome = waiting.exits(0);
    let next: u64 = outcome.out().trim().parse().unwrap();
    assert!(next > fence.parse().unwrap());
    assert!(!redis.exists(LEASE));
    assert_eq!(queued(&redis), 0);
}

#[test]
fn a_waiter_asks_once_per_heartbeat_and_not_oftener() {
    let redis = Redis::start();
    let holder = holder(&redis);
    let waiting = waiter(&redis, Redlease::run("k").args(["-w", "60s"]).job(["true"]));
    let start = now();
    redis.cli(&["CONFIG", "RESETSTAT"]);
    wait_until("five seconds", PATIENCE, || now().since(start) > ms(5_000));
    let stats = redis.cli(&["INFO", "commandstats"]).text();
    let seconds = now().since(start).as_secs();
    let calls: u64 = stats
        .lines()
        .find_map(|line| line.strip_prefix("cmdstat_eval:calls="))
        .map_or(0, |rest| rest.split(',').next().unwrap().parse().unwrap());
    // One per 2 s, two of the start that may fall into the time, and nothing else: the holder's TTL is 30 s.
    assert!(calls <= seconds / 2 + 3, "{calls} in {seconds} s: {stats}");
    holder.finish();
    waiting.exits(0);
}

#[test]
fn a_signal_ends_the_waiting_and_leaves_the_queue() {
    let redis = Redis::start();
    let holder = holder(&redis);
    for (signal, code) in [
        (Signal::SIGINT, 130),
        (Signal::SIGTERM, 143),
        (Signal::SIGHUP, 129),
    ] {
        let waiting = waiter(
            &redis,
            Redlease::run("k")
                .args(["-w", "forever"])
                .sh("echo the job ran"),
        );
        waiting.signal(signal);
        let outcome = waiting.exits(code);
        assert_eq!(outcome.out(), "");
        assert_eq!(queued(&redis), 0, "{signal}");
    }
    holder.finish();
}

#[test]
fn a_waiter_that_left_is_not_waited_for() {
    let redis = Redis::start();
    let holder = holder(&redis);
    let first = waiter(&redis, Redlease::run("k").args(["-w", "60s"]).job(["true"]));
    let second = waiter(&redis, Redlease::run("k").args(["-w", "60s"]).job(["true"]));
    first.signal(Signal::SIGTERM);
    first.exits(143);
    holder.finish();
    second.exits(0);
}

#[test]
fn without_a_terminal_there_is_one_line_per_holder() {
    let redis = Redis::start();
    let labelled = |label: &str| Redlease::run("k").args(["--label", label]);
    let first = labelled("first").on(&redis).holds().start().up();
    let second = waiter(&redis, labelled("second").args(["-w", "60s"]).holds());
    let third = waiter(&redis, labelled("third").args(["-w", "60s"]).job(["true"]));
    third.complains("first");
    let start = now();
    wait_until("two heartbeats", PATIENCE, || {
        now().since(start) > ms(4_500)
    });
    assert_eq!(
        third.stderr.text().lines().count(),
        1,
        "{}",
        third.stderr.text()
    );
    first.finish();
    third.complains("second");
    second.up().finish();
    let outcome = third.exits(0);
    assert_eq!(outcome.stderr.lines().count(), 2, "{}", outcome.stderr);
    assert!(
        outcome
            .stderr
            .lines()
            .all(|line| line.starts_with("redlease: "))
    );
}

#[test]
fn a_server_that_is_never_reached_is_69_after_the_wait() {
    let mut redis = Redis::start();
    redis.kill();
    let outcome = Redlease::run("k")
        .on(&redis)
        .args(["-w", "2s", "--connect-timeout", "1s"])
        .sh("echo the job ran")
        .exits(69);
    assert_eq!(outcome.out(), "");
    assert!(outcome.took < ms(10_000), "{:?}", outcome.took);
}

#[test]
fn a_server_that_is_lost_while_waiting_is_waited_for() {
    let mut redis = Redis::options().persistent().start();
    let holder = Redlease::run("k").on(&redis).ttl("6s").holds().start().up();
    let waiting = waiter(
        &redis,
        Redlease::run("k").args(["-w", "60s"]).sh("echo got it"),
    );
    redis.restart();
    // It finds the server again by its next heartbeat, and stands in the queue: also if that was lost.
    wait_until("the waiter's subscription", PATIENCE, || {
        queued(&redis) == 1
            && !redis
                .cli(&["PUBSUB", "CHANNELS", "redlease:*"])
                .array()
                .is_empty()
    });
    holder.finish();
    assert_eq!(waiting.exits(0).out(), "got it\n");
}

#[test]
fn a_server_that_stays_away_ends_the_wait_at_its_limit() {
    let mut redis = Redis::start();
    let holder = holder(&redis);
    let mut waiting = waiter(
        &redis,
        Redlease::run("k").args(["-w", "4s"]).sh("echo the job ran"),
    );
    redis.kill();
    wait_until("the end of the wait", PATIENCE, || waiting.ended());
    let outcome = waiting.wait();
    assert!(outcome.code == 69 || outcome.code == 75, "{outcome:?}");
    assert_eq!(outcome.out(), "");
    assert!(
        outcome.took > ms(3_500) && outcome.took < ms(12_000),
        "{:?}",
        outcome.took
    );
    drop(holder);
}
