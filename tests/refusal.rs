//! No lease, no job: each reason has a code and one line of its own.

use std::path::PathBuf;

use crate::harness::{Redis, Redlease};

/// A job that leaves a trace if it is ever started.
fn trace(redis: &Redis) -> (PathBuf, Vec<String>) {
    let file = redis.folder().join("trace");
    let job = vec!["touch".to_owned(), file.display().to_string()];
    (file, job)
}

#[test]
fn a_held_lease_is_refused_with_holder_host_age_and_time_left() {
    let redis = Redis::start();
    let (file, job) = trace(&redis);
    let holder = Redlease::run("nightly")
        .on(&redis)
        .args(["--label", "first-import"])
        .holds()
        .start()
        .up();
    let host = redis.hget("redlease:{nightly}:info", "host");
    assert!(!host.is_empty());
    let pid = holder.pid().to_string();

    let outcome = Redlease::run("nightly").on(&redis).job(&job).exits(75);
    outcome.says(&["nightly", "first-import", &host, &pid]);
    // Age and time left, in whatever unit.
    assert!(
        outcome.stderr.chars().filter(char::is_ascii_digit).count() >= pid.len() + 2,
        "{}",
        outcome.stderr
    );
    assert!(!file.exists());
    holder.finish().silent_on_stderr();
}

#[test]
fn nonblock_is_the_default() {
    let redis = Redis::start();
    let (file, job) = trace(&redis);
    redis.steal("redlease:{k}", "foreign", 60_000);
    Redlease::run("k")
        .on(&redis)
        .arg("-n")
        .job(&job)
        .exits(75)
        .says(&["k"]);
    Redlease::run("k")
        .on(&redis)
        .arg("--nonblock")
        .job(&job)
        .exits(75)
        .says(&["k"]);
    Redlease::run("k")
        .on(&redis)
        .job(&job)
        .exits(75)
        .says(&["k", "another client"]);
    assert!(!file.exists());
    assert_eq!(redis.get("redlease:{k}"), Some("foreign".to_owned()));
}

#[test]
fn the_code_of_a_refusal_can_be_chosen() {
    let redis = Redis::start();
    let (file, job) = trace(&redis);
    redis.steal("redlease:{k}", "foreign", 60_000);
    for code in [0, 1, 99, 255] {
        Redlease::run("k")
            .on(&redis)
            .args(["-E", &code.to_string()])
            .job(&job)
            .exits(code)
            .says(&["k"]);
    }
    Redlease::run("k")
        .on(&redis)
        .arg("--skip-ok")
        .job(&job)
        .exits(0)
        .silent();
    assert!(!file.exists());
    Redlease::run("k")
        .on(&redis)
        .args(["-E", "256"])
        .job(&job)
        .exits(64);
}

#[test]
fn a_refusal_can_be_quiet() {
    let redis = Redis::start();
    redis.steal("redlease:{k}", "foreign", 60_000);
    Redlease::run("k")
        .on(&redis)
        .arg("-q")
        .job(["true"])
        .exits(75)
        .silent();
}

#[test]
fn what_comes_from_redis_is_shown_without_control_characters() {
    let redis = Redis::start();
    let holder = Redlease::run("k")
        .on(&redis)
        .args(["--label", "x"])
        .holds()
        .start()
        .up();
    redis.cli(&[
        "HSET",
        "redlease:{k}:info",
        "label",
        "a\u{1b}[31mb\nc",
        "host",
        "h\rost",
    ]);
    let outcome = Redlease::run("k").on(&redis).job(["true"]).exits(75);
    outcome.says(&["redlease: "]);
    assert!(
        !outcome.stderr.trim_end().chars().any(char::is_control),
        "{:?}",
        outcome.stderr
    );
    holder.finish();
}

#[test]
fn a_key_of_another_type_is_never_overwritten() {
    let redis = Redis::start();
    let (file, job) = trace(&redis);
    redis.cli(&["RPUSH", "redlease:{k}", "mine"]);
    let outcome = Redlease::run("k").on(&redis).job(&job).output();
    outcome.says(&["k"]);
    assert_ne!(outcome.code, 0);
    assert!(!file.exists());
    assert_eq!(
        redis.cli(&["LRANGE", "redlease:{k}", "0", "-1"]).array()[0].text(),
        "mine"
    );
    assert_eq!(redis.pttl("redlease:{k}"), -1);
}

#[test]
fn usage_errors_name_the_argument() {
    let cases: &[(&[&str], &str)] = &[
        (&["run", "--key", "a b", "--", "true"], "' '"),
        (&["run", "--key", "", "--", "true"], "empty"),
        (&["run", "--key", "a{b", "--", "true"], "'{'"),
        (&["run", "--", "true"], "--key"),
        (&["run", "--key", "k"], "nothing to run"),
        (
            &["run", "--key", "k", "--timeout", "5s", "--", "true"],
            "--max-run",
        ),
        (&["run", "--key", "k", "-n", "-w", "5s", "--", "true"], "-w"),
        (
            &["run", "--key", "k", "-E", "3", "--skip-ok", "--", "true"],
            "--skip-ok",
        ),
        (&["run", "--key", "k", "-c", "x", "--", "true"], "-c"),
        (
            &[
                "run",
                "--key",
                "k",
                "--min-hold-on",
                "success",
                "--",
                "true",
            ],
            "--min-hold",
        ),
        (
            &[
                "run",
                "--key",
                "k",
                "--raw-key",
                "--limit",
                "2",
                "--",
                "true",
            ],
            "--limit",
        ),
        (
            &["run", "--key", "k", "--no-such-flag", "--", "true"],
            "--no-such-flag",
        ),
        (&["no-such-command"], "no-such-command"),
    ];
    for (words, part) in cases {
        let outcome = Redlease::command(*words).exits(64);
        assert_eq!(outcome.out(), "", "{words:?}");
        assert!(
            outcome.stderr.contains(part),
            "{words:?}: {}",
            outcome.stderr
        );
    }
}
