//! A password is nowhere that others can look.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::harness::process::environment;
use crate::harness::{Outcome, Redis, Redlease, Running, Value};

const PASSWORD: &str = "S3cr=t@w/rd";
const ENCODED: &str = "S3cr%3Dt%40w%2Frd";
/// What of it would be enough to give it away, encoded or not.
const TELLTALES: [&str; 3] = ["S3cr", "w/rd", "w%2Frd"];

fn server() -> Redis {
    Redis::options().tcp().password(PASSWORD).start()
}

fn url(redis: &Redis) -> String {
    format!("redis://:{ENCODED}@127.0.0.1:{}", redis.port())
}

fn private(redis: &Redis, name: &str, text: &str) -> PathBuf {
    let path = redis.folder().join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    path
}

#[track_caller]
fn clean(what: &str, text: &str) {
    for part in TELLTALES {
        assert!(!text.contains(part), "{what} contains the password: {text}");
    }
}

/// No argument of any process of the run, and no variable of the job unless the caller had it there.
fn look(run: &Running, in_environment: bool) {
    let job = run.job();
    for pid in run.processes() {
        let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        clean("an argument", &String::from_utf8_lossy(&bytes));
    }
    let variables: Vec<String> = environment(job)
        .into_iter()
        .filter(|variable| !in_environment || !variable.starts_with("REDLEASE_URL="))
        .collect();
    clean("the job's environment", &variables.join("\n"));
}

/// Every key with what it holds.
fn everything(redis: &Redis) -> String {
    let keys = redis.cli(&["KEYS", "*"]);
    let mut text = format!("{keys:?}");
    for key in keys.array() {
        let key = key.text();
        let dump = match redis.cli(&["TYPE", &key]).text().as_str() {
            "hash" => redis.cli(&["HGETALL", &key]),
            "zset" => redis.cli(&["ZRANGE", &key, "0", "-1"]),
            _ => redis.cli(&["GET", &key]),
        };
        text.push_str(&format!("{dump:?}"));
    }
    text
}

fn holds_in_secret(redis: &Redis, run: Redlease, in_environment: bool) {
    let report = redis.folder().join("report");
    let run = run
        .arg("-v")
        .arg("--report")
        .arg(&report)
        .holds()
        .start()
        .up();
    look(&run, in_environment);
    clean("Redis", &everything(redis));
    let outcome = run.finish();
    clean("stderr", &outcome.stderr);
    clean("the report", &std::fs::read_to_string(report).unwrap());
    clean("Redis", &everything(redis));
}

#[test]
fn a_url_in_the_environment_stays_there() {
    let redis = server();
    let run = Redlease::run("k").env("REDLEASE_URL", url(&redis));
    holds_in_secret(&redis, run, true);
}

#[test]
fn a_url_in_a_file_stays_there() {
    let redis = server();
    let file = private(&redis, "url", &format!("{}\n", url(&redis)));
    let run = Redlease::run("k").arg("--url-file").arg(file);
    holds_in_secret(&redis, run, false);
}

#[test]
fn a_password_in_a_file_stays_there() {
    let redis = server();
    let file = private(&redis, "password", &format!("{PASSWORD}\n"));
    let run = Redlease::run("k")
        .env(
            "REDLEASE_URL",
            format!("redis://127.0.0.1:{}", redis.port()),
        )
        .env("REDLEASE_PASSWORD_FILE", file);
    holds_in_secret(&redis, run, false);
}

/// Every character that a keyboard has and that means something to a URL, a shell or the protocol.
#[test]
fn a_password_may_have_every_special_character() {
    let special = " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~é";
    let redis = Redis::options().tcp().start();
    let password = format!(">{special}");
    let reply = redis.cli(&["ACL", "SETUSER", "u", "on", &password, "~*", "&*", "+@all"]);
    assert_eq!(reply, Value::Text(b"OK".to_vec()));
    let encoded: String = special.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let address = format!("127.0.0.1:{}", redis.port());
    let with_password = format!("redis://u:{encoded}@{address}");
    let run = || Redlease::run("k").job(["true"]);
    run().env("REDLEASE_URL", &with_password).exits(0).silent();
    let url = private(&redis, "url", &with_password);
    run().arg("--url-file").arg(url).exits(0).silent();
    let file = private(&redis, "password", special);
    run()
        .env("REDLEASE_URL", format!("redis://u@{address}"))
        .arg("--password-file")
        .arg(file)
        .exits(0)
        .silent();
}

#[test]
fn a_file_that_everybody_can_read_is_warned_of() {
    let redis = server();
    let file = private(&redis, "url", &url(&redis));
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    let outcome = Redlease::run("k")
        .arg("--url-file")
        .arg(&file)
        .job(["true"])
        .exits(0);
    outcome.says(&["--url-file", "can read it", "chmod o-r"]);
    clean("stderr", &outcome.stderr);
}

#[test]
fn help_shows_no_value_of_a_secret() {
    for words in [&["run", "--help"][..], &["status", "-h"], &["--help"]] {
        let outcome = Redlease::command(words)
            .env("REDLEASE_URL", format!("redis://:{ENCODED}@127.0.0.1"))
            .exits(0);
        clean("the help", &outcome.out());
    }
}

fn fails(redis: &Redis, url: String, code: i32) -> Outcome {
    let report = redis.folder().join("report");
    let outcome = Redlease::run("k")
        .env("REDLEASE_URL", url)
        .args(["-v", "--connect-timeout", "1s", "--report"])
        .arg(&report)
        .job(["true"])
        .exits(code);
    clean("stderr", &outcome.stderr);
    clean(
        "the report",
        &std::fs::read_to_string(report).unwrap_or_default(),
    );
    outcome
}

#[test]
fn errors_show_no_password() {
    let redis = Redis::options().tcp().password("another").start();
    let outcome = fails(&redis, url(&redis), 77);
    assert!(outcome.stderr.contains("WRONGPASS"), "{}", outcome.stderr);
    fails(&redis, format!("redis://:{ENCODED}@127.0.0.1:1"), 69);
    fails(&redis, format!("redis://:{ENCODED}@nowhere.invalid"), 69);
    fails(&redis, format!("redis://:{PASSWORD}@127.0.0.1"), 64);
    fails(&redis, format!("redis://{ENCODED}@127.0.0.1"), 64);
    fails(&redis, format!("redis://:{ENCODED}@127.0.0.1:x"), 64);
    fails(&redis, format!("redis://:{ENCODED}@h1,h2"), 64);
    // A server without a password was given one.
    let open = Redis::options().tcp().start();
    fails(&open, url(&open), 77);
}
