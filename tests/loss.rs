//! A lost lease: the job is stopped before anybody else can hold it, by its own time stamps, and what the other
//! has is left alone.

use crate::harness::process::{Moment, Stamps};
use crate::harness::{Outcome, PATIENCE, Redis, Redlease, Running, ms, now, wait_until};

const LEASE: &str = "redlease:{k}";

/// A job with time stamps under a lease of 4 s that was renewed a moment ago; the server drops the key at `end`
/// unless it is renewed again.
fn stamped(redis: &Redis, stubborn: bool) -> (Running, Stamps, Moment) {
    let stamps = Stamps::in_folder(redis.folder());
    let job = if stubborn {
        stamps.stubborn_job()
    } else {
        stamps.job()
    };
    let run = Redlease::run("k").on(redis).ttl("4s").job(job).start();
    stamps.await_start();
    let end = redis.just_renewed(LEASE, 4_000, 600);
    (run, stamps, end)
}

#[track_caller]
fn stopped_before(end: Moment, stamps: &Stamps) {
    let last = stamps.last();
    assert!(last < end, "the last tick was {:?} late", last.since(end));
}

/// The reason first. A guard that is starved at the deadline may be a second line.
#[track_caller]
fn names_the_lease(outcome: &Outcome) {
    let first = outcome.stderr.lines().next().unwrap_or_default();
    assert!(
        first.starts_with("redlease: the lease on k "),
        "{}",
        outcome.stderr
    );
    assert_eq!(outcome.out(), "");
}

#[test]
fn a_server_that_hangs_stops_the_job_before_the_ttl_ends() {
    let redis = Redis::start();
    let (run, stamps, end) = stamped(&redis, false);
    redis.pause();
    let outcome = run.exits(79);
    stopped_before(end, &stamps);
    names_the_lease(&outcome);
}

#[test]
fn a_job_that_ignores_term_is_killed_before_the_ttl_ends() {
    let redis = Redis::start();
    let (run, stamps, end) = stamped(&redis, true);
    redis.pause();
    run.exits(79);
    stopped_before(end, &stamps);
}

#[test]
fn a_server_that_dies_stops_the_job_before_the_ttl_ends() {
    let mut redis = Redis::start();
    let (run, stamps, end) = stamped(&redis, true);
    redis.kill();
    names_the_lease(&run.exits(79));
    stopped_before(end, &stamps);
}

#[test]
fn a_server_that_was_demoted_stops_the_job_before_the_ttl_ends() {
    let redis = Redis::start();
    let (run, stamps, end) = stamped(&redis, true);
    // Of a primary that nobody can reach: reads are answered, every write is READONLY.
    redis.cli(&["REPLICAOF", "127.0.0.1", "1"]);
    names_the_lease(&run.exits(79));
    stopped_before(end, &stamps);
}

#[test]
fn a_server_that_is_writable_again_in_time_costs_nothing() {
    let redis = Redis::start();
    let stamps = Stamps::in_folder(redis.folder());
    let run = Redlease::run("k")
        .on(&redis)
        .ttl("6s")
        .job(stamps.job_for(8.0, 0))
        .start();
    stamps.await_start();
    let token = redis.get(LEASE);
    redis.just_renewed(LEASE, 6_000, 600);
    redis.cli(&["REPLICAOF", "127.0.0.1", "1"]);
    // Past the next renewal, which is refused.
    let demoted = now();
    wait_until("a refused renewal", PATIENCE, || {
        now().since(demoted) > ms(2_500)
    });
    redis.cli(&["REPLICAOF", "NO", "ONE"]);
    redis.just_renewed(LEASE, 6_000, 600);
    assert_eq!(redis.get(LEASE), token);
    run.exits(0);
}

#[test]
fn another_token_at_the_key_stops_the_job_and_is_not_touched() {
    let redis = Redis::start();
    let (run, stamps, end) = stamped(&redis, true);
    redis.steal(LEASE, "foreign", 60_000);
    let outcome = run.exits(79);
    stopped_before(end, &stamps);
    names_the_lease(&outcome);
    assert_eq!(redis.get(LEASE), Some("foreign".to_owned()));
    let left = redis.pttl(LEASE);
    assert!(left > 30_000 && left < 60_000, "{left}");
}

#[test]
fn a_late_finisher_does_not_delete_the_lease_of_the_run_that_replaced_it() {
    let redis = Redis::start();
    let (late, ..) = stamped(&redis, false);
    redis.cli(&["DEL", LEASE]);
    let second = Redlease::run("k")
        .on(&redis)
        .ttl("30s")
        .holds()
        .start()
        .up();
    let token = redis.get(LEASE);
    assert!(token.is_some());
    let mut late = late;
    wait_until("the end of the first", PATIENCE, || {
        assert_eq!(redis.get(LEASE), token);
        late.ended()
    });
    late.exits(79);
    assert_eq!(redis.get(LEASE), token);
    second.finish();
    assert!(!redis.exists(LEASE));
}

#[test]
fn a_lease_that_another_held_meanwhile_is_not_created_again() {
    let redis = Redis::start();
    let (run, ..) = stamped(&redis, false);
    redis.cli(&["DEL", LEASE]);
    Redlease::run("k").on(&redis).job(["true"]).exits(0);
    let mut run = run;
    wait_until("the end of the first", PATIENCE, || {
        assert!(!redis.exists(LEASE));
        run.ended()
    });
    run.exits(79);
    assert!(!redis.exists(LEASE));
}

#[test]
fn a_lease_that_the_server_forgot_is_restored_with_its_fence() {
    let redis = Redis::start();
    let run = Redlease::run("k").on(&redis).ttl("4s").holds().start().up();
    let token = redis.get(LEASE);
    let fence = redis.hget("redlease:{k}:info", "fence");
    redis.just_renewed(LEASE, 4_000, 600);
    redis.cli(&["FLUSHALL"]);
    wait_until("the same holding again", PATIENCE, || {
        redis.get(LEASE) == token
    });
    assert_eq!(redis.hget("redlease:{k}:info", "fence"), fence);
    // Said once, however often it is renewed after that.
    let end = redis.just_renewed(LEASE, 4_000, 600);
    wait_until("the next renewal", PATIENCE, || {
        let before = now();
        before.after(ms(redis.pttl(LEASE).unsigned_abs())) > end.after(ms(800))
    });
    let outcome = run.finish();
    assert_eq!(outcome.out(), "up\n");
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    assert!(
        outcome.stderr.starts_with("redlease: "),
        "{}",
        outcome.stderr
    );
    assert!(!redis.exists(LEASE));
}
