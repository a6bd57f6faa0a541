//! What goes into the job and what comes out of it is the caller's; redlease adds nothing and takes nothing.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use nix::sys::signal::Signal;

use crate::harness::redlease::BINARY;
use crate::harness::{PATIENCE, Redis, Redlease, wait_until};

#[test]
fn the_job_reads_the_callers_stdin() {
    let redis = Redis::start();
    let outcome = Redlease::run("k")
        .on(&redis)
        .input(b"a\nb\n")
        .job(["cat"])
        .exits(0);
    assert_eq!(outcome.out(), "a\nb\n");
    assert_eq!(outcome.stderr, "");
}

#[test]
fn any_bytes_pass_unchanged() {
    let redis = Redis::start();
    let bytes: Vec<u8> = (0..1_000_000_u32)
        .map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0])
        .collect();
    let outcome = Redlease::run("k")
        .on(&redis)
        .input(&bytes)
        .job(["cat"])
        .exits(0);
    assert!(outcome.stdout == bytes);
}

#[test]
fn a_run_in_a_loop_does_not_eat_the_loops_input() {
    let redis = Redis::start();
    let outcome = Redlease::run("k")
        .on(&redis)
        .env("REDLEASE", BINARY)
        .input(b"1\n2\n3\n")
        .sh("while read line; do \"$REDLEASE\" run --key \"k$line\" -- true || exit; echo \"$line\"; done")
        .start_directly()
        .exits(0);
    assert_eq!(outcome.out(), "1\n2\n3\n");
}

#[test]
fn arguments_arrive_as_they_were_typed() {
    let redis = Redis::start();
    let outcome = Redlease::run("k")
        .on(&redis)
        .job([
            "printf", "<%s>", "a b", "", "*", "$HOME", "-v", "--help", "--", "--key", "x", "\n",
        ])
        .exits(0);
    assert_eq!(
        outcome.out(),
        "<a b><><*><$HOME><-v><--help><--><--key><x><\n>"
    );
}

#[test]
fn arguments_need_not_be_utf_8() {
    let redis = Redis::start();
    let outcome = Redlease::run("k")
        .on(&redis)
        .job([
            OsStr::new("printf"),
            OsStr::new("<%s>"),
            OsStr::from_bytes(b"\xff\xfe\x80"),
        ])
        .exits(0);
    assert_eq!(outcome.stdout, b"<\xff\xfe\x80>");
}

#[test]
fn a_command_line_goes_through_a_shell_only_when_asked() {
    let redis = Redis::start();
    let outcome = Redlease::run("k")
        .on(&redis)
        .args(["-c", "printf '<%s>' a b | tr a c"])
        .exits(0);
    assert_eq!(outcome.out(), "<c><b>");
}

#[test]
fn both_streams_of_the_job_stay_apart() {
    let redis = Redis::start();
    let outcome = Redlease::run("k")
        .on(&redis)
        .sh("echo out; echo err >&2")
        .exits(0);
    assert_eq!(outcome.out(), "out\n");
    assert_eq!(outcome.stderr, "err\n");
}

#[test]
fn a_closed_stdin_is_no_hindrance() {
    let redis = Redis::start();
    let outcome = Redlease::run("k")
        .on(&redis)
        .after_perl("close(STDIN)")
        .sh("cat 2>/dev/null; echo done")
        .exits(0);
    assert_eq!(outcome.out(), "done\n");
}

#[test]
fn a_reader_sees_the_end_when_the_job_closes_its_stdout() {
    let redis = Redis::start();
    let mut run = Redlease::run("k")
        .on(&redis)
        .perl("$SIG{TERM} = sub { exit 0 }; print qq(up\\n); close(STDOUT); sleep 1 while 1")
        .start()
        .up();
    assert!(run.stdout.closed(PATIENCE));
    assert!(!run.ended());
    run.signal(Signal::SIGTERM);
    run.exits(0);
}

#[test]
fn a_writer_sees_the_end_when_its_reader_is_gone() {
    let redis = Redis::start();
    let outcome = Redlease::run("k")
        .on(&redis)
        .env("REDLEASE", BINARY)
        .job([
            "bash",
            "-c",
            "\"$REDLEASE\" run --key k -- yes | head -n 1; echo ${PIPESTATUS[0]}",
        ])
        .start_directly()
        .exits(0);
    assert_eq!(outcome.out(), "y\n141\n");
    wait_until("the release", PATIENCE, || !redis.exists("redlease:{k}"));
}
