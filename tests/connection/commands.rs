//! The commands around a run, through weak networks and to hostile servers.

use std::time::Instant;

use crate::harness::{Redis, Redlease, Relay, Running, Weather, ms};

const TOKEN: &str = "0b57c9a4-9a7c-4b2e-8f0e-6f6f3d0a1c11";

/// Every command that asks Redis and ends, as it is typed.
const COMMANDS: [&[&str]; 10] = [
    &["acquire", "--key", "k"],
    &["acquire", "--key", "k", "-w", "1s"],
    &["renew", "--key", "k", "--token", TOKEN],
    &["release", "--key", "k", "--token", TOKEN],
    &["check", "--key", "k", "--token", TOKEN],
    &["status"],
    &["status", "k"],
    &["status", "-q", "k"],
    &["break", "k", "--yes"],
    &["fence", "check", "--resource", "r", "--fence", "7"],
];

fn start(words: &[&str], url: &str) -> Running {
    Redlease::command(words)
        .env("REDLEASE_URL", url)
        .args(["--connect-timeout", "1s"])
        .start()
}

/// All of them at the same time: nothing is printed that an answer would have told, and none hangs.
fn all_unavailable(url: &str, what: &str) {
    let begun = Instant::now();
    let runs: Vec<Running> = COMMANDS.iter().map(|words| start(words, url)).collect();
    for (run, words) in runs.into_iter().zip(COMMANDS) {
        let outcome = run.wait();
        let shown = format!("{what}: {words:?}: {outcome:?}");
        assert!([69, 78].contains(&outcome.code), "{shown}");
        assert_eq!(outcome.out(), "", "{shown}");
        assert!(!outcome.stderr.contains("panicked"), "{shown}");
        if !words.contains(&"-q") {
            assert!(outcome.stderr.starts_with("redlease: "), "{shown}");
        }
    }
    assert!(begun.elapsed() < ms(60_000), "{what}");
}

#[test]
fn each_ends_in_time_when_no_answer_comes() {
    let redis = Redis::start();
    let socket = redis.socket();
    std::thread::scope(|scope| {
        for weather in [Weather::Silence, Weather::Truncate(2), Weather::Garbage] {
            let relay = Relay::to(&socket);
            relay.set(weather);
            scope.spawn(move || all_unavailable(&relay.url(), &format!("{weather:?}")));
        }
    });
}

#[test]
fn each_survives_an_answer_of_the_wrong_kind() {
    let answers = [
        &b"*3\r\n*0\r\n*0\r\n*1\r\n*0\r\n"[..],
        b"*2147483647\r\n",
        b":-1\r\n",
        b"%1\r\n+a\r\n#t\r\n",
    ];
    std::thread::scope(|scope| {
        for answer in answers {
            let port = super::hostile::serve((answer.to_vec(), Vec::new()));
            let what = String::from_utf8_lossy(answer).into_owned();
            scope.spawn(move || all_unavailable(&format!("redis://127.0.0.1:{port}"), &what));
        }
    });
}
