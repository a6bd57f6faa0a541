//! A primary that sentinels watch, and that dies in the middle of a run.

use nix::sys::signal::Signal;

use crate::harness::process::Stamps;
use crate::harness::sentinels::AGREEMENT;
use crate::harness::{PATIENCE, Redlease, Running, Sentinels, wait_until};

fn run(trio: &Sentinels) -> Redlease {
    Redlease::run("k")
        .env("REDLEASE_URL", trio.url())
        .limit(AGREEMENT)
}

/// Kills the primary when both replicas have what it has, just after a renewal: what a fail-over loses is another
/// story, which the fence tells.
fn kill(trio: &mut Sentinels, primary: usize, ttl: i64) {
    trio.servers[primary].just_renewed("redlease:{k}", ttl, 700);
    let mut client = trio.servers[primary].client();
    client.ask(&["SET", "marker", "x"]);
    assert_eq!(client.ask(&["WAIT", "2", "20000"]).int(), 2);
    trio.servers[primary].kill();
}

/// The holder renewed on the new primary and ended by itself, or was stopped in time.
fn ends(holder: Running, lasts: bool) -> i32 {
    if lasts {
        holder.signal(Signal::SIGTERM);
    }
    let outcome = holder.wait();
    assert!(
        [0, 79, 143].contains(&outcome.code),
        "{} {}",
        outcome.code,
        outcome.stderr
    );
    outcome.code
}

#[test]
fn ten_fail_overs_in_a_row_never_let_two_jobs_run() {
    let mut trio = Sentinels::start(None);
    let mut primary = 0;
    let folder = tempfile::tempdir().unwrap();
    for round in 0..10 {
        let first = Stamps::named(folder.path(), &format!("{round}-first"));
        let second = Stamps::named(folder.path(), &format!("{round}-second"));
        let mut holder = run(&trio).ttl("6s").job(first.job()).start();
        first.await_start();
        let waiter = run(&trio)
            .ttl("6s")
            .args(["-w", "120s"])
            .job(second.job_for(0.2, 0))
            .start();
        wait_until("the waiter in its queue", PATIENCE, || {
            trio.servers[primary]
                .cli(&["ZCARD", "redlease:{k}:queue"])
                .int()
                == 1
        });
        kill(&mut trio, primary, 6_000);
        let old = primary;
        primary = trio.new_primary(old);
        // Renewed where it is now, or stopped because nobody could tell in time.
        let mut lasts = false;
        wait_until(
            "a renewal on the new primary, or the end",
            AGREEMENT,
            || {
                let ended = holder.ended();
                let left = trio.servers[primary].try_cli(&["PTTL", "redlease:{k}"]);
                // What was left of the renewal before the kill is less by now.
                lasts = !ended && left.is_some_and(|left| left.int() > 5_500);
                lasts || ended
            },
        );
        ends(holder, lasts);
        waiter.exits(0);
        assert!(
            first.last() < second.first(),
            "two jobs at once in round {round}"
        );
        trio.rejoin(old, primary);
    }
}

#[test]
fn a_run_outlives_its_primary() {
    let mut trio = Sentinels::start(Some("for-sentinels"));
    let file = trio.servers[0].folder().join("password");
    std::fs::write(&file, "for-sentinels\n").unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, private).unwrap();
    // One of the sentinels is gone all the time; the others are found.
    trio.kill_sentinel(0);
    let with = |run: Redlease| run.arg("--sentinel-password-file").arg(&file);
    run(&trio)
        .args(["--connect-timeout", "1s"])
        .job(["true"])
        .exits(77)
        .says(&["sentinel", "NOAUTH"]);
    // Long enough for the slowest agreement.
    let holder = with(run(&trio).ttl("300s").holds()).start().up();
    trio.servers[0].just_renewed("redlease:{k}", 300_000, 60_000);
    let mut client = trio.servers[0].client();
    assert_eq!(client.ask(&["WAIT", "2", "20000"]).int(), 2);
    trio.servers[0].kill();
    let primary = trio.new_primary(0);
    let outcome = with(run(&trio)).job(["true"]).exits(75);
    assert!(outcome.stderr.contains("held"), "{}", outcome.stderr);
    holder.finish().silent_on_stderr();
    assert!(!trio.servers[primary].exists("redlease:{k}"));
    with(run(&trio)).job(["true"]).exits(0).silent();
}

#[test]
fn what_the_sentinels_do_not_know_is_named() {
    let trio = Sentinels::start(None);
    let other = format!("redis-sentinel://{}/nobody", trio.hosts());
    Redlease::run("k")
        .env("REDLEASE_URL", other)
        .job(["true"])
        .exits(78)
        .says(&["no primary named nobody"]);
    let replica = format!("redis://127.0.0.1:{}", trio.ports[1]);
    Redlease::run("k")
        .env("REDLEASE_URL", replica)
        .args(["--connect-timeout", "1s"])
        .job(["true"])
        .exits(69)
        .says(&["READONLY"]);
    let sentinel = trio.url().replace("redis-sentinel://", "redis://");
    let first = sentinel.split(',').next().unwrap().to_owned();
    Redlease::run("k")
        .env("REDLEASE_URL", first)
        .job(["true"])
        .exits(78)
        .says(&["redis-sentinel://"]);
    let server = format!("redis-sentinel://127.0.0.1:{}/main", trio.ports[0]);
    Redlease::run("k")
        .env("REDLEASE_URL", server)
        .job(["true"])
        .exits(78)
        .says(&["unknown command", "SENTINEL"]);
}
