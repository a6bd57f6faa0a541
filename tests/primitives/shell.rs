//! `eval "$(redlease acquire … --export)"` in real shells.

use crate::harness::redlease::BINARY;
use crate::harness::{Outcome, Redis, Redlease};

/// A script with `redlease` on PATH.
fn script(redis: &Redis, shell: &str, text: &str) -> Outcome {
    let folder = std::path::Path::new(BINARY).parent().unwrap().display();
    Redlease::command([""; 0])
        .job([shell, "-c", text])
        .env("PATH", format!("{folder}:/usr/bin:/bin"))
        .on(redis)
        .start_directly()
        .wait()
}

const SHELLS: [&str; 2] = ["sh", "bash"];

#[test]
fn a_trap_releases_without_a_further_word() {
    for shell in SHELLS {
        let redis = Redis::start();
        let outcome = script(
            &redis,
            shell,
            r#"eval "$(redlease acquire --key "it's\$HOME" --ttl 10m --export)" || exit
               trap 'redlease release' EXIT
               redlease check --min-left 1m || exit 9
               printf '%s\n' "$REDLEASE_KEY" "$REDLEASE_HELD" "$REDLEASE_SLOT" "$REDLEASE_TTL_MS"
               redlease status -q "$REDLEASE_KEY" || exit 8"#,
        );
        assert_eq!(outcome.code, 0, "{outcome:?}");
        assert_eq!(outcome.out(), "it's$HOME\ntrue\n1\n600000\n");
        assert!(!redis.exists("redlease:{it's$HOME}"));
    }
}

#[test]
fn what_was_typed_about_the_server_is_handed_on() {
    let redis = Redis::start();
    let url = redis.url();
    let outcome = script(
        &redis,
        "sh",
        &format!(
            r#"REDLEASE_URL=redis://127.0.0.1:1
               eval "$(redlease acquire -u {url} --prefix p: --key k --raw-key --export)" || exit
               redlease check || exit 9
               redlease release"#
        ),
    );
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(!redis.exists("k"));
    assert!(redis.exists("p:{k}:info"));
}

#[test]
fn every_failure_fails_the_eval_with_its_code() {
    for shell in SHELLS {
        let mut redis = Redis::start();
        redis.steal("redlease:{k}", "t", 60_000);
        let eval = |words: &str| {
            format!(r#"eval "$(redlease acquire {words} --export)" || exit; echo went on"#)
        };
        for (words, code) in [
            ("--key k", 75),
            ("--key k --nonsense", 64),
            ("--key 'a b'", 64),
            ("", 64),
            ("--key k --ttl 1ms", 64),
            ("--key k --url-file /nonexistent", 78),
            ("--key k --json", 64),
            ("--key k --while-pid 4194305", 64),
        ] {
            let outcome = script(&redis, shell, &eval(words));
            assert_eq!(outcome.code, code, "{words}: {outcome:?}");
            assert_eq!(outcome.out(), "", "{words}");
        }
        redis.kill();
        let outcome = script(&redis, shell, &eval("--key k"));
        assert_eq!(outcome.code, 69, "{outcome:?}");
    }
}
