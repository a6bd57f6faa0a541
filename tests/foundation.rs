use nix::sys::signal::Signal;

use crate::harness::process::{Stamps, gone, stopped};
use crate::harness::terminal::Terminal;
use crate::harness::{PATIENCE, Redis, Redlease, Value, ms, wait_until};

#[test]
fn a_server_answers_loses_everything_and_answers_again() {
    let mut redis = Redis::options().tcp().start();
    assert_eq!(redis.cli(&["PING"]), Value::Text(b"PONG".to_vec()));
    redis.steal("k", "t", 60_000);
    assert!(redis.pttl("k") > 0);
    let port = redis.port();
    redis.restart_empty();
    assert_eq!(redis.get("k"), None);
    assert_eq!(redis.port(), port);
}

#[test]
fn a_persistent_server_keeps_its_keys_over_a_restart() {
    let mut redis = Redis::options().persistent().password("p").start();
    redis.steal("k", "t", 60_000);
    redis.restart();
    assert_eq!(redis.get("k"), Some("t".to_owned()));
}

#[test]
fn a_paused_server_is_stopped_and_a_dropped_one_is_gone() {
    let redis = Redis::start();
    let pid = redis.pid();
    redis.pause();
    wait_until("the stop", PATIENCE, || stopped(pid));
    drop(redis);
    assert!(gone(pid));
}

#[test]
fn a_run_is_watched_to_its_end_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let stamps = Stamps::in_folder(folder.path());
    let run = Redlease::run("k").job(stamps.job()).start_directly();
    stamps.await_start();
    let pid = run.pid();
    assert!(run.processes().contains(&pid));
    run.signal(Signal::SIGTERM);
    let outcome = run.exits(143);
    assert!(outcome.took < ms(20_000));
    assert!(gone(pid));
}

#[test]
fn a_terminal_turns_ctrl_c_into_a_signal() {
    let shell = Redlease::run("k");
    let mut terminal = Terminal::start_shell(
        shell,
        "trap 'echo caught; exit 7' INT; echo up; while :; do sleep 0.1; done",
    );
    terminal.shows("up");
    terminal.type_in("\x03");
    terminal.shows("caught");
    terminal.exits(7);
}

#[test]
fn a_slow_server_answers_loading_at_first() {
    let mut redis = Redis::options().stock().line("rdbcompression no").start();
    for n in 0..3 {
        redis.steal(&format!("k{n}"), &"x".repeat(2048), 600_000);
    }
    redis.cli(&["SAVE"]);
    redis.restart_slowly();
    let loading =
        |value: &Value| matches!(value, Value::Error(text) if text.starts_with("LOADING"));
    assert!(loading(&redis.cli(&["GET", "k0"])));
    wait_until("the end of the loading", PATIENCE, || {
        !loading(&redis.cli(&["GET", "k0"]))
    });
    assert!(redis.exists("k2"));
}
