//! Weak networks: whatever a relay does to the answers, each command ends in its documented way and in time.

use std::time::Duration;

use nix::sys::signal::Signal;

use crate::harness::process::Stamps;
use crate::harness::{PATIENCE, Redis, Redlease, Relay, Weather, ms, now, wait_until};

/// What no command gets an answer through.
const FOUL: [Weather; 5] = [
    Weather::Silence,
    Weather::Truncate(2),
    Weather::Cut,
    Weather::Garbage,
    Weather::Drip(Duration::from_secs(1)),
];

/// The test in each weather, all at the same time, each with a server and a relay of its own.
fn each(weathers: &[Weather], test: impl Fn(Weather, &Redis, &Relay) + Sync) {
    std::thread::scope(|scope| {
        for weather in weathers {
            scope.spawn(|| {
                let redis = Redis::start();
                let relay = Relay::to(&redis.socket());
                test(*weather, &redis, &relay);
            });
        }
    });
}

fn run(relay: &Relay) -> Redlease {
    Redlease::run("k").env("REDLEASE_URL", relay.url())
}

fn pass(time: Duration) {
    let begun = now();
    wait_until("a moment to pass", PATIENCE, || now().since(begun) > time);
}

#[test]
fn slow_answers_are_answers() {
    let redis = Redis::start();
    let relay = Relay::to(&redis.socket());
    relay.set(Weather::Slow(ms(150)));
    run(&relay).ttl("6s").job(["sleep", "3"]).exits(0).silent();
    relay.set(Weather::Drip(ms(1)));
    run(&relay).ttl("30s").job(["true"]).exits(0).silent();
}

#[test]
fn no_answer_to_an_acquire_is_69_in_time_and_leaves_no_lease_for_longer_than_its_ttl() {
    each(&FOUL, |weather, redis, relay| {
        relay.set(weather);
        let outcome = run(relay)
            .args(["--connect-timeout", "1500ms"])
            .sh("echo started")
            .exits(69);
        assert_eq!(outcome.out(), "", "{weather:?}");
        assert!(outcome.took < ms(12_000), "{weather:?} {:?}", outcome.took);
        // What was granted without an answer was released behind it, or lapses: -2 is no key, -1 would be for ever.
        let left = redis.pttl("redlease:{k}");
        assert!(
            left == -2 || (0..=30_000).contains(&left),
            "{weather:?} {left}"
        );
    });
}

#[test]
fn no_answer_to_renewals_stops_the_job_before_the_lease_ends() {
    let weathers = [Weather::Silence, Weather::Garbage, Weather::Cut];
    each(&weathers, |weather, redis, relay| {
        let stamps = Stamps::in_folder(redis.folder());
        let run = run(relay).ttl("4s").job(stamps.job()).start();
        stamps.await_start();
        let end = redis.just_renewed("redlease:{k}", 4_000, 600);
        relay.set(weather);
        run.exits(79);
        // Requests pass, so that Redis keeps the key for longer; what counts is the last answer, and one more may
        // have come before the weather changed.
        assert!(stamps.last() < end.after(ms(2_000)), "{weather:?}");
    });
}

#[test]
fn a_storm_that_ends_in_time_costs_nothing() {
    each(&FOUL, |weather, redis, relay| {
        let run = run(relay).ttl("12s").holds().start().up();
        relay.set(weather);
        // Past the moment of the renewal, and long before the job would have to be stopped.
        pass(ms(4_500));
        relay.set(Weather::Fair);
        let fair = now();
        wait_until("a renewal in fair weather", PATIENCE, || {
            let age = Duration::from_millis(12_000 - redis.pttl("redlease:{k}").unsigned_abs());
            age + ms(100) < now().since(fair)
        });
        run.finish();
        assert!(!redis.exists("redlease:{k}"), "{weather:?}");
    });
}

#[test]
fn a_waiter_survives_a_storm_and_takes_its_turn() {
    let redis = Redis::start();
    let relay = Relay::to(&redis.socket());
    let holder = Redlease::run("k").on(&redis).holds().start().up();
    let waiter = run(&relay).args(["-w", "60s"]).sh("echo mine").start();
    wait_until("the waiter in its queue", PATIENCE, || {
        redis.cli(&["ZCARD", "redlease:{k}:queue"]).int() == 1
    });
    for weather in [Weather::Cut, Weather::Garbage, Weather::Truncate(3)] {
        relay.set(weather);
        redis.kill_clients();
        pass(ms(400));
    }
    relay.set(Weather::Fair);
    holder.finish();
    let outcome = waiter.exits(0);
    assert_eq!(outcome.out(), "mine\n");
}

#[test]
fn no_answer_to_a_release_keeps_the_code_and_warns() {
    let weathers = [Weather::Silence, Weather::Garbage, Weather::Cut];
    each(&weathers, |weather, _, relay| {
        let run = run(relay)
            .ttl("6s")
            .perl("$SIG{TERM} = sub { exit 7 }; print qq(up\n); sleep 1 while 1")
            .start()
            .up();
        relay.set(weather);
        run.signal(Signal::SIGTERM);
        let outcome = run.exits(7);
        assert!(outcome.stderr.starts_with("redlease: "), "{weather:?}");
        assert!(outcome.took < ms(25_000), "{weather:?}");
    });
}
