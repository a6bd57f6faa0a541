//! `redlease doctor` against servers that were configured wrongly on purpose.

mod rights;

use std::collections::HashMap;

use serde_json::Value as Json;

use crate::harness::redis::Options;
use crate::harness::{PATIENCE, Redis, Redlease, Relay, Weather, ms, wait_until};

fn doctor(redis: &Redis) -> Redlease {
    Redlease::command(["doctor"]).on(redis)
}

/// The findings of `doctor --json` by the name of their check.
#[track_caller]
fn findings(run: Redlease, code: i32) -> HashMap<String, Json> {
    let outcome = run.arg("--json").exits(code);
    outcome
        .out()
        .lines()
        .map(|line| {
            let found: Json = serde_json::from_str(line).unwrap();
            for name in ["level", "finding", "meaning"] {
                assert!(found[name].is_string(), "{name}: {line}");
            }
            if found["level"] != "ok" {
                assert!(!found["meaning"].as_str().unwrap().is_empty(), "{line}");
                assert!(!found["remedy"].as_str().unwrap().is_empty(), "{line}");
            }
            (found["check"].as_str().unwrap().to_owned(), found)
        })
        .collect()
}

#[track_caller]
fn finds(redis: &Redis, code: i32, check: &str, level: &str, part: &str) {
    let all = findings(doctor(redis), code);
    let found = all
        .get(check)
        .unwrap_or_else(|| panic!("no {check} in {all:?}"));
    assert_eq!(found["level"], level, "{found}");
    let text = found["finding"].as_str().unwrap();
    assert!(text.contains(part), "no {part:?} in {text:?}");
}

fn with(lines: &[&str]) -> Redis {
    lines
        .iter()
        .fold(Options::default(), |options, line| options.line(line))
        .start()
}

#[test]
fn a_good_server_is_0_and_nothing_of_the_probe_stays() {
    let redis = Redis::options().persistent().start();
    let all = findings(doctor(&redis), 0);
    for check in [
        "version",
        "machine",
        "lease",
        "wake-ups",
        "list",
        "eviction",
        "persistence",
        "replicas",
        "clock",
        "timeout",
        "clients",
        "access",
        "acl-rule",
    ] {
        assert_eq!(all[check]["level"], "ok", "{}", all[check]);
    }
    assert_eq!(redis.cli(&["DBSIZE"]).int(), 0);
    let text = doctor(&redis).exits(0).out();
    assert!(text.contains("ok    version: "), "{text}");
    assert!(text.contains(" 0 fail\n"), "{text}");
    assert!(!text.contains('\x1b'), "{text}");
    for line in text.lines().filter(|line| !line.contains("ACL SETUSER")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn eviction_of_leases_is_a_fail() {
    for policy in ["allkeys-lru", "volatile-lru"] {
        let redis = with(&["maxmemory 100mb", &format!("maxmemory-policy {policy}")]);
        finds(&redis, 1, "eviction", "fail", policy);
    }
    let redis = with(&["maxmemory 100mb", "maxmemory-policy noeviction"]);
    finds(&redis, 0, "eviction", "ok", "noeviction");
}

#[test]
fn a_memory_that_is_full_is_a_fail_of_the_probe() {
    let redis = with(&["maxmemory 1", "maxmemory-policy noeviction"]);
    finds(&redis, 1, "eviction", "warn", "are used");
    finds(&redis, 1, "lease", "fail", "OOM");
}

#[test]
fn no_persistence_is_a_warning() {
    finds(&Redis::start(), 0, "persistence", "warn", "nothing is kept");
    let redis = with(&["save 3600 1"]);
    finds(&redis, 0, "persistence", "warn", "snapshots only");
}

#[test]
fn a_replica_is_a_fail() {
    let (primary, redis) = (Redis::options().tcp().start(), Redis::start());
    let port = primary.port().to_string();
    redis.cli(&["REPLICAOF", "127.0.0.1", &port]);
    wait_until("the link", PATIENCE, || {
        redis
            .cli(&["INFO", "replication"])
            .text()
            .contains("master_link_status:up")
    });
    finds(&redis, 1, "role", "fail", "this is a replica of 127.0.0.1");
    finds(&redis, 1, "lease", "fail", "READONLY");
    finds(
        &primary,
        0,
        "replicas",
        "warn",
        "none of them has to confirm",
    );
}

#[test]
fn replicas_that_are_not_there_are_a_fail() {
    let redis = with(&["min-replicas-to-write 1"]);
    finds(
        &redis,
        1,
        "replicas",
        "fail",
        "min-replicas-to-write is 1, and 0",
    );
    finds(&redis, 1, "lease", "fail", "NOREPLICAS");
}

#[test]
fn a_timeout_of_a_second_is_a_warning() {
    finds(&with(&["timeout 1"]), 0, "timeout", "warn", "after 1 s");
}

#[test]
fn protected_mode_is_a_warning_where_others_should_reach_it() {
    let redis = Options::default().tcp().line("bind 0.0.0.0").start();
    finds(&redis, 0, "access", "warn", "protected mode is on");
    redis.cli(&["CONFIG", "SET", "protected-mode", "no"]);
    finds(&redis, 0, "access", "warn", "protected mode is off");
}

#[test]
fn a_node_of_a_cluster_is_a_fail_without_a_cluster_url() {
    let redis = with(&["cluster-enabled yes"]);
    finds(&redis, 1, "cluster", "fail", "node of a cluster");
}

#[test]
fn a_server_that_is_away_is_69_and_says_what_to_try() {
    let mut redis = Redis::start();
    redis.kill();
    let all = findings(doctor(&redis), 69);
    assert_eq!(all["connection"]["level"], "fail");
    assert_eq!(all["machine"]["level"], "ok");
}

#[test]
fn a_password_that_is_missing_is_77() {
    let redis = Redis::options().password("p").start();
    let all = findings(doctor(&redis), 77);
    assert_eq!(all["connection"]["level"], "fail");
    let url = format!("{}?pass=p", redis.url());
    let all = findings(Redlease::command(["doctor"]).env("REDLEASE_URL", url), 0);
    assert_eq!(all["access"]["level"], "ok");
}

#[test]
fn a_slow_way_to_the_server_is_told_with_the_ttl_that_it_needs() {
    let redis = Redis::start();
    let relay = Relay::to(&redis.socket());
    relay.set(Weather::Slow(ms(200)));
    let outcome = Redlease::command(["doctor", "--json"])
        .env("REDLEASE_URL", relay.url())
        .output();
    let found: Json = outcome
        .out()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .find(|found: &Json| found["check"] == "latency")
        .expect("a finding about latency");
    assert_ne!(found["level"], "ok", "{found}");
    assert!(
        found["meaning"].as_str().unwrap().contains("--ttl "),
        "{found}"
    );
}
