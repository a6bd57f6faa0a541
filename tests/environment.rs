//! What the job is told about its lease.

use std::collections::HashMap;

use crate::harness::{Redis, Redlease, process};

fn told(run: Redlease) -> HashMap<String, String> {
    let outcome = run.job(["env", "-0"]).exits(0);
    outcome
        .out()
        .split('\0')
        .filter_map(|entry| entry.split_once('='))
        .filter(|(name, _)| name.starts_with("REDLEASE_"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn the_job_knows_its_lease() {
    let redis = Redis::start();
    let before = std::time::SystemTime::now();
    let env = told(Redlease::run("k").on(&redis).ttl("7s"));
    let info = |field: &str| redis.hget("redlease:{k}:info", field);
    assert_eq!(env["REDLEASE_HELD"], "true");
    assert_eq!(env["REDLEASE_KEY"], "k");
    assert_eq!(env["REDLEASE_TOKEN"], info("token"));
    assert_eq!(env["REDLEASE_TOKEN"].len(), 36);
    assert_eq!(env["REDLEASE_FENCE"], info("fence"));
    assert_eq!(env["REDLEASE_SLOT"], "1");
    assert_eq!(env["REDLEASE_TTL_MS"], "7000");
    let since = before
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_millis();
    let acquired: u128 = env["REDLEASE_ACQUIRED_AT_MS"].parse().unwrap();
    assert!(acquired + 1_000 >= since && acquired < since + 60_000);
    assert!(env["REDLEASE_STACK"].contains('k'));
}

#[test]
fn each_holding_has_a_token_of_its_own_and_a_higher_fence() {
    let redis = Redis::start();
    let mut last = 0;
    let mut tokens = Vec::new();
    for round in 0..4 {
        if round == 2 {
            redis.cli(&["FLUSHALL"]);
        }
        let env = told(Redlease::run("k").on(&redis));
        let fence: u64 = env["REDLEASE_FENCE"].parse().unwrap();
        assert!(fence > last, "{fence} after {last}");
        last = fence;
        assert!(!tokens.contains(&env["REDLEASE_TOKEN"]));
        tokens.push(env["REDLEASE_TOKEN"].clone());
    }
}

#[test]
fn what_the_caller_had_under_these_names_is_replaced() {
    let redis = Redis::start();
    let env = told(
        Redlease::run("k")
            .on(&redis)
            .env("REDLEASE_HELD", "false")
            .env("REDLEASE_FENCE", "1")
            .env("REDLEASE_ACQUIRED_AT_MS", "1"),
    );
    assert_eq!(env["REDLEASE_HELD"], "true");
    assert_ne!(env["REDLEASE_FENCE"], "1");
    assert_ne!(env["REDLEASE_ACQUIRED_AT_MS"], "1");
}

#[test]
fn a_prefix_is_used_for_every_key() {
    let redis = Redis::start();
    let run = Redlease::run("k")
        .on(&redis)
        .env("REDLEASE_PREFIX", "team:")
        .holds()
        .start()
        .up();
    let keys = redis.cli(&["KEYS", "*"]);
    assert!(!keys.array().is_empty());
    for key in keys.array() {
        assert!(key.text().starts_with("team:{k}"), "{key:?}");
    }
    run.finish();
}

#[test]
fn it_works_as_under_cron() {
    let redis = Redis::start();
    let outcome = Redlease::run("k")
        .args(["--url", &redis.url()])
        .under(["env", "-i", "PATH=/usr/bin:/bin"])
        .sh("echo \"$HOME|$REDLEASE_KEY\"")
        .exits(0);
    assert_eq!(outcome.out(), "|k\n");
    assert_eq!(outcome.stderr, "");
}

#[test]
fn a_secret_of_the_url_is_in_no_argument_of_a_process() {
    let redis = Redis::options().tcp().password("s3cret").start();
    let url = format!("redis://:s3cret@127.0.0.1:{}", redis.port());
    let run = Redlease::run("k")
        .env("REDLEASE_URL", url)
        .holds()
        .start()
        .up();
    for pid in run.processes() {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).into_owned();
        assert!(!words.contains("s3cret"), "{pid}: {words}");
    }
    assert!(run.processes().contains(&run.pid()));
    assert!(process::children(run.pid()).contains(&run.guard()));
    run.finish();
}
