//! `--replicas N`: no job before N replicas have the lease.

use crate::harness::{PATIENCE, Redis, Redlease, wait_until};

fn replica(primary: &Redis) -> Redis {
    let replica = Redis::options()
        .line(&format!("replicaof 127.0.0.1 {}", primary.port()))
        .start();
    wait_until("the replica", PATIENCE, || {
        replica
            .cli(&["INFO", "replication"])
            .text()
            .contains("master_link_status:up")
    });
    replica
}

fn run(primary: &Redis, replicas: &str) -> Redlease {
    Redlease::run("k")
        .on(primary)
        .args(["--replicas", replicas, "--replica-timeout", "2s"])
        .sh("echo ran")
}

#[test]
fn the_job_starts_with_the_replicas_that_were_asked_for() {
    let primary = Redis::options()
        .tcp()
        .line("repl-diskless-sync-delay 0")
        .start();
    let (one, two) = (replica(&primary), replica(&primary));
    assert_eq!(run(&primary, "2").exits(0).out(), "ran\n");

    // One of them is cut off: it takes no more part, though its connection stays.
    two.pause();
    run(&primary, "2")
        .exits(69)
        .says(&["1 of 2 replicas", "given back"]);
    assert!(!primary.exists("redlease:{k}"));
    // What it was told about the end may come a moment later.
    wait_until("the end on the replica too", PATIENCE, || {
        !one.exists("redlease:{k}")
    });
    assert_eq!(run(&primary, "1").exits(0).out(), "ran\n");
    two.resume();
    assert_eq!(run(&primary, "2").exits(0).out(), "ran\n");
}

#[test]
fn the_wait_for_replicas_must_leave_time_for_the_job() {
    let redis = Redis::start();
    let run = |words: &[&str]| Redlease::run("k").on(&redis).args(words).sh("echo ran");
    run(&["--ttl", "4s", "--replicas", "1", "--replica-timeout", "3s"])
        .exits(64)
        .says(&["--replica-timeout 3s", "2s"]);
    run(&["--replica-timeout", "1s"])
        .exits(64)
        .says(&["--replicas"]);
    // A server without replicas has none that could confirm.
    run(&["--ttl", "4s", "--replicas", "1"])
        .exits(69)
        .says(&["0 of 1 replicas", "given back"]);
    assert!(!redis.exists("redlease:{k}"));
}
