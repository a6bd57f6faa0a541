//! What a user decides about the end: `--on-lost`, `--signal`, `--kill-after`.

use nix::sys::signal::Signal;

use crate::harness::process::Stamps;
use crate::harness::{PATIENCE, Redis, Redlease, Running, ms, now, wait_until};

const LEASE: &str = "redlease:{k}";

/// Says which signals it gets; INT ends it, with a code that says how many there were.
const LISTENER: &str = "$SIG{$_} = sub { print qq(got $_[0]\n); exit 4 if $_[0] eq 'INT' } for qw(TERM USR1 INT); \
                        print qq(up\n); sleep 1 while 1";

fn listening(redis: &Redis, flags: &[&str]) -> Running {
    Redlease::run("k")
        .on(redis)
        // Seconds between the stop signal and KILL, for a machine on which a handler may be late.
        .args(["--ttl", "12s", "--kill-after", "4s"])
        .args(flags)
        .perl(LISTENER)
        .start()
        .up()
}

fn lose(redis: &Redis) {
    redis.steal(LEASE, "another", 60_000);
}

#[test]
fn a_lost_lease_is_told_by_term_and_then_enforced() {
    let redis = Redis::start();
    let run = listening(&redis, &[]);
    lose(&redis);
    let outcome = run.exits(79);
    assert_eq!(outcome.out(), "up\ngot TERM\n");
}

#[test]
fn a_job_that_answers_to_another_signal_is_told_by_that() {
    let redis = Redis::start();
    let run = listening(&redis, &["--signal", "USR1"]);
    lose(&redis);
    let outcome = run.exits(79);
    assert_eq!(outcome.out(), "up\ngot USR1\n");
}

#[test]
fn a_job_has_the_time_that_was_typed_to_clean_up() {
    let redis = Redis::start();
    let job = "$SIG{TERM} = sub { sleep 3; print qq(cleaned up\n); exit 0 }; print qq(up\n); sleep 1 while 1";
    let run = Redlease::run("k")
        .on(&redis)
        .args(["--ttl", "40s", "--kill-after", "15s", "--max-run", "1s"])
        .perl(job)
        .start();
    assert_eq!(run.exits(124).out(), "up\ncleaned up\n");
}

#[test]
fn on_lost_kill_asks_nobody() {
    let redis = Redis::start();
    let run = listening(&redis, &["--on-lost", "kill"]);
    lose(&redis);
    let outcome = run.exits(79);
    assert_eq!(outcome.out(), "up\n");
    assert_eq!(redis.get(LEASE).as_deref(), Some("another"));
}

#[test]
fn on_lost_warn_lets_the_job_work_on_and_says_so() {
    let redis = Redis::start();
    let run = listening(&redis, &["--on-lost", "warn"]);
    lose(&redis);
    run.complains("lost");
    let told = now();
    // For longer than the whole TTL.
    wait_until("thirteen seconds", PATIENCE, || {
        now().since(told) > ms(13_000)
    });
    run.signal(Signal::SIGINT);
    let outcome = run.exits(4);
    assert_eq!(outcome.out(), "up\ngot INT\n");
    assert_eq!(redis.get(LEASE).as_deref(), Some("another"));
}

#[test]
fn on_lost_warn_does_not_outlive_redlease() {
    let redis = Redis::start();
    let stamps = Stamps::in_folder(redis.folder());
    let run = Redlease::run("k")
        .on(&redis)
        .args(["--on-lost", "warn"])
        .job(stamps.stubborn_job())
        .start();
    stamps.await_start();
    run.signal(Signal::SIGKILL);
    wait_until("the end of every process", PATIENCE, || {
        run.processes().is_empty()
    });
    run.exits(137);
}
