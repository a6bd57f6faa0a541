//! `redlease break`: who is asked, what is broken, and that no second job starts beside the first.

use nix::sys::signal::Signal;

use crate::harness::process::{Stamps, send};
use crate::harness::terminal::Terminal;
use crate::harness::{PATIENCE, Redis, Redlease, wait_until};

const KEY: &str = "redlease:{k}";

fn breaks(redis: &Redis, words: &[&str]) -> Redlease {
    Redlease::command(["break", "k"]).args(words).on(redis)
}

#[test]
fn a_broken_job_is_stopped_and_the_next_starts_after_it() {
    let redis = Redis::start();
    let (first, second) = (
        Stamps::named(redis.folder(), "first"),
        Stamps::named(redis.folder(), "second"),
    );
    let run = Redlease::run("k")
        .on(&redis)
        .ttl("3s")
        .job(first.job())
        .start();
    first.await_start();
    let waiter = Redlease::run("k")
        .on(&redis)
        .args(["--ttl", "3s", "--wait", "60s"])
        .job(second.job_for(0.1, 0))
        .start();
    wait_until("the waiter's place", PATIENCE, || {
        redis.cli(&["ZCARD", "redlease:{k}:queue"]).int() == 1
    });
    let outcome = breaks(&redis, &["--yes"]).exits(0);
    assert!(outcome.out().contains("broke the lease of "), "{outcome:?}");
    assert!(outcome.out().contains(&format!("(pid {}, ", run.pid())));
    let broken = run.exits(79);
    let user = redis.hget("redlease:{k}:info", "broken_by");
    assert!(user.contains('@'), "{user}");
    assert!(
        broken.stderr.contains(&format!("broken by {user}")),
        "{broken:?}"
    );
    waiter.exits(0);
    assert!(first.last() < second.first());
}

#[test]
fn without_a_terminal_and_without_yes_nothing_is_touched() {
    let redis = Redis::start();
    let run = Redlease::run("k").on(&redis).holds().start().up();
    let token = redis.get(KEY);
    breaks(&redis, &[]).exits(64).says(&["--yes"]);
    assert_eq!(redis.get(KEY), token);
    run.finish();
}

#[test]
fn on_a_terminal_it_shows_whose_and_asks() {
    let redis = Redis::start();
    let run = Redlease::run("k").on(&redis).holds().start().up();
    let token = redis.get(KEY);
    for answer in ["n\n", "\n", "yep\n", "\x04"] {
        let mut terminal = Terminal::start(breaks(&redis, &[]));
        terminal.shows(&format!("(pid {}, ", run.pid()));
        terminal.shows("[y/N]");
        terminal.type_in(answer);
        terminal.exits(1);
        assert_eq!(redis.get(KEY), token);
    }
    let mut terminal = Terminal::start(breaks(&redis, &[]));
    terminal.shows("[y/N]");
    terminal.type_in("y\n");
    terminal.exits(0);
    assert_eq!(redis.get(KEY), token.map(|token| format!("broken:{token}")));
}

#[test]
fn only_what_was_shown_is_broken() {
    let redis = Redis::start();
    redis.steal(KEY, "one", 60_000);
    let mut terminal = Terminal::start(breaks(&redis, &[]));
    terminal.shows("[y/N]");
    redis.steal(KEY, "another", 60_000);
    terminal.type_in("y\n");
    terminal.exits(79);
    assert_eq!(redis.get(KEY), Some("another".to_owned()));
}

#[test]
fn a_token_breaks_that_holding_and_no_other() {
    let redis = Redis::start();
    let run = Redlease::run("k").on(&redis).holds().start().up();
    let token = redis.get(KEY).unwrap();
    let other = "3f0c6f7e-1f0a-4b1e-9d1c-0d8a5a3f2b11";
    breaks(&redis, &["--yes", "--token", other])
        .exits(79)
        .says(&["another holding"]);
    assert_eq!(redis.get(KEY), Some(token.clone()));
    breaks(&redis, &["--yes", "--token", "x"]).exits(64);
    breaks(&redis, &["--yes", "--token", &token]).exits(0);
    assert_eq!(redis.get(KEY), Some(format!("broken:{token}")));
    assert!(redis.pttl(KEY) > 0);
    breaks(&redis, &["--yes"])
        .exits(1)
        .says(&["broken before", "--now"]);
    drop(run);
}

#[test]
fn now_frees_at_once_and_says_what_that_means() {
    let redis = Redis::start();
    let run = Redlease::run("k").on(&redis).ttl("6s").holds().start().up();
    let outcome = breaks(&redis, &["--yes", "--now"]).exits(0);
    assert!(outcome.out().contains("may still run"), "{outcome:?}");
    assert!(!redis.exists(KEY));
    assert_eq!(run.wait().code, 79);
    assert!(!redis.exists(KEY));
}

/// C26 (terraform#28710): nothing is deleted by hand, and whose it was is known.
#[test]
fn with_nothing_to_break_it_is_1_and_a_dead_holder_is_named() {
    let redis = Redis::start();
    breaks(&redis, &["--yes"])
        .exits(1)
        .says(&["nobody holds k"]);
    let run = Redlease::run("k").on(&redis).ttl("2s").holds().start().up();
    let pid = run.pid();
    send(pid, Signal::SIGKILL);
    wait_until("the end of the lease", PATIENCE, || !redis.exists(KEY));
    let dead = format!("(pid {pid}, ");
    breaks(&redis, &["--yes"])
        .exits(1)
        .says(&["nobody holds k", dead.as_str(), "did not release"]);
}

#[test]
fn a_cooling_lease_is_freed() {
    let redis = Redis::start();
    Redlease::run("k")
        .on(&redis)
        .args(["--min-hold", "60s"])
        .job(["true"])
        .exits(0);
    assert!(redis.exists(KEY));
    breaks(&redis, &["--yes"]).exits(0);
    assert!(!redis.exists(KEY));
}

#[test]
fn a_slot_is_named_where_several_may_hold() {
    let redis = Redis::start();
    let limit = || {
        Redlease::run("k")
            .on(&redis)
            .args(["--limit", "2"])
            .holds()
            .start()
            .up()
    };
    let (one, two) = (limit(), limit());
    one.finish();
    breaks(&redis, &["--yes"]).exits(1).says(&["--slot 2"]);
    breaks(&redis, &["--yes", "--slot", "2"]).exits(0);
    assert!(redis.get("redlease:{k}:2").unwrap().starts_with("broken:"));
    drop(two);
}

#[test]
fn what_is_no_lease_is_left_alone() {
    let mut redis = Redis::start();
    redis.cli(&["LPUSH", KEY, "x"]);
    breaks(&redis, &["--yes"]).exits(78).says(&[KEY]);
    assert_eq!(redis.cli(&["LLEN", KEY]).int(), 1);
    redis.kill();
    breaks(&redis, &["--yes"]).exits(69);
}
