//! Users of Redis with too few rights, and with exactly enough.

use super::{doctor, findings};
use crate::harness::{Client, PATIENCE, Redis, Redlease, Value, wait_until};

/// A server with a user that the words make, and its URL.
fn user(words: &str) -> (Redis, String) {
    let redis = Redis::start();
    let mut command = vec!["ACL", "SETUSER", "redlease"];
    command.extend(words.split(' '));
    assert_eq!(redis.cli(&command), Value::Text(b"OK".to_vec()), "{words}");
    let url = format!("{}?user=redlease&pass=s3cret", redis.url());
    (redis, url)
}

fn at(url: &str, words: &[&str]) -> Redlease {
    Redlease::command(words).env("REDLEASE_URL", url)
}

#[test]
fn a_user_without_eval_is_a_fail_that_names_it() {
    let (_redis, url) = user("on >s3cret ~* &* +@all -eval");
    let all = findings(at(&url, &["doctor"]), 1);
    let found = &all["rights"];
    assert_eq!(found["level"], "fail", "{found}");
    assert!(
        found["finding"].as_str().unwrap().contains("+eval"),
        "{found}"
    );
    assert!(
        found["remedy"].as_str().unwrap().contains("ACL SETUSER"),
        "{found}"
    );
    assert!(!found.to_string().contains("s3cret"), "{found}");
}

#[test]
fn a_foreign_key_pattern_is_a_fail() {
    let (_redis, url) = user("on >s3cret ~other:* &* +@all");
    let all = findings(at(&url, &["doctor"]), 1);
    let found = &all["rights"];
    assert!(
        found["finding"].as_str().unwrap().contains("key"),
        "{found}"
    );
}

#[test]
fn channels_that_are_not_allowed_are_a_warning() {
    let (_redis, url) = user("on >s3cret ~* resetchannels +@all");
    let all = findings(at(&url, &["doctor"]), 0);
    assert_eq!(all["wake-ups"]["level"], "warn", "{}", all["wake-ups"]);
    let (_redis, url) = user("on >s3cret ~* &* +@all -publish");
    let all = findings(at(&url, &["doctor"]), 0);
    assert_eq!(all["wake-ups"]["level"], "warn", "{}", all["wake-ups"]);
}

/// The rule as the doctor prints it, typed into the server as it is.
#[test]
fn the_printed_rule_suffices_for_everything() {
    let redis = Redis::start();
    let text = doctor(&redis).exits(0).out();
    let rule = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("ACL SETUSER redlease "))
        .expect("the rule")
        .replace("PASSWORD", "s3cret");
    let (redis, url) = {
        drop(redis);
        user(&rule)
    };
    let key = |verb: &str| at(&url, &[verb, "--key", "k"]);
    let run = key("run").args(["--ttl", "3s"]).holds().start().up();
    let waiter = key("run").args(["--wait", "60s"]).job(["true"]).start();
    wait_until("the waiter's place", PATIENCE, || {
        redis.cli(&["ZCARD", "redlease:{k}:queue"]).int() == 1
    });
    at(&url, &["status"]).exits(0).silent_on_stderr();
    at(&url, &["status", "k", "--json"]).exits(0);
    at(&url, &["break", "k", "--yes"]).exits(0);
    assert_eq!(run.wait().code, 79);
    waiter.exits(0);
    key("run")
        .args(["--limit", "2", "--min-hold", "1s", "--once-per", "1h"])
        .job(["true"])
        .exits(0)
        .silent_on_stderr();
    let token = at(&url, &["acquire", "--key", "a"]).exits(0).out();
    for verb in ["check", "renew", "release"] {
        at(&url, &[verb, "--key", "a", "--token", token.trim_end()])
            .exits(0)
            .silent();
    }
    let fence = ["fence", "check", "--resource", "r", "--fence", "1"];
    at(&url, &fence).exits(0);
    let all = findings(at(&url, &["doctor"]), 0);
    for check in ["lease", "wake-ups", "list"] {
        assert_eq!(all[check]["level"], "ok", "{}", all[check]);
    }
    assert_eq!(all["unknown"]["level"], "warn");
    // And for nothing else.
    let mut client = Client::connect(&redis.socket()).unwrap();
    client.ask(&["AUTH", "redlease", "s3cret"]);
    for other in [
        &["SET", "other", "x"][..],
        &["FLUSHALL"],
        &["KEYS", "*"],
        &["CONFIG", "GET", "*"],
    ] {
        let reply = client.ask(other);
        assert!(
            matches!(&reply, Value::Error(text) if text.starts_with("NOPERM")),
            "{reply:?}"
        );
    }
}
