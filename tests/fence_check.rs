//! `redlease fence check`: a high-water mark per resource.

use crate::harness::{Redis, Redlease};

fn check(redis: &Redis, words: &[&str]) -> Redlease {
    Redlease::command(["fence", "check", "--resource", "orders"])
        .args(words)
        .on(redis)
}

#[test]
fn a_resource_takes_no_fence_below_the_highest_that_it_saw() {
    let redis = Redis::start();
    check(&redis, &["--fence", "7"]).exits(0).silent();
    check(&redis, &["--fence", "7"]).exits(0).silent();
    check(&redis, &["--fence", "12"]).exits(0).silent();
    check(&redis, &["--fence", "7"])
        .exits(79)
        .says(&["stale", "orders", "12", "7"]);
    assert_eq!(redis.get("redlease:{orders}:fence").as_deref(), Some("12"));
    // Each resource has a mark of its own, and so has each prefix.
    Redlease::command(["fence", "check", "--resource", "bills", "--fence", "7"])
        .on(&redis)
        .exits(0);
    check(&redis, &["--fence", "7", "--prefix", "other:"]).exits(0);
}

#[test]
fn a_job_checks_its_own_fence() {
    let redis = Redis::start();
    let job = format!(
        "{} fence check --resource orders && echo written",
        env!("CARGO_BIN_EXE_redlease")
    );
    let outcome = Redlease::run("k").on(&redis).sh(&job).exits(0);
    assert_eq!(outcome.out(), "written\n");
    // A later holder has been here: the first one's fence, as a stale job has it in its environment, is refused.
    let fence = redis.get("redlease:{orders}:fence").unwrap();
    Redlease::run("k").on(&redis).sh(&job).exits(0);
    check(&redis, &[])
        .env("REDLEASE_FENCE", &fence)
        .exits(79)
        .says(&["stale"]);
}

#[test]
fn without_a_fence_it_is_a_usage_error() {
    let redis = Redis::start();
    check(&redis, &[]).exits(64).says(&["--fence"]);
    check(&redis, &["--fence", "0"]).exits(64).says(&["0"]);
}

#[test]
fn without_an_answer_nothing_is_accepted() {
    let mut redis = Redis::start();
    redis.cli(&["LPUSH", "redlease:{orders}:fence", "x"]);
    check(&redis, &["--fence", "7"])
        .exits(78)
        .says(&["redlease:{orders}:fence"]);
    redis.kill();
    check(&redis, &["--fence", "7"]).exits(69);
}
