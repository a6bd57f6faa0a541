//! What a job starts belongs to it, however it leaves its parent. After redlease has ended none of it is left, and
//! the lease is given back only after the last of it is gone.

use std::path::Path;

use nix::sys::signal::Signal;

use crate::harness::process::{Stamps, children, gone, send};
use crate::harness::{PATIENCE, Redis, Redlease, Tree, ms, now, wait_until};

const LEASE: &str = "redlease:{k}";

/// A stamping daemon beside a job that ends by itself.
fn daemon(stamps: &Stamps, rest: &str) -> Vec<String> {
    let stubborn = stamps.stubborn_job();
    let script = format!(
        r#"(setsid perl -e "$1" "$2" >/dev/null 2>&1 &); while ! [ -s "$2" ]; do sleep 0.01; done; {rest}"#
    );
    ["sh", "-c", &script, "sh", &stubborn[2], &stubborn[3]]
        .map(str::to_owned)
        .to_vec()
}

#[test]
fn the_next_holder_starts_after_the_last_process_is_gone() {
    let redis = Redis::start();
    let tree = Tree::in_folder(redis.folder());
    let run = Redlease::run("k").on(&redis).job(tree.job()).start();
    tree.await_start();
    let next = Stamps::named(redis.folder(), "next");
    let waiting = Redlease::run("k")
        .on(&redis)
        .args(["--wait", "60s"])
        .job(next.job_for(0.1, 0))
        .start();
    // The tree ignores TERM, and its shell does not: it ends at once, and the rest has to be stopped.
    run.signal(Signal::SIGTERM);
    run.exits(143);
    waiting.exits(0);
    let gap = next.first().since(tree.last());
    assert!(next.first() > tree.last(), "{gap:?}");
}

#[test]
fn a_daemon_that_the_job_leaves_is_stopped_and_named() {
    let redis = Redis::start();
    let stamps = Stamps::in_folder(redis.folder());
    let run = Redlease::run("k")
        .on(&redis)
        .ttl("6s")
        .job(daemon(&stamps, "exit 3"))
        .start();
    let outcome = run.exits(3);
    outcome.says(&["perl"]);
    assert!(stamps.last() < now());
    let count = stamps.all().len();
    std::thread::sleep(ms(50));
    assert_eq!(stamps.all().len(), count);
    assert!(!redis.exists(LEASE));
}

#[test]
fn the_lease_is_held_until_what_the_job_left_has_ended() {
    let redis = Redis::start();
    let stamps = Stamps::in_folder(redis.folder());
    let job = r#"(setsid perl -e "$1" "$2" &); exit 4"#;
    let ends = stamps.job_for(4.0, 0);
    let started = now();
    let outcome = Redlease::run("k")
        .on(&redis)
        .ttl("2s")
        .args(["--leftovers", "wait"])
        .job(["sh", "-c", job, "sh", &ends[2], &ends[3]])
        .exits(4);
    // Longer than the TTL: it was renewed for the daemon.
    assert!(stamps.last() > started.after(ms(3_000)));
    outcome.silent();
}

#[test]
fn what_is_waited_for_can_be_told_to_end() {
    let redis = Redis::start();
    let stamps = Stamps::in_folder(redis.folder());
    let job = stamps.job();
    let script = r#"(setsid perl -e "$1" "$2" &); echo $$; exit 4"#;
    let run = Redlease::run("k")
        .on(&redis)
        .args(["--leftovers", "wait"])
        .job(["sh", "-c", script, "sh", &job[2], &job[3]])
        .start();
    stamps.await_start();
    // Until the job itself has ended a signal is for it alone.
    let reaped = || {
        let text = run.stdout.text();
        text.ends_with('\n') && !Path::new("/proc").join(text.trim()).exists()
    };
    wait_until("the end of the shell", PATIENCE, reaped);
    run.signal(Signal::SIGTERM);
    run.exits(4).silent_on_stderr();
    assert!(!redis.exists(LEASE));
}

#[test]
fn what_the_job_leaves_can_be_left_alone() {
    let redis = Redis::start();
    let stamps = Stamps::in_folder(redis.folder());
    let mut run = Redlease::run("k")
        .on(&redis)
        .args(["--leftovers", "leave"])
        .job(daemon(&stamps, "exit 5"))
        .start();
    wait_until("the end of the run", PATIENCE, || run.ended());
    assert!(!redis.exists(LEASE));
    let count = stamps.all().len();
    wait_until("another stamp", PATIENCE, || stamps.all().len() > count);
    for pid in run.processes() {
        send(pid, Signal::SIGKILL);
    }
    run.exits(5).silent();
}

#[test]
fn a_deadline_knows_no_leftovers_that_are_left_alone() {
    let redis = Redis::start();
    let tree = Tree::in_folder(redis.folder());
    let run = Redlease::run("k")
        .on(&redis)
        .ttl("4s")
        .args(["--leftovers", "leave"])
        .job(tree.job())
        .start();
    tree.await_start();
    redis.steal(LEASE, "another", 60_000);
    run.exits(79);
    let count = tree.count();
    std::thread::sleep(ms(50));
    assert_eq!(tree.count(), count);
    assert_eq!(redis.get(LEASE).as_deref(), Some("another"));
}

#[test]
fn the_real_work_of_a_shell_is_stopped_with_it() {
    let redis = Redis::start();
    let run = Redlease::run("k")
        .on(&redis)
        .ttl("6s")
        .sh("sleep 301; :")
        .start();
    let job = run.job();
    let mut work = Vec::new();
    wait_until("the shell's child", PATIENCE, || {
        work = children(job);
        !work.is_empty()
    });
    redis.steal(LEASE, "another", 60_000);
    run.exits(79);
    assert!(gone(job) && gone(work[0]));
}

#[test]
fn a_shell_that_is_stopped_can_clean_up() {
    let redis = Redis::start();
    // bash runs a trap only when the command that it waits for has ended.
    let outcome = Redlease::run("k")
        .on(&redis)
        .args(["--max-run", "500ms", "--kill-after", "15s", "--ttl", "60s"])
        .job([
            "bash",
            "-c",
            "trap 'echo cleaned up; exit 0' TERM; sleep 303; echo not reached",
        ])
        .exits(124);
    assert_eq!(outcome.out(), "cleaned up\n");
}

#[test]
fn a_reader_of_the_jobs_output_sees_the_end_in_spite_of_leftovers() {
    let redis = Redis::start();
    let outcome = Redlease::run("k")
        .on(&redis)
        .ttl("6s")
        .sh("sleep 304 & echo done")
        .exits(0);
    // `exits` has seen both streams closed, although the leftover held them.
    assert_eq!(outcome.out(), "done\n");
    assert!(outcome.stderr.contains("sleep"), "{}", outcome.stderr);
}

#[test]
fn processes_that_fork_and_exit_all_the_time_are_caught() {
    let redis = Redis::start();
    let folder = redis.folder().join("comets");
    std::fs::create_dir(&folder).unwrap();
    // Each lives for a moment and is survived by its child, in a session of its own.
    let comet = "use POSIX; $SIG{TERM} = 'IGNORE'; for (1..6) { next if fork(); while (1) { \
                 if (fork()) { POSIX::_exit(0) } POSIX::setsid(); \
                 select(undef, undef, undef, 0.002); open(F, '>', qq($ARGV[0]/$$)); close(F) } } \
                 sleep 1 while 1";
    let run = Redlease::run("k")
        .on(&redis)
        .ttl("6s")
        .job(["perl", "-e", comet, folder.to_str().unwrap()])
        .start();
    let seen = || std::fs::read_dir(&folder).unwrap().count();
    wait_until("a hundred comets", PATIENCE, || seen() > 100);
    run.signal(Signal::SIGKILL);
    wait_until("the end of every process", PATIENCE, || {
        run.processes().is_empty()
    });
    let count = seen();
    std::thread::sleep(ms(100));
    assert_eq!(seen(), count);
    run.exits(137);
}
