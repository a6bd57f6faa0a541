//! A server that cannot answer is not a holder: 69, in time; one that will not is 77.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::harness::{PATIENCE, Redis, Redlease, Value, ms, wait_until};

/// `--connect-timeout 1s` and what a busy machine may add.
const ROOM: u64 = 8_000;

fn run(url: &str) -> Redlease {
    Redlease::run("k")
        .env("REDLEASE_URL", url)
        .args(["--connect-timeout", "1s"])
        .sh("echo the job ran")
}

#[test]
fn a_server_that_is_down_is_no_holder() {
    let mut redis = Redis::options().tcp().start();
    let tcp = format!("redis://127.0.0.1:{}", redis.port());
    redis.kill();
    for url in [redis.url(), tcp, "unix:///nowhere/at/all".to_owned()] {
        let outcome = run(&url).exits(69);
        outcome.says(&[]);
        assert!(!outcome.stderr.contains("held"), "{}", outcome.stderr);
        assert!(outcome.took < ms(ROOM), "{:?}", outcome.took);
    }
}

#[test]
fn a_server_that_hangs_is_given_up_and_no_key_is_left() {
    let redis = Redis::start();
    redis.pause();
    let outcome = run(&redis.url()).exits(69);
    outcome.says(&[]);
    assert!(outcome.took < ms(ROOM), "{:?}", outcome.took);
    redis.resume();
    // Until the server has read all that the given-up connections hold, ours is not the only one.
    wait_until("the end of the other connections", PATIENCE, || {
        redis.cli(&["CLIENT", "LIST"]).text().lines().count() == 1
    });
    assert_eq!(redis.cli(&["EXISTS", "redlease:{k}"]), Value::Int(0));
}

/// A request may take 5 s by itself.
#[test]
fn a_short_wait_on_a_server_that_hangs_is_short() {
    let redis = Redis::start();
    redis.pause();
    let outcome = Redlease::run("k")
        .on(&redis)
        .args(["--wait", "500ms"])
        .sh("echo the job ran")
        .exits(69);
    redis.resume();
    outcome.says(&[]);
    assert!(outcome.took < ms(4_500), "{:?}", outcome.took);
}

#[test]
fn a_port_that_accepts_and_never_answers_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let outcome = run(&format!("redis://{}", silent.local_addr().unwrap())).exits(69);
    outcome.says(&[]);
    assert!(outcome.took < ms(ROOM), "{:?}", outcome.took);
}

fn answer_with_http(mut stream: TcpStream) {
    let mut request = [0; 64];
    if stream.read(&mut request).is_ok_and(|read| read > 0) {
        // Whether it arrives is the client's matter.
        drop(stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
    }
}

#[test]
fn a_port_that_speaks_something_else_is_given_up() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", other.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in other.incoming().flatten() {
            answer_with_http(stream);
        }
    });
    let outcome = run(&url).exits(69);
    outcome.says(&[]);
    assert!(outcome.took < ms(ROOM), "{:?}", outcome.took);
}

/// A server with as many keys as seconds that it takes to load them.
fn loading(keys: u64) -> Redis {
    let mut redis = Redis::options().stock().line("rdbcompression no").start();
    for n in 0..keys {
        redis.steal(&format!("filler{n}"), &"x".repeat(2048), 600_000);
    }
    assert_eq!(redis.cli(&["SAVE"]).text(), "OK");
    redis.restart_slowly();
    redis
}

#[test]
fn a_server_that_is_loading_is_given_up_in_time() {
    let redis = loading(60);
    let outcome = run(&redis.url()).exits(69);
    outcome.says(&["oading"]);
}

#[test]
fn a_server_that_has_loaded_in_time_serves() {
    let redis = loading(2);
    let outcome = Redlease::run("k")
        .on(&redis)
        .args(["--connect-timeout", "30s"])
        .sh("echo the job ran")
        .exits(0);
    assert_eq!(outcome.out(), "the job ran\n");
}

#[test]
fn a_wrong_or_missing_password_is_77() {
    let redis = Redis::options().tcp().password("s3cret").start();
    let tcp = |user: &str| format!("redis://{user}127.0.0.1:{}", redis.port());
    run(&redis.url()).exits(77).says(&["password"]);
    run(&tcp("")).exits(77).says(&["password"]);
    let outcome = run(&tcp(":wr0ng@")).exits(77);
    outcome.says(&["WRONGPASS"]);
    assert!(!outcome.stderr.contains("wr0ng"), "{}", outcome.stderr);
    assert_eq!(run(&tcp(":s3cret@")).exits(0).out(), "the job ran\n");
}

#[test]
fn a_missing_right_is_77_and_named() {
    let redis = Redis::options().tcp().start();
    let url = format!("redis://ci:s3cret-w0rd@127.0.0.1:{}", redis.port());
    let user = |rules: &[&str]| {
        let mut words = vec!["ACL", "SETUSER", "ci", "reset", "on", ">s3cret-w0rd"];
        words.extend(rules);
        assert_eq!(redis.cli(&words).text(), "OK");
    };
    user(&["~*", "&*", "+@all", "-eval"]);
    run(&url).exits(77).says(&["eval"]);
    user(&["~*", "&*", "+@all", "-hset"]);
    run(&url).exits(77).says(&["hset"]);
    user(&["~other:*", "&*", "+@all"]);
    run(&url).exits(77).says(&["key"]);
    assert!(!redis.exists("redlease:{k}"));
    user(&["~redlease:*", "resetchannels", "&redlease:*", "+@all"]);
    assert_eq!(run(&url).exits(0).out(), "the job ran\n");
    assert!(!redis.exists("redlease:{k}"));
}
