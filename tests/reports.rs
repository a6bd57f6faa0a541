//! `--report` and `--log-format json`: what CI reads.

use std::path::PathBuf;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::harness::{PATIENCE, Redis, Redlease, process, wait_until};

struct Reported {
    redis: Redis,
    file: PathBuf,
}

impl Reported {
    fn new() -> Reported {
        let redis = Redis::start();
        let file = redis.folder().join("report.json");
        Reported { redis, file }
    }

    fn run(&self) -> Redlease {
        Redlease::run("k")
            .on(&self.redis)
            .arg("--report")
            .arg(&self.file)
    }

    fn report(&self) -> Value {
        let text = std::fs::read_to_string(&self.file).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        std::fs::remove_file(&self.file).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

#[test]
fn a_run_that_completed() {
    let it = Reported::new();
    let told = it.run().sh("echo $REDLEASE_FENCE; exit 7").exits(7).out();
    let report = it.report();
    assert_eq!(report["outcome"], "completed");
    assert_eq!(report["job_code"], 7);
    assert_eq!(report["job_signal"], Value::Null);
    assert_eq!(report["key"], "k");
    assert_eq!(report["slot"], 1);
    assert_eq!(report["fence"].to_string(), told.trim());
    assert_eq!(report["restored"], 0);
    assert!(report["held_ms"].as_u64().is_some());
    assert!(report["waited_ms"].as_u64().is_some());
    assert!(report["renewals"].as_u64().is_some());
}

#[test]
fn a_job_that_died_of_a_signal() {
    let it = Reported::new();
    it.run().sh("kill -9 $$").exits(137);
    let report = it.report();
    assert_eq!(report["outcome"], "signalled");
    assert_eq!(report["job_code"], Value::Null);
    assert_eq!(report["job_signal"], 9);
}

#[test]
fn never_acquired_lost_and_unreachable_are_three_outcomes() {
    let mut it = Reported::new();
    it.redis.steal("redlease:{k}", "foreign", 60_000);
    it.run().job(["true"]).exits(75);
    assert_eq!(it.report()["outcome"], "refused");

    it.redis.cli(&["DEL", "redlease:{k}"]);
    let run = it.run().ttl("3s").holds().start().up();
    it.redis.steal("redlease:{k}", "foreign", 60_000);
    run.exits(79);
    let report = it.report();
    assert_eq!(report["outcome"], "lost");
    assert_eq!(report["key"], "k");

    it.redis.kill();
    it.run()
        .args(["--connect-timeout", "500ms"])
        .job(["true"])
        .exits(69);
    assert_eq!(it.report()["outcome"], "unavailable");
}

#[test]
fn stopped_by_max_run_and_not_started() {
    let it = Reported::new();
    it.run()
        .args(["--max-run", "500ms"])
        .job(["sleep", "60"])
        .exits(124);
    assert_eq!(it.report()["outcome"], "max_run");
    it.run().job(["no-such-program-anywhere"]).exits(127);
    assert_eq!(it.report()["outcome"], "not_started");
}

#[test]
fn a_report_to_a_stream_replaces_no_file() {
    let redis = Redis::start();
    let file = redis.folder().join("stderr");
    let run = || {
        let mut words = Redlease::run("k")
            .on(&redis)
            .args(["--report", "/dev/stderr"])
            .sh("echo the job >&2")
            .words();
        let mut all: Vec<std::ffi::OsString> =
            ["sh", "-c", "file=$1; shift; \"$@\" 2>>\"$file\"", "sh"]
                .map(Into::into)
                .to_vec();
        all.push(file.clone().into());
        all.append(&mut words);
        Redlease::run("k").on(&redis).job(all).start_directly()
    };
    let before = std::fs::symlink_metadata("/dev/stderr")
        .unwrap()
        .file_type();
    run().exits(0);
    run().exits(0);
    let after = std::fs::symlink_metadata("/dev/stderr")
        .unwrap()
        .file_type();
    assert_eq!(before, after);
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert_eq!((lines[0], lines[2]), ("the job", "the job"));
    assert!(lines[1].starts_with("{\"outcome\":\"completed\""), "{text}");
}

#[test]
fn a_report_through_a_link_leaves_the_link() {
    let it = Reported::new();
    let link = it.redis.folder().join("link");
    std::fs::write(&it.file, "old\n").unwrap();
    std::os::unix::fs::symlink(&it.file, &link).unwrap();
    Redlease::run("k")
        .on(&it.redis)
        .arg("--report")
        .arg(&link)
        .job(["true"])
        .exits(0);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(it.report()["outcome"], "completed");
}

#[test]
fn a_report_that_cannot_be_written_is_said_before_the_job_starts() {
    let redis = Redis::start();
    let outcome = Redlease::run("k")
        .on(&redis)
        .args(["--report", "/no/such/folder/report"])
        .sh("echo the job ran")
        .output();
    assert_ne!(outcome.code, 0);
    outcome.says(&["/no/such/folder/report"]);
}

#[test]
fn a_report_to_what_is_the_jobs_alone_is_refused_before_the_job_starts() {
    let redis = Redis::start();
    for name in ["/dev/stdout", "/dev/fd/1", "/dev/fd/3"] {
        Redlease::run("k")
            .on(&redis)
            .args(["--report", name])
            .sh("echo the job ran")
            .exits(78)
            .says(&[name, "/dev/stderr"]);
    }
}

#[test]
fn lines_can_be_json() {
    let redis = Redis::start();
    redis.steal("redlease:{k}", "foreign", 60_000);
    let outcome = Redlease::run("k")
        .on(&redis)
        .args(["--log-format", "json"])
        .job(["true"])
        .exits(75);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    let line: Value = serde_json::from_str(&outcome.stderr).unwrap();
    assert!(line.is_object());
    assert!(
        outcome.stderr.contains("another client"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_step_that_is_cancelled_ends_job_and_lease() {
    let redis = Redis::start();
    let run = Redlease::run("k")
        .on(&redis)
        .ttl("3s")
        .perl("$SIG{$_} = 'IGNORE' for qw(INT TERM); print qq(up\\n); sleep 1 while 1")
        .start()
        .up();
    let processes = run.processes();
    assert!(processes.len() >= 3, "{processes:?}");
    run.signal(Signal::SIGINT);
    run.signal(Signal::SIGTERM);
    run.signal(Signal::SIGKILL);
    wait_until("the end of every process", PATIENCE, || {
        processes.iter().all(|pid| process::gone(*pid))
    });
    wait_until("the lease's end", PATIENCE, || {
        let left = redis.pttl("redlease:{k}");
        assert!(left == -2 || (0..=3_000).contains(&left), "{left}");
        left == -2
    });
}
