//! A duration is what was typed, to the millisecond, or it is refused by name.

use crate::harness::{Redis, Redlease};

#[test]
fn an_accepted_ttl_is_exactly_the_ttl() {
    let redis = Redis::start();
    for (typed, millis) in [
        ("2s", 2_000),
        ("2500ms", 2_500),
        ("30", 30_000),
        ("30s", 30_000),
        ("5m", 300_000),
        ("1h 30m", 5_400_000),
    ] {
        let run = Redlease::run("k")
            .on(&redis)
            .ttl(typed)
            .perl("print qq($ENV{REDLEASE_TTL_MS}\\n); $SIG{TERM} = sub { exit 0 }; print qq(up\\n); sleep 1 while 1")
            .start()
            .up();
        // Right after the start: a renewal may have followed, and sets the same TTL.
        let left = redis.pttl("redlease:{k}");
        assert!(left > 0 && left <= millis, "{typed}: {left}");
        assert!(millis < 60_000 || left > millis - 20_000, "{typed}: {left}");
        assert_eq!(
            redis.hget("redlease:{k}:info", "ttl"),
            millis.to_string(),
            "{typed}"
        );
        assert_eq!(run.finish().out(), format!("{millis}\nup\n"));
    }
}

#[test]
fn any_other_ttl_is_refused_by_its_name() {
    let redis = Redis::start();
    for typed in [
        "500ms",
        "1500ms",
        "1999ms",
        "1",
        "0",
        "0s",
        "1e9h",
        "12345678901234567890",
        "99999999999999999999999999s",
        "ten",
        "5 parsecs",
        "1M",
    ] {
        let outcome = Redlease::run("k")
            .on(&redis)
            .ttl(typed)
            .sh("echo the job ran")
            .exits(64);
        assert_eq!(outcome.out(), "", "{typed}");
        assert!(
            outcome.stderr.contains(typed),
            "{typed}: {}",
            outcome.stderr
        );
    }
    for typed in ["", "-1s", "-1"] {
        let outcome = Redlease::run("k")
            .on(&redis)
            .arg(format!("--ttl={typed}"))
            .sh("echo the job ran")
            .exits(64);
        assert_eq!(outcome.out(), "", "{typed:?}");
        assert!(
            outcome.stderr.contains("--ttl"),
            "{typed:?}: {}",
            outcome.stderr
        );
    }
    assert!(!redis.exists("redlease:{k}"));
}

#[test]
fn a_ttl_without_room_for_a_renewal_is_refused_with_the_sum() {
    let redis = Redis::start();
    let outcome = Redlease::run("k")
        .on(&redis)
        .ttl("10s")
        .args(["-k", "5s"])
        .job(["true"])
        .exits(64);
    assert!(outcome.stderr.contains("10s"), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("4.5") || outcome.stderr.contains("4s 500ms"),
        "{}",
        outcome.stderr
    );
}
