//! Servers and proxies that do not do everything: managed ones, and users with few rights.

use crate::harness::{PATIENCE, Redis, Redlease, Value, wait_until};

/// Everything that a run needs, and nothing else.
const RIGHTS: [&str; 24] = [
    "on",
    ">pw",
    "~redlease:*",
    "resetchannels",
    "&redlease:*",
    "+eval",
    "+time",
    "+get",
    "+set",
    "+del",
    "+exists",
    "+pttl",
    "+pexpire",
    "+hmget",
    "+hset",
    "+hdel",
    "+hincrby",
    "+zadd",
    "+zrem",
    "+zrange",
    "+zrank",
    "+zscore",
    "+zcard",
    "+publish",
];

fn with_rights(redis: &Redis, more: &[&str]) -> String {
    let words = [&["ACL", "SETUSER", "ci"], &RIGHTS[..], more].concat();
    assert_eq!(redis.cli(&words), Value::Text(b"OK".to_vec()));
    format!("unix://{}?user=ci&pass=pw", redis.socket().display())
}

/// One holds, another waits, and both get what they came for.
fn takes_turns(redis: &Redis, url: &str) {
    let run = || Redlease::run("k").env("REDLEASE_URL", url);
    let holder = run().ttl("6s").holds().start().up();
    let waiter = run().args(["-w", "60s"]).sh("echo mine").start();
    wait_until("the waiter in its queue", PATIENCE, || {
        redis.cli(&["ZCARD", "redlease:{k}:queue"]).int() == 1
    });
    redis.just_renewed("redlease:{k}", 6_000, 500);
    holder.finish().silent_on_stderr();
    assert_eq!(waiter.exits(0).out(), "mine\n");
    assert!(!redis.exists("redlease:{k}"));
}

#[test]
fn a_user_that_may_not_ask_for_the_time_lends_its_own_clock() {
    let redis = Redis::start();
    let url = with_rights(&redis, &["+subscribe", "-time"]);
    takes_turns(&redis, &url);
    let acquired: u128 = redis
        .hget("redlease:{k}:info", "acquired_at")
        .parse()
        .unwrap();
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_micros();
    assert!(acquired <= now && now < acquired + 600_000_000);
}

#[test]
fn a_user_needs_the_commands_of_the_scripts_and_subscribe() {
    let redis = Redis::start();
    let url = with_rights(&redis, &["+subscribe"]);
    takes_turns(&redis, &url);
    assert_eq!(redis.cli(&["ACL", "LOG"]), Value::Array(vec![]));
}

#[test]
fn who_may_not_listen_waits_by_heartbeats() {
    let redis = Redis::start();
    let url = with_rights(&redis, &[]);
    takes_turns(&redis, &url);
}

#[test]
fn a_server_that_lets_nobody_listen_or_configure_is_enough() {
    let redis = Redis::options()
        .line("rename-command SUBSCRIBE \"\"")
        .line("rename-command CONFIG \"\"")
        .line("rename-command MONITOR \"\"")
        .line("rename-command INFO \"\"")
        .line("rename-command CLIENT \"\"")
        .start();
    takes_turns(&redis, &redis.url());
}

#[test]
fn a_server_that_runs_no_scripts_is_named_at_once() {
    let redis = Redis::options().line("rename-command EVAL \"\"").start();
    Redlease::run("k")
        .on(&redis)
        .job(["true"])
        .exits(78)
        .says(&["unknown command", "EVAL", "runs no scripts"]);
}
