//! What a terminal gets, and what it does not.

use nix::sys::signal::Signal;

use super::status;
use crate::harness::process::send;
use crate::harness::terminal::Terminal;
use crate::harness::{PATIENCE, Redis, Redlease, wait_until};

#[test]
fn colour_is_for_terminals_that_want_it() {
    let redis = Redis::start();
    let run = Redlease::run("k").on(&redis).holds().start().up();
    let coloured = "\x1b[32mheld\x1b[0m";
    let mut terminal = Terminal::start(status(&redis, &["k"]));
    terminal.exits(0);
    terminal.shows(coloured);
    let mut terminal = Terminal::start(status(&redis, &["k"]).env("NO_COLOR", ""));
    terminal.exits(0);
    terminal.shows(coloured);
    let mut terminal = Terminal::start(status(&redis, &["k"]).env("NO_COLOR", "1"));
    terminal.exits(0);
    terminal.shows("held");
    assert!(
        !terminal.screen.text().contains('\x1b'),
        "{:?}",
        terminal.screen.text()
    );
    let piped = status(&redis, &["k"]).exits(0).out();
    assert!(!piped.contains('\x1b'), "{piped:?}");
    run.finish();
}

#[test]
fn a_table_fits_the_columns_there_are() {
    let redis = Redis::start();
    let key = "k".repeat(120);
    let run = Redlease::run(&key).on(&redis).holds().start().up();
    for (columns, most) in [("", 80), ("60", 60), ("200", 200)] {
        let table = status(&redis, &[]).env("COLUMNS", columns).exits(0).out();
        for line in table.lines() {
            assert!(line.chars().count() <= most, "{columns}: {line}");
        }
        assert_eq!(table.contains(&key), most == 200, "{table}");
    }
    run.finish();
}

#[test]
fn a_watch_draws_over_itself_and_ends_on_ctrl_c() {
    let redis = Redis::start();
    let mut terminal = Terminal::start(status(&redis, &["k", "--watch", "100ms"]));
    terminal.shows("free");
    let run = Redlease::run("k").on(&redis).holds().start().up();
    terminal.shows("held");
    // One frame of several lines over another.
    terminal.shows("A\r");
    terminal.type_in("\x03");
    terminal.exits(0);
    run.finish();
}

#[test]
fn a_watch_outlives_the_server_and_shows_that_it_is_away() {
    let mut redis = Redis::start();
    let mut watch = status(&redis, &["k", "--watch", "100ms"]).start();
    wait_until("a first table", PATIENCE, || {
        watch.stdout.text().contains("free")
    });
    redis.kill();
    wait_until("its absence", PATIENCE, || {
        watch.stdout.text().contains(&redis.url()[7..])
    });
    redis.restart();
    let before = watch.stdout.text().len();
    wait_until("the table again", PATIENCE, || {
        watch.stdout.text()[before..].contains("free")
    });
    assert!(!watch.ended());
    send(watch.pid(), Signal::SIGTERM);
    watch.exits(143);
}

#[test]
fn a_reader_that_leaves_is_no_reason_for_words() {
    let redis = Redis::start();
    let outcome = Redlease::command(["status", "k"])
        .on(&redis)
        .after_perl("pipe(R, W) && close(R) && open(STDOUT, '>&', \\*W) or die")
        .output();
    assert_eq!(outcome.code, 125);
    outcome.silent();
}

#[test]
fn a_table_that_cannot_be_written_is_told() {
    let redis = Redis::start();
    let outcome = Redlease::command(["status", "k"])
        .on(&redis)
        .after_perl("open(STDOUT, '>', '/dev/full') or die")
        .output();
    assert_eq!(outcome.code, 125);
    outcome.says(&["cannot write the table"]);
}
