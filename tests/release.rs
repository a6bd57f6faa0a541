//! Giving back: at once when the job is over, for a bounded time when the server has trouble, and by the TTL when
//! nobody is left to do it.

use nix::sys::signal::Signal;

use crate::harness::process::send;
use crate::harness::{PATIENCE, Redis, Redlease, ms, now, wait_until};

const LEASE: &str = "redlease:{k}";

#[test]
fn the_lease_is_free_when_the_run_is_over() {
    let redis = Redis::start();
    for _ in 0..20 {
        Redlease::run("k")
            .on(&redis)
            .job(["true"])
            .exits(0)
            .silent();
        assert!(!redis.exists(LEASE));
    }
}

#[test]
fn the_finished_run_is_recorded() {
    let redis = Redis::start();
    Redlease::run("k").on(&redis).sh("exit 3").exits(3);
    let info = |field: &str| redis.hget("redlease:{k}:info", field);
    assert_eq!(info("outcome"), "completed");
    assert_eq!(info("code"), "3");
    assert_eq!(info("ended"), info("token"));
    assert_ne!(info("ended_at"), "");
    // 30 days.
    assert!(redis.pttl("redlease:{k}:info") > 29 * 86_400_000);
}

#[test]
fn a_loss_that_only_the_release_finds_is_told() {
    let redis = Redis::start();
    let run = Redlease::run("k").on(&redis).holds().start().up();
    redis.steal(LEASE, "foreign", 60_000);
    run.signal(Signal::SIGTERM);
    let outcome = run.exits(79);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    let start = "redlease: the lease on k was lost";
    assert!(outcome.stderr.starts_with(start), "{}", outcome.stderr);
    assert_eq!(redis.get(LEASE), Some("foreign".to_owned()));
}

#[test]
fn a_server_that_hangs_as_the_job_ends_is_told_again() {
    let redis = Redis::start();
    let run = Redlease::run("k")
        .on(&redis)
        .perl("$SIG{USR1} = sub { exit 5 }; print qq(up\\n); sleep 1 while 1")
        .start()
        .up();
    let job = run.job();
    redis.pause();
    run.signal(Signal::SIGUSR1);
    wait_until("the job's end", PATIENCE, || {
        crate::harness::process::gone(job)
    });
    let ended = now();
    wait_until("a hang of a second", PATIENCE, || {
        now().since(ended) > ms(1_000)
    });
    redis.resume();
    run.exits(5);
    assert!(!redis.exists(LEASE));
}

#[test]
fn a_server_that_is_gone_as_the_job_ends_costs_a_warning_and_not_the_code() {
    let mut redis = Redis::start();
    let run = Redlease::run("k")
        .on(&redis)
        .perl("$SIG{USR1} = sub { exit 5 }; sleep 1 while 1")
        .start();
    run.job();
    wait_until("the lease", PATIENCE, || redis.exists(LEASE));
    redis.kill();
    wait_until("the job's handler", PATIENCE, || {
        run.signal(Signal::SIGUSR1);
        run.job_processes().is_empty()
    });
    run.exits(5).says(&["k"]);
}

#[test]
fn when_everything_of_a_run_is_killed_the_ttl_frees_the_lease() {
    let redis = Redis::start();
    let run = Redlease::run("k").on(&redis).ttl("3s").holds().start().up();
    let all = [run.pid(), run.guard(), run.job()];
    for pid in all {
        send(pid, Signal::SIGKILL);
    }
    let mut left = redis.pttl(LEASE);
    wait_until("the TTL's end", PATIENCE, || {
        left = redis.pttl(LEASE);
        assert!(left == -2 || (0..=3_000).contains(&left), "{left}");
        left == -2
    });
    Redlease::run("k").on(&redis).job(["true"]).exits(0);
}

#[test]
fn a_renewal_that_the_server_runs_after_the_release_creates_nothing() {
    let redis = Redis::start();
    let run = Redlease::run("k").on(&redis).ttl("6s").holds().start().up();
    redis.just_renewed(LEASE, 6_000, 600);
    redis.pause();
    let start = now();
    // The renewal at 2 s hangs in the server's socket; the release comes behind it or on another connection.
    wait_until("a renewal on its way", PATIENCE, || {
        now().since(start) > ms(2_300)
    });
    run.signal(Signal::SIGTERM);
    wait_until("the job's end", PATIENCE, || run.job_processes().is_empty());
    redis.resume();
    run.exits(0);
    wait_until("the end of the other connections", PATIENCE, || {
        redis.cli(&["CLIENT", "LIST"]).text().lines().count() == 1
    });
    assert!(!redis.exists(LEASE));
}
