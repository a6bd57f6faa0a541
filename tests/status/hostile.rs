//! What anybody who can write to the server may have put there: never raw, never in the way of the rest.

use super::{objects, status};
use crate::harness::{Redis, Redlease};

const HOSTILE: &[u8] = b"a\x1b[2J\x1b]0;x\x07\r\n\xc2\x9b31m\xe2\x80\xaeb\xff\xfe\"',{}";

fn describe(redis: &Redis, key: &str, fields: &[(&str, &[u8])]) {
    redis.steal(&format!("redlease:{{{key}}}"), "t", 60_000);
    let info = format!("redlease:{{{key}}}:info");
    let mut command: Vec<&[u8]> = vec![b"HSET", info.as_bytes(), b"token", b"t"];
    for (name, value) in fields {
        command.extend([name.as_bytes(), value]);
    }
    redis.client().try_ask(&command).unwrap();
}

/// Nothing but printable characters and newlines, and nothing that turns text around.
#[track_caller]
fn harmless(text: &[u8]) {
    let text = std::str::from_utf8(text).expect("UTF-8");
    for c in text.chars() {
        assert!(c == '\n' || !c.is_control(), "{c:?} in {text:?}");
        assert!(!('\u{202a}'..='\u{202e}').contains(&c), "{c:?} in {text:?}");
    }
}

#[test]
fn hostile_texts_reach_no_terminal_and_break_no_json() {
    let redis = Redis::start();
    let fields: Vec<(&str, &[u8])> = [
        "host",
        "user",
        "label",
        "pid",
        "held",
        "acquired_at",
        "expires_at",
        "ttl",
        "outcome",
        "ended_at",
        "code",
        "last_host",
        "broken_by",
        "limit",
        "fence",
        "renewed_at",
        "free_since",
    ]
    .map(|name| (name, HOSTILE))
    .to_vec();
    describe(&redis, "k", &fields);
    describe(&redis, "sane", &[("label", b"sane")]);
    for words in [&["k"][..], &["k*"], &[]] {
        let table = status(&redis, words).exits(0);
        harmless(&table.stdout);
        for line in table.out().lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert_eq!(objects(&redis, words)[0]["state"], "held");
    }
    harmless(&status(&redis, &["--json"]).exits(0).stdout);
    let seen = objects(&redis, &[]);
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[1]["holder"]["label"], "sane");
}

#[test]
fn texts_of_a_megabyte_are_cut() {
    let redis = Redis::start();
    let long = vec![b'x'; 1 << 20];
    for key in ["a", "b", "c"] {
        describe(
            &redis,
            key,
            &[("label", &long), ("host", &long), ("user", &long)],
        );
    }
    redis
        .client()
        .try_ask(&[b"SET", b"redlease:{d}", &long])
        .unwrap();
    for words in [&[][..], &["a"], &["d"]] {
        let table = status(&redis, words).exits(0);
        assert!(table.stdout.len() < 4096, "{}", table.stdout.len());
        let json = status(&redis, words).arg("--json").exits(0);
        assert!(json.stdout.len() < 8192, "{}", json.stdout.len());
    }
    let seen = objects(&redis, &["a"]).remove(0);
    assert_eq!(seen["holder"]["label"], "x".repeat(64));
    assert_eq!(objects(&redis, &[]).len(), 4);
}

#[test]
fn keys_of_other_types_are_named_and_the_rest_is_shown() {
    let redis = Redis::start();
    for (command, key) in [
        ("LPUSH", "redlease:{list}"),
        ("LPUSH", "redlease:{info}:info"),
        ("LPUSH", "redlease:{queue}:queue"),
        ("LPUSH", "redlease:{waiters}:waiters"),
    ] {
        redis.cli(&[command, key, "x"]);
    }
    let run = Redlease::run("z").on(&redis).holds().start().up();
    let seen = objects(&redis, &[]);
    let states: Vec<(&str, &str)> = seen
        .iter()
        .map(|s| (s["key"].as_str().unwrap(), s["state"].as_str().unwrap()))
        .collect();
    assert_eq!(
        states,
        [
            ("info", "foreign"),
            ("list", "foreign"),
            ("queue", "foreign"),
            ("waiters", "free"),
            ("z", "held")
        ]
    );
    let problem = objects(&redis, &["list"])[0]["problem"].to_string();
    assert!(
        problem.contains("redlease:{list} holds something else"),
        "{problem}"
    );
    status(&redis, &[]).exits(0);
    run.finish();
}

#[test]
fn keys_that_no_lease_can_have_are_not_listed() {
    let redis = Redis::start();
    for key in [
        "redlease:{a b}",
        "redlease:{}",
        "redlease:{x",
        "redlease:{x}:65",
        "redlease:fence",
    ] {
        redis.cli(&["SET", key, "x"]);
    }
    let hidden: &[&[u8]] = &[b"SET", b"redlease:{\x1b[2J}", b"x"];
    redis.client().try_ask(hidden).unwrap();
    redis
        .client()
        .try_ask(&[b"SET", b"redlease:{\xff}", b"x"])
        .unwrap();
    assert!(objects(&redis, &[]).is_empty());
    let outcome = status(&redis, &[]).exits(0);
    assert_eq!(outcome.out(), "");
    outcome.says(&["no lease"]);
}
