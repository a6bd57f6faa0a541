//! On a terminal a waiting run keeps one line up to date.

use crate::harness::terminal::Terminal;
use crate::harness::{PATIENCE, Redis, Redlease, ms, now, wait_until};

#[test]
fn one_line_is_kept_up_to_date_and_taken_away() {
    let redis = Redis::start();
    let holder = Redlease::run("k")
        .on(&redis)
        .args(["--label", "first"])
        .holds()
        .start()
        .up();
    let waiting = Redlease::run("k")
        .on(&redis)
        .args(["-w", "60s"])
        .sh("echo got it");
    let mut terminal = Terminal::start(waiting);
    terminal.shows("first");
    // Drawn again in place: no line feed comes, however long it waits.
    let start = now();
    wait_until("two heartbeats", PATIENCE, || {
        now().since(start) > ms(4_500)
    });
    assert!(
        !terminal.screen.text().contains('\n'),
        "{:?}",
        terminal.screen.text()
    );
    assert!(terminal.screen.text().matches("first").count() >= 2);
    holder.finish();
    terminal.shows("got it");
    terminal.exits(0);
    let screen = terminal.screen.text();
    let (before, _) = screen.split_once("got it").unwrap();
    assert!(before.ends_with("\r\u{1b}[2K"), "{screen:?}");
}

#[test]
fn ctrl_c_ends_the_waiting() {
    let redis = Redis::start();
    let holder = Redlease::run("k").on(&redis).holds().start().up();
    let waiting = Redlease::run("k")
        .on(&redis)
        .args(["-w", "60s"])
        .sh("echo got it");
    let mut terminal = Terminal::start(waiting);
    terminal.shows("waiting");
    terminal.type_in("\x03");
    terminal.exits(130);
    assert_eq!(redis.cli(&["ZCARD", "redlease:{k}:queue"]).int(), 0);
    holder.finish();
}
