//! As the first process of a container, and under a service manager that signals every process of a unit.

use std::ffi::OsString;

use nix::sys::signal::Signal;

use crate::harness::process::{Stamps, children, gone, send};
use crate::harness::{PATIENCE, Redis, Redlease, Tree, ms, wait_until};

const LEASE: &str = "redlease:{k}";

/// redlease as process 1 of a new PID namespace, which root may make directly and others inside a user namespace.
fn first_process(redis: &Redis) -> Redlease {
    let mut before: Vec<OsString> = vec!["unshare".into()];
    if !nix::unistd::geteuid().is_root() {
        before.extend(["--user".into(), "--map-root-user".into()]);
    }
    before.extend(["--pid", "--fork", "--mount-proc", "--kill-child"].map(OsString::from));
    Redlease::run("k").on(redis).under(before)
}

#[test]
fn the_first_process_passes_codes_on() {
    let redis = Redis::start();
    first_process(&redis).sh("exit 9").exits(9).silent();
    // It cannot die of a signal: the shell's number stands for it.
    first_process(&redis).sh("kill -TERM $$").exits(143);
    first_process(&redis).sh("kill -KILL $$").exits(137);
    first_process(&redis).job(["./no-such-program"]).exits(127);
    assert!(!redis.exists(LEASE));
}

#[test]
fn the_first_process_reaps_zombies() {
    let redis = Redis::start();
    let script = "i=0; while [ $i -lt 20 ]; do (setsid sh -c 'sleep 0.05' &); i=$((i + 1)); done; \
                  sleep 1; cat /proc/[0-9]*/stat | grep -c ') Z '";
    let outcome = first_process(&redis).sh(script).exits(1);
    assert_eq!(outcome.out(), "0\n");
}

#[test]
fn the_first_process_can_be_told_to_end() {
    let redis = Redis::start();
    let run = first_process(&redis).holds().start().up();
    // The child of unshare, seen from outside.
    let redlease = children(run.pid())[0];
    send(redlease, Signal::SIGTERM);
    run.exits(0);
    assert!(!redis.exists(LEASE));
}

#[test]
fn children_from_before_are_left_alone() {
    let redis = Redis::start();
    let before = Stamps::named(redis.folder(), "before");
    let words = before.job();
    let script = r#"stamps=$1; shift; perl -e "$0" "$stamps" & exec "$@""#;
    let arrange = ["sh", "-c", script, &words[2], &words[3]].map(OsString::from);
    let tree = Tree::in_folder(redis.folder());
    let mut run = Redlease::run("k")
        .on(&redis)
        .under(arrange)
        .job(tree.job())
        .start();
    tree.await_start();
    before.await_start();
    let guard = children(run.pid())
        .into_iter()
        .find(|pid| {
            children(*pid)
                .iter()
                .any(|job| run.job_processes().contains(job))
        })
        .expect("the guard");
    send(guard, Signal::SIGKILL);
    wait_until("the end of the run", PATIENCE, || run.ended());
    let (count, ours) = (before.all().len(), tree.count());
    wait_until("another stamp", PATIENCE, || before.all().len() > count);
    assert_eq!(tree.count(), ours);
    for pid in run.processes() {
        send(pid, Signal::SIGKILL);
    }
    run.exits(79);
}

#[test]
fn a_unit_whose_processes_are_all_told_to_end() {
    let redis = Redis::start();
    let next = Stamps::named(redis.folder(), "next");
    let job = "$SIG{TERM} = sub { $n++ }; print qq(up\n); sleep 1 while !$n; sleep 1; print qq(ended\n); exit 3";
    let run = Redlease::run("k").on(&redis).perl(job).start();
    run.line("up");
    let waiting = Redlease::run("k")
        .on(&redis)
        .args(["--wait", "60s"])
        .job(next.job_for(0.1, 0))
        .start();
    // KillMode=control-group: redlease, the guard and the job, one after the other.
    for pid in [run.pid(), run.guard(), run.job()] {
        send(pid, Signal::SIGTERM);
    }
    let outcome = run.exits(3);
    assert_eq!(outcome.out(), "up\nended\n");
    waiting.exits(0);
}

#[test]
fn a_unit_whose_main_process_is_told_to_end_and_the_rest_killed_later() {
    let redis = Redis::start();
    let tree = Tree::in_folder(redis.folder());
    let run = Redlease::run("k")
        .on(&redis)
        .ttl("6s")
        .job(tree.job())
        .start();
    tree.await_start();
    // KillMode=mixed: TERM to the main process, and what is left gets KILL; here nothing is left.
    run.signal(Signal::SIGTERM);
    let mut others = run.processes();
    others.retain(|pid| *pid != run.pid());
    run.exits(143);
    assert!(others.iter().all(|pid| gone(*pid)));
    assert!(!redis.exists(LEASE));
}

#[test]
fn a_signal_at_any_moment_of_the_start_is_not_lost() {
    let redis = Redis::start();
    for round in 0..40_u64 {
        let run = Redlease::run("k")
            .on(&redis)
            .ttl("60s")
            .job(["sleep", "306"])
            .start();
        std::thread::sleep(std::time::Duration::from_micros(round * 500));
        run.signal(Signal::SIGTERM);
        run.exits(143);
        wait_until("the release", PATIENCE, || !redis.exists(LEASE));
    }
}

#[test]
fn hundreds_of_runs_leave_nothing() {
    let redis = Redis::start();
    let descriptors = || {
        std::fs::read_dir(format!("/proc/{}/fd", redis.pid()))
            .unwrap()
            .count()
    };
    Redlease::run("k").on(&redis).job(["true"]).exits(0);
    let (keys, before) = (redis.cli(&["DBSIZE"]), descriptors());
    let script = "for i in $(seq 500); do \"$0\" run --key k -- true || exit 9; done";
    Redlease::command(["unused"])
        .on(&redis)
        .under(["sh", "-c", script])
        .limit(ms(120_000))
        .exits(0)
        .silent();
    assert_eq!(redis.cli(&["DBSIZE"]), keys);
    wait_until("the last connection's end", PATIENCE, || {
        descriptors() <= before
    });
    assert!(!redis.exists(LEASE));
}
